//! The report of a qualification, in the forms of the specification: the determination of the steady state, the table of mixes and
//! sizes, and what may be said of it.

mod charts;
mod facts;
mod notes;
mod rows;
mod tables;
mod words;

use iostall_model::qualify::QualifyTest;
use iostall_model::{QualifyOutcome, Run};
use iostall_session::analysis::qualify::{SteadyWindow, cliff, shown_window, tracked_cells};

use self::words::{cell_name, headline, is_quick};
use crate::format::{NONE, maybe_number, number};
use crate::report::Report;
use crate::section::{Layout, Section, Tile};

/// The report of a run that is a qualification.
pub(super) fn report<'a>(run: &'a Run, outcome: &'a QualifyOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: facts::shape(outcome),
        headline: headline(outcome),
        line: Box::new(|| answer(outcome)),
        answer: Box::new(|| answer(outcome)),
        judgement: Box::new(|| None),
        card: Box::new(|| card(outcome)),
        asked: None,
        opens_one_way: true,
        sections: Box::new(|| vec![section(run, outcome), tables::basis(run, outcome)]),
        when_empty: "",
        charts: Box::new(|| vec![charts::charts(outcome), Vec::new()]),
        series: Box::new(|| rows::series(outcome)),
        summary: Box::new(|| Box::new(rows::QualifySummary::of(run, outcome))),
    }
}

/// The figure of the steady state, or that there is none: a figure from before it would be taken for one.
fn answer(outcome: &QualifyOutcome) -> String {
    let Some(window) = shown_window(outcome) else {
        let rounds = outcome.rounds.len();
        return format!("not steady: {rounds} rounds are too few to say so");
    };
    if outcome.steady.is_none() {
        let why = if is_quick(outcome) {
            "a quick run never says so".to_owned()
        } else {
            window.missed().map_or_else(String::new, |check| words::missed(check).to_owned())
        };
        return format!("not steady: {why}");
    }
    let figures: Vec<String> = window
        .tracked
        .iter()
        .map(|one| {
            format!("{} {} IOPS", cell_name(one.write_pct, one.size), number(one.determination.average))
        })
        .collect();
    format!("steady: {}", figures.join(" · "))
}

fn card(outcome: &QualifyOutcome) -> Vec<Tile> {
    let state = if outcome.steady.is_some() { "steady" } else { "not steady" };
    let mut tiles = vec![Tile::plain("state", state, headline(outcome))];
    if outcome.steady.is_some() {
        let window = shown_window(outcome);
        let average = |window: &SteadyWindow, index: usize| {
            window.tracked.get(index).map(|one| one.determination.average)
        };
        for (index, (write_pct, size)) in tracked_cells(outcome).into_iter().enumerate() {
            let value = maybe_number(window.as_ref().and_then(|window| average(window, index)));
            tiles.push(Tile::plain(format!("{} IOPS", cell_name(write_pct, size)), value, ""));
        }
    }
    if let Some(found) = cliff(outcome).filter(|_| outcome.plan.test == QualifyTest::Saturation) {
        let under = format!("{} to {} IOPS", number(found.iops_before), number(found.iops_after));
        tiles.push(Tile::plain("cliff", format!("{:.2} fills", found.fills), under));
    }
    let written = outcome.fills(outcome.written_bytes());
    let value = if written.is_finite() { format!("{written:.1} ×") } else { NONE.to_owned() };
    tiles.push(Tile::plain("written", value, "the active range"));
    tiles
}

fn section(run: &Run, outcome: &QualifyOutcome) -> Section {
    let window = shown_window(outcome);
    let mut tables = Vec::new();
    if let Some(window) = &window {
        tables.push(tables::determination(outcome, window));
        tables.push(tables::requirements(outcome, window));
    }
    match outcome.plan.test {
        QualifyTest::Iops => tables.extend(tables::cells(outcome)),
        QualifyTest::Saturation => tables.push(tables::course(outcome)),
    }
    Section {
        layout: Layout::Notes,
        facts: facts::facts(run, outcome),
        notes: notes::notes(outcome, window.as_ref()),
        tables,
        ..Section::titled("The qualification")
    }
}
