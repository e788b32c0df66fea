//! Starts programs, each in its own process group, so that it can be ended together with its children.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus};
use std::time::Duration;

use iostall_measure::{Clock, MonotonicClock};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::accounts::Account;

/// How long a program that was killed may take to end.
const KILLED_WAIT: Duration = Duration::from_secs(5);
/// How often a running program is checked.
const LOOK_EVERY_NS: u64 = 20_000_000;

/// A program that runs in `/`, because its account may not enter our own directory. There a relative path leads elsewhere, so each path
/// that it is given is made absolute here.
#[derive(Debug)]
pub struct CommandAtRoot(Command);

impl CommandAtRoot {
    pub fn new(program: &Path) -> Self {
        let mut command = Command::new(absolute(program));
        command.current_dir("/").env("LC_ALL", "C");
        Self(command)
    }

    /// Adds `name` and the path as one word: `--target-dir=` and where that is.
    pub fn path(&mut self, name: &str, path: &Path) -> &mut Self {
        let mut word = OsString::from(name);
        word.push(absolute(path));
        self.0.arg(word);
        self
    }

    /// For everything that is no path.
    pub fn as_command(&mut self) -> &mut Command {
        &mut self.0
    }

    pub fn start(&mut self, account: Option<&Account>) -> io::Result<Program> {
        if let Some(account) = account {
            self.0.uid(account.user).gid(account.group);
        }
        Program::start(&mut self.0)
    }
}

/// Only an empty path has no absolute form.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[derive(Debug)]
pub struct Program {
    child: Child,
    /// The process id, which is also the group's. `None` once it has been waited for.
    group: Option<Pid>,
}

impl Program {
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        Ok(Self { child, group })
    }

    /// Its standard input, if that is a pipe.
    pub fn take_input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Whether the program itself has ended. Other processes of its group may still run.
    pub fn has_ended(&self) -> io::Result<bool> {
        let Some(id) = self.group else { return Ok(false) };
        // Does not reap the process: its id stays reserved until `finish`, so that a signal cannot reach
        // another process.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(id), look)?.is_some())
    }

    pub fn ask_to_end(&self) {
        self.signal(Signal::TERM);
    }

    /// Sends SIGINT to the group: for PostgreSQL a fast shutdown, which leaves its files in order.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Sends SIGQUIT to the group: for PostgreSQL an immediate shutdown, which leaves its files to be recovered.
    pub fn quit(&self) {
        self.signal(Signal::QUIT);
    }

    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Waits for its end, however long that takes: for a program that has ended, or that nothing else is to be done without.
    pub fn finish(mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }

    /// Kills the program and what it started, if they still run. Its status; `None` if not even that ends it.
    ///
    /// A process that waits for a device which does not answer obeys no signal. It is left then, and collected whenever it ends.
    pub fn end(self) -> io::Result<Option<ExitStatus>> {
        self.end_within(KILLED_WAIT)
    }

    fn end_within(self, limit: Duration) -> io::Result<Option<ExitStatus>> {
        self.kill();
        if self.ends_within(limit)? {
            return self.finish().map(Some);
        }
        // Without a thread it stays in the table of processes until we end.
        drop(std::thread::Builder::new().name("iostall-left".into()).spawn(|| self.finish()));
        Ok(None)
    }

    /// Waits for the program to end, but no longer than `limit`; whether it has.
    pub fn ends_within(&self, limit: Duration) -> io::Result<bool> {
        let clock = MonotonicClock::new();
        let deadline_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        while !self.has_ended()? {
            if clock.now_ns() >= deadline_ns {
                return Ok(false);
            }
            clock.sleep_until(clock.now_ns() + LOOK_EVERY_NS);
        }
        Ok(true)
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Fails if the group has already ended, which is fine.
            let _ = kill_process_group(group, signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;

    use super::*;

    /// A notification script that timed out was killed, but its `sleep` continued and kept the pipe open.
    /// The story: a restore to `r/shop` ended with `/r/shop` not found, after all files had been written.
    #[test]
    fn a_program_that_runs_elsewhere_finds_what_was_named_from_here() {
        let here = std::env::current_dir().unwrap();
        let mut command = CommandAtRoot::new(Path::new("bin/tool"));
        command.path("--to=", Path::new("r/shop")).path("", Path::new("/srv/x"));
        let command = command.as_command();
        let words: Vec<PathBuf> = command.get_args().map(PathBuf::from).collect();
        let mut to = OsString::from("--to=");
        to.push(here.join("r/shop"));
        assert_eq!(
            (Path::new(command.get_program()), words),
            (&*here.join("bin/tool"), vec![to.into(), "/srv/x".into()])
        );
        assert_eq!(command.get_current_dir(), Some(Path::new("/")));
    }

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
        // End of file means that no process has the pipe open.
        assert_eq!(reader.read_to_string(&mut line).unwrap(), 0);
        assert!(!program.finish().unwrap().success());
    }

    /// SIGTERM asks a server to wait for all its sessions, and one that nobody closed kept it up for ever.
    #[test]
    fn a_program_gets_the_signal_that_it_is_sent() {
        for (send, said) in [(Program::interrupt as fn(&Program), "INT\n"), (Program::quit, "QUIT\n")] {
            // Whoever runs the tests may ignore these signals, and what they start with them.
            let mut command = Command::new("env");
            let (reader, writer) = io::pipe().unwrap();
            let script = "trap 'echo INT; exit' INT; trap 'echo QUIT; exit' QUIT; echo up; while :; do sleep 0.01; done";
            command.args(["--default-signal=INT,QUIT", "/bin/sh", "-c", script]);
            command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::null());
            let program = Program::start(&mut command).unwrap();
            drop(command);
            let mut reader = BufReader::new(reader);
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            assert_eq!(line, "up\n");
            send(&program);
            line.clear();
            reader.read_line(&mut line).unwrap();
            assert_eq!(line, said);
            program.finish().unwrap();
        }
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

    /// The story: a drive's file system was frozen, and whoever had asked `smartctl` with a limit waited until it was thawed.
    #[test]
    fn a_program_that_does_not_end_even_when_killed_is_left_and_collected_later() {
        let program = Program::start(Command::new("/bin/sh").args(["-c", "exec sleep 3600"])).unwrap();
        let place = std::path::PathBuf::from(format!("/proc/{}", program.child.id()));
        // No time to end in: as if it could not.
        let status = program.end_within(Duration::ZERO).unwrap();
        assert!(status.is_none_or(|status| !status.success()));
        while place.exists() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_program_that_has_ended_keeps_its_status() {
        let program = Program::start(Command::new("/bin/sh").args(["-c", "exit 3"])).unwrap();
        assert!(program.ends_within(Duration::from_secs(600)).unwrap());
        assert_eq!(program.end().unwrap().and_then(|status| status.code()), Some(3));
    }

    #[test]
    fn a_program_is_waited_for_no_longer_than_asked() {
        let hung = Program::start(Command::new("/bin/sh").args(["-c", "exec sleep 3600"])).unwrap();
        assert!(!hung.ends_within(Duration::from_millis(50)).unwrap());
        hung.kill();
        assert!(hung.ends_within(Duration::from_secs(600)).unwrap());
        assert!(!hung.finish().unwrap().success());
    }
}
