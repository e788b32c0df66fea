//! What a data sheet promises, and its three spellings: bytes in all, a day, and drive writes a day.

use serde::Serialize;
use thiserror::Error;

pub(super) const YEAR_DAYS: f64 = 365.0;

/// The promise of a data sheet. A number of bytes means nothing without its years, so they come together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DriveRating {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub years: Option<f64>,
    /// For which writes, in the words of the sheet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub erase_cycles: Option<u64>,
    /// Flash on the drive, its spare area included, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub physical_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nand_bytes: Option<f64>,
    /// Where it comes from: a file's line or the command line.
    pub origin: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Converted {
    pub written_bytes: f64,
    pub years: f64,
    pub bytes_per_day: f64,
    /// Whole drives a day; `None` if the capacity is unknown.
    pub drive_writes_per_day: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RatingError {
    #[error("a rating needs the years it is meant for")]
    NoYears,
    #[error("drive writes per day need the capacity of the drive")]
    NoCapacity,
    #[error("bytes written and drive writes per day are given: one of them is enough")]
    Both,
    #[error("a rating must be more than 0")]
    NotPositive,
}

impl DriveRating {
    /// Bytes from a number of bytes, or from drive writes a day over `years` of a drive of `capacity_bytes`.
    pub fn written(
        bytes: Option<f64>,
        drive_writes_per_day: Option<f64>,
        years: Option<f64>,
        capacity_bytes: Option<u64>,
    ) -> Result<Option<f64>, RatingError> {
        let is_positive = |value: Option<f64>| value.is_none_or(|value| value.is_finite() && value > 0.0);
        if ![bytes, drive_writes_per_day, years].into_iter().all(is_positive) {
            return Err(RatingError::NotPositive);
        }
        match (bytes, drive_writes_per_day, years, capacity_bytes) {
            (Some(_), Some(_), ..) => Err(RatingError::Both),
            (None, None, ..) => Ok(None),
            (.., None, _) => Err(RatingError::NoYears),
            (Some(bytes), ..) => Ok(Some(bytes)),
            (None, Some(_), Some(_), None) => Err(RatingError::NoCapacity),
            (None, Some(drives), Some(years), Some(capacity)) => {
                Ok(Some(drives * YEAR_DAYS * years * capacity as f64))
            }
        }
    }

    /// The three spellings, if it says bytes and years.
    pub fn converted(&self, capacity_bytes: Option<u64>) -> Option<Converted> {
        let (written_bytes, years) = (self.written_bytes?, self.years?);
        let bytes_per_day = written_bytes / (YEAR_DAYS * years);
        let capacity = capacity_bytes.filter(|bytes| *bytes > 0);
        let drive_writes_per_day = capacity.map(|bytes| bytes_per_day / bytes as f64);
        Some(Converted { written_bytes, years, bytes_per_day, drive_writes_per_day })
    }

    /// How often each block is erased when the promise is used up at this write amplification.
    pub fn implied_erase_cycles(&self, write_amplification: f64) -> Option<f64> {
        let physical = self.physical_bytes.filter(|bytes| *bytes > 0)?;
        Some(self.written_bytes? * write_amplification / physical as f64)
    }

    /// The write amplification at which its erase cycles suffice for exactly the promise.
    pub fn write_amplification_max(&self) -> Option<f64> {
        Some(self.erase_cycles? as f64 * self.physical_bytes? as f64 / self.written_bytes?)
    }
}
