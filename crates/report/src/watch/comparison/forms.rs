//! A comparison as CSV and JSON.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use iostall_watch::windows::{Pair, Values, WatchComparison, WatchReport};

use super::page::{compared, values as values_of, word};
use crate::watch::columns::stall_is;
use crate::watch::forms::sources;

fn numbers(pair: &Pair<'_>, of: &WatchComparison) -> Vec<(&'static str, Values)> {
    let mut all: Vec<_> = compared().map(|number| (number.name, values_of(pair, number))).collect();
    all.push(("stall_ms_per_io_at_mix_before", pair.stall_ms_at_mix()));
    all.push(("covered_pct", pair.covered_pct(of)));
    all
}

/// One line per group and number; absent values are empty.
pub fn write_comparison_csv(comparison: &WatchComparison, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record([
        "source",
        "kind",
        "name",
        "stall_is",
        "in",
        "metric",
        "before",
        "after",
        "change",
        "change_pct",
    ])?;
    for pair in comparison.pairs(usize::MAX) {
        for (name, values) in numbers(&pair, comparison) {
            let text = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
            writer.write_record([
                pair.key.source.clone(),
                pair.key.kind.to_string(),
                pair.key.name.clone(),
                stall_is(pair.key.kind).unwrap_or_default().to_owned(),
                word(pair.presence()).to_owned(),
                name.to_owned(),
                text(values.before),
                text(values.after),
                text(values.change()),
                text(values.change_pct()),
            ])?;
        }
    }
    writer.flush()
}

fn values(values: Values) -> Value {
    json!({
        "before": values.before,
        "after": values.after,
        "change": values.change(),
        "change_pct": values.change_pct(),
    })
}

fn side(report: &WatchReport) -> Value {
    json!({
        "from": report.from,
        "to": report.to,
        "length_s": report.length_ns() as f64 / 1e9,
        "sources": sources(report),
    })
}

/// Both windows, all groups together, and an object per group; absent values are null.
pub fn write_comparison_json(comparison: &WatchComparison, out: &mut dyn Write) -> io::Result<()> {
    let group = |pair: &Pair<'_>| {
        let metrics: Map<String, Value> = numbers(pair, comparison)
            .into_iter()
            .map(|(name, both)| (name.to_owned(), values(both)))
            .collect();
        json!({
            "source": pair.key.source,
            "kind": pair.key.kind,
            "name": pair.key.name,
            "note": pair.key.kind.note(),
            "stall_is": stall_is(pair.key.kind),
            "in": word(pair.presence()),
            "metrics": metrics,
        })
    };
    let overall: Vec<Value> = comparison
        .overall()
        .iter()
        .map(|one| {
            let ms = |ns: Option<f64>| ns.map(|ns| ns / 1e6);
            let stall = Values { before: ms(one.stall_ns.before), after: ms(one.stall_ns.after) };
            json!({
                "source": one.source,
                "kind": one.kind,
                "stall_ms_per_io_at_mix_before": values(stall),
                "ops_before_pct": one.ops_share * 100.0,
            })
        })
        .collect();
    let document = json!({
        "schema": "iostall-watch-comparison",
        "schema_version": 1,
        "level": comparison.after.window.level,
        "before": side(&comparison.before),
        "after": side(&comparison.after),
        "overall": overall,
        "groups": comparison.pairs(usize::MAX).iter().map(group).collect::<Vec<_>>(),
    });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_watch::windows::fixture;

    #[test]
    fn json_and_csv_have_both_windows_and_the_change() {
        let comparison = fixture::comparison();
        let mut bytes = Vec::new();
        write_comparison_json(&comparison, &mut bytes).unwrap();
        let json: Value = serde_json::from_slice(&bytes).unwrap();
        let first = &json["groups"][0];
        assert_eq!((&first["in"], &first["name"]), (&json!("both"), &json!("E:\\data\\a.mdf")));
        let pct = first["metrics"]["stall_ms_per_read"]["change_pct"].as_f64().unwrap();
        assert!((pct - 200.0).abs() < 1e-6);
        assert_eq!(first["metrics"]["reads_per_s"]["change"], 0.0);
        let mut bytes = Vec::new();
        write_comparison_csv(&comparison, &mut bytes).unwrap();
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 4 * 14);
        let gone = rows.iter().find(|row| &row[2] == "./shop/t.ibd" && &row[5] == "writes_per_s").unwrap();
        assert_eq!((&gone[4], &gone[6], &gone[7], &gone[9]), ("before", "0.5", "", ""));
    }
}
