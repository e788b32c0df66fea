//! The part of a target that a role uses.

use std::fmt;
use std::str::FromStr;

use iostall_measure::{ByteCount, Percent};

use crate::spelling::{SpellingError, as_text, refuse};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    Percent(Percent),
    Bytes(ByteCount),
}

impl Bound {
    /// Bytes from the start of a target of `size_bytes`; never beyond its end.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a u64 fits a u64"
    )]
    pub fn offset_in(self, size_bytes: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.0.min(size_bytes),
            // 1e-9 compensates for rounding of a share that should be whole.
            Self::Percent(share) => ((size_bytes as f64 * share.fraction() + 1e-9) as u64).min(size_bytes),
        }
    }
}

/// A part of a target, written `START..END` in bytes or percent: `0%..90%`, `1G..`, `..64M`, `all`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    pub start: Bound,
    /// Exclusive; `None` is the target's end.
    pub end: Option<Bound>,
}

impl Region {
    /// `(start, end)` in bytes on a target of `size_bytes`.
    pub fn range_in(self, size_bytes: u64) -> (u64, u64) {
        let end = self.end.map_or(size_bytes, |bound| bound.offset_in(size_bytes));
        (self.start.offset_in(size_bytes), end)
    }
}

impl Default for Region {
    fn default() -> Self {
        Self { start: Bound::Bytes(ByteCount(0)), end: None }
    }
}

const REGION_WANTED: &str =
    "a region: write START..END in bytes or percent, such as 0%..90%, 1G.. or ..64M, or all";

fn parse_bound(text: &str, whole: &str) -> Result<Bound, SpellingError> {
    if text.ends_with('%') {
        return text.parse().map(Bound::Percent).or_else(|_| refuse(whole, REGION_WANTED));
    }
    text.parse().map(Bound::Bytes).or_else(|_| refuse(whole, REGION_WANTED))
}

impl FromStr for Region {
    type Err = SpellingError;

    fn from_str(text: &str) -> Result<Self, SpellingError> {
        let trimmed = text.trim();
        if trimmed == "all" {
            return Ok(Self::default());
        }
        let Some((start, end)) = trimmed.split_once("..") else {
            return refuse(text, REGION_WANTED);
        };
        let start = match start.trim() {
            "" => Bound::Bytes(ByteCount(0)),
            start => parse_bound(start, text)?,
        };
        let end = match end.trim() {
            "" => None,
            end => Some(parse_bound(end, text)?),
        };
        Ok(Self { start, end })
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percent(share) => write!(f, "{}%", share.percent()),
            Self::Bytes(bytes) => write!(f, "{}", bytes.0),
        }
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::default() {
            return f.write_str("all");
        }
        write!(f, "{}..", self.start)?;
        self.end.map_or(Ok(()), |end| write!(f, "{end}"))
    }
}

as_text!(Region);
