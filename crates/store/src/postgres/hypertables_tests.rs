//! A repository in a database with TimescaleDB.

use jiff::SignedDuration;

use super::server::{Server, no_password};
use super::tests::{days_and_months_go, reads, sample, truth};
use super::*;
use crate::history::contract;
use crate::lake_day::{LakeDay, LakeSwitch};

const DAY: i64 = 24 * 60;

fn start() -> Option<Server> {
    Server::start_with("timescaledb")
}

fn with_extension(server: &Server, name: &str) -> Address {
    let address = server.database(name, "");
    server.sql(name, "CREATE EXTENSION timescaledb");
    address
}

fn new(server: &Server, name: &str) -> PostgresHistory {
    let address = with_extension(server, name);
    let made = PostgresHistory::initialise(&address, &no_password()).unwrap();
    assert!(made.timescaledb.is_some(), "{made:?}");
    PostgresHistory::open(&address, &no_password()).unwrap()
}

#[test]
fn with_timescaledb_it_does_what_every_history_must_do() {
    let Some(server) = start() else { return };
    let mut count = 0;
    contract::run_all(|| {
        count += 1;
        new(&server, &format!("contract_{count}"))
    });
}

#[test]
fn its_chunks_go_whole_and_nothing_that_was_not_rolled_up() {
    let Some(server) = start() else { return };
    with_extension(&server, "old");
    days_and_months_go(&server, "old");
}

/// Three samples a day, `days` days, all of them rolled up and compressed.
fn compressed(server: &Server, name: &str, days: i64) -> (PostgresHistory, SourceId) {
    let mut history = new(server, name);
    let source = history.source("s").unwrap().id;
    for day in 0..days {
        for minute in 0..3 {
            history.add_sample(source, sample(day * DAY + minute, 3)).unwrap();
        }
    }
    history.finish().unwrap();
    let chunks = server.sql(name, include_str!("../../testdata/compress_chunks.sql"));
    assert_eq!(chunks.lines().count(), usize::try_from(days * 2).unwrap(), "{chunks}");
    (history, source)
}

fn intervals(history: &PostgresHistory, source: SourceId) -> Vec<String> {
    let mut all = Vec::new();
    let mut each = |step: Step| all.push(format!("{step:?}"));
    history.intervals(source, Timestamp::MIN, Timestamp::MAX, &mut each).unwrap();
    all
}

#[test]
fn compressed_days_are_read_rebuilt_and_added_to_as_others_are() {
    let Some(server) = start() else { return };
    let (mut history, source) = compressed(&server, "compressed", 4);
    let last = 3 * DAY + 2;
    assert_eq!(history.last_sample(source).unwrap(), Some(sample(last, 3)));
    assert_eq!(intervals(&history, source).len(), 11);
    let sums = |history: &PostgresHistory| [Tier::Hour, Tier::Day].map(|tier| reads(history, source, tier));
    assert_eq!(sums(&history), [truth(last); 2]);
    history.rebuild(source).unwrap();
    assert_eq!(sums(&history), [truth(last); 2]);
    for minute in last + 1..last + 4 {
        history.add_sample(source, sample(minute, 3)).unwrap();
    }
    history.finish().unwrap();
    assert_eq!(intervals(&history, source).len(), 14);
    assert_eq!(sums(&history), [truth(last + 3); 2]);
}

#[test]
fn compressed_days_are_forgotten_and_removed_with_their_source() {
    let Some(server) = start() else { return };
    let (mut history, source) = compressed(&server, "forgotten", 4);
    let other = history.source("other").unwrap().id;
    history.add_sample(other, sample(DAY, 3)).unwrap();
    let retention = Retention { raw: SignedDuration::from_hours(24), ..Retention::default() };
    history.forget(&retention, sample(4 * DAY, 0).taken.utc).unwrap();
    assert_eq!(intervals(&history, source).len(), 2, "one day is left");
    assert_eq!(reads(&history, source, Tier::Day), truth(3 * DAY + 2));
    history.remove(source).unwrap();
    assert_eq!(history.sources().unwrap().len(), 1);
    assert_eq!(server.sql("forgotten", "TABLE iostall.sample_row"), "");
}

#[test]
fn a_compressed_day_goes_to_the_lake() {
    let Some(server) = start() else { return };
    let (mut history, source) = compressed(&server, "moved", 4);
    let limit = sample(3 * DAY, 0).taken.utc;
    let days = history.lake_days(limit).unwrap();
    let first = LakeDay("2026-03-01".parse().unwrap());
    assert_eq!((days.len(), days[0]), (3, first));
    history.finish_lake_day(first).unwrap();
    let seal = history.lake_seal(first).unwrap();
    assert_eq!(seal.sample_rows, 9);
    let number = history.begin_lake_move(first, "file:///lake").unwrap();
    history.mark_lake_verified(number, &seal, 1).unwrap();
    assert_eq!(history.switch_lake_day(number, first, &seal, &[]).unwrap(), LakeSwitch::Done);
    assert_eq!(intervals(&history, source).len(), 8);
    assert_eq!(history.lake_days(limit).unwrap(), days[1..]);
}

/// Its rows would have to be moved, and nobody asked for that.
#[test]
fn a_repository_that_was_there_before_the_extension_stays_as_it_is() {
    let Some(server) = start() else { return };
    let address = server.database("before", "");
    let initialise = || PostgresHistory::initialise(&address, &no_password()).unwrap();
    initialise();
    server.sql("before", "CREATE EXTENSION timescaledb");
    assert_eq!(initialise().timescaledb, None);
    let mut history = PostgresHistory::open(&address, &no_password()).unwrap();
    let source = history.source("s").unwrap().id;
    history.add_sample(source, sample(0, 2)).unwrap();
    assert_eq!(history.last_sample(source).unwrap(), Some(sample(0, 2)));
}
