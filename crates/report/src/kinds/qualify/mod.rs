//! The report of a qualification, in the forms of the specification: the determination of the steady state, the table of mixes and
//! sizes, and what may be said of it.

mod charts;
mod facts;
mod notes;
mod results;
mod rows;
mod tables;
mod words;

use iostall_model::qualify::QualifyTest;
use iostall_model::{QualifyOutcome, Run};
use iostall_session::analysis::qualify::{shown_window, shown_window_of, stages, steady_window_of};

use self::words::{cell_name, figure_name, headline, is_quick};
use crate::format::number;
use crate::report::Report;
use crate::section::{Layout, Section};

pub(super) fn report<'a>(run: &'a Run, outcome: &'a QualifyOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: facts::shape(outcome),
        headline: headline(outcome),
        line: Box::new(|| answer(outcome)),
        answer: Box::new(|| answer(outcome)),
        judgement: Box::new(|| None),
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
    if let Some(found) = results::answer(outcome) {
        return found;
    }
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
    let figures =
        steady_figures(outcome).into_iter().map(|(name, value, unit)| format!("{name} {value} {unit}"));
    format!("steady: {}", figures.collect::<Vec<_>>().join(" · "))
}

fn steady_figures(outcome: &QualifyOutcome) -> Vec<(String, String, &'static str)> {
    let mut figures = Vec::new();
    for one in stages(outcome) {
        for tracked in steady_window_of(&one).iter().flat_map(|window| &window.tracked) {
            let cell = cell_name(tracked.write_pct, tracked.size);
            let is_range = outcome.plan.test == QualifyTest::ActiveRange;
            let name = if is_range { format!("{}, {cell}", one.stage.name) } else { cell };
            figures.push((name, number(tracked.determination.average), figure_name(tracked.figure)));
        }
    }
    figures
}

fn section(run: &Run, outcome: &QualifyOutcome) -> Section {
    let window = shown_window(outcome);
    let mut tables = results::tables(outcome);
    for one in stages(outcome).iter().filter(|one| one.stage.is_until_steady()) {
        tables.extend(shown_window_of(one).map(|window| tables::determination(one, &window)));
    }
    if let Some(window) = &window {
        tables.push(tables::requirements(outcome, window));
    }
    if outcome.plan.test.is_saturation() {
        tables.push(tables::course(outcome));
    }
    Section {
        layout: Layout::Notes,
        facts: facts::facts(run, outcome),
        notes: notes::notes(outcome, window.as_ref()),
        tables,
        ..Section::titled("The qualification")
    }
}
