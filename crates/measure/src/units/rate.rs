//! Rates of load.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::error::UnitError;
use super::size::typed;
use super::throughput::Throughput;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    Iops(f64),
    BytesPerSecond(f64),
}

const RATE_WANTED: &str = "a rate: write operations a second (1000) or bytes a second (200MiB/s, 200MB/s)";

impl Rate {
    /// Operations a second, for requests of `block_bytes` on average.
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
        let has_unit = trimmed.ends_with(['b', 'B']) || trimmed.ends_with("bit") || trimmed.ends_with("bits");
        if Throughput::has_period(trimmed) || has_unit {
            return Ok(Self::BytesPerSecond(trimmed.parse::<Throughput>()?.bytes_per_second()));
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
            Self::BytesPerSecond(bytes) => f.pad(&typed(*bytes, "/s")),
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
