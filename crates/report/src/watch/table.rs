//! The groups of a window as text, CSV and JSON.

use std::io::{self, Write};

use iostall_model::Counter;
use serde_json::{Value, json};

use super::{Group, GroupKey, WatchWindow};

/// The numbers of a group, derived once for every form.
struct Figures<'a> {
    key: &'a GroupKey,
    group: &'a Group,
}

/// A column: its name with its unit, and the number in it.
type Column = (&'static str, fn(&Figures<'_>) -> Option<f64>);

/// Nanoseconds in a millisecond, and bytes in a MiB and a KiB.
const NS_PER_MS: f64 = 1e6;
const MIB: f64 = 1_048_576.0;
const KIB: f64 = 1024.0;

const COLUMNS: [Column; 13] = [
    ("reads_per_s", |f| f.group.totals.per_second(Counter::Reads)),
    ("writes_per_s", |f| f.group.totals.per_second(Counter::Writes)),
    ("read_mib_per_s", |f| f.group.totals.per_second(Counter::ReadBytes).map(|bytes| bytes / MIB)),
    ("write_mib_per_s", |f| f.group.totals.per_second(Counter::WriteBytes).map(|bytes| bytes / MIB)),
    ("stall_ms_per_read", |f| f.group.totals.read_stall_ns_mean().map(|ns| ns / NS_PER_MS)),
    ("stall_ms_per_write", |f| f.group.totals.write_stall_ns_mean().map(|ns| ns / NS_PER_MS)),
    ("stall_ms_per_io", |f| f.group.totals.io_stall_ns_mean().map(|ns| ns / NS_PER_MS)),
    ("stall_ms_per_io_max", |f| f.group.stall_ns_max.map(|ns| ns / NS_PER_MS)),
    // Blocks say nothing of the size of requests.
    ("io_kib_mean", |f| {
        f.group.totals.io_size_bytes_mean().filter(|_| !f.key.kind.counts_blocks()).map(|bytes| bytes / KIB)
    }),
    ("queue_depth_mean", |f| f.group.totals.queue_depth_mean()),
    ("over_s", |f| Some(f.group.over_ns as f64 / 1e9)),
    ("over_s_longest", |f| Some(f.group.over_ns_longest as f64 / 1e9)),
    ("covered_s", |f| Some(f.group.totals.covered_s())),
];

/// At most `top` groups, the worst first.
fn figures(window: &WatchWindow, top: Option<usize>) -> Vec<Figures<'_>> {
    let groups = window.worst_first().into_iter().take(top.unwrap_or(usize::MAX));
    groups.map(|(key, group)| Figures { key, group }).collect()
}

/// Why some intervals of a group are not in its numbers: `restart 2, wrap 1`.
fn resets(group: &Group) -> String {
    let all: Vec<String> = group.resets.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    all.join(", ")
}

/// A table for a terminal. An absent number is a dash: it is not zero.
pub fn write_watch_text(window: &WatchWindow, top: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    let mut shown = figures(window, top);
    // Sources stay together, that with the worst group first.
    let mut sources: Vec<&str> = Vec::new();
    for figure in &shown {
        if !sources.contains(&figure.key.source.as_str()) {
            sources.push(&figure.key.source);
        }
    }
    shown.sort_by_key(|figure| sources.iter().position(|source| *source == figure.key.source));
    let name_width = shown.iter().map(|f| f.key.name.chars().count()).max().unwrap_or(4).max(4);
    let heads = [
        "reads/s", "writes/s", "r MiB/s", "w MiB/s", "ms/read", "ms/write", "ms/io", "max", "KiB/io", "queue",
    ];
    let mut source = "";
    for figure in &shown {
        if source != figure.key.source {
            source = &figure.key.source;
            write!(out, "{source}\n  {:name_width$}", "name")?;
            for head in heads {
                write!(out, " {head:>9}")?;
            }
            writeln!(out)?;
        }
        write!(out, "  {:name_width$}", figure.key.name)?;
        for (_, value) in COLUMNS.iter().take(heads.len()) {
            match value(figure) {
                Some(number) => write!(out, " {:>9}", short(number))?,
                None => write!(out, " {:>9}", "-")?,
            }
        }
        writeln!(out)?;
        if figure.group.over_ns > 0 {
            let (all_s, longest_s) =
                (figure.group.over_ns / 1_000_000_000, figure.group.over_ns_longest / 1_000_000_000);
            writeln!(out, "    over the threshold for {all_s} s, {longest_s} s of it without a break")?;
        }
        if !figure.group.resets.is_empty() {
            writeln!(out, "    not counted: {}", resets(figure.group))?;
        }
    }
    notes(&shown, out)
}

/// What the numbers of each kind that is shown mean.
fn notes(shown: &[Figures<'_>], out: &mut dyn Write) -> io::Result<()> {
    let mut kinds: Vec<_> = shown.iter().map(|figure| figure.key.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        if let Some(note) = kind.note() {
            writeln!(out, "{kind}: {note}")?;
        }
    }
    Ok(())
}

/// Three significant digits, and whole numbers above a hundred.
fn short(number: f64) -> String {
    match number {
        number if number >= 100.0 => format!("{number:.0}"),
        number if number >= 10.0 => format!("{number:.1}"),
        number if !(0.000_5..1.0).contains(&number) => format!("{number:.2}"),
        number => format!("{number:.3}"),
    }
}

/// One line a group, every column, absent numbers empty.
pub fn write_watch_csv(window: &WatchWindow, top: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let heads = ["source", "kind", "name"].into_iter().chain(COLUMNS.iter().map(|(head, _)| *head));
    writer.write_record(heads.chain(["resets"]))?;
    for figure in figures(window, top) {
        let numbers =
            COLUMNS.iter().map(|(_, value)| value(&figure).map_or_else(String::new, |n| n.to_string()));
        let texts = [figure.key.source.clone(), figure.key.kind.to_string(), figure.key.name.clone()];
        writer.write_record(texts.into_iter().chain(numbers).chain([resets(figure.group)]))?;
    }
    writer.flush()
}

/// An array with an object for each group, absent numbers null.
pub fn write_watch_json(window: &WatchWindow, top: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    let groups: Vec<Value> = figures(window, top)
        .iter()
        .map(|figure| {
            let mut object = json!({
                "source": figure.key.source,
                "kind": figure.key.kind,
                "name": figure.key.name,
                "note": figure.key.kind.note(),
                "resets": figure.group.resets,
                "interval_stall_ns_p95": figure.group.ops_by_stall.stall_ns_at(0.95),
            });
            for (head, value) in COLUMNS {
                object[head] = json!(value(figure));
            }
            object
        })
        .collect();
    let document =
        json!({ "schema": "iostall-watch", "schema_version": 1, "level": window.level, "groups": groups });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::{Level, WatchWindow};
    use iostall_model::{Change, Counters, Kind, Row, Subject, Totals};

    fn window() -> WatchWindow {
        let subject = Subject {
            kind: Kind::MysqlFile,
            database: "shop".into(),
            name: "./shop/t.ibd".into(),
            identity: "1".into(),
            volume: None,
        };
        let row = Row { subject, counters: Counters::new(), age_ms: None };
        let amounts = Counters::new()
            .with(Counter::Reads, 0)
            .with(Counter::ReadStall, 0)
            .with(Counter::Writes, 30)
            .with(Counter::WriteBytes, 30 * 16_384)
            .with(Counter::WriteStall, 6_000_000);
        let change = Change::Delta(Totals { covered_ns: 60_000_000_000, amounts });
        let mut window = WatchWindow::new(Level::Files, None);
        window.add("mysql://db1:3306", [(&row, &change)].into_iter());
        window
    }

    fn text(write: impl Fn(&mut dyn Write) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_was_not_told_is_a_dash_and_what_is_small_is_not_zero() {
        let text = text(|out| write_watch_text(&window(), None, out));
        let line = text.lines().find(|line| line.contains("t.ibd")).unwrap();
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        assert_eq!(
            words,
            ["./shop/t.ibd", "0.00", "0.500", "-", "0.008", "-", "0.200", "0.200", "0.200", "16.0", "0.00"]
        );
        assert!(text.contains("only the submission is timed"));
    }

    #[test]
    fn the_forms_for_programs_have_units_in_their_names() {
        let csv = text(|out| write_watch_csv(&window(), None, out));
        assert!(csv.starts_with("source,kind,name,reads_per_s,") && csv.contains(",stall_ms_per_write,"));
        let json: Value = serde_json::from_str(&text(|out| write_watch_json(&window(), None, out))).unwrap();
        assert_eq!(json["groups"][0]["stall_ms_per_read"], Value::Null);
        assert!((json["groups"][0]["stall_ms_per_write"].as_f64().unwrap() - 0.2).abs() < 1e-9);
    }
}
