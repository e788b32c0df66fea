//! A server's own backup that was read back: how fast, and what was wrong.

use iostall_model::SqlServerVerifyOutcome;
use iostall_model::figures::per_second;
use iostall_model::part::Part;

pub(super) fn parts(outcome: &SqlServerVerifyOutcome) -> Vec<Part> {
    let rate = per_second(outcome.stored_bytes() as f64, outcome.elapsed_ns);
    let was_read = !outcome.headers_only && outcome.failure.is_none();
    let failed = Some(failures(outcome).len() as u64);
    vec![Part { bytes_per_s: rate.filter(|_| was_read), failed, ..Part::default() }]
}

pub(super) fn failures(outcome: &SqlServerVerifyOutcome) -> Vec<String> {
    let failure =
        outcome.failure.as_ref().map(|failure| format!("the backup could not be read back: {failure}"));
    let is_damaged = outcome.checked().is_some_and(|backup| backup.is_damaged);
    let damaged = is_damaged.then(|| "the backup holds damaged pages of the database".to_owned());
    failure.into_iter().chain(damaged).collect()
}
