//! The tables of the specification, and what the run is based on.

use iostall_measure::{BlockSize, Percent};
use iostall_model::claim::Claim;
use iostall_model::{Point, QualifyOutcome, Run};
use iostall_session::analysis::qualify::{
    self as analysis, Determination, StageRounds, SteadyWindow, TrackedWindow, points_of, steady_window_of,
};

use super::words::{cell_name, claim, denial, deviation, figure_name, mix, required};
use crate::format::{NONE, number, percent};
use crate::section::{Layout, Note, Section};
use crate::table::{Column, Severity, Table, TableCell};

/// The determination of the steady state of a stage, a column for each mix and size that must be steady.
pub(super) fn determination(rounds: &StageRounds<'_>, window: &SteadyWindow) -> Table {
    let heads = window.tracked.iter().map(|one| Column::numbers(&cell_name(one.write_pct, one.size)));
    let columns = std::iter::once(Column::words(figure_name(rounds.stage.figure))).chain(heads).collect();
    let (span, before) = (window.rounds, u32::try_from(rounds.before).unwrap_or(0));
    let what = if rounds.stage.by_fill { "samples" } else { "rounds" };
    let of = if rounds.stage.name.is_empty() { String::new() } else { format!(" ({})", rounds.stage.name) };
    let (first, last) = (span.first - before, span.last - before);
    let title = format!("Steady state determination{of}, {what} {first} to {last}");
    let mut table = Table::new(&title, columns);
    let mut row = |name: &str, value: &dyn Fn(&TrackedWindow) -> TableCell| {
        table.row(std::iter::once(TableCell::from(name)).chain(window.tracked.iter().map(value)).collect());
    };
    let of = |value: fn(&Determination) -> f64| {
        move |one: &TrackedWindow| TableCell::from(number(value(&one.determination)))
    };
    row("average", &of(|found| found.average));
    row("allowed maximum (110 %)", &of(|found| 1.1 * found.average));
    row("allowed minimum (90 %)", &of(|found| 0.9 * found.average));
    row("allowed data excursion", &of(|found| found.range_allowed));
    row("measured data excursion", &|one| {
        passed(number(one.determination.range), one.determination.is_range_met())
    });
    row("allowed slope excursion", &of(|found| found.slope_excursion_allowed));
    row("measured slope excursion", &|one| {
        passed(number(one.determination.slope_excursion), one.determination.is_slope_met())
    });
    row("best fit", &|one| fit(&one.determination, rounds.stage.by_fill).into());
    row("correlation", &|one| {
        one.determination.correlation.map_or_else(|| NONE.to_owned(), |r| format!("{r:.3}")).into()
    });
    row("range of p99", &|one| {
        one.tail.map_or_else(|| NONE.into(), |tail| passed(percent(tail.p99_range), tail.is_stable()))
    });
    table.note("Headings are reads/writes in percent and the size.");
    let first = window.tracked.first().map_or(1, |one| one.determination.first_round);
    table.note(&if rounds.stage.by_fill {
        format!(
            "T in the best fit is the number of the tenth of the active range: {first} to {} in this window.",
            first + window.tracked.first().map_or(1, |one| one.values.len()) - 1
        )
    } else {
        "R in the best fit is the number of the round.".to_owned()
    });
    table
}

fn passed(text: String, is_met: bool) -> TableCell {
    TableCell::from(text).severity(if is_met { Severity::Good } else { Severity::Bad })
}

/// `-6.40 R + 11,746`.
fn fit(found: &Determination, by_fill: bool) -> String {
    let sign = if found.intercept < 0.0 { '-' } else { '+' };
    let of = if by_fill { 'T' } else { 'R' };
    format!("{} {of} {sign} {}", number(found.slope), number(found.intercept.abs()))
}

pub(super) fn requirements(outcome: &QualifyOutcome, window: &SteadyWindow) -> Table {
    let mut table =
        Table::new("Required of a steady state", vec![Column::words("required"), Column::words("holds")]);
    for (check, holds) in &window.checks {
        let cell = passed(if *holds { "yes" } else { "no" }.to_owned(), *holds);
        table.row(vec![required(*check).into(), cell]);
    }
    table.note(&format!(
        "Written by the rounds before the window: {:.1} × the active range; up to its end: {:.1} ×.",
        window.fills.0, window.fills.1
    ));
    if outcome.steady.is_none() {
        table.note("Only the first line is the specification's: the others are what it overlooks.");
    }
    table
}

/// A figure of every mix and size of a stage, a row for each size and a column for each mix; `None` if nothing was measured.
pub(super) fn cells(
    outcome: &QualifyOutcome,
    rounds: &StageRounds<'_>,
    what: &str,
    shown: &dyn Fn(&Point) -> String,
) -> Option<Table> {
    let points = points_of(rounds);
    let count = points.first()?.repeats.len();
    let plan = &outcome.plan;
    let heads = plan.write_pcts.iter().map(|write_pct| Column::numbers(&mix(*write_pct)));
    let columns = std::iter::once(Column::numbers("size")).chain(heads).collect();
    let before = u32::try_from(rounds.before).unwrap_or(0);
    let title = match steady_window_of(rounds).map(|window| window.rounds) {
        Some(span) => {
            format!(
                "{what} by size and reads/writes, rounds {} to {}",
                span.first - before,
                span.last - before
            )
        }
        None => format!("NOT STEADY: {what} by size and reads/writes, the last {count} rounds"),
    };
    let mut table = Table::new(&title, columns);
    let of = |size: BlockSize, write_pct: Percent| {
        let is_it = |cell: &iostall_model::qualify::Cell| cell.size == size && cell.write_pct == write_pct;
        rounds.stage.cells.iter().position(is_it).and_then(|index| points.get(index))
    };
    let mut sizes: Vec<BlockSize> = plan.sizes.clone();
    sizes.retain(|size| rounds.stage.cells.iter().any(|cell| cell.size == *size));
    for size in sizes {
        let figure = |write_pct: &Percent| {
            let point = of(size, *write_pct);
            let cell = TableCell::from(point.map_or_else(|| NONE.to_owned(), shown));
            let has_failed = point.is_some_and(|point| point.failed() > 0);
            if has_failed { cell.severity(Severity::Bad) } else { cell }
        };
        let first = TableCell::from(size.to_string());
        table.row(std::iter::once(first).chain(plan.write_pcts.iter().map(figure)).collect());
    }
    Some(table)
}

pub(super) fn course(outcome: &QualifyOutcome) -> Table {
    let columns = vec![Column::numbers("fills"), Column::numbers("IOPS"), Column::numbers("of the first")];
    let mut table = Table::new("Random writes of 4 KiB over what was written", columns);
    let steps = analysis::course(outcome);
    let first = steps.first().map_or(f64::NAN, |(_, iops)| *iops);
    for (fills, iops) in &steps {
        table.row(vec![format!("{fills:.2}").into(), number(*iops).into(), percent(iops / first).into()]);
    }
    table.note("A fill is the active range written once. A sample that writes more than a tenth of it is a row of its own.");
    table
}

/// What the run is based on: what may be said of it, and how it deviates from the specification.
pub(super) fn basis(run: &Run, outcome: &QualifyOutcome) -> Section {
    let mut table =
        Table::new("What may be said of this run", vec![Column::words("said"), Column::words("may it be?")]);
    for one in Claim::ALL {
        let cell = match one.denied(outcome, run.targets.first()) {
            None => passed("yes".to_owned(), true),
            Some(why) => TableCell::from(format!("no: {}", denial(why))),
        };
        table.row(vec![claim(one).into(), cell]);
    }
    let notes = outcome.deviations.iter().map(|one| Note::plain(deviation(one))).collect();
    Section {
        layout: Layout::Notes,
        notes,
        tables: vec![table],
        ..Section::titled("Deviations from the specification")
    }
}
