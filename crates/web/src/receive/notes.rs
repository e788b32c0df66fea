//! What is durable of an upload, so that it goes on when the receiver was started again: a file beside that of the upload.
//!
//! ```text
//! iostall-upload 1 KEY NAME        the first line
//! INDEX BYTES                      one for each durable part, counted from 0; the last one of a part counts
//! ```

use std::collections::BTreeMap;
use std::fs::File;
use std::io;

use iostall_engine::files::{read_at, write_all_at};
use iostall_remote::{PARTS_MAX, part_bytes};

use super::names::{Name, is_part};

const MARK: &str = "iostall-upload 1";
/// Every part of the longest upload twenty times.
const BYTES_MAX: usize = 4 << 20;

/// What a note says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Noted {
    /// Name of the key that began it.
    pub(super) key: String,
    pub(super) name: Name,
    /// Bytes of each durable part.
    pub(super) parts: BTreeMap<usize, u64>,
}

/// A note that is written to.
#[derive(Debug)]
pub(super) struct Note {
    file: File,
    /// Where the next line goes.
    end: u64,
}

impl Note {
    /// Begins one in an empty file.
    pub(super) fn begin(file: File, key: &str, name: &Name) -> io::Result<Self> {
        let mut note = Self { file, end: 0 };
        note.add(&format!("{MARK} {key} {name}\n"))?;
        Ok(note)
    }

    /// Goes on with one, after what a crash may have cut off. `None` if it is none.
    pub(super) fn read(file: File) -> io::Result<Option<(Self, Noted)>> {
        let mut bytes = vec![0; BYTES_MAX];
        let mut filled = 0;
        while filled < bytes.len() {
            match read_at(&file, &mut bytes[filled..], filled as u64)? {
                0 => break,
                read => filled += read,
            }
        }
        let whole = bytes[..filled].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let noted = std::str::from_utf8(&bytes[..whole]).ok().and_then(parse);
        Ok(noted.filter(|_| filled < BYTES_MAX).map(|noted| (Self { file, end: whole as u64 }, noted)))
    }

    /// Says, durably, that a part is durable.
    pub(super) fn part(&mut self, index: usize, bytes: u64) -> io::Result<()> {
        self.add(&format!("{index} {bytes}\n"))
    }

    fn add(&mut self, line: &str) -> io::Result<()> {
        write_all_at(&self.file, line.as_bytes(), self.end)?;
        self.file.sync_data()?;
        self.end += line.len() as u64;
        Ok(())
    }
}

fn parse(text: &str) -> Option<Noted> {
    let mut lines = text.lines();
    let (key, name) = lines.next()?.strip_prefix(MARK)?.strip_prefix(' ')?.split_once(' ')?;
    let part = |line: &str| {
        let (index, bytes) = line.split_once(' ')?;
        let (index, bytes) = (index.parse().ok()?, bytes.parse().ok()?);
        (index < PARTS_MAX && bytes <= part_bytes(index) as u64).then_some((index, bytes))
    };
    let parts = lines.map(part).collect::<Option<_>>()?;
    let key = Some(key).filter(|key| is_part(key))?.to_owned();
    Some(Noted { key, name: Name::parse(name)?, parts })
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_note_goes_on_after_a_line_that_was_cut_off_and_nothing_else_is_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("note");
        let open =
            || OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).unwrap();
        let name = Name::parse("db1/a.iob").unwrap();
        let mut note = Note::begin(open(), "db1", &name).unwrap();
        note.part(1, 70).unwrap();
        note.part(0, 8 << 20).unwrap();
        note.part(1, 7).unwrap();
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"2 99").unwrap();
        let parts = BTreeMap::from([(0, 8 << 20), (1, 7)]);
        let noted = Noted { key: "db1".to_owned(), name, parts };
        let (mut note, found) = Note::read(open()).unwrap().unwrap();
        assert_eq!(found, noted);
        note.part(2, 5).unwrap();
        assert_eq!(Note::read(open()).unwrap().unwrap().1.parts.get(&2), Some(&5));

        for wrong in [
            "",
            "iostall-upload 1 db1 db1/a.iob",
            "iostall-upload 1 db1 db1/../a\n",
            "iostall-upload 1 d/b db1/a\n",
            "iostall-upload 1 db1 db1/a\n0\n",
            "iostall-upload 1 db1 db1/a\n10000 1\n",
            "iostall-upload 1 db1 db1/a\n0 8388609\n",
            "something else\n",
        ] {
            std::fs::write(&path, wrong).unwrap();
            assert!(Note::read(open()).unwrap().is_none(), "{wrong:?}");
        }
    }
}
