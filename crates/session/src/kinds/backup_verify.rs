//! A check of a backup: its throughput, and what is damaged.

use iostall_model::figures::per_second;
use iostall_model::part::Part;
use iostall_model::stripe::BackupDamage;
use iostall_model::{BackupVerifyOutcome, Newest};

pub(super) fn parts(outcome: &BackupVerifyOutcome) -> Vec<Part> {
    let rate = per_second(outcome.stored_bytes as f64, outcome.elapsed_ns);
    vec![Part { bytes_per_s: rate, failed: Some(outcome.damage.len() as u64), ..Part::default() }]
}

/// That it is not the newest one is told, and is no failure: whoever wants a certain one names it.
pub(super) fn failures(outcome: &BackupVerifyOutcome) -> Vec<String> {
    damaged(&outcome.damage).into_iter().chain(not_expected(&outcome.newest)).collect()
}

/// Why it is not the backup that somebody named, if so.
pub(super) fn not_expected(newest: &Newest) -> Option<String> {
    match newest {
        Newest::Other { because, .. } => Some(format!("it is not the backup that was expected: {because}")),
        Newest::Unknown | Newest::Expected | Newest::Known | Newest::Older { .. } => None,
    }
}

/// How much is damaged; `None` if nothing is.
pub(super) fn damaged(damage: &[BackupDamage]) -> Option<String> {
    match damage {
        [] => None,
        [first, ..] if damage.iter().all(|one| one.is_missing) => {
            Some(format!("the backup is not whole: {}", first.message))
        }
        [one] => Some(format!("the backup is damaged: {}", one.message)),
        [first, ..] => {
            Some(format!("the backup is damaged in {} places, the first: {}", damage.len(), first.message))
        }
    }
}
