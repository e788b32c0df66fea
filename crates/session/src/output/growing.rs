//! A table that is written line by line while a run goes on: a run that is killed after 20 of 25 hours leaves 20.
//!
//! Only where nothing was before: what is there is replaced whole at the end, or not at all. Lines are written by a thread of
//! their own, since whoever measures must not wait for a disk, and each is with the kernel before the next is taken. None is
//! forced to the media: that would force out what the measured file still has in memory.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use super::error::TableError;

pub struct GrowingTable {
    lines: Sender<Vec<u8>>,
    writer: JoinHandle<io::Result<()>>,
}

impl GrowingTable {
    /// Begins a table with its header at `path`; `None` where there is something already. `ended` is called on another thread
    /// where a line cannot be written, and nothing more will be.
    pub fn begin(
        path: &Path,
        header: &[u8],
        ended: impl FnOnce(&Path, &io::Error) + Send + 'static,
    ) -> Result<Option<Self>, TableError> {
        let mut file = match File::options().write(true).create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            opened => opened.map_err(|source| TableError::Make { path: path.to_owned(), source })?,
        };
        file.write_all(header).map_err(|source| TableError::Write { path: path.to_owned(), source })?;
        let (lines, to_write) = channel();
        let path = path.to_owned();
        let writing = move || {
            let written = write(&mut file, &to_write);
            if let Err(error) = &written {
                ended(&path, error);
            }
            written
        };
        let writer = thread::Builder::new().name("iostall-table".into()).spawn(writing);
        Ok(Some(Self { lines, writer: writer.map_err(TableError::Thread)? }))
    }

    /// Adds a line, without waiting for it.
    pub fn add(&self, line: Vec<u8>) {
        // If the writer failed, it has reported that and no longer reads.
        let _ = self.lines.send(line);
    }

    /// Waits until all lines are written and on the media; whether they are.
    pub fn finish(self) -> bool {
        drop(self.lines);
        matches!(self.writer.join(), Ok(Ok(())))
    }
}

/// Appends the lines. Where one does not fit whole, nothing of it stays: half a row is read as a wrong one.
fn write(file: &mut File, lines: &Receiver<Vec<u8>>) -> io::Result<()> {
    let mut whole_bytes = file.stream_position().unwrap_or(0);
    for line in lines {
        if let Err(error) = file.write_all(&line) {
            // The write has already failed; if this fails too, the file ends in a partial line.
            let _ = file.set_len(whole_bytes);
            return Err(error);
        }
        whole_bytes += line.len() as u64;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nobody_listens(_: &Path, _: &io::Error) {}

    #[test]
    fn a_line_is_in_the_file_while_the_table_still_grows() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.csv");
        let table = GrowingTable::begin(&path, b"a,b\r\n", nobody_listens).unwrap().unwrap();
        table.add(b"1,2\r\n".to_vec());
        let clock = iostall_measure::MonotonicClock::new();
        while std::fs::read(&path).unwrap() != b"a,b\r\n1,2\r\n" {
            iostall_measure::Clock::sleep_until(&clock, iostall_measure::Clock::now_ns(&clock) + 1_000_000);
        }
        table.add(b"3,4\r\n".to_vec());
        assert!(table.finish());
        assert_eq!(std::fs::read(&path).unwrap(), b"a,b\r\n1,2\r\n3,4\r\n");
    }

    /// Last week's table must survive if this week's run fails after a minute.
    #[test]
    fn what_is_there_is_left_alone_a_link_to_nothing_included() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.csv");
        std::fs::write(&path, "last week").unwrap();
        assert!(GrowingTable::begin(&path, b"a\r\n", nobody_listens).unwrap().is_none());
        assert_eq!(std::fs::read(&path).unwrap(), b"last week");
        assert!(GrowingTable::begin(&directory.path().join("no/t.csv"), b"", nobody_listens).is_err());
    }

    #[test]
    fn a_table_that_cannot_be_written_says_so_at_its_end_and_stops_nobody() {
        let file = File::options().write(true).open("/dev/full").unwrap();
        let (lines, to_write) = channel();
        let writer = thread::spawn(move || {
            let mut file = file;
            write(&mut file, &to_write)
        });
        let table = GrowingTable { lines, writer };
        table.add(b"1\r\n".to_vec());
        table.add(b"2\r\n".to_vec());
        assert!(!table.finish());
    }
}
