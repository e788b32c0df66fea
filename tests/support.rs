//! What the tests share: a working directory with a store of its own, and ways to run the binary in it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A directory of its own for one test, with its own store.
pub(crate) struct Workspace {
    directory: TempDir,
}

/// What a run of the program gave.
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Workspace {
    /// On the file system of the build directory: a real one, with direct I/O, not a tmpfs.
    pub(crate) fn new() -> Self {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        Self { directory: TempDir::new_in(base).expect("a directory to test in") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_iostall"));
        command
            .args(arguments)
            .current_dir(self.directory.path())
            .env("IOSTALL_STORE", self.path("store.db"))
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().expect("the binary runs").into()
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts")
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        let text = std::fs::read_to_string(self.path(name)).expect("the document is there");
        serde_json::from_str(&text).expect("the document is JSON")
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    #[track_caller]
    pub(crate) fn expect_status(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }
}

/// The cells of role `role` in the first span, added up by operation: `(count, bytes)`.
pub(crate) fn counted(run: &Value, role: usize, op: &str) -> (u64, u64) {
    let cells = run["load"]["spans"][0]["roles"][role]["cells"].as_array().expect("cells");
    cells.iter().filter(|cell| cell["op"] == op).fold((0, 0), |(count, bytes), cell| {
        (
            count + cell["service_ns"]["count"].as_u64().expect("a count"),
            bytes + cell["bytes"].as_u64().expect("bytes"),
        )
    })
}

/// Codes of the warnings of a run.
pub(crate) fn warnings(run: &Value) -> Vec<String> {
    let all = run["warnings"].as_array().expect("warnings");
    all.iter().map(|warning| warning["code"].as_str().expect("a code").to_owned()).collect()
}

/// Says on standard error, past the test harness's capture, why something is not tested here.
pub(crate) fn skip(what: &str, why: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "SKIPPED: {what}: {why}");
}

/// Sends `signal` (such as `INT`) to a process.
pub(crate) fn signal(child: &Child, signal: &str) {
    let sent = Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status();
    assert!(sent.expect("kill runs").success());
}
