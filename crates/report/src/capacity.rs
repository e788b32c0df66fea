//! Capacity records as lines of text.

use std::fmt::Write as _;

use iostall_measure::Durability;
use iostall_measure::foreign::shown;
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
        let group =
            groups.iter_mut().find(|group| group.first().is_some_and(|first| is_alike(&first.1, &one.1)));
        match group {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let iops = |record: &CapacityRecord| record.best().map_or(0.0, |best| best.iops);
    let is_doubtful = |record: &CapacityRecord| !record.warned_of().is_empty();
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
    let warned_of = record.warned_of();
    let marks = if warned_of.is_empty() { warned_of } else { format!(", in doubt: {warned_of}") };
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

#[cfg(test)]
mod tests {
    use iostall_model::WarningCode;
    use iostall_model::capacity::CapacityPoint;
    use iostall_model::profile::{Access, BlockMix};

    use super::*;

    fn record(number: u32, size: &str, iops: f64, warnings: &[WarningCode]) -> (RunNumber, CapacityRecord) {
        let shape = IoShape {
            block_size: size.parse::<BlockMix>().unwrap(),
            access: Access::Random,
            write_pct: iostall_measure::Percent::ZERO,
            caching: iostall_measure::Caching::Direct,
            durability: Durability::None,
        };
        let point = CapacityPoint {
            in_flight: 8,
            rate_iops: None,
            is_saturated: false,
            iops,
            mib_per_s: 1.0,
            latency_ns_p50: 1,
            latency_ns_p99: 2,
        };
        let record = CapacityRecord {
            device_key: Some("serial.x".into()),
            device: "sda".into(),
            model: None,
            host: "db1".into(),
            run: crate::fixture::run().id,
            measured_utc: crate::fixture::run().started_utc,
            shape,
            curve: vec![point],
            warnings: warnings.to_vec(),
        };
        (RunNumber(number), record)
    }

    /// The story: the list gave the newest first, and said of each only how many warnings it had.
    #[test]
    fn of_each_shape_the_best_that_is_not_in_doubt_comes_first_and_a_doubt_is_named() {
        let cautions = [WarningCode::DeviceBusy, WarningCode::FewSamples];
        let all = vec![
            record(4, "8K", 900.0, &cautions),
            record(3, "64K", 50.0, &[]),
            record(2, "8K", 300.0, &[WarningCode::FewSamples]),
            record(1, "8K", 400.0, &[]),
        ];
        let sorted = best_first(all);
        let numbers: Vec<u32> = sorted.iter().map(|(number, _)| number.0).collect();
        assert_eq!(numbers, [1, 2, 4, 3]);
        let text = table(sorted.iter().map(|(number, record)| (*number, record)));
        let marked: Vec<&str> = text.lines().filter(|line| line.contains("in doubt")).collect();
        assert!(marked.len() == 1 && marked[0].contains("device-busy"), "{text}");
    }
}
