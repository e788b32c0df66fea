//! Positions in PostgreSQL's write-ahead log.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A position in the write-ahead log, in bytes from its beginning; PostgreSQL writes it as `16/B374D848`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub u64);

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not a position in the write-ahead log, such as 16/B374D848")]
pub struct LsnError(String);

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & u64::from(u32::MAX))
    }
}

impl FromStr for Lsn {
    type Err = LsnError;

    fn from_str(text: &str) -> Result<Self, LsnError> {
        let half = |digits: &str| {
            let is_plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            u32::from_str_radix(digits, 16).ok().filter(|_| is_plain).map(u64::from)
        };
        let halves = text.split_once('/').and_then(|(high, low)| Some((half(high)?, half(low)?)));
        halves.map(|(high, low)| Self(high << 32 | low)).ok_or_else(|| LsnError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_reads_back_as_postgresql_writes_it() {
        for (text, bytes) in [("0/0", 0), ("16/B374D848", 0x16_B374_D848), ("FFFFFFFF/FFFFFFFF", u64::MAX)] {
            assert_eq!(text.parse(), Ok(Lsn(bytes)));
            assert_eq!(Lsn(bytes).to_string(), text);
        }
        assert_eq!("0/0A000028".parse(), Ok(Lsn(0x0A00_0028)));
        for wrong in ["", "/", "1", "1/", "/1", "+1/1", "1/1/1", "G/0", "100000000/0"] {
            assert!(wrong.parse::<Lsn>().is_err(), "{wrong}");
        }
    }
}
