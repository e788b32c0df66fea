//! Levels of arrays: what a write costs, what capacity is left, and what a loss of a drive means.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::error::BuildError;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "u8")]
pub enum RaidLevel {
    R0,
    R1,
    R5,
    R6,
    R10,
}

impl RaidLevel {
    pub const ALL: [Self; 5] = [Self::R0, Self::R1, Self::R5, Self::R6, Self::R10];

    pub fn number(self) -> u8 {
        match self {
            Self::R0 => 0,
            Self::R1 => 1,
            Self::R5 => 5,
            Self::R6 => 6,
            Self::R10 => 10,
        }
    }

    /// Operations of drives for a small random write: the data and its mirror, or data and parity read and written.
    pub fn write_penalty(self) -> u32 {
        match self {
            Self::R0 => 1,
            Self::R1 | Self::R10 => 2,
            Self::R5 => 4,
            Self::R6 => 6,
        }
    }

    pub fn drives_min(self) -> u64 {
        match self {
            Self::R0 => 1,
            Self::R1 => 2,
            Self::R5 => 3,
            Self::R6 | Self::R10 => 4,
        }
    }

    /// Drives without data of their own, of so many.
    pub fn redundant(self, drives: u64) -> u64 {
        match self {
            Self::R0 => 0,
            Self::R1 | Self::R10 => drives / 2,
            Self::R5 => 1,
            Self::R6 => 2,
        }
    }

    /// Drives for the data of so many drives: whole numbers.
    pub(super) fn with_redundancy(self, data_drives: f64) -> f64 {
        match self {
            Self::R0 => data_drives,
            Self::R1 | Self::R10 => 2.0 * data_drives,
            Self::R5 => data_drives + 1.0,
            Self::R6 => data_drives + 2.0,
        }
    }

    /// The fewest drives of at least `least` that the level can have; `None` if it has no more than two.
    pub(super) fn at_least(self, least: u64) -> Option<u64> {
        let drives = least.max(self.drives_min());
        match self {
            Self::R1 => (drives == 2).then_some(2),
            Self::R10 => Some(drives + drives % 2),
            Self::R0 | Self::R5 | Self::R6 => Some(drives),
        }
    }

    /// How many drives are read as a whole to rebuild one of so many; `None` where nothing can be rebuilt. With two parities, one
    /// of the others need not be read.
    pub fn read_to_rebuild(self, drives: u64) -> Option<u64> {
        match self {
            Self::R0 => None,
            Self::R1 | Self::R10 => Some(1),
            Self::R5 => Some(drives - 1),
            Self::R6 => Some(drives - 2),
        }
    }
}

impl From<RaidLevel> for u8 {
    fn from(level: RaidLevel) -> Self {
        level.number()
    }
}

impl FromStr for RaidLevel {
    type Err = BuildError;

    fn from_str(text: &str) -> Result<Self, BuildError> {
        let lower = text.trim().to_ascii_lowercase();
        let number = lower.strip_prefix("raid").unwrap_or(&lower).trim_start();
        let is_it = |level: &Self| level.number().to_string() == number;
        Self::ALL.into_iter().find(is_it).ok_or_else(|| BuildError::Level { text: text.to_owned() })
    }
}

impl fmt::Display for RaidLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("RAID {}", self.number()))
    }
}
