//! A paced write: each method at each pace.

use iostall_model::PacedOutcome;
use iostall_model::figures::per_second;
use iostall_model::paced::MethodOutcome;
use iostall_model::part::{Part, PartName};

pub(super) fn parts(outcome: &PacedOutcome) -> Vec<Part> {
    // A method that the file system refuses has no figures.
    outcome.methods.iter().filter(|method| method.refused.is_none()).map(of_method).collect()
}

/// Its latency is the time of each write, which the source's buffer has to cover.
fn of_method(method: &MethodOutcome) -> Part {
    Part {
        name: PartName::OneOf(vec![method.method.name().to_owned()]),
        label: Some(called(method)),
        iops: per_second(method.write_ns.count() as f64, method.elapsed_ns),
        bytes_per_s: method.bytes_per_second(),
        latency_ns: Some(method.write_ns.clone()),
        failed: Some(u64::from(method.failed.is_some())),
        ..Part::default()
    }
}

fn called(method: &MethodOutcome) -> String {
    let plural = if method.pace.packets_per_burst == 1 { "" } else { "s" };
    format!("{}, {} packet{plural} a burst", method.method.name(), method.pace.packets_per_burst)
}

pub(super) fn failures(outcome: &PacedOutcome) -> Vec<String> {
    let one = |method: &MethodOutcome| match &method.failed {
        Some(cause) => Some(format!("{} failed: {cause}", called(method))),
        None if method.kept_pace() == Some(false) => {
            Some(format!("{} did not keep the pace", called(method)))
        }
        None => None,
    };
    outcome.methods.iter().filter_map(one).collect()
}
