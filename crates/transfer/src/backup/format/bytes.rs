//! Little-endian fields, one after another.

use super::error::FormatError;

/// Takes fields from the beginning of bytes.
pub(super) struct Fields<'a> {
    part: &'static str,
    whole: u64,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// The fields of `part`, which errors name.
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

    /// What was not taken.
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

/// Puts fields one after another into bytes that are long enough.
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

    /// Zeros up to `end`.
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
