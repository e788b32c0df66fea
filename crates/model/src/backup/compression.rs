//! How frames are compressed.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::spelling::as_text;

/// Levels of zstd that exist. Negative ones are faster and compress less.
const ZSTD_LEVELS: std::ops::RangeInclusive<i32> = -7..=22;
/// The level of `zstd` without a number: the fastest one that halves a database.
const ZSTD_USUAL: i32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    None,
    Zstd(i32),
    Lz4,
}

impl Default for Compression {
    fn default() -> Self {
        Self::Zstd(ZSTD_USUAL)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is no compression: write none, lz4, zstd, or zstd:LEVEL with a level from -7 to 22")]
pub struct CompressionError(String);

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.pad("none"),
            Self::Zstd(level) => f.pad(&format!("zstd:{level}")),
            Self::Lz4 => f.pad("lz4"),
        }
    }
}

impl FromStr for Compression {
    type Err = CompressionError;

    fn from_str(text: &str) -> Result<Self, CompressionError> {
        let wrong = || CompressionError(text.to_owned());
        match text.split_once(':') {
            None => match text {
                "none" => Ok(Self::None),
                "lz4" => Ok(Self::Lz4),
                "zstd" => Ok(Self::default()),
                _ => Err(wrong()),
            },
            Some(("zstd", level)) => {
                let level = level.parse().ok().filter(|level| *level != 0 && ZSTD_LEVELS.contains(level));
                level.map(Self::Zstd).ok_or_else(wrong)
            }
            Some(_) => Err(wrong()),
        }
    }
}

as_text!(Compression);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compression_reads_back_as_it_is_shown() {
        for compression in [Compression::None, Compression::Lz4, Compression::Zstd(1), Compression::Zstd(-7)]
        {
            assert_eq!(compression.to_string().parse(), Ok(compression));
        }
        assert_eq!("zstd".parse(), Ok(Compression::Zstd(1)));
        for wrong in ["", "gzip", "zstd:", "zstd:0", "zstd:23", "zstd:x", "lz4:1", "none:1"] {
            assert!(wrong.parse::<Compression>().is_err(), "{wrong:?}");
        }
    }
}
