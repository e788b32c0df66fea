//! A running program. Tests react to its output and state, and never rely on fixed waits.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use crate::support::{PATIENCE, Ran, until};

/// Killed on drop if still running, so that a failed test leaves nothing behind.
pub(crate) struct Running {
    child: Child,
    stdout: Option<JoinHandle<String>>,
    /// Lines of standard error, until it ends.
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
            // If reading fails, the text is missing from the test's view.
            let _ = stdout.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stderr.split(b'\n').map_while(Result::ok) {
                // Nobody reads any more, but the pipe must still be drained, or the program would block.
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

    /// Whether its workers are running: preparation is over, and a signal ends a run.
    pub(crate) fn is_loading(&self) -> bool {
        Self::has_workers(self.id())
    }

    /// The same for a process started elsewhere.
    pub(crate) fn has_workers(id: u32) -> bool {
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{id}/task")) else { return false };
        tasks.flatten().any(|task| {
            let name = std::fs::read_to_string(task.path().join("comm"));
            name.is_ok_and(|name| name.starts_with("iostall-load"))
        })
    }

    /// Waits for a line that contains `words`, and returns it.
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

    /// A line with `words` that came before one that was waited for.
    #[track_caller]
    pub(crate) fn said(&self, words: &str) -> &str {
        let line = self.stderr.lines().find(|line| line.contains(words));
        line.unwrap_or_else(|| panic!("not a word of {words:?}:\n{}", self.stderr))
    }

    /// Waits until `is_so`; fails if the program ends first.
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

    /// Waits until it ends on its own; fails if it hangs.
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
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
