//! A qualification: mixes and sizes in the steady state, such as `write-4K` or `w35-64K`. Without a steady state there is nothing to
//! require a figure of.

use iostall_model::part::{Part, PartName};
use iostall_model::{Point, QualifyOutcome};

use super::points::of_point;

pub(super) fn parts(outcome: &QualifyOutcome) -> Vec<Part> {
    if outcome.steady.is_none() {
        return vec![Part::default()];
    }
    outcome.named_points().into_iter().map(|(name, point)| of_cell(outcome, &name, point)).collect()
}

/// What tells stages apart comes first, as one word: `50-%-of-the-range-write-4K`; depths and threads last.
fn of_cell(outcome: &QualifyOutcome, stage: &str, point: &Point) -> Part {
    let mix = match point.write_pct.percent() {
        none if none <= 0.0 => "read".to_owned(),
        all if all >= 100.0 => "write".to_owned(),
        some => format!("w{some}"),
    };
    let mut words: Vec<String> = Vec::new();
    if !stage.is_empty() {
        words.push(stage.replace([' ', ','], "-"));
    }
    words.extend([mix, point.block_size.to_string()]);
    if (point.queue_depth, point.workers) != (outcome.plan.queue_depth, outcome.plan.workers) {
        words.push(format!("{}x{}", point.queue_depth, point.workers));
    }
    let label = words.join("-");
    of_point(point, PartName::Words(words), Some(label))
}
