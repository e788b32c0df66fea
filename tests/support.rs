//! Shared by all tests: a working directory with its own store, and ways to run the binary in it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use iostall_measure::{Clock, MonotonicClock};
use serde_json::Value;
use tempfile::TempDir;

use crate::running::Running;

/// How long an operation may take before it counts as hung.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// Attempts of [`until`] and the pause between them; together four minutes. Attempts are counted instead of time, because a
/// stalled machine makes no attempts.
const LOOKS_MAX: u32 = 24_000;
const LOOK_EVERY_MS: u64 = 10;

/// A working directory for one test, with its own store.
pub(crate) struct Workspace {
    directory: TempDir,
}

/// The result of a run of the program.
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The binary under test: the one just built, or the one in `IOSTALL_TEST_BINARY`, such as an installed one
/// or an older version on which a new test must fail.
pub(crate) fn binary() -> PathBuf {
    std::env::var_os("IOSTALL_TEST_BINARY")
        .map_or_else(|| env!("CARGO_BIN_EXE_iostall").into(), PathBuf::from)
}

/// Copies the binary under test to `path`. Another process does it: a child of another test inherits what this one has open for
/// writing, and as long as it is open so, it cannot be run.
pub(crate) fn copy_binary_to(path: &Path) {
    let copied = Command::new("cp").args([binary().as_path(), path]).status().unwrap();
    assert!(copied.success(), "cp to {}", path.display());
}

impl Workspace {
    /// On the build directory's file system, which supports direct I/O, unlike a tmpfs.
    pub(crate) fn new() -> Self {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        Self { directory: TempDir::new_in(base).expect("a directory to test in") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file readable only by its owner, as required for passwords.
    pub(crate) fn secret(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).expect("a file is written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("and made private");
        path
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command
            .args(arguments)
            .current_dir(self.directory.path())
            .env("IOSTALL_STORE", self.path("store.db"))
            .env("IOSTALL_TEST_WORK", "10")
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .stdin(Stdio::null());
        command
    }

    /// A shell with a script, whose `$0` is the next argument.
    pub(crate) fn shell(&self, script: &str) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .current_dir(self.directory.path())
            .env("IOSTALL_STORE", self.path("store.db"))
            .env("IOSTALL_TEST_WORK", "10")
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().expect("the binary runs").into()
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        Running::new(&mut self.command(arguments))
    }

    /// The document of a `load` with `arguments` that satisfies `has_enough`. A stalled device completes
    /// nothing in a short run, so the run is repeated with a longer duration if necessary.
    #[track_caller]
    pub(crate) fn load(&self, arguments: &[&str], has_enough: impl Fn(&Value) -> bool) -> Value {
        for duration in ["1s", "10s", "100s"] {
            let base = ["load", "--warmup", "0", "--duration", duration, "--json", "load.json"];
            self.run(&[&base, arguments].concat()).expect_status(0);
            let run = self.json("load.json");
            if has_enough(&run) {
                return run;
            }
        }
        panic!("too little was done, however long the run: {arguments:?}");
    }

    /// A `sweep` with `arguments`, and its document. Repeated with longer intervals until every point has
    /// completed requests.
    #[track_caller]
    pub(crate) fn sweep(&self, arguments: &[&str]) -> (Ran, Value) {
        for interval in ["150ms", "3s", "20s"] {
            let ran = self.run(&[arguments, &["--interval", interval, "--json", "sweep.json"]].concat());
            let sweep = self.json("sweep.json");
            let points = sweep["summary"]["points"].as_array().expect("points");
            if points.iter().all(|point| point["iops"].as_f64().is_some_and(|iops| iops > 0.0)) {
                return (ran, sweep);
            }
        }
        panic!("a point completed nothing, however long its interval: {arguments:?}");
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

/// Reports on standard error, bypassing the test harness's capture, why a test was skipped.
pub(crate) fn skip(what: &str, why: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "SKIPPED: {what}: {why}");
}

/// Whether to run long tests: `./check --long`.
pub(crate) fn at_length() -> bool {
    std::env::var_os("IOSTALL_TEST_LONG").is_some()
}

/// Unmounts `place`. It may be busy for a moment, because a child of another test inherits our open files
/// until it calls exec; if it stays busy, it is unmounted lazily.
pub(crate) fn unmount(place: &Path) {
    let umount = |options: &[&str]| {
        let output = Command::new("umount").args(options).arg(place).output();
        output.is_ok_and(|output| output.status.success())
    };
    let is_free = (0..50).any(|_| {
        umount(&[]) || {
            pause(20);
            false
        }
    });
    if !is_free {
        umount(&["--lazy"]);
    }
}

pub(crate) fn pause(millis: u64) {
    let clock = MonotonicClock::new();
    clock.sleep_until(clock.now_ns() + millis * 1_000_000);
}

/// Tries until `look` returns a value.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..LOOKS_MAX {
        if let Some(seen) = look() {
            return seen;
        }
        pause(LOOK_EVERY_MS);
    }
    panic!("{what} never came");
}
