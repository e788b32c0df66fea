//! A restored backup: its throughput, and what is damaged.

use iostall_model::RestoreOutcome;
use iostall_model::figures::per_second;
use iostall_model::part::Part;

pub(super) fn parts(outcome: &RestoreOutcome) -> Vec<Part> {
    let rate = per_second(outcome.bytes as f64, outcome.elapsed_ns);
    vec![Part { bytes_per_s: rate, failed: Some(outcome.damage.len() as u64), ..Part::default() }]
}

pub(super) fn failures(outcome: &RestoreOutcome) -> Vec<String> {
    let damaged = super::backup_verify::damaged(&outcome.damage);
    // An older one may be what is wanted: once it is restored, that it is older is a warning.
    let other = super::backup_verify::not_expected(&outcome.newest).filter(|_| !outcome.is_whole);
    damaged.into_iter().chain(other).collect()
}
