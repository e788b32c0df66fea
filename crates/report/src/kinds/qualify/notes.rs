//! What the rounds say.

use iostall_model::QualifyOutcome;
use iostall_session::analysis::qualify::{SteadyWindow, cliff};

use super::results;
use super::words::{is_quick, missed};
use crate::format::{number, percent};
use crate::section::Note;

pub(super) fn notes(outcome: &QualifyOutcome, window: Option<&SteadyWindow>) -> Vec<Note> {
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
