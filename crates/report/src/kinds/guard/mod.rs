//! The report of a guard: is the volume as fast as it was, and as was paid for?

mod charts;

use iostall_model::guard::{DatabaseNear, GuardEnd, GuardPast};
use iostall_model::{GuardOutcome, Run};
use iostall_session::analysis::guard::{Against, GuardState, Judged, trend_per_month, verdicts};
use serde::Serialize;

use super::points::{self, PointsSummary};
use crate::format::{bytes, duration, number, percent, throughput};
use crate::judgement::unless_disturbed;
use crate::point::setting_of;
use crate::report::Report;
use crate::section::{Fact, Note, Section};
use crate::table::{Column, Severity, Table, TableCell};
use crate::zone::timestamp;

pub(super) fn report<'a>(run: &'a Run, outcome: &'a GuardOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: shape(outcome),
        headline: points::headline(&outcome.points),
        line: Box::new(|| answer(run, outcome)),
        answer: Box::new(|| answer(run, outcome)),
        judgement: Box::new(|| None),
        asked: None,
        opens_one_way: true,
        sections: Box::new(|| vec![section(run, outcome)]),
        when_empty: "",
        charts: Box::new(|| vec![charts::charts(run, outcome)]),
        series: Box::new(|| points::series(run, &outcome.points)),
        summary: Box::new(|| Box::new(GuardSummary::of(run, outcome))),
    }
}

fn shape(outcome: &GuardOutcome) -> String {
    let plan = &outcome.plan;
    match plan.rate_iops {
        Some(rate) => format!("a canary: {} random reads a second, probes of {}", number(rate), plan.probe),
        None => format!(
            "probes of {} each, random reads, {}",
            plan.probe,
            setting_of(plan.queue_depth, plan.workers)
        ),
    }
}

fn is_canary(outcome: &GuardOutcome) -> bool {
    outcome.plan.rate_iops.is_some()
}

/// A speed, or for a canary a latency.
fn shown(outcome: &GuardOutcome, block_bytes: u32, value: f64) -> String {
    if is_canary(outcome) {
        duration(value)
    } else if block_bytes > 16 << 10 {
        throughput(value * f64::from(block_bytes))
    } else {
        format!("{} IOPS", number(value))
    }
}

fn answer(run: &Run, outcome: &GuardOutcome) -> String {
    match outcome.ended {
        GuardEnd::Busy => return "not measured: the device had work of its own".to_owned(),
        GuardEnd::DatabaseBusy => return "not measured: a database had work to do".to_owned(),
        GuardEnd::DatabaseUnknown => {
            return "not measured: what a database does is not known".to_owned();
        }
        GuardEnd::Decided | GuardEnd::Probes | GuardEnd::Time | GuardEnd::Bytes | GuardEnd::Interrupted => {}
    }
    let all = verdicts(run, outcome);
    let worst = all.iter().min_by(|left, right| left.look.ratio.total_cmp(&right.look.ratio));
    let Some(worst) = worst else {
        return "nothing to compare with: this run can be the baseline of the next".to_owned();
    };
    let disturbed: Vec<String> =
        all.iter().filter(|one| one.is_disturbed).map(|one| sentence(outcome, one)).collect();
    if !disturbed.is_empty() {
        return unless_disturbed(run, disturbed.join("; "));
    }
    let slower: Vec<String> = all
        .iter()
        .filter(|one| one.look.state == GuardState::Slower)
        .map(|one| sentence(outcome, one))
        .collect();
    if !slower.is_empty() {
        return format!("slower: {}", slower.join("; "));
    }
    let share = percent(worst.look.ratio);
    if all.iter().any(|one| one.look.state == GuardState::Unclear) {
        format!(
            "not shown to be slower: {share} of what it was at the least, and more probes would be needed to be sure"
        )
    } else {
        format!("as fast as it should be: {share} of what it was at the least")
    }
}

fn sentence(outcome: &GuardOutcome, one: &Judged) -> String {
    let size = bytes(one.block_bytes.into());
    let now = shown(outcome, one.block_bytes, one.now);
    let low = percent(one.look.interval.low);
    let high = percent(one.look.interval.high);
    let speed = percent(one.look.ratio);
    match one.against {
        Against::Baseline(before) => format!(
            "{size} {now}, where it was {}: {speed} of its speed ({low} to {high})",
            shown(outcome, one.block_bytes, before)
        ),
        Against::PaidFor(promised) => format!(
            "{size} {now}, where {} is paid for: {speed} ({low} to {high})",
            shown(outcome, one.block_bytes, promised)
        ),
    }
}

fn section(run: &Run, outcome: &GuardOutcome) -> Section {
    let all = verdicts(run, outcome);
    let mut tables = Vec::new();
    if !all.is_empty() {
        tables.push(figures(outcome, &all));
    }
    if !outcome.history.is_empty() {
        tables.push(history(outcome));
    }
    Section {
        facts: facts(outcome),
        notes: notes(run, outcome, &all),
        tables,
        ..Section::titled("The guard")
    }
}

fn facts(outcome: &GuardOutcome) -> Vec<Fact> {
    let plan = &outcome.plan;
    let ended = match outcome.ended {
        GuardEnd::Decided => "every figure was clear",
        GuardEnd::Probes => "all probes were made",
        GuardEnd::Time => "the time was up",
        GuardEnd::Bytes => "the bytes were used up",
        GuardEnd::Busy => "the device was busy",
        GuardEnd::DatabaseBusy => "a database was busy",
        GuardEnd::DatabaseUnknown => "what a database does is not known",
        GuardEnd::Interrupted => "it was interrupted",
    };
    let probes = outcome.points.iter().map(|point| point.repeats.len()).max().unwrap_or(0);
    let mut facts = vec![
        Fact::new("probes", format!("{probes} of each size, {} at most", plan.probes_max)),
        Fact::new("read", format!("{} of {} allowed", bytes(outcome.moved_bytes()), plan.byte_limit)),
        Fact::new("tolerated", format!("{} slower", percent(plan.tolerance))),
        Fact::new("ended because", ended),
    ];
    if let Some(baseline) = &outcome.baseline {
        facts.push(Fact::new(
            "baseline",
            format!("run {} of {}", baseline.run, timestamp(baseline.started_utc)),
        ));
    }
    facts
}

fn notes(run: &Run, outcome: &GuardOutcome, all: &[Judged]) -> Vec<Note> {
    let mut notes: Vec<Note> = all
        .iter()
        .map(|one| match one.look.state {
            _ if one.is_disturbed => Note::caution(format!("Cannot be judged: {}.", sentence(outcome, one))),
            GuardState::Slower => Note::bad(format!("Slower: {}.", sentence(outcome, one))),
            GuardState::Within => Note::strong(format!("As it should be: {}.", sentence(outcome, one))),
            GuardState::Unclear => Note::caution(format!("Not clear: {}.", sentence(outcome, one))),
        })
        .collect();
    if outcome.ended == GuardEnd::Busy {
        notes.push(Note::caution("The device did work of its own just before, so nothing was measured. A later try may find it quiet."));
    } else if matches!(outcome.ended, GuardEnd::DatabaseBusy | GuardEnd::DatabaseUnknown) {
        notes.extend(outcome.databases.iter().map(database));
        notes.push(Note::caution("So nothing was measured. A later try may find the database quiet."));
    } else if all.is_empty() {
        notes.push(Note::plain(
            "There was nothing to compare with. Name this run with --baseline from now on.",
        ));
    }
    if let Some((slope, low, high)) = trend_per_month(run, outcome) {
        notes.push(Note::plain(format!(
            "Over its earlier guards the speed of the smallest requests changes by {} a month ({} to {}).",
            percent(slope),
            percent(low),
            percent(high)
        )));
    }
    notes.extend(firmware(run, outcome));
    notes
}

fn database(near: &DatabaseNear) -> Note {
    let Some(until) = near.until_utc else {
        return Note::caution(format!(
            "{} is watched and may be on this volume, but has no new samples: does its collector run?",
            near.name
        ));
    };
    let iops = near.iops.map_or_else(|| "unknown".to_owned(), number);
    let waits = near.stall_per_s.map_or_else(String::new, |stall| {
        format!(", and its sessions waited {} of each second for them", duration(stall * 1e9))
    });
    Note::plain(format!(
        "{}: {iops} reads and writes a second{waits}, up to {}.",
        near.name,
        timestamp(until)
    ))
}

/// Other firmware is another drive, as far as its speed goes.
fn firmware(run: &Run, outcome: &GuardOutcome) -> Option<Note> {
    let now = run.devices.first()?.as_ref()?.firmware.as_deref()?;
    let of_past = |past: &GuardPast| past.firmware.clone();
    let before = match &outcome.baseline {
        Some(baseline) => baseline.firmware.clone(),
        None => outcome.history.last().and_then(of_past),
    }?;
    (before != now).then(|| {
        Note::caution(format!(
            "The firmware changed since: it was {}, and is {} now.",
            crate::format::shown(&before),
            crate::format::shown(now)
        ))
    })
}

fn figures(outcome: &GuardOutcome, all: &[Judged]) -> Table {
    let columns = vec![
        Column::words("size"),
        Column::words("compared with"),
        Column::numbers("then"),
        Column::numbers("now"),
        Column::numbers("speed"),
        Column::numbers("95 % interval"),
        Column::words("answer"),
    ];
    let mut table = Table::new("Figure by figure", columns);
    for one in all {
        let (with, then) = match one.against {
            Against::Baseline(before) => ("baseline", before),
            Against::PaidFor(promised) => ("paid for", promised),
        };
        let (word, severity) = match one.look.state {
            _ if one.is_disturbed => ("cannot be judged", Severity::Caution),
            GuardState::Slower => ("slower", Severity::Bad),
            GuardState::Within => ("as it should be", Severity::Strong),
            GuardState::Unclear => ("not clear", Severity::Caution),
        };
        table.row(vec![
            bytes(one.block_bytes.into()).into(),
            with.into(),
            shown(outcome, one.block_bytes, then).into(),
            shown(outcome, one.block_bytes, one.now).into(),
            percent(one.look.ratio).into(),
            format!("{} to {}", percent(one.look.interval.low), percent(one.look.interval.high)).into(),
            TableCell::from(word).severity(severity),
        ]);
    }
    table.note("A false alarm of the whole guard has a probability of 1 % at most, however often it looks.");
    table
}

fn history(outcome: &GuardOutcome) -> Table {
    let columns = vec![
        Column::words("at"),
        Column::words("size"),
        Column::numbers("IOPS"),
        Column::numbers("mean latency"),
        Column::words("firmware").droppable(1),
    ];
    let mut table = Table::new("Earlier guards of this target", columns);
    for past in &outcome.history {
        for figure in &past.figures {
            table.row(vec![
                timestamp(past.started_utc).into(),
                bytes(figure.block_bytes.into()).into(),
                number(figure.iops).into(),
                TableCell::maybe_time(Some(figure.latency_ns_mean)),
                past.firmware.as_deref().map_or_else(String::new, crate::format::shown).into(),
            ]);
        }
    }
    table
}

#[derive(Serialize)]
struct GuardSummary {
    #[serde(flatten)]
    points: PointsSummary,
    figures: Vec<FigureSummary>,
    moved_bytes: u64,
}

#[derive(Serialize)]
struct FigureSummary {
    block_bytes: u32,
    /// `baseline` or `paid-for`.
    against: &'static str,
    /// Requests a second; of a canary nanoseconds.
    then: f64,
    now: f64,
    /// Speed now over speed then.
    ratio: f64,
    ratio_low: f64,
    ratio_high: f64,
    /// `slower`, `within`, `unclear` or `cannot-be-judged`.
    state: &'static str,
}

impl GuardSummary {
    fn of(run: &Run, outcome: &GuardOutcome) -> Self {
        let figures = verdicts(run, outcome).iter().map(FigureSummary::of).collect();
        Self { points: PointsSummary::of(run, &outcome.points), figures, moved_bytes: outcome.moved_bytes() }
    }
}

impl FigureSummary {
    fn of(one: &Judged) -> Self {
        let (against, then) = match one.against {
            Against::Baseline(before) => ("baseline", before),
            Against::PaidFor(promised) => ("paid-for", promised),
        };
        let state = match one.look.state {
            _ if one.is_disturbed => "cannot-be-judged",
            GuardState::Slower => "slower",
            GuardState::Within => "within",
            GuardState::Unclear => "unclear",
        };
        Self {
            block_bytes: one.block_bytes,
            against,
            then,
            now: one.now,
            ratio: one.look.ratio,
            ratio_low: one.look.interval.low,
            ratio_high: one.look.interval.high,
            state,
        }
    }
}

#[cfg(test)]
mod tests {
    use iostall_model::{Warning, WarningCode};

    use super::*;
    use crate::fixture::guard as run;
    use crate::text::{TextOptions, write_text};

    fn text(run: &Run) -> String {
        let mut text = String::new();
        write_text(&Report::of(run), &TextOptions { width: 120, ..TextOptions::default() }, &mut text)
            .unwrap();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_volume_that_lost_a_fifth_is_called_slower_and_one_that_did_not_is_not() {
        let slower = text(&run(0.8));
        assert!(slower.contains("slower: 4 KiB 2,400 IOPS, where it was 3,000 IOPS: 80.0 %"), "{slower}");
        let same = text(&run(1.0));
        assert!(same.contains("as fast as it should be") && !same.contains("Slower"), "{same}");
    }

    /// The story: eight busy loops on the same machine, and the alarm said that the volume had become slower.
    #[test]
    fn a_guard_says_nothing_of_the_volume_where_something_else_had_the_machine() {
        let mut run = run(0.8);
        run.warnings = vec![Warning::new(WarningCode::GeneratorBound, "busy")];
        let said = text(&run);
        assert!(said.contains("cannot be judged (generator-bound)") && !said.contains("Slower"), "{said}");
        assert!(iostall_session::requirements::failures(&run).is_empty());
    }

    #[test]
    fn the_page_draws_the_history() {
        let mut page = String::new();
        crate::html::write_html(&Report::of(&run(1.0)), &mut page).unwrap();
        assert!(page.contains("id=\"span-1-history\""));
    }
}
