//! Programs that iostall starts: each in a process group of its own, so that what it started in turn can be ended with it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// A running program and its process group.
#[derive(Debug)]
pub struct Program {
    child: Child,
    /// Its own id, which is that of its group.
    group: Option<Pid>,
}

impl Program {
    /// Starts `command` in a new process group.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        Ok(Self { child, group })
    }

    /// Its standard input, where that is a pipe.
    pub fn take_input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Whether the program itself has ended. Others of its group may still run.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn has_ended(&self) -> io::Result<bool> {
        let Some(id) = self.group else { return Ok(false) };
        // Its id is left unused by others until `finish`, so that a signal to the group cannot hit strangers.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(id), look)?.is_some())
    }

    /// Asks the whole group to end (SIGTERM).
    pub fn ask_to_end(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends the whole group (SIGKILL).
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// When the system does not say how it ended.
    pub fn finish(mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // A group that has ended already needs no signal.
            let _ = kill_process_group(group, signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;

    use super::*;

    /// A notification script that timed out was killed, but not the `sleep` it had started: that went on, and kept the
    /// pipe open.
    #[test]
    fn what_a_program_started_ends_with_it() {
        let mut command = Command::new("/bin/sh");
        let (reader, writer) = io::pipe().unwrap();
        command.args(["-c", "sleep 3600 & echo started; wait"]).stdin(Stdio::null()).stdout(writer);
        let program = Program::start(&mut command).unwrap();
        drop(command);
        let mut reader = BufReader::new(reader);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert_eq!(line, "started\n");
        assert!(!program.has_ended().unwrap());
        program.kill();
        // The end of the pipe comes when the last process that holds it has ended.
        assert_eq!(reader.read_to_string(&mut line).unwrap(), 0);
        assert!(!program.finish().unwrap().success());
    }

    #[test]
    fn the_end_is_seen_before_it_is_waited_for() {
        let program = Program::start(Command::new("/bin/sh").args(["-c", "exit 3"])).unwrap();
        while !program.has_ended().unwrap() {
            std::thread::yield_now();
        }
        program.ask_to_end();
        assert_eq!(program.finish().unwrap().code(), Some(3));
    }
}
