//! Percentages.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::error::UnitError;

/// A percentage, 0 to 100 inclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Percent(f64);

const PERCENT_WANTED: &str = "a share: write a number from 0 to 100";

impl Percent {
    pub const ZERO: Self = Self(0.0);
    pub const HUNDRED: Self = Self(100.0);

    pub fn new(percent: f64) -> Result<Self, UnitError> {
        if (0.0..=100.0).contains(&percent) {
            Ok(Self(percent))
        } else {
            Err(UnitError::new(&percent.to_string(), PERCENT_WANTED))
        }
    }

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
