//! The table of a paced writing line by line, for one that is written while it grows: the same lines as at its end.

use iostall_model::paced::{MethodOutcome, PacedInterval, WriteMethod};

use super::series::{HEADER, failure_row, interval_row};
use crate::csv::{CsvError, line};
use crate::report::Field;

/// Its header.
pub fn header() -> Result<Vec<u8>, CsvError> {
    line(&HEADER.map(Field::from))
}

/// An interval of a method.
pub fn interval(
    method: WriteMethod,
    packets_per_burst: u32,
    interval: &PacedInterval,
) -> Result<Vec<u8>, CsvError> {
    line(&interval_row(method, packets_per_burst, interval))
}

/// What comes behind the intervals of a method: why it failed, where it did.
pub fn end(method: &MethodOutcome) -> Result<Vec<u8>, CsvError> {
    if method.failed.is_none() { Ok(Vec::new()) } else { line(&failure_row(method)) }
}
