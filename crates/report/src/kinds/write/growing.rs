//! The table of a paced write, produced line by line while it grows, with the same lines as at its end.

use iostall_model::paced::{MethodOutcome, PacedInterval, WriteMethod};

use super::series::{HEADER, failure_row, interval_row};
use crate::csv::{CsvError, line};
use crate::report::Field;

pub fn header() -> Result<Vec<u8>, CsvError> {
    line(&HEADER.map(Field::from))
}

pub fn interval(
    method: WriteMethod,
    packets_per_burst: u32,
    interval: &PacedInterval,
) -> Result<Vec<u8>, CsvError> {
    line(&interval_row(method, packets_per_burst, interval))
}

/// The row after the intervals of a method: its error, if it failed.
pub fn end(method: &MethodOutcome) -> Result<Vec<u8>, CsvError> {
    if method.failed.is_none() { Ok(Vec::new()) } else { line(&failure_row(method)) }
}
