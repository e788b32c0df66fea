//! Bytes over time, as they are typed: the one parser for every option that is such a rate.

use std::str::FromStr;

use super::error::UnitError;
use super::size::ByteCount;

/// Bytes a second.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Throughput(f64);

const WANTED: &str =
    "a rate: write bytes or bits over time with a unit, such as 200MB/s, 1GiB/s, 622Mbit/s or 200GB/day";
const NOT_SAID: &str = "a rate that can be read: b is a bit to one and a byte to another, so write 8Mbit/s for bits (1 MB/s) or 8MB/s for bytes";
const NO_UNIT: &str = "a rate with a unit: write MB/s behind the number, or B/s for bytes a second";

/// From here on a number without a unit is taken for bytes: below it, it is more likely to mean megabytes, and a copy at 200 bytes
/// a second would look like one that hangs.
const BARE_MIN: f64 = 1_048_576.0;

const DAY_S: f64 = 86_400.0;

impl Throughput {
    pub fn bytes_per_second(self) -> f64 {
        self.0
    }

    pub fn bytes_per_day(self) -> f64 {
        self.0 * DAY_S
    }

    /// In whole bytes a second, at least 1.
    pub fn whole_bytes(self) -> u64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
        let whole = self.0.round() as u64;
        whole.max(1)
    }

    /// Whether `text` says over which time.
    pub fn has_period(text: &str) -> bool {
        text.contains('/')
    }
}

impl FromStr for Throughput {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let refuse = |wanted| UnitError::new(text, wanted);
        let (amount, period) = text.trim().split_once('/').unwrap_or((text.trim(), "s"));
        let seconds = match period.trim() {
            "s" | "sec" | "second" => 1.0,
            "h" | "hour" => 3600.0,
            "d" | "day" => DAY_S,
            "w" | "week" => 7.0 * DAY_S,
            _ => return Err(refuse(WANTED)),
        };
        let digits = amount.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(amount.len());
        let (number, unit) = (&amount[..digits], amount[digits..].trim());
        let bytes = match unit.strip_suffix("bit").or_else(|| unit.strip_suffix("bits")) {
            Some(prefix) => bits(number, prefix).ok_or_else(|| refuse(WANTED))? / 8.0,
            // `mbps` is one of them too.
            None if unit.ends_with('b') || unit.ends_with("ps") => return Err(refuse(NOT_SAID)),
            None => amount.parse::<ByteCount>().map_err(|_| refuse(WANTED))?.bytes() as f64,
        };
        if unit.is_empty() && bytes > 0.0 && bytes < BARE_MIN {
            return Err(refuse(NO_UNIT));
        }
        let rate = bytes / seconds;
        if rate.is_finite() && rate > 0.0 { Ok(Self(rate)) } else { Err(refuse(WANTED)) }
    }
}

/// `number` bits with the prefix of a line's speed: powers of 1000, but for `Ki`, `Mi`, `Gi`.
fn bits(number: &str, prefix: &str) -> Option<f64> {
    let factor = match prefix {
        "" => 1.0,
        "k" | "K" => 1e3,
        "m" | "M" => 1e6,
        "g" | "G" => 1e9,
        "t" | "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => 1_048_576.0,
        "Gi" => 1_073_741_824.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}
