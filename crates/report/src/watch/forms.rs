//! The groups of a window as CSV and JSON.

use std::io::{self, Write};

use iostall_watch::Slot;
use iostall_watch::windows::{SourceHistory, WatchReport};
use serde_json::{Value, json};

use super::columns::{Figures, NUMBERS, ROOM, stall_is};
use super::page::title;
use crate::junit::{Suite, write_verdicts};

pub fn write_watch_csv(report: &WatchReport, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let heads = ["source", "kind", "name"].into_iter().chain(NUMBERS.iter().map(|number| number.name));
    writer.write_record(heads.chain(["resets", "volumes", "stall_is"]))?;
    for (key, group) in report.shown(usize::MAX).groups {
        let figure = Figures { key, group };
        let numbers =
            NUMBERS.iter().map(|number| (number.value)(&figure).map_or_else(String::new, |n| n.to_string()));
        let texts = [figure.key.source.clone(), figure.key.kind.to_string(), figure.key.name.clone()];
        let rest = [
            figure.resets(),
            figure.volumes().join("; "),
            stall_is(figure.key.kind).unwrap_or_default().to_owned(),
        ];
        writer.write_record(texts.into_iter().chain(numbers).chain(rest))?;
    }
    writer.flush()
}

/// The window, its sources, and an array with an object per group; absent numbers are null.
pub fn write_watch_json(report: &WatchReport, out: &mut dyn Write) -> io::Result<()> {
    let shown = report.shown(usize::MAX);
    let groups: Vec<Value> = shown
        .groups
        .iter()
        .map(|(key, group)| {
            let figure = &Figures { key, group };
            let mut object = json!({
                "source": figure.key.source,
                "kind": figure.key.kind,
                "name": figure.key.name,
                "note": figure.key.kind.note(),
                "stall_is": stall_is(figure.key.kind),
                "volumes": figure.volumes(),
                "resets": figure.group.resets,
                "interval_stall_ns_p95": figure.group.ops_by_stall.stall_ns_at(0.95),
            });
            if figure.group.began > 0 {
                object["began"] = json!(figure.group.began);
            }
            for number in &NUMBERS {
                object[number.name] = json!((number.value)(figure));
            }
            object
        })
        .collect();
    let mut document = json!({
        "schema": "iostall-watch",
        "schema_version": 1,
        "level": report.window.level,
        "from": report.from,
        "to": report.to,
        "sources": sources(report),
        "groups": groups,
        "groups_left_out": shown.left_out,
    });
    if !report.verdicts.is_empty() {
        document["verdicts"] = json!(report.verdicts);
    }
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

/// A test case for each requirement, and the highest stall per I/O and the rates of each group as properties.
pub fn write_watch_junit(report: &WatchReport, out: &mut dyn Write) -> io::Result<()> {
    let mut properties =
        vec![("from".to_owned(), report.from.to_string()), ("to".to_owned(), report.to.to_string())];
    for (key, group) in report.shown(ROOM).groups {
        let figure = Figures { key, group };
        let known = NUMBERS.iter().filter_map(|number| Some((number.name, (number.value)(&figure)?)));
        let named =
            known.map(|(name, value)| (format!("{}.{}.{name}", key.source, key.name), value.to_string()));
        properties.extend(named);
    }
    let title = title(report);
    let suite = Suite {
        kind: "report",
        name: &title,
        started: Some(report.from),
        hostname: None,
        seconds: report.length_ns() as f64 / 1e9,
        properties,
    };
    write_verdicts(&suite, &report.verdicts, out)
}

pub(super) fn sources(report: &WatchReport) -> Vec<Value> {
    let one = |source: &SourceHistory| {
        let mut object = json!(source);
        object["covered_pct"] = json!(report.coverage(&source.name) * 100.0);
        object
    };
    report.sources.iter().map(one).collect()
}

/// Writes rows as they come, so that a year of them needs no memory.
pub struct TimedCsv<W: Write> {
    writer: csv::Writer<W>,
}

impl<W: Write> TimedCsv<W> {
    pub fn new(out: W) -> io::Result<Self> {
        let mut writer = csv::Writer::from_writer(out);
        let heads = ["start", "end", "source", "kind", "name"];
        let numbers = NUMBERS.iter().map(|number| number.name);
        writer.write_record(heads.into_iter().chain(numbers).chain(["resets", "volumes", "stall_is"]))?;
        Ok(Self { writer })
    }

    pub fn slot(&mut self, slot: &Slot<'_>) -> io::Result<()> {
        for (key, group) in &slot.window.groups {
            let figure = Figures { key, group };
            let numbers = NUMBERS
                .iter()
                .map(|number| (number.value)(&figure).map_or_else(String::new, |number| number.to_string()));
            let heads = [
                slot.start.to_string(),
                slot.end.to_string(),
                figure.key.source.clone(),
                figure.key.kind.to_string(),
                figure.key.name.clone(),
            ];
            let rest = [
                figure.resets(),
                figure.volumes().join("; "),
                stall_is(figure.key.kind).unwrap_or_default().to_owned(),
            ];
            self.writer.write_record(heads.into_iter().chain(numbers).chain(rest))?;
        }
        Ok(())
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_watch::windows::fixture;

    fn text(write: impl Fn(&mut dyn Write) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_forms_for_programs_have_units_in_their_names_and_no_number_where_none_is_known() {
        let report = fixture::report();
        let csv = text(|out| write_watch_csv(&report, out));
        assert!(csv.starts_with("source,kind,name,reads_per_s,") && csv.contains(",stall_ms_per_write,"));
        let json: Value = serde_json::from_str(&text(|out| write_watch_json(&report, out))).unwrap();
        let group =
            json["groups"].as_array().unwrap().iter().find(|group| group["name"] == "./shop/t.ibd").unwrap();
        assert_eq!(group["stall_ms_per_read"], Value::Null);
        assert!((group["stall_ms_per_write"].as_f64().unwrap() - 0.2).abs() < 1e-9);
        assert_eq!(group["stall_is"], "submission only if asynchronous");
        assert_eq!(group["volume_ops_pct"], Value::Null, "its volume is not known");
        assert_eq!(json["sources"][0]["gaps"][0]["reason"], "timed out");
    }

    #[test]
    fn a_row_of_csv_has_a_field_for_every_head() {
        let csv = text(|out| write_watch_csv(&fixture::report(), out));
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let heads = reader.headers().unwrap().len();
        assert!(reader.records().all(|record| record.unwrap().len() == heads));
    }
}
