//! The command line as a command, and as stored with a run.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use iostall_measure::foreign::{shown, without_passwords};
use iostall_session::recorder::Program;

use crate::cli::habits::{answer, is_foreign, spelled};
use crate::cli::{self, Cli, ColorChoice};
use crate::failure::{Status, hinted};
use crate::printer::Printer;

/// Reads the command line; says what is wrong with it and ends the program where it cannot be understood. Another tool's words
/// are answered with ours, and the program ends with the status that comes with it.
pub(crate) fn parse() -> Result<Cli, ExitCode> {
    let mut words = cli::as_diskspd(std::env::args_os().collect());
    let typed = spelled(words.split_off(words.len().min(1)));
    let is_foreign = is_foreign(&typed, &|word| Path::new(word).exists());
    words.extend(typed);
    let found = match cli::parsed(&words) {
        Ok(cli) if !is_foreign => return Ok(cli),
        other => other,
    };
    // The message repeats words, and a shell may have put a file's name in their place.
    let safe: Vec<OsString> = words.iter().map(|word| shown(&kept(word)).into()).collect();
    // What PostgreSQL asks for after an update, and this version does not understand, is not the end of its log.
    let could_not = if is_fetch(&safe) { Status::StopRecovery } else { Status::CouldNot };
    let asks_for_help = found.as_ref().is_err_and(|error| !error.use_stderr());
    if !asks_for_help && let Some(answer) = answer(safe.get(1..).unwrap_or_default()) {
        let said = cli::parsed(&safe).err().map(|error| error.to_string()).unwrap_or_default();
        let what = said.strip_prefix("error: ").and_then(|said| said.lines().next());
        let error = anyhow::anyhow!("{}", what.unwrap_or("some of these words are another tool's"));
        Printer::new(false, ColorChoice::Never).error(&hinted(error, answer.hint()));
        return Err(could_not.into());
    }
    match found {
        Err(error) if error.use_stderr() && could_not == Status::StopRecovery => {
            // If standard error is gone, there is no way to report anything.
            let _ = error.print();
            Err(could_not.into())
        }
        found => Ok(found.unwrap_or_else(|error| cli::parsed(&safe).err().unwrap_or(error).exit())),
    }
}

/// Whether PostgreSQL's restore_command asks.
fn is_fetch(words: &[OsString]) -> bool {
    words.windows(3).any(|words| words == ["backup", "wal", "fetch"])
}

/// The program as stored with a run, without passwords, because others may read the run later.
pub(crate) fn program() -> Program {
    let command_line = std::env::args_os().map(|word| kept(&word)).collect();
    Program { version: env!("CARGO_PKG_VERSION").to_owned(), command_line }
}

fn kept(word: &OsString) -> String {
    without_passwords(&word.to_string_lossy()).into_owned()
}
