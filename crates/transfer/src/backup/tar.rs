//! Archives of `tar`, as PostgreSQL sends them: one entry after another.
//!
//! ```text
//! entry    header, 512 bytes   content   zeros up to a multiple of 512
//! header   name 100  mode 8  owner 8  group 8  size 12  time 12  checksum 8  type 1  target of a link 100
//!          "ustar"  …  at 345: directory of the name 155
//! end      two headers of zeros; servers before 15 leave them out
//! ```
//!
//! Numbers are octal digits, or binary where they do not fit. The archive comes from a server, so nothing of it is believed: an
//! archive that ends within an entry is not whole.

use std::io::{self, Read};

use iostall_model::backup::{FileMetadata, StoredName};
use thiserror::Error;

const BLOCK_BYTES: usize = 512;
/// The mark of the form of the header that is read here.
const MAGIC: (usize, &[u8]) = (257, b"ustar");
const CHECKSUM: std::ops::Range<usize> = 148..156;
/// No file is longer, because no system call takes more.
const FILE_BYTES_MAX: u64 = i64::MAX as u64;
const PERMISSIONS: u64 = 0o7777;

#[derive(Debug, Error)]
pub enum TarError {
    #[error("cannot read the archive: {0}")]
    Read(#[from] io::Error),
    #[error("the archive ends at byte {at} in the middle of an entry")]
    Cut { at: u64 },
    #[error("at byte {at} of the archive: {what}")]
    Format { at: u64, what: String },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TarKind {
    File,
    Directory,
    Symlink {
        /// Where it leads to, as it is written: it may lead anywhere.
        to: StoredName,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TarEntry {
    /// Relative, and without `.` and `..`.
    pub name: StoredName,
    pub kind: TarKind,
    pub metadata: FileMetadata,
    pub size_bytes: u64,
}

pub struct TarReader<R> {
    input: R,
    at: u64,
    /// Content of the entry that is still to be read, and what fills its last block.
    left: u64,
    padding: u64,
}

impl<R: Read> TarReader<R> {
    /// Reads from `input`, which should be buffered.
    pub fn new(input: R) -> Self {
        Self { input, at: 0, left: 0, padding: 0 }
    }

    pub fn input(&mut self) -> &mut R {
        &mut self.input
    }

    /// The next entry, after what is left of the one before; `None` once the input has ended and the archive is whole.
    pub fn next_entry(&mut self) -> Result<Option<TarEntry>, TarError> {
        self.skip()?;
        let at = self.at;
        let mut header = [0; BLOCK_BYTES];
        if !self.block(&mut header)? {
            return Ok(None);
        }
        if header == [0; BLOCK_BYTES] {
            // Whatever follows the end must be nothing.
            while self.block(&mut header)? {
                if header != [0; BLOCK_BYTES] {
                    return Err(TarError::Format {
                        at: self.at,
                        what: "something follows the end".to_owned(),
                    });
                }
            }
            return Ok(None);
        }
        let entry = entry(&header).map_err(|what| TarError::Format { at, what })?;
        self.left = entry.size_bytes;
        self.padding = entry.size_bytes.next_multiple_of(BLOCK_BYTES as u64) - entry.size_bytes;
        Ok(Some(entry))
    }

    pub fn left(&self) -> u64 {
        self.left
    }

    /// Reads content into `room`; returns how much, which is 0 at the end of the entry.
    pub fn read(&mut self, room: &mut [u8]) -> Result<usize, TarError> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(room.len());
        let mut filled = 0;
        while filled < most {
            let read = self.some(&mut room[filled..most])?;
            if read == 0 {
                return Err(TarError::Cut { at: self.at });
            }
            filled += read;
        }
        self.left -= filled as u64;
        Ok(filled)
    }

    fn skip(&mut self) -> Result<(), TarError> {
        let mut room = [0; BLOCK_BYTES];
        while self.read(&mut room)? > 0 {}
        self.left = std::mem::take(&mut self.padding);
        while self.read(&mut room)? > 0 {}
        Ok(())
    }

    /// A whole block; `false` if the input has ended before it.
    fn block(&mut self, block: &mut [u8; BLOCK_BYTES]) -> Result<bool, TarError> {
        let mut filled = 0;
        while filled < BLOCK_BYTES {
            match self.some(&mut block[filled..])? {
                0 if filled == 0 => return Ok(false),
                0 => return Err(TarError::Cut { at: self.at }),
                read => filled += read,
            }
        }
        Ok(true)
    }

    fn some(&mut self, room: &mut [u8]) -> Result<usize, TarError> {
        loop {
            match self.input.read(room) {
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

fn entry(header: &[u8; BLOCK_BYTES]) -> Result<TarEntry, String> {
    let (at, magic) = MAGIC;
    if header[at..at + magic.len()] != *magic {
        return Err("no entry of tar begins here".to_owned());
    }
    let sum = header
        .iter()
        .enumerate()
        .fold(0_u64, |sum, (at, byte)| sum + u64::from(if CHECKSUM.contains(&at) { b' ' } else { *byte }));
    let field = |at: usize, length: usize| number(&header[at..at + length]);
    if field(CHECKSUM.start, CHECKSUM.len()) != Some(sum) {
        return Err("the header of an entry has a wrong checksum".to_owned());
    }
    let (directory, name) = (text(&header[345..500]), text(&header[..100]));
    let path = if directory.is_empty() { name.to_vec() } else { [directory, b"/", name].concat() };
    let name = name_of(&path).ok_or("an entry has a name that leads out of its directory")?;
    let wrong = |what: &str| format!("{name} has {what} that is no number");
    let size_bytes = field(124, 12).filter(|size| *size <= FILE_BYTES_MAX).ok_or_else(|| wrong("a size"))?;
    let mode = field(100, 8).ok_or_else(|| wrong("a mode"))? & PERMISSIONS;
    let id = |at, what| field(at, 8).and_then(|id| u32::try_from(id).ok()).ok_or_else(|| wrong(what));
    let seconds = field(136, 12).and_then(|seconds| i64::try_from(seconds).ok());
    let seconds = seconds.ok_or_else(|| wrong("a time"))?;
    let kind = match header[156] {
        b'0' | 0 => TarKind::File,
        b'5' => TarKind::Directory,
        b'2' => TarKind::Symlink { to: StoredName(text(&header[157..257]).to_vec()) },
        other => return Err(format!("{name} is of the unknown type {}", char::from(other).escape_default())),
    };
    if kind != TarKind::File && size_bytes > 0 {
        return Err(format!("{name} is no file and has content"));
    }
    let metadata = FileMetadata {
        mode: u32::try_from(mode).unwrap_or(0),
        uid: id(108, "an owner")?,
        gid: id(116, "a group")?,
        modified_ns: seconds.saturating_mul(1_000_000_000),
    };
    Ok(TarEntry { name, kind, metadata, size_bytes })
}

/// Up to the first zero.
fn text(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Octal digits between blanks and zeros, or binary with the first bit set.
fn number(field: &[u8]) -> Option<u64> {
    let (first, rest) = field.split_first()?;
    if first & 0x80 != 0 {
        let value = |value: u64, byte: &u8| value.checked_mul(256)?.checked_add(u64::from(*byte));
        return rest.iter().try_fold(u64::from(first & 0x7F), value);
    }
    let digits = field.trim_ascii_start();
    let end = digits.iter().position(|byte| matches!(byte, 0 | b' ')).unwrap_or(digits.len());
    let (digits, after) = digits.split_at(end);
    let is_padding = after.iter().all(|byte| matches!(byte, 0 | b' '));
    if !is_padding {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, digit| match digit {
        b'0'..=b'7' => value.checked_mul(8)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    })
}

fn name_of(path: &[u8]) -> Option<StoredName> {
    let path = path.strip_prefix(b"./").unwrap_or(path);
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let is_part = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
    path.split(|byte| *byte == b'/').all(is_part).then(|| StoredName(path.to_vec()))
}

#[cfg(test)]
mod tests;
