//! A copy: its throughput, and the files that are not as they should be.

use iostall_model::CopyOutcome;
use iostall_model::figures::per_second;
use iostall_model::part::Part;

pub(super) fn parts(outcome: &CopyOutcome) -> Vec<Part> {
    let failed = (outcome.not_copied.len() + outcome.mismatches.len()) as u64;
    let rate = per_second(outcome.bytes as f64, outcome.elapsed_ns);
    vec![Part { bytes_per_s: rate, failed: Some(failed), ..Part::default() }]
}

pub(super) fn failures(outcome: &CopyOutcome) -> Vec<String> {
    let mut failures = Vec::new();
    if !outcome.not_copied.is_empty() {
        failures.push(format!("could not be copied: {}", files(outcome.not_copied.len())));
    }
    if !outcome.mismatches.is_empty() {
        failures.push(format!("differ when read back: {}", files(outcome.mismatches.len())));
    }
    if outcome.remaining > 0 {
        failures.push("the copy ended before all files were copied".to_owned());
    }
    failures
}

fn files(count: usize) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}
