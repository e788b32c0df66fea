//! Numbers of bytes.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::error::UnitError;

/// A number of bytes. Stored as a plain number, shown with a binary unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ByteCount(pub u64);

const BYTES_WANTED: &str = "a size: write a number with K, M, G or T (powers of 1024), such as 8K or 1.5GiB; \
                            KB, MB, GB, TB are powers of 1000";

impl ByteCount {
    /// Bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }

    /// In MiB, as a float.
    pub fn mebibytes(self) -> f64 {
        self.0 as f64 / 1_048_576.0
    }
}

impl FromStr for ByteCount {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let refuse = || UnitError::new(text, BYTES_WANTED);
        let trimmed = text.trim();
        let digits_end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, suffix) = trimmed.split_at(digits_end);
        let factor: u64 = match suffix.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            "t" | "tib" => 1 << 40,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            _ => return Err(refuse()),
        };
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(factor).map(Self).ok_or_else(refuse);
        }
        let fraction: f64 = number.parse().map_err(|_| refuse())?;
        let bytes = (fraction * factor as f64).round();
        // 2^63: far beyond any device, and small enough for an exact cast from a float.
        if !(0.0..9.2e18).contains(&bytes) {
            return Err(refuse());
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked just above")]
        Ok(Self(bytes as u64))
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 4] =
            [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        let shown = match UNITS.iter().find(|(size, _)| self.0 >= *size) {
            None => format!("{} B", self.0),
            Some((size, unit)) if self.0.is_multiple_of(*size) => format!("{} {unit}", self.0 / size),
            Some((size, unit)) => format!("{:.2} {unit}", self.0 as f64 / *size as f64),
        };
        f.pad(&shown)
    }
}

text_or_number!(ByteCount, u64, |number| Ok::<_, UnitError>(ByteCount(number)));

/// The size of a request: from 1 byte to just below 4 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct BlockSize(u32);

const BLOCK_WANTED: &str = "a block size: from 1 byte to below 4 GiB, such as 8K, 64K or 1M";

impl BlockSize {
    /// A size; an error for 0 and from 4 GiB on.
    pub fn new(bytes: u64) -> Result<Self, UnitError> {
        match u32::try_from(bytes) {
            Ok(bytes) if bytes > 0 => Ok(Self(bytes)),
            _ => Err(UnitError::new(&bytes.to_string(), BLOCK_WANTED)),
        }
    }

    /// Bytes.
    pub fn bytes(self) -> u32 {
        self.0
    }
}

impl FromStr for BlockSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let count: ByteCount = text.parse().map_err(|_| UnitError::new(text, BLOCK_WANTED))?;
        Self::new(count.0).map_err(|_| UnitError::new(text, BLOCK_WANTED))
    }
}

impl fmt::Display for BlockSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ByteCount(u64::from(self.0)).fmt(f)
    }
}

text_or_number!(BlockSize, u64, BlockSize::new);
