//! Capacity records as lines of text.

use std::fmt::Write as _;

use iostall_measure::foreign::shown;
use iostall_measure::Durability;
use iostall_model::capacity::IoShape;
use iostall_model::{CapacityRecord, RunNumber};
use serde_json::{Value, json};

use crate::format::rates;

/// Those of one device and shape together, and of these first what is not in doubt, the highest rate first. Devices and shapes come as
/// they were measured, the newest first.
pub fn best_first(records: Vec<(RunNumber, CapacityRecord)>) -> Vec<(RunNumber, CapacityRecord)> {
    let is_alike = |one: &CapacityRecord, other: &CapacityRecord| {
        let is_same = match (&one.device_key, &other.device_key) {
            (None, None) => one.host == other.host && one.device == other.device,
            (ours, theirs) => ours == theirs,
        };
        is_same && one.shape == other.shape
    };
    let mut groups: Vec<Vec<(RunNumber, CapacityRecord)>> = Vec::new();
    for one in records {
        let group = groups.iter_mut().find(|group| group.first().is_some_and(|first| is_alike(&first.1, &one.1)));
        match group {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let iops = |record: &CapacityRecord| record.best().map_or(0.0, |best| best.iops);
    let is_doubtful = |record: &CapacityRecord| !record.doubts().is_empty();
    for group in &mut groups {
        group.sort_by(|(_, one), (_, other)| {
            is_doubtful(one).cmp(&is_doubtful(other)).then(iops(other).total_cmp(&iops(one)))
        });
    }
    groups.into_iter().flatten().collect()
}

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
    let CapacityRecord { device, model, measured_utc, shape, .. } = record;
    let named =
        model.as_ref().map_or_else(|| shown(device), |model| format!("{} ({})", shown(device), shown(model)));
    let gave = record.best().map_or_else(String::new, |best| {
        format!(
            "{} at {} in flight",
            rates(best.iops, best.mib_per_s, Some(best.latency_ns_p99)),
            best.in_flight
        )
    });
    let doubts = record.doubts();
    let marks = if doubts.is_empty() { doubts } else { format!(", in doubt: {doubts}") };
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
    words.push_str(match shape.durability {
        Durability::None => "",
        Durability::WriteThrough => ", write-through",
    });
    words
}
