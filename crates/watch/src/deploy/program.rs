//! A program of a release is started once before it takes the place of another.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use iostall_engine::files::in_memory;
use iostall_host::Program;
use iostall_measure::foreign::said;
use iostall_measure::{Clock as _, MonotonicClock};

use crate::release::Object;
use crate::release_error::ReleaseError;

/// How long it may take to say its version.
const LIMIT: Duration = Duration::from_secs(20);
/// It is more than any version has.
const SAID_BYTES_MAX: u64 = 4 << 10;
/// A child that another thread is starting may still have the file open for writing.
const BUSY_PAUSE_NS: u64 = 20_000_000;
const BUSY_TRIES: u32 = 50;

/// Starts the file at `path` with `--version`, and nothing else, and compares what it says with what the release does.
///
/// # Errors
/// If it does not start or does not end, or says another version.
pub(super) fn check_program(object: &Object, path: &Path) -> Result<(), ReleaseError> {
    let wrong = |reason: String| ReleaseError::Object { object: object.to_string(), reason };
    let first =
        version_line(path).map_err(|error| wrong(format!("it does not start with --version: {error}")))?;
    let wanted = format!("iostall {}", object.program_version.as_deref().unwrap_or_default());
    if first == wanted {
        return Ok(());
    }
    Err(wrong(format!("it calls itself {:?}, and the release says {wanted}", said(&first))))
}

/// The first line that it writes.
fn version_line(path: &Path) -> io::Result<String> {
    // A file takes everything at once, and does not wait for whoever keeps it open.
    let mut output = in_memory(&[])?;
    let program = start(path, &output)?;
    let has_ended = program.ends_within(LIMIT)?;
    program.kill();
    let status = program.finish()?;
    if !has_ended {
        return Err(io::Error::new(ErrorKind::TimedOut, format!("it did not end within {LIMIT:?}")));
    }
    if !status.success() {
        return Err(io::Error::other(format!("it ended with {status}")));
    }
    output.seek(SeekFrom::Start(0))?;
    let mut text = Vec::new();
    output.take(SAID_BYTES_MAX).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).lines().next().unwrap_or_default().trim().to_owned())
}

fn start(path: &Path, output: &File) -> io::Result<Program> {
    let clock = MonotonicClock::new();
    let mut tries = 0;
    loop {
        let mut command = Command::new(path);
        command.arg("--version").env_clear().current_dir("/");
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(Stdio::null());
        match Program::start(&mut command) {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && tries < BUSY_TRIES => {
                tries += 1;
                clock.sleep_until(clock.now_ns() + BUSY_PAUSE_NS);
            }
            started => return started,
        }
    }
}
