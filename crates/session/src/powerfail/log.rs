//! The witness's log: appended to while runs last, and read after a loss of power.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use iostall_engine::Input;
use iostall_measure::ByteCount;
use iostall_model::powerfail::{Acknowledged, PowerfailRun};

use super::error::PowerfailError;
use super::protocol::{Course, LINE_BYTES_MAX, LOG_HEAD, Said};

const LOG: Input = Input { what: "witness's log", limit: ByteCount(64 << 30) };
/// A line of the log names its run before what the writer said.
const LOG_LINE_BYTES_MAX: u64 = LINE_BYTES_MAX as u64 + 64;

pub(super) struct Log {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    file: File,
    bytes: u64,
    bytes_max: u64,
    is_dirty: bool,
    /// Whether half a line is at its end, and cannot be removed.
    is_cut_off: bool,
    /// Why a sync failed. The kernel says so once, and then takes what it could not write for written.
    unsynced: Option<(io::ErrorKind, String)>,
}

impl Log {
    /// Opens the log at `path`, or begins one there; it never becomes larger than `bytes_max`.
    pub(super) fn open(path: &Path, bytes_max: ByteCount) -> Result<Self, PowerfailError> {
        let failed = |source| PowerfailError::Log { path: path.to_owned(), source };
        // Before it is opened: opening some devices makes them act.
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(PowerfailError::NotALog { path: path.to_owned() });
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(PowerfailError::LogInUse { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let bytes = file.metadata().map_err(failed)?.len();
        if bytes == 0 {
            let head = format!("{LOG_HEAD}\n");
            if let Err(source) = file.write_all(head.as_bytes()).and_then(|()| file.sync_all()) {
                // Half a head would be no log to the next witness. If this fails too, the error says which file it is.
                let _ = file.set_len(0);
                return Err(failed(source));
            }
            let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
            File::open(parent).and_then(|parent| parent.sync_all()).map_err(failed)?;
        } else {
            let mut head = vec![0; LOG_HEAD.len() + 1];
            let is_ours = file.read_exact(&mut head).is_ok() && head == format!("{LOG_HEAD}\n").as_bytes();
            if !is_ours {
                return Err(PowerfailError::NotALog { path: path.to_owned() });
            }
            // A witness that was killed may have left half a line.
            let mut last = [0];
            file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last)).map_err(failed)?;
            if last != *b"\n" {
                writeln!(file).map_err(failed)?;
            }
        }
        let bytes = file.metadata().map_err(failed)?.len();
        let state = State {
            file,
            bytes,
            bytes_max: bytes_max.bytes(),
            is_dirty: false,
            is_cut_off: false,
            unsynced: None,
        };
        Ok(Self { path: path.to_owned(), state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A line is appended with one call, so the log is consistent even if a thread panicked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends what the writer of `run` said. In the file, but not yet on the disk, when this returns.
    pub(super) fn append(&self, run: &str, line: &str) -> io::Result<()> {
        let mut state = self.state();
        let ending = if state.is_cut_off { "\n" } else { "" };
        let line = format!("{ending}{run} {line}\n");
        if state.bytes.saturating_add(line.len() as u64) > state.bytes_max {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the log has reached its --limit"));
        }
        if let Err(error) = state.file.write_all(line.as_bytes()) {
            // The disk is full, say. The next line must not continue half a line.
            state.is_cut_off = state.file.set_len(state.bytes).is_err();
            return Err(error);
        }
        state.is_cut_off = false;
        state.bytes += line.len() as u64;
        state.is_dirty = true;
        Ok(())
    }

    /// Makes what was appended durable. Once this has failed, in whatever thread, it fails in all: an acknowledgement that is lost
    /// here would be taken for one that the drive never gave.
    pub(super) fn sync(&self) -> Result<(), PowerfailError> {
        self.sync_with(File::sync_data)
    }

    /// The same where nobody is told: the next one who syncs is told why it failed.
    pub(super) fn sync_or_keep_why(&self) {
        let _failed = self.sync().err();
    }

    fn sync_with(&self, sync: impl FnOnce(&File) -> io::Result<()>) -> Result<(), PowerfailError> {
        let failed = |source| PowerfailError::Log { path: self.path.clone(), source };
        let file = {
            let mut state = self.state();
            if let Some((kind, text)) = &state.unsynced {
                return Err(failed(io::Error::new(*kind, text.clone())));
            }
            if !std::mem::take(&mut state.is_dirty) {
                return Ok(());
            }
            state.file.try_clone()
        };
        file.and_then(|file| sync(&file)).map_err(|source| {
            self.state().unsynced = Some((source.kind(), source.to_string()));
            failed(source)
        })
    }
}

#[derive(Debug)]
pub(super) struct Logged {
    pub(super) run: PowerfailRun,
    pub(super) flushes: Vec<Vec<Acknowledged>>,
    pub(super) is_ended: bool,
}

/// Reads the run `wanted`, or the newest one. Lines that are cut off or nonsense acknowledge nothing.
pub(super) fn read_log(path: &Path, wanted: Option<&str>) -> Result<Logged, PowerfailError> {
    let failed = |source| PowerfailError::Read { path: path.to_owned(), source };
    let stream = LOG.open(path).map_err(|error| failed(io::Error::other(error)))?;
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    let mut next = |line: &mut Vec<u8>| -> io::Result<bool> {
        line.clear();
        let taken = reader.by_ref().take(LOG_LINE_BYTES_MAX).read_until(b'\n', line)?;
        Ok(taken > 0)
    };
    if !next(&mut line).map_err(failed)? || line != format!("{LOG_HEAD}\n").as_bytes() {
        return Err(PowerfailError::NotALog { path: path.to_owned() });
    }
    let mut newest: Option<(Logged, Course)> = None;
    while next(&mut line).map_err(failed)? {
        // A line without an end was being written when the witness died.
        let Some(text) = line.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok()) else {
            continue;
        };
        let Some((name, said)) = text.split_once(' ') else { continue };
        match Said::of(said) {
            Some(Said::Run(run)) if run.run == name && wanted.is_none_or(|wanted| wanted == name) => {
                let course = Course::new(run.clone());
                newest = Some((Logged { run, flushes: Vec::new(), is_ended: false }, course));
            }
            Some(Said::Flush(number, writes)) => {
                if let Some((logged, course)) = newest.as_mut().filter(|(logged, _)| logged.run.run == name)
                    && course.take(number, &writes)
                {
                    logged.flushes.push(writes);
                }
            }
            Some(Said::End) => {
                if let Some((logged, _)) = newest.as_mut().filter(|(logged, _)| logged.run.run == name) {
                    logged.is_ended = true;
                }
            }
            Some(Said::Run(_)) | None => {}
        }
    }
    newest
        .map(|(logged, _)| logged)
        .ok_or_else(|| PowerfailError::NoRun { path: path.to_owned(), run: wanted.map(str::to_owned) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sync of a thread of one writer failed and was dropped; the next one found nothing to do, and the witness ended well.
    #[test]
    fn a_sync_that_failed_fails_again_for_whoever_asks_next() {
        let dir = tempfile::tempdir().unwrap();
        let log = Log::open(&dir.path().join("ack.log"), ByteCount(1 << 20)).unwrap();
        log.append("run", "flush 1").unwrap();
        log.sync_with(|_| Err(io::Error::from_raw_os_error(5))).unwrap_err();
        for _ in 0..2 {
            assert!(log.sync().unwrap_err().to_string().contains("(os error 5)"));
            log.append("run", "flush 2").unwrap();
        }
    }
}
