//! The report of a qualification, in the forms of the specification: the determination of the steady state, the table of mixes and
//! sizes, and what may be said of it.

mod charts;
mod results;
mod rows;
mod tables;
mod words;

use iostall_model::profile::BlockMix;
use iostall_model::qualify::{Purged, QualifyTest};
use iostall_model::{QualifyOutcome, Run};
use iostall_session::analysis::qualify::{
    SteadyWindow, cliff, shown_window, shown_window_of, stages, steady_window_of,
};

use self::words::{cell_name, figure_name, headline, is_quick, missed, mix, stopped};
use crate::format::{bytes, duration, number, percent, shown};
use crate::judgement::unless_disturbed;
use crate::point::setting_of;
use crate::report::Report;
use crate::section::{Fact, Layout, Note, Section};

pub(super) fn report<'a>(run: &'a Run, outcome: &'a QualifyOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: shape(outcome),
        headline: headline(outcome),
        line: Box::new(|| answer(outcome)),
        answer: Box::new(|| unless_disturbed(run, answer(outcome))),
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
        facts: facts(run, outcome),
        notes: notes(outcome, window.as_ref()),
        tables,
        ..Section::titled("The qualification")
    }
}

fn notes(outcome: &QualifyOutcome, window: Option<&SteadyWindow>) -> Vec<Note> {
    let is_judged = outcome.plan.stages().iter().any(iostall_model::qualify::Stage::is_until_steady);
    let mut notes = results::notes(outcome);
    if !is_judged {
        return notes;
    }
    notes.insert(0, state(outcome, window));
    if outcome.plan.test.is_saturation() {
        notes.push(fall(outcome));
    }
    if outcome.steady.is_none() && !outcome.points.is_empty() {
        notes.push(Note::plain(
            "The figures below are those of a transition: the drive will be slower or faster than that once it is steady.",
        ));
    }
    notes
}

fn state(outcome: &QualifyOutcome, window: Option<&SteadyWindow>) -> Note {
    let Some(window) = window else {
        return Note::caution("Not steady: fewer rounds were measured than a window has.");
    };
    let span = window.rounds;
    if outcome.steady.is_some() {
        return Note::strong(format!(
            "Steady in rounds {} to {}, when {:.1} to {:.1} × the active range had been written by the rounds.",
            span.first, span.last, window.fills.0, window.fills.1
        ));
    }
    if is_quick(outcome) {
        return Note::caution(
            "Not steady: a quick run is too short to say so, whatever its rounds look like. --standard or --full decides it.",
        );
    }
    let why: Vec<&str> =
        window.checks.iter().filter(|(_, holds)| !holds).map(|(check, _)| missed(*check)).collect();
    Note::bad(format!("Not steady in rounds {} to {}: {}.", span.first, span.last, why.join("; ")))
}

fn fall(outcome: &QualifyOutcome) -> Note {
    match cliff(outcome) {
        Some(found) => Note::strong(format!(
            "The cliff: after {:.2} × the active range, random writes fall from {} to {} a second on average, to {}.",
            found.fills,
            number(found.iops_before),
            number(found.iops_after),
            percent(found.iops_after / found.iops_before)
        )),
        None => Note::plain(format!(
            "No cliff in {:.1} × the active range: no lasting fall of a tenth or more.",
            outcome.fills(outcome.rounds_bytes())
        )),
    }
}

fn shape(outcome: &QualifyOutcome) -> String {
    let plan = &outcome.plan;
    let (test, scale) = (plan.test.name(), plan.scale.name());
    format!(
        "{test}, {scale}: {} of {} each, {}",
        count_of_cells(outcome),
        duration(plan.cell.0 as f64),
        setting_of(plan.queue_depth, plan.workers)
    )
}

fn count_of_cells(outcome: &QualifyOutcome) -> String {
    let counts: Vec<usize> = outcome.plan.stages().iter().map(|stage| stage.cells.len()).collect();
    match counts[..] {
        [1] => "samples".to_owned(),
        [count] => format!("{count} measurements a round"),
        _ => format!("{} stages, measurements", counts.len()),
    }
}

fn facts(run: &Run, outcome: &QualifyOutcome) -> Vec<Fact> {
    let plan = &outcome.plan;
    let mixes: Vec<String> = plan.write_pcts.iter().map(|write_pct| mix(*write_pct)).collect();
    let sizes: Vec<String> = plan.sizes.iter().map(|size| BlockMix::single(*size).in_words()).collect();
    let mut facts = vec![
        Fact::new("active range", active_range(run, outcome)),
        Fact::new("data", "random, each block unlike any other"),
        Fact::new("before", before(outcome)),
        Fact::new("mixes", format!("reads/writes {}", mixes.join(", "))),
        Fact::new("sizes", sizes.join(", ")),
        Fact::new("in flight", in_flight(outcome)),
        Fact::new("rounds", rounds(outcome)),
    ];
    if let Some(earlier) = &outcome.resumed {
        facts.push(Fact::new("continues", format!("run {earlier}, whose rounds are the first ones")));
    }
    facts
}

fn in_flight(outcome: &QualifyOutcome) -> String {
    let plan = &outcome.plan;
    let setting = setting_of(plan.queue_depth, plan.workers);
    match plan.test {
        QualifyTest::Throughput | QualifyTest::FastCache => format!("{setting}, direct, in order"),
        QualifyTest::CrossStimulus => format!("{setting}, direct, in order and at random"),
        QualifyTest::Demand | QualifyTest::Depth => format!("up to {setting}, direct, random"),
        _ => format!("{setting}, direct, random"),
    }
}

fn active_range(run: &Run, outcome: &QualifyOutcome) -> String {
    let used = bytes(outcome.active_bytes);
    match run.targets.first() {
        Some(target) if target.size_bytes > outcome.active_bytes => {
            let share = percent(outcome.active_bytes as f64 / target.size_bytes as f64);
            format!("{used} of {} ({share}), from the start of {}", bytes(target.size_bytes), named(run))
        }
        _ => format!("{used}, all of {}", named(run)),
    }
}

fn named(run: &Run) -> String {
    run.targets.first().map_or_else(String::new, |target| shown(&target.path.to_string_lossy()))
}

fn before(outcome: &QualifyOutcome) -> String {
    let done = &outcome.preconditioning;
    let purged = match done.purged {
        Purged::None => "not purged",
        Purged::Discarded => "discarded",
        Purged::Punched => "holes made in the file",
        Purged::Formatted => "formatted with erasure of user data",
        Purged::BlocksErased => "sanitized, all blocks erased",
        Purged::KeyErased => "sanitized, the key of its encryption erased",
    };
    let made = match done.made_bytes {
        0 => String::new(),
        made => format!("the file made ({}); ", bytes(made)),
    };
    if done.written_bytes == 0 {
        return format!("{made}{purged}; nothing written in order");
    }
    format!(
        "{made}{purged}; {} written in order ({:.1} × the active range) in {}",
        bytes(done.written_bytes),
        outcome.fills(done.written_bytes),
        duration(done.elapsed_ns as f64)
    )
}

fn rounds(outcome: &QualifyOutcome) -> String {
    let written = outcome.rounds_bytes();
    let most = outcome.plan.stages().iter().fold(0_u32, |sum, stage| sum.saturating_add(stage.rounds_max));
    format!(
        "{} of {most} at most, {} written ({:.1} × the active range); ended because: {}",
        outcome.rounds.len(),
        bytes(written),
        outcome.fills(written),
        stopped(outcome.stopped)
    )
}
