//! A sweep: the recommended setting is the whole; others are named by their requests in flight.

use iostall_measure::Nanos;
use iostall_model::SweepOutcome;
use iostall_model::part::{Part, PartName};

use super::points::of_point;
use crate::analysis::sweep::{SweepAnalysis, target_missed};

pub(super) fn parts(outcome: &SweepOutcome) -> Vec<Part> {
    let found = SweepAnalysis::of(outcome);
    let whole = match found.knees.choice {
        Some(choice) => {
            let point = found.points[choice.index()];
            of_point(point, PartName::Whole, Some(point.setting()))
        }
        None => Part::default(),
    };
    let settings = outcome.points.iter().map(|point| {
        let name = PartName::OneOf(vec![point.in_flight().to_string()]);
        of_point(point, name, Some(format!("{} in flight", point.in_flight())))
    });
    std::iter::once(whole).chain(settings).collect()
}

pub(super) fn failures(outcome: &SweepOutcome) -> Vec<String> {
    let target = outcome.latency_ns_p99_target.filter(|_| target_missed(outcome));
    let sentence =
        |target| format!("no setting keeps the 99th percentile of latency within {}", Nanos(target));
    target.map(sentence).into_iter().collect()
}
