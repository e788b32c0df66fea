//! A qualification: mixes and sizes in the steady state, such as `write-4K` or `w35-64K`. Without a steady state there is nothing to
//! require a figure of.

use iostall_model::part::{Part, PartName};
use iostall_model::{Point, QualifyOutcome};

use super::points::of_point;

pub(super) fn parts(outcome: &QualifyOutcome) -> Vec<Part> {
    if outcome.steady.is_none() {
        return vec![Part::default()];
    }
    outcome.points.iter().map(of_cell).collect()
}

fn of_cell(point: &Point) -> Part {
    let mix = match point.write_pct.percent() {
        none if none <= 0.0 => "read".to_owned(),
        all if all >= 100.0 => "write".to_owned(),
        some => format!("w{some}"),
    };
    let words = vec![mix, point.block_size.to_string()];
    let label = words.join("-");
    of_point(point, PartName::Words(words), Some(label))
}
