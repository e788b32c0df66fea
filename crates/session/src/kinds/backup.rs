//! A backup: its throughput, and what is wrong in the database that it read.

use iostall_model::BackupOutcome;
use iostall_model::figures::per_second;
use iostall_model::part::{Part, PartName};

/// The whole is what was read of the source; `stored` is what was written.
pub(super) fn parts(outcome: &BackupOutcome) -> Vec<Part> {
    let failed = Some(outcome.bad_pages.len() as u64);
    let rate = |bytes: u64| per_second(bytes as f64, outcome.elapsed_ns);
    let stored = Part {
        name: PartName::OneOf(vec!["stored".to_owned()]),
        label: Some("stored".to_owned()),
        bytes_per_s: rate(outcome.stored_bytes),
        ..Part::default()
    };
    vec![Part { bytes_per_s: rate(outcome.bytes), failed, ..Part::default() }, stored]
}
