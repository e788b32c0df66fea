//! Little-endian fields, one after another, what can be wrong with them, and how large parts may be.

use thiserror::Error;

pub(super) struct Fields<'a> {
    part: &'static str,
    whole: u64,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn of(part: &'static str, bytes: &'a [u8]) -> Self {
        Self { part, whole: bytes.len() as u64, rest: bytes }
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], FormatError> {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            let read = self.whole - self.rest.len() as u64;
            let wanted = read.saturating_add(length as u64);
            return Err(FormatError::Short { part: self.part, found: self.whole, wanted });
        };
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(super) fn u8(&mut self) -> Result<u8, FormatError> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn u16(&mut self) -> Result<u16, FormatError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, FormatError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32, FormatError> {
        self.array().map(i32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, FormatError> {
        self.array().map(u64::from_le_bytes)
    }

    /// The next `length` bytes, which must be zero.
    pub(super) fn zeros(&mut self, length: usize) -> Result<(), FormatError> {
        let part = self.part;
        self.take(length)?.iter().all(|byte| *byte == 0).then_some(()).ok_or(FormatError::NotZero { part })
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// `bytes` must be what this part begins with.
    pub(super) fn mark(&mut self, mark: &[u8]) -> Result<(), FormatError> {
        let part = self.part;
        let found = self.take(mark.len()).map_err(|_| FormatError::Mark { part })?;
        (found == mark).then_some(()).ok_or(FormatError::Mark { part })
    }

    /// The version, which must not be newer than `known`.
    pub(super) fn version(&mut self, known: u16) -> Result<(), FormatError> {
        let found = self.u16()?;
        (1..=known).contains(&found).then_some(()).ok_or(FormatError::Version {
            part: self.part,
            found,
            known,
        })
    }

    pub(super) fn bad(&self, field: &'static str, value: impl Into<u64>) -> FormatError {
        FormatError::Value { part: self.part, field, value: value.into() }
    }
}

pub(super) struct Put<'a> {
    into: &'a mut [u8],
    at: usize,
}

impl<'a> Put<'a> {
    pub(super) fn into(into: &'a mut [u8]) -> Self {
        Self { into, at: 0 }
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        let end = self.at + bytes.len();
        self.into[self.at..end].copy_from_slice(bytes);
        self.at = end;
        self
    }

    pub(super) fn u8(&mut self, value: u8) -> &mut Self {
        self.bytes(&[value])
    }

    pub(super) fn u16(&mut self, value: u16) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    pub(super) fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    pub(super) fn i32(&mut self, value: i32) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    pub(super) fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    pub(super) fn zeros_to(&mut self, end: usize) -> &mut Self {
        self.into[self.at..end].fill(0);
        self.at = end;
        self
    }
}

/// `length` rounded up to a multiple of `block`, a power of two.
pub(super) fn blocks_of(length: u64, block: u32) -> u64 {
    let mask = u64::from(block).saturating_sub(1);
    length.saturating_add(mask) & !mask
}

/// Version of stripes and manifests that is written. A reader takes it and those before it, from 1: a set of version 1 has no
/// digests and no base.
pub const VERSION: u16 = 2;
/// Smallest block; also the default.
pub const BLOCK_BYTES_MIN: u32 = 4096;
pub const BLOCK_BYTES_MAX: u32 = 1 << 16;
pub const FRAME_BYTES_MIN: u32 = 1 << 16;
/// Largest frame: what a reader must be ready to hold in memory.
pub const FRAME_BYTES_MAX: u32 = 1 << 26;
pub const STRIPES_MAX: u16 = 64;
/// Most bytes of wrapped keys: some hundred recipients.
pub const KEYS_BYTES_MAX: u32 = 1 << 20;
pub const TAG_BYTES: u32 = 16;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FormatError {
    #[error("{part} ends after {found} bytes instead of {wanted}")]
    Short { part: &'static str, found: u64, wanted: u64 },
    #[error("this is no {part}: it does not begin with its mark")]
    Mark { part: &'static str },
    #[error("{part} has version {found}; this program reads versions 1 to {known}")]
    Version { part: &'static str, found: u16, known: u16 },
    #[error("{part} is damaged: its checksum does not match")]
    Checksum { part: &'static str },
    #[error("{part} is damaged: {field} cannot be {value}")]
    Value { part: &'static str, field: &'static str, value: u64 },
    #[error("{part} is damaged: bytes that must be zero are not")]
    NotZero { part: &'static str },
    #[error("{part} is damaged: {cause}")]
    Text { part: &'static str, cause: String },
}
