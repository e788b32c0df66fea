//! A log of a copy: a line for each file, written as soon as it is done.
//!
//! Lines are appended to what earlier copies logged there. A thread of its own writes them, because a copy must
//! not wait for the disk of its log, unless that is slower by far.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use iostall_measure::clock::utc_now;
use iostall_measure::foreign::shown;
use iostall_transfer::copy::{CopyRecord, Recorded};
use thiserror::Error;

use super::form::LOG_HEADING;

#[derive(Debug, Error)]
pub enum LogFileError {
    #[error("cannot write the log {}: {source}", path.display())]
    System { path: PathBuf, source: io::Error },
    #[error("{} is not a log of iostall", path.display())]
    Other { path: PathBuf },
}

/// Lines that wait for the disk of the log, some megabytes: with more, the copy waits with them.
const WAITING_MAX: usize = 1 << 16;

pub struct LogFile {
    path: PathBuf,
    records: SyncSender<CopyRecord>,
    writer: JoinHandle<io::Result<()>>,
}

impl LogFile {
    /// Begins or continues the log at `path`, with a line that says when and for which command.
    pub fn begin(path: &Path, command: &str) -> Result<Self, LogFileError> {
        let failed = |source| LogFileError::System { path: path.to_owned(), source };
        let mut file = File::options().read(true).append(true).create(true).open(path).map_err(failed)?;
        // The name was checked before, and may lead to another file by now.
        if file.metadata().map_err(failed)?.is_file() {
            let mut head = Vec::new();
            (&file).take(LOG_HEADING.len() as u64).read_to_end(&mut head).map_err(failed)?;
            if !head.is_empty() && head != LOG_HEADING.as_bytes() {
                return Err(LogFileError::Other { path: path.to_owned() });
            }
        }
        let heading = format!("{LOG_HEADING} {} {}\n", time(), shown(command));
        file.write_all(heading.as_bytes()).map_err(failed)?;
        let (records, to_write) = sync_channel(WAITING_MAX);
        let writer =
            thread::Builder::new().name("iostall-log".into()).spawn(move || write(&mut file, &to_write));
        Ok(Self { path: path.to_owned(), records, writer: writer.map_err(failed)? })
    }

    pub fn records(&self) -> SyncSender<CopyRecord> {
        self.records.clone()
    }

    /// Waits until every record that was sent is written and on the media.
    pub fn finish(self) -> Result<(), LogFileError> {
        drop(self.records);
        let written = self.writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.map_err(|source| LogFileError::System { path: self.path, source })
    }
}

fn write(file: &mut File, records: &Receiver<CopyRecord>) -> io::Result<()> {
    for record in records {
        file.write_all(line(&record).as_bytes())?;
    }
    match file.sync_all() {
        // A pipe or a terminal.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

fn time() -> String {
    format!("{:.3}", utc_now())
}

/// Time, what happened, bytes, path and reason, separated by tabs.
fn line(record: &CopyRecord) -> String {
    let (what, reason) = match &record.what {
        Recorded::Copied => ("copied", None),
        Recorded::Created => ("created", None),
        Recorded::UpToDate => ("equal", None),
        Recorded::NewerThere => ("newer-there", None),
        Recorded::Retried(reason) => ("retry", Some(reason)),
        Recorded::Failed(reason) => ("failed", Some(reason)),
        Recorded::Different => ("different", None),
        Recorded::Deleted => ("deleted", None),
        Recorded::SourceRemoved => ("source-removed", None),
    };
    let reason = reason.map(|reason| format!("\t{}", shown(reason))).unwrap_or_default();
    let path = shown(&record.path.display().to_string());
    format!("{}\t{what}\t{}\t{path}{reason}\n", time(), record.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_appended_and_a_file_of_another_kind_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("copy.log");
        for command in ["iostall copy a b", "iostall copy c d"] {
            let log = LogFile::begin(&path, command).unwrap();
            let record = |what| CopyRecord { what, path: "x\ny".into(), bytes: 5 };
            log.records().send(record(Recorded::Copied)).unwrap();
            log.records().send(record(Recorded::Failed("no\tpermission".into()))).unwrap();
            log.finish().unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 6, "{text}");
        assert!(text.starts_with(LOG_HEADING) && text.contains("\tcopied\t5\t"), "{text}");
        std::fs::write(&path, "precious").unwrap();
        assert!(matches!(LogFile::begin(&path, ""), Err(LogFileError::Other { .. })));
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    }

    #[test]
    fn a_log_that_cannot_be_written_says_so_at_its_end() {
        let begun = LogFile::begin(Path::new("/dev/full"), "").map(drop);
        assert!(matches!(begun, Err(LogFileError::System { .. })));
    }
}
