//! Sizes, lengths of time, shares and rates as people type and read them.
//!
//! `K`, `M`, `G`, `T` and `KiB` … `TiB` are powers of 1024, as every DBA's tool has them; `KB` … `TB`
//! are powers of 1000, and only when written so.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a text is not a number with a unit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text:?} is not {wanted}")]
pub struct UnitError {
    text: String,
    wanted: &'static str,
}

impl UnitError {
    fn new(text: &str, wanted: &'static str) -> Self {
        Self { text: text.to_owned(), wanted }
    }
}

/// Gives a unit type its text form in `serde`: read from a string or a bare number, written as `$write`.
macro_rules! text_or_number {
    ($name:ident, $number:ty, $from:expr) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(Deserialize)]
                #[serde(untagged)]
                enum Typed {
                    Number($number),
                    Text(String),
                }
                match Typed::deserialize(deserializer)? {
                    Typed::Number(number) => $from(number).map_err(serde::de::Error::custom),
                    Typed::Text(text) => text.parse().map_err(serde::de::Error::custom),
                }
            }
        }
    };
}

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

    /// 2^20 bytes, as a float.
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
        // 2^63: far beyond any device, and safely below where a float loses the cast.
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

/// The size of one load request: 1 byte to just below 4 GiB, never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct BlockSize(u32);

const BLOCK_WANTED: &str = "a block size: from 1 byte to below 4 GiB, such as 8K, 64K or 1M";

impl BlockSize {
    /// A size that is neither 0 nor 4 GiB or more.
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

/// A length of time in nanoseconds. Written as text with its unit (`10s`, `2m 30s`, `500ms`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

const TIME_WANTED: &str = "a length of time: write it with its unit, such as 10s, 500ms, 5m or 1h30m";

impl Nanos {
    /// `seconds`; what is negative or not a number becomes zero.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds * 1e9).round() as u64)
    }

    /// Nanoseconds.
    pub fn nanos(self) -> u64 {
        self.0
    }

    /// Seconds, as a float.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Milliseconds, as a float.
    pub fn millis(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl FromStr for Nanos {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let refuse = || UnitError::new(text, TIME_WANTED);
        if text.trim() == "0" {
            return Ok(Self(0));
        }
        let parsed: jiff::SignedDuration = text.trim().parse().map_err(|_| refuse())?;
        u64::try_from(parsed.as_nanos()).map(Self).map_err(|_| refuse())
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let span = jiff::SignedDuration::from_nanos(i64::try_from(self.0).unwrap_or(i64::MAX));
        f.pad(&format!("{span:#}"))
    }
}

impl Serialize for Nanos {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

// A bare number would be a length of time without its unit: only text is taken.
impl<'de> Deserialize<'de> for Nanos {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A share in percent, 0 to 100 inclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Percent(f64);

const PERCENT_WANTED: &str = "a share: write a number from 0 to 100";

impl Percent {
    /// Nothing.
    pub const ZERO: Self = Self(0.0);
    /// All.
    pub const HUNDRED: Self = Self(100.0);

    /// `percent` within 0..=100.
    pub fn new(percent: f64) -> Result<Self, UnitError> {
        if (0.0..=100.0).contains(&percent) {
            Ok(Self(percent))
        } else {
            Err(UnitError::new(&percent.to_string(), PERCENT_WANTED))
        }
    }

    /// In percent, 0 to 100.
    pub fn percent(self) -> f64 {
        self.0
    }

    /// As a fraction, 0 to 1.
    pub fn fraction(self) -> f64 {
        self.0 / 100.0
    }
}

impl FromStr for Percent {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let number = text.trim().trim_end_matches('%').trim_end();
        let percent = number.parse().map_err(|_| UnitError::new(text, PERCENT_WANTED))?;
        Self::new(percent).map_err(|_| UnitError::new(text, PERCENT_WANTED))
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} %", self.0))
    }
}

text_or_number!(Percent, f64, Percent::new);

/// How fast load is offered: operations or bytes a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// Operations a second.
    Iops(f64),
    /// Bytes a second.
    BytesPerSecond(f64),
}

const RATE_WANTED: &str = "a rate: write operations a second (1000) or bytes a second (200MiB/s, 200MB/s)";

impl Rate {
    /// Operations a second for requests of `block_bytes` on average.
    pub fn iops(self, block_bytes: f64) -> f64 {
        match self {
            Self::Iops(iops) => iops,
            Self::BytesPerSecond(bytes) => bytes / block_bytes,
        }
    }

    fn positive(number: f64, text: &str) -> Result<f64, UnitError> {
        if number.is_finite() && number > 0.0 { Ok(number) } else { Err(UnitError::new(text, RATE_WANTED)) }
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let refuse = || UnitError::new(text, RATE_WANTED);
        let trimmed = text.trim();
        if let Some(size) = trimmed.strip_suffix("/s") {
            let bytes: ByteCount = size.parse().map_err(|_| refuse())?;
            return Self::positive(bytes.0 as f64, text).map(Self::BytesPerSecond);
        }
        let number = trimmed.trim_end_matches("iops").trim_end_matches("IOPS").trim_end();
        let (number, factor) = match number.strip_suffix(['k', 'K']) {
            Some(thousands) => (thousands, 1_000.0),
            None => (number, 1.0),
        };
        let iops: f64 = number.parse().map_err(|_| refuse())?;
        Self::positive(iops * factor, text).map(Self::Iops)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Iops(iops) => f.pad(&format!("{iops} iops")),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "positive, casts saturate"
            )]
            Self::BytesPerSecond(bytes) => f.pad(&format!("{}/s", ByteCount(*bytes as u64))),
        }
    }
}

impl Serialize for Rate {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Iops(iops) => serializer.serialize_f64(*iops),
            Self::BytesPerSecond(bytes) => serializer.collect_str(&format_args!("{bytes}B/s")),
        }
    }
}

text_or_number!(Rate, f64, |number: f64| Rate::positive(number, &number.to_string()).map(Rate::Iops));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_m_g_are_binary_and_kb_mb_gb_decimal() {
        let bytes = |text: &str| text.parse::<ByteCount>().unwrap().0;
        assert_eq!(bytes("8K"), 8192);
        assert_eq!(bytes("8k"), 8192);
        assert_eq!(bytes("1.5GiB"), 3 << 29);
        assert_eq!(bytes("200MB"), 200_000_000);
        assert_eq!(bytes("512"), 512);
        assert_eq!(bytes("4 MiB"), 4 << 20);
    }

    #[test]
    fn what_is_no_size_is_refused_with_what_to_write() {
        for text in ["", "K", "8X", "-1", "1e30T", "99999999999999999999", "1..5K", "NaN"] {
            let error = text.parse::<ByteCount>().unwrap_err().to_string();
            assert!(error.contains("such as 8K"), "{text}: {error}");
        }
        assert!("0".parse::<BlockSize>().is_err());
        assert!("4G".parse::<BlockSize>().is_err());
    }

    #[test]
    fn sizes_are_shown_with_the_largest_unit_that_fits() {
        assert_eq!(ByteCount(8192).to_string(), "8 KiB");
        assert_eq!(ByteCount(1_500_000).to_string(), "1.43 MiB");
        assert_eq!(ByteCount(100).to_string(), "100 B");
    }

    #[test]
    fn times_need_their_unit() {
        assert_eq!("10s".parse::<Nanos>().unwrap(), Nanos(10_000_000_000));
        assert_eq!("1h30m".parse::<Nanos>().unwrap(), Nanos(5_400_000_000_000));
        assert_eq!("500ms".parse::<Nanos>().unwrap(), Nanos(500_000_000));
        assert_eq!("0".parse::<Nanos>().unwrap(), Nanos(0));
        assert!("10".parse::<Nanos>().is_err());
        assert!("-10s".parse::<Nanos>().is_err());
        assert_eq!(Nanos(10_000_000_000).to_string(), "10s");
    }

    #[test]
    fn rates_are_operations_or_bytes_a_second() {
        assert_eq!("1000".parse::<Rate>().unwrap(), Rate::Iops(1000.0));
        assert_eq!("20k".parse::<Rate>().unwrap(), Rate::Iops(20_000.0));
        assert_eq!("200MB/s".parse::<Rate>().unwrap(), Rate::BytesPerSecond(2e8));
        assert!("0".parse::<Rate>().is_err());
        assert!("fast".parse::<Rate>().is_err());
    }

    #[test]
    fn every_unit_reads_back_what_it_writes() {
        for rate in [Rate::Iops(1234.5), Rate::BytesPerSecond(2e8)] {
            let text = serde_json::to_string(&rate).unwrap();
            assert_eq!(serde_json::from_str::<Rate>(&text).unwrap(), rate);
        }
        for nanos in [Nanos(1), Nanos(1_500_000_000), Nanos(90_000_000_000)] {
            let text = serde_json::to_string(&nanos).unwrap();
            assert_eq!(serde_json::from_str::<Nanos>(&text).unwrap(), nanos);
        }
        assert_eq!(serde_json::from_str::<BlockSize>("\"8K\"").unwrap().bytes(), 8192);
        assert_eq!(serde_json::from_str::<BlockSize>("8192").unwrap().bytes(), 8192);
    }
}
