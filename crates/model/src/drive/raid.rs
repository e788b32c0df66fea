//! What each drive of an array is written when a database writes to the array.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use thiserror::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RaidShare {
    /// 0, 1, 5, 6 or 10.
    pub level: u8,
    pub drives: u32,
    /// Whether whole stripes are written, so that nothing is read and written again for the parity.
    pub full_stripes: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RaidError {
    #[error(
        "{0:?} is no array: write LEVEL:DRIVES, such as 5:4, or 5:4:full where whole stripes are written"
    )]
    Form(String),
    #[error("RAID {level} needs at least {least} drives{more}")]
    Drives { level: u8, least: u32, more: &'static str },
}

impl RaidShare {
    /// Bytes that each drive is written for a byte that the database writes. Small writes to parity write the data and the
    /// parity; whole stripes write the parity once a stripe.
    pub fn of_each_drive(self) -> f64 {
        let drives = f64::from(self.drives);
        match (self.level, self.full_stripes) {
            (1, _) => 1.0,
            (10, _) | (5, false) => 2.0 / drives,
            (6, false) => 3.0 / drives,
            (5, true) => 1.0 / (drives - 1.0),
            (6, true) => 1.0 / (drives - 2.0),
            _ => 1.0 / drives,
        }
    }
}

impl FromStr for RaidShare {
    type Err = RaidError;

    fn from_str(text: &str) -> Result<Self, RaidError> {
        let no_form = || RaidError::Form(text.to_owned());
        let mut parts = text.split(':');
        let level = parts.next().and_then(|part| part.parse().ok()).ok_or_else(no_form)?;
        let drives = parts.next().and_then(|part| part.parse().ok()).ok_or_else(no_form)?;
        let full_stripes = match (parts.next(), parts.next()) {
            (None, _) => false,
            (Some("full"), None) if matches!(level, 5 | 6) => true,
            _ => return Err(no_form()),
        };
        let (least, even) = match level {
            0 => (1, false),
            1 => (2, false),
            5 => (3, false),
            6 => (4, false),
            10 => (4, true),
            _ => return Err(no_form()),
        };
        if drives < least || (even && drives % 2 != 0) {
            let more = if even { ", and an even number of them" } else { "" };
            return Err(RaidError::Drives { level, least, more });
        }
        Ok(Self { level, drives, full_stripes })
    }
}

impl fmt::Display for RaidShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = if self.full_stripes { ", whole stripes" } else { "" };
        write!(f, "RAID {} of {} drives{whole}", self.level, self.drives)
    }
}
