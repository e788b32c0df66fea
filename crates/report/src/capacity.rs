//! Capacity records as lines of text.

use std::fmt::Write as _;

use iostall_measure::foreign::shown;
use iostall_measure::{Caching, Durability};
use iostall_model::capacity::IoShape;
use iostall_model::{CapacityRecord, RunNumber};
use serde_json::{Value, json};

use crate::format::rates;

/// One line a record, in the order given, each with its run.
pub fn table<'a>(records: impl Iterator<Item = (RunNumber, &'a CapacityRecord)>) -> String {
    let rows: Vec<[String; 4]> = records.map(|(run, record)| cells(run, record)).collect();
    let widths: Vec<usize> =
        (0..3).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for [device, shape, gave, from] in &rows {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{device:0$}  {shape:1$}  {gave:2$}  {from}", widths[0], widths[1], widths[2]);
    }
    text
}

pub fn to_json<'a>(records: impl Iterator<Item = (RunNumber, &'a CapacityRecord)>) -> Value {
    records.map(|(number, record)| json!({"number": number.0, "record": record})).collect()
}

fn cells(run: RunNumber, record: &CapacityRecord) -> [String; 4] {
    let CapacityRecord { device, model, measured_utc, shape, warnings, .. } = record;
    let named =
        model.as_ref().map_or_else(|| shown(device), |model| format!("{} ({})", shown(device), shown(model)));
    let gave = record.best().map_or_else(String::new, |best| {
        format!(
            "{} at {} in flight",
            rates(best.iops, best.mib_per_s, Some(best.latency_ns_p99)),
            best.in_flight
        )
    });
    let plural = if warnings.len() == 1 { "" } else { "s" };
    let marks =
        if warnings.is_empty() { String::new() } else { format!(", {} warning{plural}", warnings.len()) };
    [named, words(shape), gave, format!("run {run}, {}{marks}", measured_utc.strftime("%Y-%m-%d"))]
}

/// `8 KiB random, 30% writes, buffered`.
fn words(shape: &IoShape) -> String {
    let mut words = format!("{} {}", shape.block_size.in_words(), shape.access.name());
    let percent = shape.write_pct.percent();
    if percent <= 0.0 {
        words.push_str(" reads");
    } else if percent >= 100.0 {
        words.push_str(" writes");
    } else {
        words.push_str(&format!(", {percent}% writes"));
    }
    words.push_str(match shape.caching {
        Caching::Direct => "",
        Caching::Buffered => ", buffered",
    });
    words.push_str(match shape.durability {
        Durability::None => "",
        Durability::WriteThrough => ", write-through",
    });
    words
}
