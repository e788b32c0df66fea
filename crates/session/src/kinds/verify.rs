//! A verification: its throughput, and the files that differ.

use iostall_model::figures::per_second;
use iostall_model::part::Part;
use iostall_model::{Run, VerifyOutcome, WarningCode};

pub(super) fn parts(outcome: &VerifyOutcome) -> Vec<Part> {
    let rate = per_second(outcome.bytes as f64, outcome.elapsed_ns);
    vec![Part { bytes_per_s: rate, failed: Some(outcome.mismatches.len() as u64), ..Part::default() }]
}

/// If the list is incomplete, the copy is not complete even if all listed files are equal.
pub(super) fn failures(run: &Run, outcome: &VerifyOutcome) -> Vec<String> {
    let differ = outcome.mismatches.len();
    let differ = (differ > 0).then(|| match differ {
        1 => "1 file differs or is missing".to_owned(),
        many => format!("{many} files differ or are missing"),
    });
    let partial = run.warnings.iter().find(|warning| warning.code == WarningCode::PartialList);
    differ.into_iter().chain(partial.map(|warning| warning.message.clone())).collect()
}
