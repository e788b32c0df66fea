//! The witness: keeps what writers say is durable, on a machine whose power is not cut.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use iostall_measure::foreign::shown;
use iostall_measure::{ByteCount, Clock};
use iostall_model::powerfail::{Acknowledged, PowerfailRun};

use super::error::PowerfailError;
use super::log::Log;
use super::protocol::{Course, LINE_BYTES_MAX, Said};
use crate::error::SessionError;
use crate::session::Session;

const SILENT_S: u64 = 30;
/// How often a silent connection looks whether to stop.
const LOOK: Duration = Duration::from_millis(200);
/// Looks until a silent writer counts as cut off.
const LOOKS_MAX: u32 = 300;
/// How often new writers are looked for, nanoseconds.
const ACCEPT_EVERY_NS: u64 = 20_000_000;
/// In how many of those the log is made durable once.
const SYNC_EVERY: u32 = 10;
const WRITERS_MAX: usize = 64;

pub(super) struct Witness {
    address: String,
    stream: BufReader<TcpStream>,
}

impl Witness {
    pub(super) fn connect(address: &str) -> Result<Self, PowerfailError> {
        let failed = |source| PowerfailError::Reach { address: address.to_owned(), source };
        let patience = Duration::from_secs(SILENT_S);
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for one in address.to_socket_addrs().map_err(failed)? {
            match TcpStream::connect_timeout(&one, patience) {
                Ok(stream) => {
                    let stream = stream
                        .set_nodelay(true)
                        .and_then(|()| stream.set_read_timeout(Some(patience)))
                        .and_then(|()| stream.set_write_timeout(Some(patience)))
                        .map(|()| stream)
                        .map_err(failed)?;
                    return Ok(Self { address: address.to_owned(), stream: BufReader::new(stream) });
                }
                Err(error) => last = error,
            }
        }
        Err(failed(last))
    }

    pub(super) fn begin(&mut self, run: &PowerfailRun) -> Result<(), PowerfailError> {
        self.say(&Said::Run(run.clone()), "ok 0")
    }

    /// Returns once the witness has written it down.
    pub(super) fn acknowledge(&mut self, flush: u64, writes: &[Acknowledged]) -> Result<(), PowerfailError> {
        self.say(&Said::Flush(flush, writes.to_vec()), &format!("ok {flush}"))
    }

    pub(super) fn end(&mut self) -> Result<(), PowerfailError> {
        self.say(&Said::End, "ok end")
    }

    fn say(&mut self, said: &Said, wanted: &str) -> Result<(), PowerfailError> {
        let failed = |said: String| PowerfailError::Witness { address: self.address.clone(), said };
        let line = format!("{}\n", said.line());
        self.stream
            .get_mut()
            .write_all(line.as_bytes())
            .map_err(|error| failed(format!("is gone: {error}")))?;
        let mut answer = Vec::new();
        let taken = self.stream.by_ref().take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut answer);
        taken.map_err(|error| failed(format!("does not answer: {error}")))?;
        let answer = String::from_utf8_lossy(&answer);
        match answer.trim_end() {
            "" => Err(failed("closed the connection".to_owned())),
            answer if answer == wanted => Ok(()),
            answer => Err(failed(format!("says: {}", shown(answer)))),
        }
    }
}

#[derive(Clone, Debug)]
pub struct WitnessRequest {
    pub listen: SocketAddr,
    /// A new file, or one that a witness began.
    pub log: PathBuf,
    pub limit: ByteCount,
}

/// Listens until the session is stopped. `listening` is told the address.
pub fn witness(
    request: &WitnessRequest,
    session: &Session<'_>,
    listening: &dyn Fn(SocketAddr),
) -> Result<(), SessionError> {
    let failed = |source| PowerfailError::Listen { address: request.listen.to_string(), source };
    let log = Log::open(&request.log, request.limit)?;
    let listener = TcpListener::bind(request.listen).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    listening(listener.local_addr().map_err(failed)?);
    let writers = AtomicUsize::new(0);
    let stop = session.stop();
    let clock = session.clock();
    std::thread::scope(|scope| {
        let mut rounds = 0_u32;
        while !stop.is_raised() {
            if let Ok((stream, _)) = listener.accept() {
                if writers.fetch_add(1, Ordering::SeqCst) < WRITERS_MAX {
                    let (log, writers) = (&log, &writers);
                    scope.spawn(move || {
                        serve(stream, log, &|| stop.is_raised());
                        writers.fetch_sub(1, Ordering::SeqCst);
                    });
                } else {
                    writers.fetch_sub(1, Ordering::SeqCst);
                }
                continue;
            }
            clock.sleep_until(clock.now_ns() + ACCEPT_EVERY_NS);
            rounds = rounds.wrapping_add(1);
            if rounds.is_multiple_of(SYNC_EVERY) {
                log.sync()?;
            }
        }
        Ok::<(), PowerfailError>(())
    })?;
    log.sync()?;
    Ok(())
}

/// Takes what one writer says, until it ends, is cut off, or says nonsense.
fn serve(stream: TcpStream, log: &Log, is_over: &dyn Fn() -> bool) {
    // Without these a writer that was cut off would keep its place for ever.
    let is_set = stream.set_nonblocking(false).is_ok()
        && stream.set_nodelay(true).is_ok()
        && stream.set_read_timeout(Some(LOOK)).is_ok()
        && stream.set_write_timeout(Some(Duration::from_secs(SILENT_S))).is_ok();
    if !is_set {
        return;
    }
    let mut reader = BufReader::new(stream);
    let mut course: Option<(String, Course)> = None;
    while let Some(line) = next_line(&mut reader, is_over) {
        let answer = match take(&line, &mut course, log) {
            Ok(answer) => answer,
            Err(why) => {
                // If it does not hear it, it hears that the connection is closed.
                let _ = reader.get_mut().write_all(format!("refused: {why}\n").as_bytes());
                break;
            }
        };
        if reader.get_mut().write_all(answer.as_bytes()).is_err() {
            break;
        }
    }
    // What a writer said before it was cut off matters most.
    log.sync_or_keep_why();
}

/// The next whole line; `None` if there is none, or it is too long.
fn next_line(reader: &mut BufReader<TcpStream>, is_over: &dyn Fn() -> bool) -> Option<String> {
    let mut line = Vec::new();
    let mut looks = 0;
    loop {
        let left = (LINE_BYTES_MAX + 1).saturating_sub(line.len()) as u64;
        match reader.by_ref().take(left).read_until(b'\n', &mut line) {
            Ok(_) => break,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                looks += 1;
                if is_over() || looks > LOOKS_MAX {
                    return None;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    let line = line.strip_suffix(b"\n")?.to_vec();
    // What is no text is refused like any other nonsense, with an answer.
    Some(String::from_utf8(line).unwrap_or_default())
}

/// Writes down what was said; the answer, or why it is refused.
fn take(line: &str, course: &mut Option<(String, Course)>, log: &Log) -> Result<String, String> {
    let keep =
        |run: &str| log.append(run, line).map_err(|error| format!("the witness cannot write: {error}"));
    match (Said::of(line).ok_or("this is nothing that a writer says")?, course.as_mut()) {
        (Said::Run(run), None) => {
            keep(&run.run)?;
            *course = Some((run.run.clone(), Course::new(run)));
            Ok("ok 0\n".to_owned())
        }
        (Said::Flush(number, writes), Some((run, so_far))) => {
            if !so_far.take(number, &writes) {
                return Err(format!("flush {number} cannot come next"));
            }
            keep(run)?;
            Ok(format!("ok {number}\n"))
        }
        (Said::End, Some((run, _))) => {
            keep(run)?;
            Ok("ok end\n".to_owned())
        }
        (Said::Run(_), Some(_)) => Err("a run has begun already".to_owned()),
        (Said::Flush(..) | Said::End, None) => Err("no run has begun".to_owned()),
    }
}
