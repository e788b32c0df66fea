//! Tokens that a program prints.

use std::io::{self, BufRead as _, BufReader, ErrorKind, PipeReader, Read as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use iostall_host::Program;
use iostall_measure::clock::receive;
use iostall_measure::foreign::{said, shown};

use super::token::Failure;

/// A token has some kilobytes.
const OUTPUT_BYTES_MAX: u64 = 64 << 10;
/// How long to wait for output after the program has ended. A daemon that it started may hold the pipe open forever.
const OUTPUT_WAIT: Duration = Duration::from_secs(5);

/// What the program `words` writes to its standard output. After `limit` it is ended with all its children.
pub(super) fn output(words: &[String], limit: Duration) -> Result<String, Failure> {
    let name = shown(words.first().map_or("", String::as_str));
    let by_hand = format!("run it by hand as this user: {}", shown(&words.join(" ")));
    let not_started =
        |error: io::Error| Failure::refused(format!("cannot run {name}: {error}"), by_hand.clone());
    let (reader, writer) = io::pipe().map_err(not_started)?;
    let (errors, error_writer) = io::pipe().map_err(not_started)?;
    let mut command = Command::new(words.first().map_or("", String::as_str));
    command.args(words.iter().skip(1)).stdin(Stdio::null()).stdout(writer).stderr(error_writer);
    let program = Program::start(&mut command).map_err(not_started)?;
    // Closes our ends of the pipes, which would otherwise never end.
    drop(command);
    let (output, errors) = (Output::follow(reader), Output::follow(errors));
    let has_ended = program.ends_within(limit).map_err(not_started)?;
    // `az` leaves a process behind that sends statistics and may hold the pipe open.
    let status = program.end().map_err(not_started)?;
    let Some(status) = status.filter(|_| has_ended) else {
        let reason = format!("{name} did not end within {limit:?}");
        return Err(Failure::passing(
            reason,
            format!("raise --timeout, of which it gets half, or {by_hand}"),
        ));
    };
    if status.success() {
        return Ok(output.text());
    }
    let errors = errors.text();
    let last = errors.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    let last = if last.is_empty() { String::new() } else { format!(": {}", said(last)) };
    Err(Failure::refused(format!("{name} ended with {status}{last}"), by_hand))
}

struct Output {
    bytes: Arc<Mutex<Vec<u8>>>,
    end: Receiver<()>,
}

impl Output {
    fn follow(pipe: PipeReader) -> Self {
        let (sender, end) = channel();
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let read = Arc::clone(&bytes);
        thread::spawn(move || {
            let mut reader = BufReader::new(pipe.take(OUTPUT_BYTES_MAX));
            loop {
                let length = match reader.fill_buf() {
                    Ok([]) => break,
                    Ok(part) => {
                        read.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(part);
                        part.len()
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => 0,
                    Err(_) => break,
                };
                reader.consume(length);
            }
            // Nobody waits any more for a program that took too long.
            let _ = sender.send(());
        });
        Self { bytes, end }
    }

    /// Everything, or what there is when no more comes for a while.
    fn text(self) -> String {
        let _ = receive(&self.end, OUTPUT_WAIT);
        String::from_utf8_lossy(&self.bytes.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    fn shell(script: &str, limit: Duration) -> Result<String, Failure> {
        output(&["/bin/sh".to_owned(), "-c".to_owned(), script.to_owned()], limit)
    }

    #[test]
    fn a_program_prints_the_token_and_says_itself_why_it_cannot() {
        assert_eq!(shell("echo token; echo note >&2", LONG).unwrap(), "token\n");
        let refused = shell("echo 'ERROR: Please run az login' >&2; echo >&2; exit 1", LONG).unwrap_err();
        assert!(refused.is_refused && refused.reason.ends_with("ERROR: Please run az login"), "{refused:?}");
        let missing = output(&["/no/such/program".to_owned()], LONG).unwrap_err();
        assert!(missing.reason.contains("/no/such/program"), "{missing:?}");
    }

    #[test]
    fn a_child_that_is_left_running_does_not_hold_the_token_back() {
        assert_eq!(shell("echo token; sleep 3600 & exit 0", LONG).unwrap(), "token\n");
    }

    #[test]
    fn a_program_that_hangs_is_ended_and_one_that_never_stops_printing_is_cut() {
        let hung = shell("exec sleep 3600", Duration::from_millis(50)).unwrap_err();
        assert!(!hung.is_refused && hung.reason.contains("did not end within 50ms"), "{hung:?}");
        let much = shell("yes | head -c 10000000; exit 0", LONG).unwrap();
        assert_eq!(much.len() as u64, OUTPUT_BYTES_MAX);
    }
}
