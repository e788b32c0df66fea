//! A model of a flash device: its geometry, how it collects blocks, and what is written to it.

use std::fmt;
use std::str::FromStr;

use iostall_measure::named;
use serde::{Deserialize, Serialize};

use crate::spelling::{SpellingError, as_text, refuse};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlashSettings {
    /// Bytes of a page, the unit that is programmed.
    pub page_bytes: u32,
    /// Pages of a block, the unit that is erased.
    pub pages_per_block: u32,
    pub user_pages: u32,
    /// Physical pages over user pages, above 1. Free blocks held in reserve and blocks being filled do not count.
    pub alpha: f64,
    pub collect: Collect,
    pub separation: Separation,
    pub pattern: WritePattern,
    /// Share of the requests that trim a random live page, 0 to below 0.5.
    #[serde(default)]
    pub trim_share: f64,
    #[serde(default, skip_serializing_if = "FlashCare::is_none")]
    pub care: FlashCare,
    /// The same seed gives the same result.
    pub seed: u64,
}

/// What a device does beside collection. By default nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlashCare {
    /// Share of the physical blocks that are bad from the beginning, 0 to below 1.
    pub bad_share: f64,
    /// Probability that a block is bad after an erase, 0 to 1.
    pub bad_per_erase: f64,
    /// Static wear levelling: blocks that were erased so many times less than the most worn are moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wear_gap: Option<u32>,
    /// A block that was filled so many fills of the device ago is written anew, because cells leak.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_fills: Option<f64>,
    /// A block is written anew after more reads than this, because they disturb its cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads_max: Option<u32>,
    /// Pages that the host reads for each that it writes, all pages alike.
    pub reads_per_write: f64,
    /// Size of a cache of cells with one bit, which takes all writes first: a share of the user area, 0 to 1.
    pub slc_share: f64,
}

impl FlashCare {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    pub fn is_area_only(&self) -> bool {
        Self { bad_share: 0.0, ..*self }.is_none()
    }
}

impl FlashSettings {
    /// Pages of good blocks over user pages, before any block goes bad.
    pub fn good_alpha(&self) -> f64 {
        self.alpha * (1.0 - self.care.bad_share)
    }

    /// Spare area over user area: alpha - 1.
    pub fn spare(&self) -> f64 {
        self.alpha - 1.0
    }

    pub fn user_bytes(&self) -> u64 {
        u64::from(self.user_pages) * u64::from(self.page_bytes)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collect {
    /// The block with the fewest valid pages; ties at random.
    Greedy,
    /// The block that was filled first.
    Fifo,
    /// The block with the fewest valid pages among so many random ones.
    Choices(u32),
}

impl fmt::Display for Collect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Greedy => f.write_str("greedy"),
            Self::Fifo => f.write_str("fifo"),
            Self::Choices(count) => write!(f, "d:{count}"),
        }
    }
}

impl FromStr for Collect {
    type Err = SpellingError;

    fn from_str(text: &str) -> Result<Self, SpellingError> {
        match text {
            "greedy" => Ok(Self::Greedy),
            "fifo" => Ok(Self::Fifo),
            _ => match text.strip_prefix("d:").map(str::parse) {
                Some(Ok(count)) if (1..=1000).contains(&count) => Ok(Self::Choices(count)),
                _ => refuse(text, "greedy, fifo, or d:N with N of 1 to 1000"),
            },
        }
    }
}

as_text!(Collect);

named! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Separation {
        /// All are written one after the other.
        #[default]
        None = "none",
        /// What is moved by collection goes to other blocks than what the host writes.
        Moved = "moved",
        /// Each class of the pattern has its own blocks, as if the device knew which data is hot.
        Classes = "classes",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WritePattern {
    Uniform,
    /// One after the other, again and again.
    Sequential,
    Classes(Vec<WriteClass>),
    /// The page of rank k as often as k^-theta.
    Zipf {
        theta: f64,
    },
    Sequence {
        name: String,
        writes: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WriteClass {
    /// Its share of the data, 0 to 1. All add up to 1.
    pub data_share: f64,
    /// Its share of the writes, 0 to 1. All add up to 1.
    pub write_share: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_reads_as_it_is_written() {
        for text in ["greedy", "fifo", "d:1", "d:1000"] {
            assert_eq!(text.parse::<Collect>().unwrap().to_string(), text);
        }
        for text in ["", "d:0", "d:1001", "d", "Greedy", "d:x"] {
            let error = text.parse::<Collect>().unwrap_err().to_string();
            assert!(error.contains("d:N"), "{error}");
        }
    }
}
