//! A drill: the throughput of its restore, and what is wrong with the database that was started.

use iostall_model::DrillOutcome;
use iostall_model::figures::per_second;
use iostall_model::part::Part;

use super::backup_verify::damaged;

pub(super) fn parts(outcome: &DrillOutcome) -> Vec<Part> {
    let failed = outcome.failed().count() + outcome.damage.len();
    let rate = per_second(outcome.bytes as f64, outcome.restore_ns);
    vec![Part { bytes_per_s: rate, failed: Some(failed as u64), ..Part::default() }]
}

pub(super) fn failures(outcome: &DrillOutcome) -> Vec<String> {
    let failed = outcome.failed().map(|check| format!("{} failed: {}", check.name, check.detail));
    let mut failures: Vec<String> = damaged(&outcome.damage).into_iter().chain(failed).collect();
    if failures.is_empty() && !outcome.is_complete {
        failures.push("not every check was made".to_owned());
    }
    failures
}
