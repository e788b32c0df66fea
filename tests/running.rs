//! A run of the program under way. Tests act on what it shows of itself, never after a time that ought to be enough.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use crate::support::{PATIENCE, Ran, until};

/// See the module. One that is still running when the value goes is killed, so that a failed test leaves nothing behind.
pub(crate) struct Running {
    child: Child,
    stdout: Option<JoinHandle<String>>,
    /// What it says on standard error, line by line, until it ends.
    lines: Receiver<String>,
    stderr: String,
}

impl Running {
    pub(crate) fn new(command: &mut Command) -> Self {
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let mut stdout = child.stdout.take().expect("a pipe");
        let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let stdout = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // What cannot be read is missing in what the test looks at.
            let _ = stdout.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stderr.split(b'\n').map_while(Result::ok) {
                // Nobody reads any more: the pipe is emptied all the same, or the program would wait.
                let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
            }
        });
        Self { child, stdout: Some(stdout), lines, stderr: String::new() }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child can be waited for").is_some()
    }

    /// Whether its workers are there: from then on nothing is made ready any more, and a signal finds a run to end.
    pub(crate) fn is_loading(&self) -> bool {
        Self::has_workers(self.id())
    }

    /// The same of a process that somebody else has started.
    pub(crate) fn has_workers(id: u32) -> bool {
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{id}/task")) else { return false };
        tasks.flatten().any(|task| {
            let name = std::fs::read_to_string(task.path().join("comm"));
            name.is_ok_and(|name| name.starts_with("iostall-load"))
        })
    }

    /// Waits until it says a line with `words` in it, and gives the line.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, words: &str) -> String {
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.stderr.push_str(&line);
            self.stderr.push('\n');
            if line.contains(words) {
                return line;
            }
        }
        panic!("it ended, or hung, without a word of {words:?}:\n{}", self.stderr);
    }

    /// Waits until `is_so`, which has to be before it ends.
    #[track_caller]
    pub(crate) fn wait_until(&mut self, what: &str, mut is_so: impl FnMut(&Self) -> bool) {
        until(what, || {
            let has_ended = self.has_ended();
            if is_so(self) {
                return Some(());
            }
            assert!(!has_ended, "it ended before {what}");
            None
        });
    }

    /// Waits until it ends by itself; fails where it hangs.
    #[track_caller]
    pub(crate) fn wait_until_ended(&mut self) {
        until("its end", || self.has_ended().then_some(()));
    }

    /// Sends it `signal` (such as `INT`).
    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").arg(format!("-{signal}")).arg(self.id().to_string()).status();
        assert!(sent.is_ok_and(|status: ExitStatus| status.success()), "kill -{signal}");
    }

    /// Waits for its end.
    pub(crate) fn ended(mut self) -> Ran {
        let status = self.child.wait().expect("a child can be waited for").code();
        for line in &self.lines {
            self.stderr.push_str(&line);
            self.stderr.push('\n');
        }
        let stdout = self.stdout.take().map(JoinHandle::join);
        let stdout = stdout.and_then(Result::ok).expect("standard output was read");
        Ran { status, stdout, stderr: std::mem::take(&mut self.stderr) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
