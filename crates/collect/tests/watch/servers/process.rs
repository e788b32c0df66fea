//! Processes of servers: under an account without rights, on free ports, ended by their ids.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use iostall_measure::{Clock, MonotonicClock};

/// The account that owns nothing.
pub(crate) const NOBODY: u32 = 65_534;
/// How often something is looked for before the test gives up, and the pause in between: ten minutes, so that only what hangs
/// is given up on. A machine that stands still does not look meanwhile.
pub(crate) const ATTEMPTS: u32 = 12_000;
const PAUSE_NS: u64 = 50_000_000;
/// Says loudly that a part was not tested.
pub(crate) fn skip(what: &str) {
    // Written to the stream itself, past the test harness's capture.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {what}");
}

/// A directory that the servers' account owns.
pub(crate) fn directory() -> tempfile::TempDir {
    directory_in(&std::env::temp_dir())
}

/// The same below `place`.
pub(crate) fn directory_in(place: &Path) -> tempfile::TempDir {
    let directory = tempfile::tempdir_in(place).unwrap();
    chown_to_nobody(directory.path());
    directory
}

pub(crate) fn chown_to_nobody(path: &Path) {
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

/// `program` under the account without rights: servers refuse to run as root.
pub(crate) fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// Runs the tool that makes the files of a server that is installed. One that fails is no reason to skip anything.
pub(crate) fn made(tool: &mut Command) {
    let output = tool.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{tool:?}: {}", String::from_utf8_lossy(&said));
}

/// A port of the loopback address, kept for a server for as long as the value lives, while it runs and while it is down.
///
/// A port that is only looked up is anybody's until the server listens on it: the next test's, or the near end of some
/// connection. This one is bound, so the system gives it to nobody; and because nothing listens on it and it may be shared
/// (`SO_REUSEADDR`, which servers set too), a server that is told its number can.
pub(crate) struct Port(tokio::net::TcpSocket);

impl Port {
    pub(crate) fn new() -> Self {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        Self(socket)
    }

    pub(crate) fn number(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }
}

pub(crate) fn pause() {
    let clock = MonotonicClock::new();
    clock.sleep_until(clock.now_ns() + PAUSE_NS);
}

/// Tries until there is an answer.
pub(crate) fn until<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    for _ in 0..ATTEMPTS {
        if let Some(answer) = attempt() {
            return answer;
        }
        pause();
    }
    panic!("{what} did not come")
}

/// A server's process: ended by its id when the test is over, however it ends.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    /// Asks it to end, and waits.
    pub(crate) fn stop(&mut self, signal: rustix::process::Signal) {
        if let Some(id) = rustix::process::Pid::from_raw(self.0.id().cast_signed()) {
            let _ = rustix::process::kill_process(id, signal);
        }
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
