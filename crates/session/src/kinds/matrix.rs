//! A matrix: cells that are named by pattern, operation, size, depth and target, such as `random-read-8K-q32-t1`.

use iostall_model::part::{Part, PartName};
use iostall_model::{MatrixOutcome, Point};

use super::points::of_point;

pub(super) fn parts(outcome: &MatrixOutcome) -> Vec<Part> {
    outcome.points.iter().map(of_cell).collect()
}

fn of_cell(point: &Point) -> Part {
    let op = if point.write_pct.percent() > 0.0 { "write" } else { "read" };
    let mut words = vec![
        point.access.name().to_owned(),
        op.to_owned(),
        point.block_size.to_string(),
        format!("q{}", point.queue_depth),
    ];
    words.extend(point.targets.iter().map(|target| format!("t{}", target + 1)));
    let label = words.join("-");
    of_point(point, PartName::Words(words), Some(label))
}
