//! Notifies through a program.

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use iostall_host::Program;

use crate::delivery_error::DeliveryError;
use crate::message::Message;

/// A program and its arguments; no shell is involved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub program: String,
    pub arguments: Vec<String>,
}

impl Command {
    pub(crate) fn describe(&self) -> String {
        format!("run {} {}", self.program, self.arguments.join(" ")).trim_end().to_owned()
    }

    /// Runs it with the document on its standard input. On timeout it is ended with all its children.
    pub(crate) fn run(&self, message: &Message, timeout: Duration) -> Result<(), DeliveryError> {
        let mut command = std::process::Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut program = Program::start(&mut command)
            .map_err(|error| DeliveryError::Unreachable(format!("cannot run {}: {error}", self.program)))?;
        if let Some(mut input) = program.take_input() {
            // The document fits into a pipe, so this does not block; a program that does not read breaks the
            // pipe.
            drop(writeln!(input, "{}", message.payload()));
        }
        let failed = |error| DeliveryError::Unreachable(format!("cannot wait for it: {error}"));
        if !program.ends_within(timeout).map_err(failed)? {
            program.end().map_err(failed)?;
            return Err(DeliveryError::Unreachable(format!("did not end within {timeout:?}")));
        }
        match program.finish().map_err(failed)? {
            status if status.success() => Ok(()),
            status => Err(DeliveryError::Refused(format!("{} ended with {status}", self.program))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::tests::message;
    use iostall_model::alert::Occasion;

    fn shell(script: &str) -> Command {
        Command { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()] }
    }

    #[test]
    fn the_program_reads_the_document_and_its_status_is_the_answer() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("got");
        let long = Duration::from_secs(600);
        let keep = shell(&format!("cat > '{}'", path.display()));
        keep.run(&message(Occasion::Firing), long).unwrap();
        let got: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(got, message(Occasion::Firing).payload());
        let refused = shell("exit 3").run(&message(Occasion::Firing), long).unwrap_err();
        assert!(refused.to_string().contains("exit status: 3"), "{refused}");
        let missing = Command { program: "/no/such/program".into(), arguments: Vec::new() };
        assert!(missing.run(&message(Occasion::Firing), long).unwrap_err().to_string().contains("/no/such"));
    }

    #[test]
    fn arguments_are_read_by_no_shell() {
        let echo =
            Command { program: "test".into(), arguments: ["$HOME", "=", "$HOME"].map(Into::into).into() };
        echo.run(&message(Occasion::Firing), Duration::from_secs(600)).unwrap();
        let other = std::env::var("HOME").unwrap_or_default();
        let equal = Command { program: "test".into(), arguments: vec!["$HOME".into(), "=".into(), other] };
        assert!(equal.run(&message(Occasion::Firing), Duration::from_secs(600)).is_err());
    }

    #[test]
    fn a_program_that_hangs_is_ended() {
        let hung =
            shell("exec sleep 600").run(&message(Occasion::Firing), Duration::from_millis(50)).unwrap_err();
        assert!(hung.to_string().contains("did not end within"), "{hung}");
    }
}
