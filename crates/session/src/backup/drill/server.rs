//! A PostgreSQL server on a restored copy, which never outlives its drill.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use iostall_engine::quits_with_us;
use iostall_host::{Account, Program};

use super::error::DrillError;
use super::installation::Installation;
use super::limits::Limits;
use super::scratch::Scratch;
use super::settings::arguments;

/// How long a server may take to end at once, before it is killed. It gives its own processes five seconds.
const QUIT_WAIT: Duration = Duration::from_secs(30);
/// The server's words for what ends it.
const FATAL: [&str; 2] = ["FATAL:", "PANIC:"];
/// What it says of a library that is not there.
const NO_LIBRARY: &str = "could not access file \"";

/// A running server.
pub(super) struct Server<'a> {
    program: Option<Program>,
    scratch: &'a Scratch,
}

impl<'a> Server<'a> {
    /// Starts it on `data`, under `account` if that is not our own.
    pub(super) fn start(
        installation: &Installation,
        data: &Path,
        scratch: &'a Scratch,
        account: Option<&Account>,
        settings: &[(String, String)],
    ) -> Result<Self, DrillError> {
        let log = scratch.log()?;
        let mut command = Command::new(&installation.program);
        command.args(arguments(data, scratch, installation.major, settings));
        // Our own directory may be one that its account may not enter.
        command.current_dir("/").env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        quits_with_us(&mut command);
        let started = match account {
            Some(account) => Program::start_as(&mut command, account),
            None => Program::start(&mut command),
        };
        let program =
            started.map_err(|source| DrillError::Start { program: installation.program.clone(), source })?;
        Ok(Self { program: Some(program), scratch })
    }

    pub(super) fn has_ended(&self) -> bool {
        self.program.as_ref().is_none_or(|program| program.has_ended().unwrap_or(true))
    }

    /// Why it ended, in its own words.
    pub(super) fn last_words(&self) -> String {
        reason(&self.scratch.log_tail())
    }

    /// Ends it as an administrator does, so that its files are in order. Whether they are.
    pub(super) fn stop(&mut self, limits: &Limits<'_>) -> bool {
        if self.has_ended() {
            return false;
        }
        if let Some(program) = &self.program {
            program.interrupt();
        }
        while !self.has_ended() {
            if limits.is_over() {
                return false;
            }
            limits.pause();
        }
        let program = self.program.take();
        program.is_some_and(|program| program.finish().is_ok_and(|status| status.success()))
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        let Some(program) = self.program.take() else { return };
        program.quit();
        if !program.ends_within(QUIT_WAIT).unwrap_or(false) {
            program.kill();
        }
        let _ = program.finish();
    }
}

fn reason(log: &str) -> String {
    let lines = || log.lines().map(str::trim).filter(|line| !line.is_empty());
    let fatal = lines().rfind(|line| FATAL.iter().any(|word| line.contains(word)));
    let Some(line) = fatal.or_else(|| lines().next_back()) else {
        return "the server ended without a word".to_owned();
    };
    if let Some(library) = line.split_once(NO_LIBRARY).and_then(|(_, rest)| rest.split('"').next()) {
        return format!(
            "the server needs the library {library}, which is not installed here: install it, or start without it \
             (--set shared_preload_libraries=)"
        );
    }
    let said = FATAL.iter().find_map(|word| line.split_once(word)).map_or(line, |(_, said)| said.trim());
    format!("the server did not start: {said}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_of_a_server_say_why_it_ended() {
        let log = "LOG:  starting PostgreSQL 15.8\nFATAL:  could not locate a valid checkpoint record\nLOG:  database system is shut down\n";
        assert_eq!(reason(log), "the server did not start: could not locate a valid checkpoint record");
        assert_eq!(reason(""), "the server ended without a word");
        assert_eq!(
            reason("cannot open shared object\n"),
            "the server did not start: cannot open shared object"
        );
    }

    /// The message named a file that nobody had heard of, and not the setting.
    #[test]
    fn a_library_that_is_not_installed_is_named_with_the_setting_that_asks_for_it() {
        let log = "FATAL:  could not access file \"pg_cron\": No such file or directory\n";
        let said = reason(log);
        assert!(
            said.contains("library pg_cron") && said.contains("--set shared_preload_libraries="),
            "{said}"
        );
    }
}
