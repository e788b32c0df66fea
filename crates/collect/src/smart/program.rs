//! Asks smartctl or nvme for a drive's document.

use std::io::{self, ErrorKind, PipeReader, Read as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use iostall_host::Program;
use iostall_measure::clock::receive;

use super::error::SmartError;

/// A document with every log has some hundred kilobytes.
pub(super) const DOCUMENT_BYTES_MAX: u64 = 16 << 20;
/// How long to wait for the rest of the output after the program has ended.
const OUTPUT_WAIT: Duration = Duration::from_secs(5);

/// What `words` prints on standard output, whatever its exit status is: smartctl's says what it found. `Ok(None)` if there is no
/// such program.
pub(super) fn output(
    device: &str,
    words: [&'static str; 4],
    limit: Duration,
) -> Result<Option<Vec<u8>>, SmartError> {
    let program = words[0];
    let failed = |reason: String| SmartError::Program { name: device.to_owned(), program, reason };
    let io = |error: io::Error| failed(format!("could not be run: {error}"));
    let (reader, writer) = io::pipe().map_err(io)?;
    let mut command = Command::new(program);
    let arguments = words[1..].iter().filter(|word| !word.is_empty());
    command.args(arguments).arg(device).stdin(Stdio::null()).stdout(writer).stderr(Stdio::null());
    let started = match Program::start(&mut command) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        started => started.map_err(io)?,
    };
    // Closes our end of the pipe, which would otherwise never end.
    drop(command);
    let (sender, ended) = channel();
    thread::spawn(move || {
        // Nobody waits any more for a program that took too long.
        let _ = sender.send(all_of(reader));
    });
    let has_ended = started.ends_within(limit).map_err(io)?;
    let status = started.end().map_err(io)?;
    let Some(status) = status.filter(|_| has_ended) else {
        return Err(failed(format!("did not end within {limit:?}")));
    };
    match receive(&ended, OUTPUT_WAIT) {
        Ok(Ok(text)) if text.trim_ascii().is_empty() => {
            Err(failed(format!("printed nothing and ended with {status}")))
        }
        Ok(text) => text.map(Some).map_err(io),
        Err(_) => Err(failed("left its output open".to_owned())),
    }
}

fn all_of(pipe: PipeReader) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    pipe.take(DOCUMENT_BYTES_MAX).read_to_end(&mut text)?;
    Ok(text)
}
