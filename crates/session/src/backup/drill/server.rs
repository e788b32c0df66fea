//! A server on a restored copy, which never outlives its drill.

use std::process::Stdio;
use std::time::Duration;

use iostall_engine::quits_with_us;
use iostall_host::{Account, CommandAtRoot, Program};

use super::error::DrillError;
use super::limits::Limits;
use super::scratch::Scratch;

/// How long a server may take to end at once, before it is killed. It gives its own processes five seconds.
const QUIT_WAIT: Duration = Duration::from_secs(30);

#[derive(Clone, Copy)]
pub(super) struct Manners {
    pub(super) ask_to_end: fn(&Program),
    pub(super) reason: fn(&str) -> String,
}

pub(super) struct Server<'a> {
    program: Option<Program>,
    scratch: &'a Scratch,
    manners: Manners,
}

impl<'a> Server<'a> {
    pub(super) fn start(
        command: &mut CommandAtRoot,
        scratch: &'a Scratch,
        account: Option<&Account>,
        manners: Manners,
    ) -> Result<Self, DrillError> {
        let log = scratch.log()?;
        let own = command.as_command();
        own.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        quits_with_us(own);
        let name = own.get_program().into();
        let program = command.start(account).map_err(|source| DrillError::Start { program: name, source })?;
        Ok(Self { program: Some(program), scratch, manners })
    }

    pub(super) fn has_ended(&self) -> bool {
        self.program.as_ref().is_none_or(|program| program.has_ended().unwrap_or(true))
    }

    pub(super) fn last_words(&self) -> String {
        (self.manners.reason)(&self.scratch.log_tail())
    }

    /// Ends it as an administrator does, so that its files are in order. Whether they are.
    pub(super) fn stop(&mut self, limits: &Limits<'_>) -> bool {
        if self.has_ended() {
            return false;
        }
        if let Some(program) = &self.program {
            (self.manners.ask_to_end)(program);
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
        let _ = program.ends_within(QUIT_WAIT);
        let _ = program.end();
    }
}
