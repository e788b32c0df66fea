//! Limits of a volume: the sizes at the rate that lasts, such as `read-16K`, or `write-1M-target2`.

use iostall_model::part::{Part, PartName};
use iostall_model::{LimitsOutcome, Point};

use super::points::of_point;

pub(super) fn parts(outcome: &LimitsOutcome) -> Vec<Part> {
    if outcome.points.is_empty() {
        return vec![Part::default()];
    }
    outcome.points.iter().map(of_size).collect()
}

/// The limits of a volume are an answer, whatever they are; blocks that cannot be read are not.
pub(super) fn failures(outcome: &LimitsOutcome) -> Vec<String> {
    let failed = outcome.read_all.as_ref().map_or(0, |read| read.failed);
    let sentence = format!("{failed} pieces of 1 MiB could not be read");
    if failed > 0 { vec![sentence] } else { Vec::new() }
}

fn of_size(point: &Point) -> Part {
    let is_write = point.write_pct.percent() > 0.0;
    let size = point.block_size.to_string();
    let mut words = vec![if is_write { "write" } else { "read" }.to_owned(), size];
    words.extend(match point.targets.as_slice() {
        [] | [0] => None,
        [target] => Some(format!("target{}", target + 1)),
        _ => Some("together".to_owned()),
    });
    let label = words.join("-");
    of_point(point, PartName::Words(words), Some(label))
}
