//! The exposition: how it reads, and that a strict reader takes it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iostall_model::{
    Counter, Counters, DeviceRole, Epoch, Kind, ResetReason, Row, Sample, SampleTime, Scope, Subject,
};
use serde_json::Value;

use super::*;

fn row(kind: Kind, [within, name, identity]: [&str; 3], volume: Option<&str>, counters: &Counters) -> Row {
    let scope = match (kind, DeviceRole::named(within)) {
        (Kind::LinuxDevice, Some(role)) => Scope::Device(role),
        (Kind::LinuxCgroup, _) => Scope::Cgroup(within.into()),
        _ => Scope::database_or_source(within.into()),
    };
    let subject =
        Subject { kind, scope, name: name.into(), identity: identity.into(), volume: volume.map(Into::into) };
    Row { subject, counters: *counters, age_ms: None }
}

fn sources() -> Vec<SourceNow> {
    let stalls = Counters::new()
        .with(Counter::Reads, 12)
        .with(Counter::ReadBytes, 98_304)
        .with(Counter::ReadStall, 1_234)
        .with(Counter::SizeBytes, 4_096)
        .with(Counter::StatisticsReset, 77);
    let picoseconds = Counters::new().with(Counter::WriteStall, 5_000_001_000_999);
    let blocks = Counters::new().with(Counter::Reads, 3).with(Counter::ReadStall, 1_500);
    let sample = |rows| Sample {
        taken: SampleTime { utc: "2026-11-21T12:00:00Z".parse().unwrap(), clock: "c".into(), clock_ns: 5 },
        epoch: Epoch::default(),
        rows,
        warnings: Vec::new(),
    };
    let windows = sample(vec![
        row(Kind::SqlServerFile, ["sales", "E:\\data\\\"a\".mdf", "5:1"], Some("E:\\"), &stalls),
        row(Kind::SqlServerFile, ["tempdb", "x\ny", "2:1"], None, &stalls),
    ]);
    let mixed = sample(vec![
        row(Kind::MysqlFile, ["shop", "./t.ibd", "1"], None, &picoseconds),
        row(Kind::PostgresIoBlocks, ["", "client backend/relation/normal", "n"], None, &blocks),
        row(Kind::PostgresDatabase, ["sales", "sales", "16384"], None, &blocks),
        row(
            Kind::LinuxDevice,
            ["disk", "sda", "8:0"],
            Some("/"),
            &Counters::new().with(Counter::InFlight, 2),
        ),
        row(
            Kind::LinuxDevice,
            ["disk", "sda", "8:16"],
            Some("/"),
            &Counters::new().with(Counter::ReadBytes, 8),
        ),
    ]);
    vec![
        SourceNow {
            name: "sqlserver://db1:1433".into(),
            last: Some(Arc::new(windows)),
            is_up: true,
            age_ns: Some(1_500_000_000),
            samples: 7,
            gaps: 1,
            resets: BTreeMap::from([(ResetReason::Reattach, 3)]),
        },
        SourceNow { name: "mixed".into(), last: Some(Arc::new(mixed)), is_up: true, ..SourceNow::default() },
        SourceNow { name: "never".into(), gaps: 4, ..SourceNow::default() },
    ]
}

#[test]
fn the_exposition_of_three_sources_reads_so() {
    insta::assert_snapshot!(exposition(&sources(), &[], "1.2.3"));
}

#[test]
fn a_strict_reader_takes_it_and_finds_every_name_announced() {
    let text = exposition(&sources(), &[], "1.2.3");
    let known = metric_names();
    let (mut family, mut done, mut series) = (String::new(), BTreeSet::new(), BTreeSet::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            family = rest.split(' ').next().unwrap().to_owned();
            assert!(done.insert(family.clone()), "the lines of {family} stand together");
            assert!(known.contains(&family), "{family} is in the list of names");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(name, family);
            assert_eq!(kind == "counter", name.ends_with("_total"), "{name} {kind}");
        } else {
            let (name, labels, value) = parse(line);
            assert_eq!(name, family);
            assert!(value.parse::<f64>().is_ok_and(|value| value >= 0.0), "{line}");
            assert!(series.insert((name, labels)), "no series twice: {line}");
        }
    }
}

/// Name, labels and value of a line, by the grammar of the format.
fn parse(line: &str) -> (String, BTreeMap<String, String>, String) {
    let (name, rest) = line.split_once('{').unwrap();
    assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{name}");
    let (mut labels, mut rest) = (BTreeMap::new(), rest);
    loop {
        let (label, after) = rest.split_once("=\"").unwrap();
        assert!(label.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{label}");
        let (mut value, mut characters) = (String::new(), after.char_indices());
        let end = loop {
            match characters.next().unwrap() {
                (at, '"') => break at,
                (_, '\\') => value.push(match characters.next().unwrap().1 {
                    'n' => '\n',
                    escaped @ ('\\' | '"') => escaped,
                    other => panic!("\\{other} is no escape"),
                }),
                (_, other) => value.push(other),
            }
        };
        assert!(labels.insert(label.to_owned(), value).is_none(), "{label} twice");
        rest = &after[end + 1..];
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => break,
        }
    }
    (name.to_owned(), labels, rest.strip_prefix("} ").unwrap().to_owned())
}

#[test]
fn names_that_hold_quotes_backslashes_and_line_ends_read_back() {
    let text = exposition(&sources(), &[], "1");
    let files: Vec<_> = text.lines().filter(|line| line.starts_with("iostall_file_reads_total")).collect();
    let names: Vec<String> = files.iter().map(|line| parse(line).1["file"].clone()).collect();
    assert_eq!(names, ["E:\\data\\\"a\".mdf", "x\ny"]);
}

#[test]
fn every_metric_of_the_dashboard_is_one_we_export() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/grafana/iostall.json");
    let dashboard: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut used = BTreeSet::new();
    find_names(&dashboard, &mut used);
    let known = metric_names();
    assert!(used.len() > 10, "the dashboard uses {used:?}");
    for name in used {
        assert!(known.contains(&name), "{name} is not exported");
    }
}

/// Every word in any text of `value` that begins like a metric of ours.
fn find_names(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            names.extend(words.filter(|word| word.starts_with("iostall_")).map(str::to_owned));
        }
        Value::Array(all) => all.iter().for_each(|value| find_names(value, names)),
        Value::Object(all) => all.values().for_each(|value| find_names(value, names)),
        _ => {}
    }
}

/// The counters of a server that was down stood still for hours: its rates were zero, as if it had been idle.
#[test]
fn a_source_that_does_not_answer_has_no_values() {
    let mut all = sources();
    all[1].is_up = false;
    let text = exposition(&all, &[], "1.2.3");
    assert!(text.contains("iostall_source_up{source=\"mixed\"} 0"), "{text}");
    assert!(!text.lines().any(|line| line.contains("sda") && line.contains("mixed")), "{text}");
    assert!(text.contains("E:\\\\data"), "the others have theirs: {text}");
}
