//! The runs of a store as a list.

use std::fmt::Write as _;

use iostall_measure::foreign::shown;
use iostall_model::Entry;
use serde_json::{Value, json};

use crate::format::rates;
use crate::zone::{column, heading};

pub fn table(entries: &[Entry]) -> String {
    let names: Vec<String> = entries.iter().map(|entry| shown(&entry.name)).collect();
    let name_width = names.iter().map(|name| name.chars().count()).max().unwrap_or(4).max(4);
    let heading = heading("started");
    let time_width = heading.chars().count().max(19);
    let mut text = format!("{:>5}  {heading:time_width$}  {:name_width$}  result\n", "run", "name");
    for (entry, name) in entries.iter().zip(&names) {
        let result = result(entry);
        let mut marks = String::new();
        if entry.interrupted {
            marks.push_str(", interrupted");
        }
        if entry.warning_count > 0 {
            let plural = if entry.warning_count == 1 { "" } else { "s" };
            marks.push_str(&format!(", {} warning{plural}", entry.warning_count));
        }
        let started = column(entry.started_utc);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:>5}  {started:time_width$}  {:name_width$}  {result}{marks}  {}",
            entry.number.to_string(),
            name,
            shown(&entry.targets.join(" "))
        );
    }
    text
}

#[derive(Clone, Debug, PartialEq)]
pub struct ServerRun {
    pub server: String,
    /// The id of its store.
    pub server_id: String,
    pub entry: Entry,
}

pub fn fleet_table(runs: &[ServerRun]) -> String {
    let entries: Vec<Entry> = runs.iter().map(|run| run.entry.clone()).collect();
    let servers: Vec<String> = runs.iter().map(|run| shown(&run.server)).collect();
    let width = servers.iter().map(|server| server.chars().count()).max().unwrap_or(0).max(6);
    let heading = ["server".to_owned()];
    let mut text = String::new();
    for (server, line) in heading.iter().chain(&servers).zip(table(&entries).lines()) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{server:width$} {line}");
    }
    text
}

pub fn fleet_to_json(runs: &[ServerRun]) -> Value {
    let of_server = |run: &ServerRun| {
        let mut row = row(&run.entry);
        row["server"] = json!(run.server);
        row["server_id"] = json!(run.server_id);
        row
    };
    runs.iter().map(of_server).collect()
}

/// A run in a few words: `oltp, 2026-11-22 14:03:07, 45,210 IOPS · 353 MiB/s, data.dat`.
pub fn brief(entry: &Entry) -> String {
    let (name, targets) = (shown(&entry.name), shown(&entry.targets.join(" ")));
    format!("{name}, {}, {}, {targets}", column(entry.started_utc), result(entry))
}

fn result(entry: &Entry) -> String {
    let summary = &entry.summary;
    match (summary.iops, summary.mib_per_s) {
        (Some(iops), Some(mib_per_s)) => rates(iops, mib_per_s, summary.latency_ns_p99),
        (None, Some(mib_per_s)) => format!("{} {mib_per_s:.0} MiB/s", shown(&entry.kind)),
        _ => "nothing measured".to_owned(),
    }
}

pub fn to_json(entries: &[Entry]) -> Value {
    entries.iter().map(row).collect()
}

fn row(entry: &Entry) -> Value {
    json!({
        "number": entry.number.0,
        "id": entry.id,
        "kind": entry.kind,
        "name": entry.name,
        "started_utc": entry.started_utc,
        "ended_utc": entry.ended_utc,
        "host": entry.host,
        "tool_version": entry.tool_version,
        "interrupted": entry.interrupted,
        "warnings": entry.warning_count,
        "targets": entry.targets,
        "measured_ns": entry.summary.measured_ns,
        "block_size": entry.summary.block_size,
        "iops": entry.summary.iops,
        "mib_per_s": entry.summary.mib_per_s,
        "latency_ns_p99": entry.summary.latency_ns_p99,
    })
}
