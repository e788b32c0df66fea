//! The table of a paced write, produced line by line while it grows, with the same lines as at its end.

use iostall_model::PacedOutcome;
use iostall_model::paced::{MethodOutcome, PacedInterval, WriteMethod};

use crate::csv::{CsvError, line};
use crate::format::shown;
use crate::report::{Field, Series};

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

pub(super) const HEADER: [&str; 11] = [
    "method",
    "packets_per_burst",
    "end_bytes",
    "bytes",
    "elapsed_s",
    "writing_s",
    "write_ms_mean",
    "write_ms_p99",
    "write_ms_max",
    "dirty_bytes",
    "failed",
];

pub(super) fn series(paced: &PacedOutcome) -> Series<'_> {
    let rows = paced.methods.iter().flat_map(|method| {
        let (name, packets) = (method.method, method.pace.packets_per_burst);
        let intervals = method.intervals.iter().map(move |interval| interval_row(name, packets, interval));
        intervals.chain(method.failed.is_some().then(|| failure_row(method)))
    });
    Series { header: &HEADER, rows: Box::new(rows) }
}

pub(super) fn interval_row(
    method: WriteMethod,
    packets_per_burst: u32,
    interval: &PacedInterval,
) -> Vec<Field<'static>> {
    vec![
        method.name().into(),
        u64::from(packets_per_burst).into(),
        interval.end_bytes.into(),
        interval.bytes.into(),
        (interval.elapsed_ns as f64 / 1e9).into(),
        (interval.writing_ns as f64 / 1e9).into(),
        (interval.write_ns_mean / 1e6).into(),
        (interval.write_ns_p99 as f64 / 1e6).into(),
        (interval.write_ns_max as f64 / 1e6).into(),
        interval.dirty_bytes.into(),
        Field::Empty,
    ]
}

pub(super) fn failure_row(method: &MethodOutcome) -> Vec<Field<'static>> {
    let packets = u64::from(method.pace.packets_per_burst);
    let mut row = vec![method.method.name().into(), packets.into(), method.bytes.into()];
    row.resize(HEADER.len() - 1, Field::Empty);
    row.push(method.failed.as_ref().map(|cause| shown(cause)).into());
    row
}
