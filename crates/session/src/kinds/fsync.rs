//! Commits with each sync method: each method with each number of committers.

use iostall_model::FsyncOutcome;
use iostall_model::part::{Part, PartName};
use iostall_model::sync::SyncStep;

/// A method that is not there, or that keeps nothing durable, has no say without its name.
pub(super) fn parts(outcome: &FsyncOutcome) -> Vec<Part> {
    let whole = outcome.fastest(None).map(|best| Part { name: PartName::Whole, ..of_step(outcome, best) });
    let measured = outcome.steps.iter().filter(|step| !step.commit_ns.is_empty());
    let steps = measured.map(|step| of_step(outcome, step));
    std::iter::once(whole.unwrap_or_default()).chain(steps).collect()
}

fn of_step(outcome: &FsyncOutcome, step: &SyncStep) -> Part {
    let rate = step.commits_per_s();
    Part {
        name: PartName::OneOf(vec![step.method.name().to_owned(), step.label()]),
        label: Some(step.label()),
        iops: rate,
        bytes_per_s: rate.map(|rate| rate * outcome.block_bytes as f64),
        latency_ns: Some(step.commit_ns.clone()),
        failed: Some(u64::from(step.failed.is_some())),
        ..Part::default()
    }
}

pub(super) fn failures(outcome: &FsyncOutcome) -> Vec<String> {
    let failed = |step: &SyncStep| Some(format!("{} failed: {}", step.label(), step.failed.as_ref()?));
    outcome.steps.iter().filter_map(failed).collect()
}
