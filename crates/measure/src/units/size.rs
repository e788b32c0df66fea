//! Numbers of bytes.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::error::UnitError;

/// A number of bytes. Stored as a plain number, shown with a binary unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ByteCount(pub u64);

const BYTES_WANTED: &str = "a size: write a number with K, M, G, T or P (powers of 1024), such as 8K or 1.5GiB; \
                            KB, MB, GB, TB, PB are powers of 1000";

impl ByteCount {
    pub fn bytes(self) -> u64 {
        self.0
    }

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
            "p" | "pib" => 1 << 50,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            "pb" => 1_000_000_000_000_000,
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

/// `bytes` as somebody types them: `64 KiB`, or `100 MB (95.37 MiB)` where that is round in powers of 1000 only. Then the reader
/// sees how it was taken, and can compare it with what was measured, which is always binary.
pub fn as_typed(bytes: f64) -> String {
    typed(bytes, "")
}

/// [`as_typed`], with `per` behind each unit.
pub(super) fn typed(bytes: f64, per: &str) -> String {
    const BINARY: [(f64, &str); 4] =
        [(1_099_511_627_776.0, "TiB"), (1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB")];
    const DECIMAL: [(f64, &str); 4] = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB")];
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
    let shown = ByteCount(bytes.round() as u64);
    // 800 KB are 781.25 KiB, which nobody types.
    match (rounded_in(bytes, &BINARY, 10.0), rounded_in(bytes, &DECIMAL, 100.0)) {
        (Some(binary), _) => format!("{binary}{per}"),
        (None, Some(decimal)) => format!("{decimal}{per} ({shown}{per})"),
        (None, None) => format!("{shown}{per}"),
    }
}

/// In the largest of `units` that fits, if it is a whole number of `parts` of it. A rate that was computed from a time in
/// nanoseconds is a little off.
fn rounded_in(bytes: f64, units: &[(f64, &str)], parts: f64) -> Option<String> {
    let (size, unit) = units.iter().find(|(size, _)| bytes >= size * (1.0 - 1e-6))?;
    let whole = (bytes / size * parts).round();
    let is_exact = (bytes - whole * size / parts).abs() <= bytes * 1e-6;
    is_exact.then(|| format!("{} {unit}", whole / parts))
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
    pub fn new(bytes: u64) -> Result<Self, UnitError> {
        match u32::try_from(bytes) {
            Ok(bytes) if bytes > 0 => Ok(Self(bytes)),
            _ => Err(UnitError::new(&bytes.to_string(), BLOCK_WANTED)),
        }
    }

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
