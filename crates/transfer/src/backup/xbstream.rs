//! The stream of mariadb-backup (`--stream=mbstream`): files in chunks, those of several files mixed.
//!
//! ```text
//! chunk    "XBSTCK01"  flags u8  type u8  length of the path u32  path  and then, by type:
//!   P        length u64  offset u64  CRC-32 of the content u32  content
//!   S        offset u64: the next content stands there, and what is left out is a hole
//!   E        nothing: the file ends
//! ```
//!
//! All numbers are little-endian. The stream comes from another program, so nothing of it is believed: neither names, nor offsets,
//! nor lengths, and a stream that ends within a chunk or before a file does is not whole.

use std::collections::HashMap;
use std::io::{self, Read};

use iostall_model::backup::{FileKind, StoredName};
use thiserror::Error;

use super::streamed_files::{Ahead, StreamedEntry, StreamedFiles};
use crate::pipeline::StageFailure;

const MAGIC: &[u8; 8] = b"XBSTCK01";
const HEADER_BYTES: usize = 14;
/// The chunk may be left out by a program that does not know its type.
const FLAG_IGNORABLE: u8 = 1;
/// Longest path that MariaDB knows.
const PATH_BYTES_MAX: u32 = 512;
/// No file is longer, because no system call takes more.
const FILE_BYTES_MAX: u64 = i64::MAX as u64;
/// Pieces end at multiples of this, so that no page of a database is cut.
const ALIGN_BYTES: u64 = 64 << 10;

#[derive(Debug, Error)]
pub enum XbstreamError {
    #[error("cannot read the stream: {0}")]
    Read(#[from] io::Error),
    #[error("the stream ends at byte {at} in the middle of a chunk")]
    Cut { at: u64 },
    #[error("the stream ends before the file {name} does")]
    Unfinished { name: StoredName },
    #[error("at byte {at} of the stream: {what}")]
    Format { at: u64, what: String },
    #[error("the content of {name} at offset {offset} has a wrong checksum in the stream")]
    Checksum { name: StoredName, offset: u64 },
}

impl XbstreamError {
    /// Whether the stream is only shorter than it should be, as when the program that writes it dies.
    pub fn is_cut(&self) -> bool {
        matches!(self, Self::Cut { .. } | Self::Unfinished { .. })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XbstreamPiece {
    /// The next file begins: the first is number 0.
    Begins,
    /// So many bytes of the file `file`, which stand at `offset`, were read.
    Content { file: usize, offset: u64, length: usize },
    /// The file is whole and has so many bytes.
    Ends { file: usize, size_bytes: u64 },
}

pub struct XbstreamReader<R> {
    input: R,
    at: u64,
    files: Vec<StreamFile>,
    numbers: HashMap<StoredName, usize>,
    chunk: Option<Chunk>,
}

struct StreamFile {
    name: StoredName,
    end: u64,
    has_ended: bool,
}

struct Chunk {
    file: usize,
    kind: u8,
    content: Option<Content>,
}

struct Content {
    left: u64,
    offset: u64,
    begins_at: u64,
    expected: u32,
    hasher: crc32fast::Hasher,
}

impl<R: Read> XbstreamReader<R> {
    /// Reads from `input`, which should be buffered or asked for much at a time.
    pub fn new(input: R) -> Self {
        Self { input, at: 0, files: Vec::new(), numbers: HashMap::new(), chunk: None }
    }

    /// The name of a file that has begun, relative and without `.` and `..`.
    pub fn name(&self, file: usize) -> Option<&StoredName> {
        self.files.get(file).map(|file| &file.name)
    }

    /// What comes next, with content in `room`, which is not empty; `None` at the end of a stream that is whole.
    pub fn next(&mut self, room: &mut [u8]) -> Result<Option<XbstreamPiece>, XbstreamError> {
        Ok(match self.ahead()? {
            None => None,
            Some(Ahead::Begins) => Some(XbstreamPiece::Begins),
            Some(Ahead::Ends { file, size_bytes }) => Some(XbstreamPiece::Ends { file, size_bytes }),
            Some(Ahead::Content { file, offset, .. }) => {
                let length = self.read(room)?;
                Some(XbstreamPiece::Content { file, offset, length })
            }
        })
    }

    /// What comes next; `None` at the end of a stream that is whole. Content stays ahead until it is read.
    pub fn ahead(&mut self) -> Result<Option<Ahead>, XbstreamError> {
        loop {
            let Some(chunk) = self.chunk.take() else {
                let known = self.files.len();
                if !self.header()? {
                    return self.end().map(|()| None);
                }
                if self.files.len() > known {
                    return Ok(Some(Ahead::Begins));
                }
                continue;
            };
            if let Some(ahead) = self.go_on(chunk)? {
                return Ok(Some(ahead));
            }
        }
    }

    /// Reads content that is ahead into `room`, which is not empty; returns how much, which is 0 if none is ahead.
    pub fn read(&mut self, room: &mut [u8]) -> Result<usize, XbstreamError> {
        let Some(Chunk { file, content: Some(mut content), kind }) = self.chunk.take() else { return Ok(0) };
        let length = piece_bytes(content.offset, content.left, room.len());
        self.exactly(&mut room[..length])?;
        content.hasher.update(&room[..length]);
        content.offset += length as u64;
        content.left -= length as u64;
        self.files[file].end = content.offset;
        if content.left == 0 {
            self.check(file, content)?;
        } else {
            self.chunk = Some(Chunk { file, content: Some(content), kind });
        }
        Ok(length)
    }

    fn check(&self, file: usize, content: Content) -> Result<(), XbstreamError> {
        if content.hasher.finalize() == content.expected {
            return Ok(());
        }
        let name = self.files[file].name.clone();
        Err(XbstreamError::Checksum { name, offset: content.begins_at })
    }

    /// The header of the next chunk; `false` if there is none.
    fn header(&mut self) -> Result<bool, XbstreamError> {
        let at = self.at;
        let mut header = [0; HEADER_BYTES];
        let first = self.input_some(&mut header)?;
        if first == 0 {
            return Ok(false);
        }
        self.exactly(&mut header[first..])?;
        let bad = |what: &str| XbstreamError::Format { at, what: what.to_owned() };
        if header[..8] != *MAGIC {
            return Err(bad("no chunk of mbstream begins here"));
        }
        let (flags, kind) = (header[8], header[9]);
        let length = u32::from_le_bytes([header[10], header[11], header[12], header[13]]);
        if length > PATH_BYTES_MAX {
            return Err(bad("the path of a file is too long"));
        }
        if flags & !FLAG_IGNORABLE != 0 || !matches!(kind, b'P' | b'S' | b'E') {
            let kind = char::from(kind).escape_default();
            return Err(bad(&format!("a chunk of the unknown type {kind} with flags {flags:#x}")));
        }
        let mut path = vec![0; length as usize];
        self.exactly(&mut path)?;
        let name = name_of(path).ok_or_else(|| bad("a file has a name that leads out of its directory"))?;
        let file = match self.numbers.get(&name) {
            Some(file) if self.files[*file].has_ended => {
                return Err(bad(&format!("the file {name} comes a second time")));
            }
            Some(file) => *file,
            None => {
                self.files.push(StreamFile { name: name.clone(), end: 0, has_ended: false });
                self.numbers.insert(name, self.files.len() - 1);
                self.files.len() - 1
            }
        };
        self.chunk = Some(Chunk { file, kind, content: None });
        Ok(true)
    }

    /// Goes on in a chunk up to its content; `None` if there is nothing to say of it.
    fn go_on(&mut self, mut chunk: Chunk) -> Result<Option<Ahead>, XbstreamError> {
        let file = chunk.file;
        match chunk.kind {
            b'E' => {
                self.files[file].has_ended = true;
                return Ok(Some(Ahead::Ends { file, size_bytes: self.files[file].end }));
            }
            b'S' => {
                let at = self.at;
                let offset = self.number()?;
                if offset < self.files[file].end || offset > FILE_BYTES_MAX {
                    return Err(self.out_of_order(at, file, offset));
                }
                self.files[file].end = offset;
                return Ok(None);
            }
            _ => {}
        }
        let content = match chunk.content.take() {
            Some(content) => content,
            None => self.content(file)?,
        };
        if content.left == 0 {
            return self.check(file, content).map(|()| None);
        }
        let ahead = Ahead::Content { file, offset: content.offset, left: content.left };
        chunk.content = Some(content);
        self.chunk = Some(chunk);
        Ok(Some(ahead))
    }

    fn content(&mut self, file: usize) -> Result<Content, XbstreamError> {
        let at = self.at;
        let (left, offset) = (self.number()?, self.number()?);
        let mut expected = [0; 4];
        self.exactly(&mut expected)?;
        let has_room = offset.checked_add(left).is_some_and(|end| end <= FILE_BYTES_MAX);
        if offset != self.files[file].end || !has_room {
            return Err(self.out_of_order(at, file, offset));
        }
        let expected = u32::from_le_bytes(expected);
        Ok(Content { left, offset, begins_at: offset, expected, hasher: crc32fast::Hasher::new() })
    }

    fn out_of_order(&self, at: u64, file: usize, offset: u64) -> XbstreamError {
        let StreamFile { name, end, .. } = &self.files[file];
        let what = format!("{name} goes on at offset {offset}, and {end} bytes of it came so far");
        XbstreamError::Format { at, what }
    }

    fn end(&self) -> Result<(), XbstreamError> {
        match self.files.iter().find(|file| !file.has_ended) {
            Some(file) => Err(XbstreamError::Unfinished { name: file.name.clone() }),
            None => Ok(()),
        }
    }

    fn number(&mut self) -> Result<u64, XbstreamError> {
        let mut bytes = [0; 8];
        self.exactly(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn exactly(&mut self, mut into: &mut [u8]) -> Result<(), XbstreamError> {
        while !into.is_empty() {
            let read = self.input_some(into)?;
            if read == 0 {
                return Err(XbstreamError::Cut { at: self.at });
            }
            into = &mut into[read..];
        }
        Ok(())
    }

    /// Reads something; 0 at the end.
    fn input_some(&mut self, into: &mut [u8]) -> Result<usize, XbstreamError> {
        loop {
            match self.input.read(into) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
                Ok(read) => {
                    self.at += read as u64;
                    return Ok(read);
                }
            }
        }
    }
}

impl<R: Read + Send> StreamedFiles for XbstreamReader<R> {
    fn ahead(&mut self) -> Result<Option<Ahead>, StageFailure> {
        Self::ahead(self).map_err(plain)
    }

    fn read(&mut self, room: &mut [u8]) -> Result<usize, StageFailure> {
        Self::read(self, room).map_err(plain)
    }

    fn entry(&self, file: usize) -> Option<StreamedEntry> {
        let name = self.name(file)?.clone();
        Some(StreamedEntry { name, kind: FileKind::File, metadata: None })
    }
}

/// What whoever writes the stream says of itself needs no words before it.
fn plain(error: XbstreamError) -> StageFailure {
    match error {
        XbstreamError::Read(error) => error.into(),
        other => other.into(),
    }
}

/// How much of `left` bytes from `offset` on is read into a room of so many bytes.
fn piece_bytes(offset: u64, left: u64, room: usize) -> usize {
    let room = room as u64;
    if left <= room {
        return usize::try_from(left).unwrap_or(0);
    }
    let over = (offset + room) % ALIGN_BYTES;
    let length = if over < room { room - over } else { room };
    usize::try_from(length).unwrap_or(0)
}

/// A name as it is stored: mariadb-backup writes some paths with `./` before them.
fn name_of(path: Vec<u8>) -> Option<StoredName> {
    let path = path.strip_prefix(b"./").map(<[u8]>::to_vec).unwrap_or(path);
    let is_part = |part: &[u8]| !matches!(part, b"" | b"." | b"..") && !part.contains(&0);
    path.split(|byte| *byte == b'/').all(is_part).then_some(StoredName(path))
}

#[cfg(test)]
mod tests;
