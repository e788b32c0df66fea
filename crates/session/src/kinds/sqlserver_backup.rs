//! A backup that SQL Server makes itself: its throughput, and what reading it back found.

use iostall_model::SqlServerBackupOutcome;
use iostall_model::figures::per_second;
use iostall_model::part::{Part, PartName};

/// The whole is what was read of the database; `stored` is what was written.
pub(super) fn parts(outcome: &SqlServerBackupOutcome) -> Vec<Part> {
    let rate = |bytes: u64| per_second(bytes as f64, outcome.elapsed_ns);
    let known = outcome.history.is_some();
    let whole = Part {
        bytes_per_s: rate(outcome.bytes()).filter(|_| known),
        failed: Some(failures(outcome).len() as u64),
        ..Part::default()
    };
    let stored = outcome.stored_bytes().map(|bytes| Part {
        name: PartName::OneOf(vec!["stored".to_owned()]),
        label: Some("stored".to_owned()),
        bytes_per_s: rate(bytes),
        ..Part::default()
    });
    std::iter::once(whole).chain(stored).collect()
}

pub(super) fn failures(outcome: &SqlServerBackupOutcome) -> Vec<String> {
    let read_back = outcome.read_back.as_ref().and_then(|found| found.failure.clone());
    let read_back = read_back.map(|failure| format!("the backup could not be read back: {failure}"));
    let unread =
        outcome.not_read_back.as_ref().map(|reason| format!("the backup was not read back: {reason}"));
    let is_damaged = outcome.history.as_ref().is_some_and(|entry| entry.is_damaged);
    let damaged = is_damaged.then(|| "the backup holds damaged pages of the database".to_owned());
    damaged.into_iter().chain(read_back).chain(unread).collect()
}
