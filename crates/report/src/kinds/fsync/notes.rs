//! The results in words: the fastest durable method, and the server's.

use iostall_measure::Percentile;
use iostall_model::FsyncOutcome;
use iostall_model::sync::{ServerSync, SyncMethod, SyncStep};

use crate::format::{maybe_duration, number, percent, shown};
use crate::section::Note;

/// Two methods this close are alike: each was measured once.
const ALIKE_SHARE: f64 = 0.1;

pub(super) fn notes(fsync: &FsyncOutcome) -> Vec<Note> {
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
