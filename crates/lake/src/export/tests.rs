//! What is written, read back by Parquet's own reader.

use std::collections::BTreeMap;
use std::fs::File;

use iostall_model::{
    Counter, Counters, DeviceRole, Epoch, Gap, Kind, Row, Sample, SampleTime, Scope, Subject,
};
use jiff::{SignedDuration, Timestamp};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use super::*;

fn at(minute: u64) -> Timestamp {
    let start: Timestamp = "2026-03-01T09:58:00.000000123Z".parse().unwrap();
    start + SignedDuration::from_mins(minute.cast_signed())
}

fn sample(minute: u64) -> Sample {
    let subject = |kind, scope, name: &str, volume: Option<&str>| Subject {
        kind,
        scope,
        name: name.into(),
        identity: format!("{name}'s"),
        volume: volume.map(str::to_owned),
    };
    let file = subject(Kind::SqlServerFile, Scope::Database("sales".into()), "sales.mdf", Some("E:\\"));
    let disk = subject(Kind::LinuxDevice, Scope::Device(DeviceRole::Disk), "sda", None);
    let of_file = Counters::new().with(Counter::Reads, minute).with(Counter::ReadStall, 3 * minute);
    let of_disk = Counters::new().with(Counter::ReadBytes, 8 * minute).with(Counter::Writes, u64::MAX);
    let mut rows = vec![Row { subject: disk, counters: of_disk, age_ms: None }];
    if minute > 0 {
        rows.push(Row { subject: file, counters: of_file, age_ms: Some(minute) });
    }
    Sample {
        taken: SampleTime { utc: at(minute), clock: "boot".into(), clock_ns: minute * 60_000_000_000 },
        epoch: Epoch { instance: "one".into(), version: 15, ..Epoch::default() },
        rows,
        warnings: Vec::new(),
    }
}

type Record = BTreeMap<String, Field>;

fn records(path: &Path) -> Vec<Record> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| {
        row.unwrap().get_column_iter().map(|(name, field)| (name.clone(), field.clone())).collect()
    })
    .collect()
}

fn text(text: &str) -> Field {
    Field::Str(text.into())
}

/// Fills the store of `directory` and exports it.
fn exported(directory: &Path) -> Exported {
    let store = directory.join("store.db");
    let mut history = SqliteHistory::open(&store).unwrap();
    for name in ["linux:", "mysql://db1"] {
        let source = history.source(name).unwrap().id;
        for minute in 0..150 {
            if minute == 70 {
                let gap = Gap { at: at(69), missed: 3, reason: "slow".into() };
                history.add_gap(source, &gap).unwrap();
            }
            history.add_sample(source, sample(minute)).unwrap();
        }
    }
    export(&store, &directory.join("lake")).unwrap()
}

/// Samples were in SQLite only, in compressed bodies that no tool of others reads.
#[test]
fn every_value_of_every_sample_is_in_its_column() {
    let directory = tempfile::tempdir().unwrap();
    let done = exported(directory.path());
    assert_eq!((done.sources, done.samples, done.rows), (2, 300, 2 * (150 + 149)));
    let records = records(&done.samples_file);
    assert_eq!(records.len() as u64, done.rows);
    let of = |source: &str, name: &str| -> Vec<&Record> {
        records
            .iter()
            .filter(|record| record["source"] == text(source) && record["name"] == text(name))
            .collect()
    };
    for source in ["linux:", "mysql://db1"] {
        let (disk, file) = (of(source, "sda"), of(source, "sales.mdf"));
        assert_eq!((disk.len(), file.len()), (150, 149));
        for (minute, record) in (0_u64..).zip(&disk) {
            assert_eq!(record["taken_utc"], Field::TimestampMicros(at(minute).as_microsecond()));
            assert_eq!(record["read_bytes"], Field::ULong(8 * minute * 512), "sectors are bytes here");
            assert_eq!(record["writes"], Field::ULong(u64::MAX));
            assert_eq!((&record["reads"], &record["volume"]), (&Field::Null, &Field::Null));
            assert_eq!((&record["scope"], &record["scope_name"]), (&text("device"), &text("disk")));
        }
        for (minute, record) in (1_u64..).zip(&file) {
            assert_eq!(record["reads"], Field::ULong(minute));
            assert_eq!(record["read_stall_ns"], Field::ULong(3 * minute * 1_000_000));
            assert_eq!((&record["scope"], &record["scope_name"]), (&text("database"), &text("sales")));
            assert_eq!((&record["kind"], &record["volume"]), (&text("sqlserver-file"), &text("E:\\")));
            assert_eq!(record["series_id"], file[0]["series_id"]);
        }
    }
    assert_ne!(of("linux:", "sda")[0]["series_id"], of("mysql://db1", "sda")[0]["series_id"]);
}

#[test]
fn gaps_are_a_file_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let done = exported(directory.path());
    let gaps = records(&done.gaps_file);
    assert_eq!(gaps.len(), 2);
    assert_eq!((&gaps[0]["missed"], &gaps[0]["reason"]), (&Field::ULong(3), &text("slow")));
}

#[test]
fn a_file_that_is_there_is_left_as_it_is_and_nothing_else_is_left_behind() {
    let directory = tempfile::tempdir().unwrap();
    exported(directory.path());
    let (store, lake) = (directory.path().join("store.db"), directory.path().join("lake"));
    let before = std::fs::read(lake.join("samples.parquet")).unwrap();
    let error = export(&store, &lake).unwrap_err();
    assert!(matches!(&error, ExportError::Exists { path } if path.ends_with("samples.parquet")), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("nothing was changed")));
    std::fs::remove_file(lake.join("samples.parquet")).unwrap();
    assert!(matches!(export(&store, &lake), Err(ExportError::Exists { .. })), "the gaps are still there");
    let left: Vec<_> = std::fs::read_dir(&lake).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["gaps.parquet"]);
    assert!(!before.is_empty());
}

#[test]
fn a_store_that_is_not_there_is_not_made() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("no.db");
    assert!(matches!(export(&store, directory.path()), Err(ExportError::NoStore { .. })));
    assert!(!store.exists());
}
