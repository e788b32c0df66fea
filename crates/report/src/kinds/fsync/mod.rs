//! The report of commits by sync method.

mod charts;
mod judged;
mod notes;
mod rows;
mod table;

use iostall_model::{FsyncOutcome, Run, WarningCode};

use self::judged::judged;
use crate::fact::Fact;
use crate::format::{bytes, count, duration, number, shown};
use crate::judgement::of_latency;
use crate::percentiles::percentile_table;
use crate::report::Report;
use crate::section::{Layout, Section};

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
        charts: Box::new(|| vec![charts::charts(fsync)]),
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
    let clauses = [alone(fsync), several.and_then(|committers| at_most(fsync, committers)), too_fast];
    let clauses: Vec<String> = clauses.into_iter().flatten().collect();
    if clauses.is_empty() { line(fsync) } else { clauses.join(" · ") }
}

fn alone(fsync: &FsyncOutcome) -> Option<String> {
    let best = fsync.fastest(Some(1))?;
    let judged = of_latency(&best.commit_ns, fsync.thresholds.as_ref()?)?;
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
        notes: notes::notes(fsync),
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
