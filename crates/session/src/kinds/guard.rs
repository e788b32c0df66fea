//! A guard: each size, such as `read-4K`; and what is slower than it should be.

use iostall_measure::ByteCount;
use iostall_model::part::{Part, PartName};
use iostall_model::{GuardOutcome, Point, Run};

use super::points::of_point;
use crate::analysis::guard::{Against, GuardState, Judged, verdicts};

pub(super) fn parts(outcome: &GuardOutcome) -> Vec<Part> {
    if outcome.points.is_empty() {
        return vec![Part::default()];
    }
    outcome.points.iter().map(of_size).collect()
}

fn of_size(point: &Point) -> Part {
    let words = vec!["read".to_owned(), point.block_size.to_string()];
    let label = words.join("-");
    of_point(point, PartName::Words(words), Some(label))
}

pub(super) fn failures(run: &Run, outcome: &GuardOutcome) -> Vec<String> {
    let is_slower = |one: &Judged| one.look.state == GuardState::Slower && !one.is_disturbed;
    let slower = verdicts(run, outcome).into_iter().filter(is_slower);
    let sentence = |one: Judged| {
        let with = match one.against {
            Against::Baseline(_) => "of the baseline's",
            Against::PaidFor(_) => "of what is paid for",
        };
        format!(
            "reads of {}: {:.0} % {with} (95 % interval: {:.0} to {:.0} %)",
            ByteCount(one.block_bytes.into()),
            one.look.ratio * 100.0,
            one.look.interval.low * 100.0,
            one.look.interval.high * 100.0
        )
    };
    slower.map(sentence).collect()
}
