//! mariadb-backup while it runs: its stream, its messages, and its end.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iostall_connect::mysql::client_options;
use iostall_connect::{Address, Secret};
use iostall_engine::files::{self, FileKind, INPUT_NAME, OpenDirectory, StandardInput};
use iostall_engine::quits_with_us;
use iostall_host::{Account, CommandAtRoot, Program};
use iostall_measure::foreign;

use super::error::MariadbBackupError;
use super::tool::Tool;

/// What it says at its end if all went well. Libraries may add a line about their threads.
const GOOD_END: &str = "completed OK!";
/// The section of an option file that all versions read.
const SECTION: &str = "mariabackup";
const LOG_TAIL_BYTES: usize = 64 << 10;
const LINES_SHOWN: usize = 6;
/// A longer line is none that says why.
const LINE_BYTES_MAX: usize = 400;
/// How long it may take to end when it is asked to, before it is killed: it has locks to give back.
const END_WAIT: Duration = Duration::from_secs(10);

/// What it says, in a file without a name: after a kill nothing of it is left.
struct Messages(File);

impl Messages {
    fn new() -> Result<Self, MariadbBackupError> {
        let directory = std::env::temp_dir();
        let made = files::unnamed(&directory);
        made.map(Self).map_err(MariadbBackupError::system("make a file in", &directory))
    }

    fn said(&self) -> String {
        let size = self.0.metadata().map_or(0, |metadata| metadata.len());
        let mut tail = vec![0; LOG_TAIL_BYTES];
        let from = size.saturating_sub(LOG_TAIL_BYTES as u64);
        let read = files::read_at(&self.0, &mut tail, from).unwrap_or(0);
        String::from_utf8_lossy(&tail[..read]).into_owned()
    }
}

struct Running {
    program: Option<Program>,
    messages: Messages,
}

impl Running {
    fn start(
        command: &mut CommandAtRoot,
        tool: &Tool,
        input: Stdio,
        account: Option<&Account>,
    ) -> Result<Self, MariadbBackupError> {
        let messages = Messages::new()?;
        let log = messages.0.try_clone().map_err(MariadbBackupError::system("use", Path::new("a file")))?;
        quits_with_us(command.as_command().stdin(input).stderr(log));
        let program = command
            .start(account)
            .map_err(|source| MariadbBackupError::Start { program: tool.path.clone(), source })?;
        Ok(Self { program: Some(program), messages })
    }

    /// Waits for its end. An error unless it says itself that it has done what it was asked to.
    fn finish(&mut self) -> Result<(), MariadbBackupError> {
        let Some(program) = self.program.take() else { return Ok(()) };
        let status =
            program.finish().map_err(MariadbBackupError::system("wait for", Path::new("mariadb-backup")))?;
        let said = self.messages.said();
        let is_good = status.success() && lines(&said).any(|line| line.ends_with(GOOD_END));
        if is_good {
            return Ok(());
        }
        Err(MariadbBackupError::Failed { program: "mariadb-backup", ended: how(status), said: shown(&said) })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(program) = self.program.take() else { return };
        program.ask_to_end();
        let _ = program.ends_within(END_WAIT);
        let _ = program.end();
    }
}

/// What mariadb-backup writes. Its end is the end of a whole backup: anything else is an error.
pub(super) struct BackupStream {
    output: StandardInput<Box<dyn Fn() -> bool + Send>>,
    running: Running,
}

impl BackupStream {
    /// Starts `tool` on the server at `address`. A read ends early once `cancel` is set.
    pub(super) fn start(
        tool: &Tool,
        address: &Address,
        password: &Secret,
        cancel: &Arc<AtomicBool>,
    ) -> Result<Self, MariadbBackupError> {
        let options = client_options(SECTION, address, password);
        let options = files::in_memory(options.as_bytes())
            .map_err(MariadbBackupError::system("make", Path::new("a file in memory")))?;
        let (reader, writer) = io::pipe().map_err(MariadbBackupError::system("make", Path::new("a pipe")))?;
        let mut command = CommandAtRoot::new(&tool.path);
        // As its standard input, because a file with a name would outlive a kill.
        command.path("--defaults-file=", Path::new(INPUT_NAME));
        // A damaged page is to be named and backed up with all others. Versions that do not know the option stop there.
        let words = ["--backup", "--stream=xbstream", "--loose-log-innodb-page-corruption"];
        command.as_command().args(words).stdout(writer);
        command.path("--target-dir=", &std::env::temp_dir());
        let running = Running::start(&mut command, tool, options.into(), None)?;
        // The pipe ends when nobody has its other side any more.
        drop(command);
        let cancel = Arc::clone(cancel);
        let is_over: Box<dyn Fn() -> bool + Send> = Box::new(move || cancel.load(Ordering::Relaxed));
        Ok(Self { output: StandardInput::of_pipe(reader, is_over), running })
    }
}

impl Read for BackupStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.output.read(buffer)?;
        if read == 0 && !buffer.is_empty() {
            self.running.finish().map_err(io::Error::other)?;
        }
        Ok(read)
    }
}

/// The settings that it keeps with the files.
pub(in crate::backup) const SETTINGS: &str = "backup-my.cnf";
/// The ending of a file that says where the file of a table is.
const PLACE: &str = "isl";
/// What it writes about damaged pages. If it is there, preparing fails at its end, and there is no way round.
const CORRUPTED: &str = "innodb_corrupted_pages";

/// Prepares the files that were restored to `directory`, under `account` if that is not our own. Ends early once `is_cancelled`.
pub(in crate::backup) fn prepare(
    tool: &Tool,
    directory: &Path,
    memory_bytes: u64,
    account: Option<&Account>,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<(), MariadbBackupError> {
    // It may be another account's by now, which could put anything in the place of what is below.
    let forgotten = OpenDirectory::open(directory).and_then(|open| forget(&open));
    forgotten.map_err(MariadbBackupError::system("remove what mariadb-backup left in", directory))?;
    let mut command = CommandAtRoot::new(&tool.path);
    // The settings that the files need, such as the plugin with their keys; none of this machine.
    let settings = directory.join(SETTINGS);
    // The tool wants them first.
    if settings.is_file() {
        command.path("--defaults-file=", &settings);
    } else {
        command.as_command().arg("--no-defaults");
    }
    command.path("--target-dir=", directory);
    let memory = format!("--use-memory={memory_bytes}");
    command.as_command().args(["--prepare", &memory]).stdout(Stdio::null());
    let mut running = Running::start(&mut command, tool, Stdio::null(), account)?;
    while let Some(program) = &running.program {
        if is_cancelled() {
            return Err(MariadbBackupError::Cancelled);
        }
        let has_ended = program.ends_within(Duration::from_millis(100));
        if has_ended.map_err(MariadbBackupError::system("wait for", &tool.path))? {
            break;
        }
    }
    running.finish()
}

/// Removes what would mislead a server or mariadb-backup: the list of damaged pages, which the manifest names, and the files that
/// say where a table with a directory of its own was. On the same host that is the original's table.
fn forget(directory: &OpenDirectory) -> io::Result<()> {
    for name in directory.names()? {
        if directory.stamp_of(&name)?.kind == FileKind::Directory {
            forget(&directory.below(Path::new(&name))?)?;
        } else if name == CORRUPTED || Path::new(&name).extension().is_some_and(|end| end == PLACE) {
            directory.remove_file(&name)?;
        }
    }
    Ok(())
}

fn lines(said: &str) -> impl DoubleEndedIterator<Item = &str> {
    said.lines().map(str::trim).filter(|line| !line.is_empty())
}

fn how(status: ExitStatus) -> String {
    match status.code() {
        Some(0) => "ended without saying that all is well".to_owned(),
        Some(code) => format!("ended with status {code}"),
        None => "was killed".to_owned(),
    }
}

fn shown(said: &str) -> String {
    // A damaged page is dumped as well, in lines of thousands of digits.
    let is_short = |line: &&str| line.len() <= LINE_BYTES_MAX;
    let mut last: Vec<String> =
        lines(said).rev().filter(is_short).take(LINES_SHOWN).map(foreign::said).collect();
    last.reverse();
    if last.is_empty() { "it said nothing".to_owned() } else { last.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The story: a table had a directory of its own. A server on the restored files found it there, in use, and did not open it.
    #[test]
    fn a_restored_table_forgets_where_the_original_is() {
        let root = tempfile::tempdir().unwrap();
        let (outside, data) = (root.path().join("outside"), root.path().join("data"));
        for directory in [&outside, &data, &data.join("shop")] {
            std::fs::create_dir(directory).unwrap();
        }
        std::os::unix::fs::symlink(&outside, data.join("link")).unwrap();
        for file in ["outside/t.isl", "data/shop/t.isl", "data/shop/t.ibd", "data/innodb_corrupted_pages"] {
            std::fs::write(root.path().join(file), "x").unwrap();
        }
        forget(&OpenDirectory::open(&data).unwrap()).unwrap();
        let is_there = |name: &str| root.path().join(name).exists();
        assert!(is_there("outside/t.isl") && is_there("data/shop/t.ibd"));
        assert!(!is_there("data/shop/t.isl") && !is_there("data/innodb_corrupted_pages"));
    }

    #[test]
    fn the_last_lines_are_shown_and_decide() {
        let said =
            "[00] 2026-11-23 04:00:00 MySQL binlog position: x\n[00] 2026-11-23 04:00:01 completed OK!\n\n";
        assert!(lines(said).any(|line| line.ends_with(GOOD_END)));
        assert_eq!(shown(""), "it said nothing");
        let many: Vec<String> = (0..20).map(|number| format!("line {number}")).collect();
        assert_eq!(shown(&many.join("\n")), "line 14; line 15; line 16; line 17; line 18; line 19");
    }
}
