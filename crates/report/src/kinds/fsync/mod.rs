//! The report of commits by sync method.

mod rows;
mod table;

use iostall_measure::Percentile;
use iostall_model::sync::{ServerSync, SyncMethod, SyncStep};
use iostall_model::{FsyncOutcome, Run, WarningCode};
use serde_json::{Value, json};

use self::table::judged;
use crate::chart::{COLOURS, Chart, drawn, figure, latency_axis, rate_axis, rounded, seconds};
use crate::format::{bytes, count, duration, maybe_duration, number, percent, shown};
use crate::judgement::of_latency;
use crate::percentiles::percentile_table;
use crate::report::Report;
use crate::section::{Fact, Layout, Note, Section};

pub(super) fn report<'a>(run: &'a Run, fsync: &'a FsyncOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: String::new(),
        headline: headline(fsync),
        line: Box::new(|| line(fsync)),
        answer: Box::new(|| answer(run, fsync)),
        judgement: Box::new(move || judged(run, fsync, fsync.fastest(Some(1))?)),
        asked: None,
        opens_one_way: false,
        sections: Box::new(move || vec![section(run, fsync)]),
        when_empty: "",
        charts: Box::new(|| vec![charts(fsync)]),
        series: Box::new(|| rows::series(fsync)),
        summary: Box::new(|| Box::new(rows::FsyncSummary::of(fsync))),
    }
}

fn headline(fsync: &FsyncOutcome) -> String {
    let measured_ns: u64 = fsync.steps.iter().map(|step| step.measured_ns).sum();
    let commits: u64 = fsync.steps.iter().map(|step| step.commit_ns.count()).sum();
    format!("{} commits of {} in {}", count(commits), bytes(fsync.block_bytes), duration(measured_ns as f64))
}

fn line(fsync: &FsyncOutcome) -> String {
    let Some(best) = fsync.fastest(None) else { return headline(fsync) };
    let rate = best.commits_per_s().unwrap_or(0.0);
    format!("{}: {} commits/s", best.label(), number(rate))
}

/// One committer against what storage of each class does, which several that share flushes are not, and how far those come.
fn answer(run: &Run, fsync: &FsyncOutcome) -> String {
    let several = fsync.committers().into_iter().filter(|committers| *committers > 1).max();
    let is_too_fast = run.warnings.iter().any(|warning| warning.code == WarningCode::SyncTooFast);
    let too_fast = is_too_fast.then(|| "faster than the device can flush: perhaps not durable".to_owned());
    let clauses = [alone(run, fsync), several.and_then(|committers| at_most(fsync, committers)), too_fast];
    let clauses: Vec<String> = clauses.into_iter().flatten().collect();
    if clauses.is_empty() { line(fsync) } else { clauses.join(" · ") }
}

fn alone(run: &Run, fsync: &FsyncOutcome) -> Option<String> {
    let best = fsync.fastest(Some(1))?;
    let judged = of_latency(&best.commit_ns, fsync.thresholds.as_ref()?, &run.disturbed_by())?;
    Some(format!("{} {} commits/s, {judged}", best.method.name(), number(best.commits_per_s()?)))
}

fn at_most(fsync: &FsyncOutcome, committers: u32) -> Option<String> {
    let best = fsync.fastest(Some(committers))?;
    Some(format!("{}: up to {} commits/s", best.label(), number(best.commits_per_s()?)))
}

fn section(run: &Run, fsync: &FsyncOutcome) -> Section {
    let measured = fsync.steps.iter().filter(|step| !step.commit_ns.is_empty());
    let sets: Vec<_> = measured.map(|step| (step.label(), &step.commit_ns)).collect();
    // A table with a column for each step would be too wide for any reader.
    let details = sets.chunks(4).filter_map(|sets| percentile_table("Commit latency", sets)).collect();
    Section {
        title: "Result".to_owned(),
        subtitle: headline(fsync),
        layout: Layout::Facts,
        facts: facts(fsync),
        notes: notes(fsync),
        results: Some(table::table(run, fsync)),
        details,
        ..Section::default()
    }
}

fn facts(fsync: &FsyncOutcome) -> Vec<Fact> {
    let log = format!(
        "records of {} at advancing offsets in a segment of {} written with zeros before; {} each",
        bytes(fsync.block_bytes),
        bytes(fsync.segment_bytes),
        duration(fsync.duration_ns as f64),
    );
    let mut facts = vec![Fact::new("log", log)];
    if let Some(server) = &fsync.server {
        let settings = server.settings.iter();
        let settings = settings.map(|one| format!("{} = {}", one.name, shown(&one.value)));
        let value =
            format!("{} ({})", settings.collect::<Vec<_>>().join(", "), shown(&server.data_directory));
        facts.push(Fact::new("server", value));
    }
    facts
}

fn charts(fsync: &FsyncOutcome) -> Vec<Chart> {
    let methods = json!({"type": "category"});
    drawn([
        Chart {
            id: "commits".into(),
            title: "Commits a second".into(),
            caption: "By sync method and number of committers.",
            figure: figure(&rates(fsync), &methods, &rate_axis("commits/s"), "closest"),
        },
        Chart {
            id: "latency".into(),
            title: "Commit latency".into(),
            caption: "From the 50th percentile to the maximum, by sync method and number of committers.",
            figure: figure(&latencies(fsync), &methods, &latency_axis(), "closest"),
        },
    ])
}

fn measured(fsync: &FsyncOutcome) -> impl Iterator<Item = &SyncStep> {
    fsync.steps.iter().filter(|step| !step.commit_ns.is_empty())
}

fn rates(fsync: &FsyncOutcome) -> Vec<Value> {
    let trace = |(committers, colour): (u32, &&str)| {
        let steps: Vec<&SyncStep> = measured(fsync).filter(|step| step.committers == committers).collect();
        json!({
            "type": "bar", "name": trace_name(committers),
            "x": steps.iter().map(|step| step.method.name()).collect::<Vec<_>>(),
            "y": steps.iter().map(|step| step.commits_per_s().map(rounded)).collect::<Vec<_>>(),
            "marker": {"color": colour}, "hovertemplate": "%{x}: %{y:,.0f} commits/s",
        })
    };
    if measured(fsync).next().is_none() {
        return Vec::new();
    }
    fsync.committers().into_iter().zip(COLOURS.iter().cycle()).map(trace).collect()
}

fn trace_name(committers: u32) -> String {
    if committers == 1 { "1 committer".to_owned() } else { format!("{committers} committers") }
}

fn latencies(fsync: &FsyncOutcome) -> Vec<Value> {
    type Level = (&'static str, fn(&SyncStep) -> Option<u64>);
    const LEVELS: [Level; 4] = [
        ("p50", |step| step.commit_ns.value_at(Percentile::P50)),
        ("p95", |step| step.commit_ns.value_at(Percentile::P95)),
        ("p99", |step| step.commit_ns.value_at(Percentile::P99)),
        ("max", |step| step.commit_ns.max()),
    ];
    if measured(fsync).next().is_none() {
        return Vec::new();
    }
    let trace = |((name, value), colour): (&Level, &&str)| {
        let y = measured(fsync).map(|step| value(step).map(|ns| seconds(ns.max(1) as f64)));
        json!({
            "type": "scatter", "mode": "markers", "name": name,
            "x": measured(fsync).map(SyncStep::label).collect::<Vec<_>>(),
            "y": y.collect::<Vec<_>>(),
            "marker": {"color": colour, "size": 9}, "hovertemplate": "%{x}: %{y:.3~s}s",
        })
    };
    LEVELS.iter().zip(COLOURS.iter()).map(trace).collect()
}

/// Two methods this close are alike: each was measured once.
const ALIKE_SHARE: f64 = 0.1;

fn notes(fsync: &FsyncOutcome) -> Vec<Note> {
    let mut notes: Vec<Note> =
        fsync.committers().into_iter().filter_map(|committers| fastest(fsync, committers)).collect();
    if let Some(server) = &fsync.server {
        notes.push(of_server(fsync, server));
    }
    for step in &fsync.steps {
        if let Some(why) = &step.failed {
            notes.push(Note::bad(format!("{} FAILED: {}.", step.label(), shown(why))));
        }
    }
    let mut explained: Vec<SyncMethod> = Vec::new();
    for step in &fsync.steps {
        if let Some(why) = &step.unavailable
            && !explained.contains(&step.method)
        {
            explained.push(step.method);
            notes.push(Note::plain(format!("{} is unavailable: {}.", step.method.name(), shown(why))));
        }
    }
    notes
}

fn fastest(fsync: &FsyncOutcome, committers: u32) -> Option<Note> {
    let best = fsync.fastest(Some(committers))?;
    let rate = best.commits_per_s()?;
    let p99 = best.commit_ns.value_at(Percentile::P99).map(|ns| ns as f64);
    let alike: Vec<&str> = fsync
        .steps
        .iter()
        .filter(|step| step.committers == committers && step.method != best.method)
        .filter(|step| step.method.is_durable())
        .filter(|step| step.commits_per_s().is_some_and(|other| other >= rate * (1.0 - ALIKE_SHARE)))
        .map(|step| step.method.name())
        .collect();
    let beside = if alike.is_empty() {
        String::new()
    } else {
        format!("; {} within {}", alike.join(", "), percent(ALIKE_SHARE))
    };
    Some(Note::strong(format!(
        "{}: the most durable commits, {} a second, p99 {}{beside}.",
        best.label(),
        number(rate),
        maybe_duration(p99)
    )))
}

/// The server's method beside the fastest, with the fewest committers that were measured.
fn of_server(fsync: &FsyncOutcome, server: &ServerSync) -> Note {
    let Some(setting) = server.setting("wal_sync_method") else {
        return Note::plain("The server's wal_sync_method is unknown.");
    };
    let (value, source) = (shown(&setting.value), shown(&setting.source));
    let Some(method) = server.method() else {
        return Note::caution(format!(
            "The server's wal_sync_method = {value} ({source}) does not exist on Linux."
        ));
    };
    let ours = |step: &&SyncStep| step.method == method && step.commits_per_s().is_some();
    let uses = format!("The server uses {value} ({source})");
    let Some(step) = fsync.steps.iter().find(ours) else {
        return Note::plain(format!("{uses}, which was not measured."));
    };
    let rates = step.commits_per_s().zip(fsync.fastest(Some(step.committers)));
    let Some((rate, best)) = rates else { return Note::plain(format!("{uses}.")) };
    let most = best.commits_per_s().unwrap_or(rate);
    if rate >= most * (1.0 - ALIKE_SHARE) {
        return Note::plain(format!("{uses}: no method was clearly faster."));
    }
    Note::caution(format!(
        "{uses}: {} commits a second; {} made {} more. Measure longer (--duration) before changing it.",
        number(rate),
        best.method.name(),
        percent(most / rate - 1.0)
    ))
}
