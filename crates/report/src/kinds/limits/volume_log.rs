//! The volume's own log in sentences, and as a table.

use iostall_model::LimitsOutcome;
use iostall_model::volume_log::{LatencyBin, VolumeLog};

use crate::format::{bytes, count, duration, maybe_duration, percent};
use crate::section::Note;
use crate::table::{Column, Table};

fn counted(outcome: &LimitsOutcome) -> Option<VolumeLog> {
    outcome.volume_logs.as_ref()?.counted()
}

/// What was exceeded, and for how long, microseconds; the longest first.
fn exceeded(log: &VolumeLog) -> Vec<(&'static str, u64)> {
    let mut all = vec![
        ("the volume's IOPS", log.over_volume_iops_us),
        ("the volume's bandwidth", log.over_volume_throughput_us),
        ("the machine's IOPS for all volumes", log.over_machine_iops_us),
        ("the machine's bandwidth for all volumes", log.over_machine_throughput_us),
    ];
    all.retain(|(_, us)| *us > 0);
    all.sort_by_key(|(_, us)| std::cmp::Reverse(*us));
    all
}

fn time(us: u64) -> String {
    duration(us as f64 * 1e3)
}

pub(super) fn answer(outcome: &LimitsOutcome) -> Option<String> {
    let log = counted(outcome)?;
    Some(match exceeded(&log).first() {
        Some((what, us)) => format!("its own log: more was asked for than {what} for {}", time(*us)),
        None => "its own log: never more was asked for than it allows".to_owned(),
    })
}

pub(super) fn notes(outcome: &LimitsOutcome) -> Vec<Note> {
    let Some(logs) = &outcome.volume_logs else { return Vec::new() };
    let Some(log) = logs.counted() else {
        return vec![Note::caution(
            "The counters of the volume's own log went back: it was attached again meanwhile, and nothing can be said of them.",
        )];
    };
    let since = if logs.before.is_some() { "meanwhile" } else { "since it was attached" };
    let of_all = |us: u64| {
        let share = logs.elapsed_ns.filter(|elapsed_ns| *elapsed_ns > 0);
        let share = share.map(|elapsed_ns| us as f64 * 1e3 / elapsed_ns as f64);
        share.map_or_else(String::new, |share| format!(" ({} of the time)", percent(share.min(1.0))))
    };
    let over = exceeded(&log);
    let mut notes: Vec<Note> = over
        .iter()
        .map(|(what, us)| {
            Note::strong(format!(
                "The volume's own log: {since} more was asked for than {what} for {}{}.",
                time(*us),
                of_all(*us)
            ))
        })
        .collect();
    if over.is_empty() {
        notes.push(Note::plain(format!(
            "The volume's own log: {since} never more was asked for than the volume or the machine allows."
        )));
    }
    notes
}

pub(super) fn table(outcome: &LimitsOutcome) -> Option<Table> {
    let log = counted(outcome)?;
    let columns = vec![
        Column::words("requests"),
        Column::numbers("count"),
        Column::numbers("moved"),
        Column::numbers("mean"),
        Column::numbers("p50 up to"),
        Column::numbers("p99 up to"),
    ];
    let mut table = Table::new("The volume's own log", columns);
    let (reads_ns, writes_ns) = log.latency_ns_mean();
    let reached = |bins: &[LatencyBin], share: f64| {
        maybe_duration(LatencyBin::reaching(bins, share).map(|bin| bin.to_us as f64 * 1e3))
    };
    let rows = [
        ("reads", log.read_ops, log.read_bytes, reads_ns, &log.read_latencies),
        ("writes", log.write_ops, log.write_bytes, writes_ns, &log.write_latencies),
    ];
    for (what, ops, moved, mean_ns, bins) in rows {
        table.row(vec![
            what.into(),
            count(ops).into(),
            bytes(moved).into(),
            maybe_duration(mean_ns).into(),
            reached(bins, 0.5).into(),
            reached(bins, 0.99).into(),
        ]);
    }
    Some(table)
}
