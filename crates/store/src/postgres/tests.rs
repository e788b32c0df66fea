//! A repository on real servers. What every history must do is in `history::contract`.

use iostall_model::{Counter, Counters, Epoch, Kind, Row, Sample, SampleTime, Scope, Subject};
use jiff::SignedDuration;

use super::server::{Server, no_password};
use super::*;
use crate::history::contract;

fn new(server: &Server, name: &str) -> PostgresHistory {
    let address = server.database(name, "");
    PostgresHistory::initialise(&address, &no_password()).unwrap();
    PostgresHistory::open(&address, &no_password()).unwrap()
}

#[test]
fn on_postgres_15_it_does_what_every_history_must_do() {
    contract_on(15);
}

#[test]
fn on_postgres_18_it_does_what_every_history_must_do() {
    contract_on(18);
}

fn contract_on(version: u32) {
    let Some(server) = Server::start(version) else { return };
    let mut count = 0;
    contract::run_all(|| {
        count += 1;
        new(&server, &format!("contract_{count}"))
    });
}

/// A counter without a column, or a column that no counter has, is found here and not in production.
#[test]
fn the_tables_have_a_column_for_every_counter() {
    let Some(server) = Server::start(15) else { return };
    let history = new(&server, "columns");
    let names: Vec<&str> = Counter::ALL.into_iter().map(Counter::name).collect();
    let kept = |table: &str| -> Vec<String> {
        let listed =
            server.sql("columns", &include_str!("../../testdata/list_columns.sql").replace("$table", table));
        listed.lines().filter(|name| names.contains(name)).map(str::to_owned).collect()
    };
    for table in ["sample_row", "rollup_hour", "rollup_day"] {
        assert_eq!(kept(table), names, "{table}");
    }
    drop(history);
}

#[test]
fn a_schema_that_is_not_ours_or_newer_or_older_is_refused_and_left_alone() {
    let Some(server) = Server::start(15) else { return };
    let address = server.database("odd", "");
    let open = || PostgresHistory::open(&address, &no_password()).err().unwrap();
    let init = || PostgresHistory::initialise(&address, &no_password());
    assert!(matches!(open(), RepositoryError::Missing { .. }));
    server.sql("odd", "CREATE SCHEMA iostall");
    assert!(matches!(open(), RepositoryError::Missing { .. }), "an empty schema is one to fill");
    server.sql("odd", "CREATE FUNCTION iostall.theirs() RETURNS integer LANGUAGE SQL RETURN 1");
    assert!(matches!(init(), Err(RepositoryError::Foreign { .. })));
    assert!(matches!(open(), RepositoryError::Foreign { .. }));
    server.sql("odd", "DROP FUNCTION iostall.theirs()");
    assert_eq!(init().unwrap().done, Initialised::Created);
    assert_eq!(init().unwrap().done, Initialised::UpToDate);
    server.sql("odd", include_str!("../../testdata/make_newer.sql"));
    let error = init().unwrap_err();
    assert!(
        matches!(error, RepositoryError::Newer { .. }) && error.hint().unwrap().contains("newer iostall")
    );
    assert!(matches!(open(), RepositoryError::Newer { .. }));
    server.sql("odd", include_str!("../../testdata/make_older.sql"));
    let error = open();
    assert!(matches!(error, RepositoryError::Older { .. }) && error.hint().unwrap().contains("fleet init"));
    let latin = server.database("latin", "ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'");
    let refused = PostgresHistory::initialise(&latin, &no_password()).unwrap_err();
    assert!(matches!(refused, RepositoryError::Encoding { .. }), "{refused}");
}

#[test]
fn a_login_without_rights_is_told_what_an_administrator_does() {
    let Some(server) = Server::start(15) else { return };
    server.database("locked", "");
    server.sql("locked", "CREATE ROLE plain LOGIN");
    let address = server.address("plain", "locked");
    let init = || PostgresHistory::initialise(&address, &no_password());
    let hint = init().unwrap_err().hint().unwrap();
    assert!(hint.contains("CREATE SCHEMA iostall AUTHORIZATION"), "{hint}");
    server.sql("locked", "CREATE SCHEMA iostall AUTHORIZATION plain");
    assert_eq!(init().unwrap().done, Initialised::Created);
    let mut history = PostgresHistory::open(&address, &no_password()).unwrap();
    let source = history.source("linux:").unwrap().id;
    history.add_sample(source, sample(0, 2)).unwrap();
    assert_eq!(history.last_sample(source).unwrap(), Some(sample(0, 2)));
}

fn start() -> Timestamp {
    "2026-03-01T09:58:00Z".parse().unwrap()
}

pub(super) fn sample(minute: i64, files: u64) -> Sample {
    let reads = minute.cast_unsigned() * 60;
    let row = |file: u64| {
        let subject = Subject {
            kind: Kind::SqlServerFile,
            scope: Scope::Database("sales".into()),
            name: format!("E:\\data\\file{file}.mdf"),
            identity: format!("{file}/guid"),
            volume: Some("E:\\".into()),
        };
        let counters = Counters::new()
            .with(Counter::Reads, 1_000 + reads * (file + 1))
            .with(Counter::ReadStall, 9 + reads)
            .with(Counter::Handle, u64::MAX - file);
        Row { subject, counters, age_ms: (file == 1).then_some(7) }
    };
    Sample {
        taken: SampleTime {
            utc: start() + SignedDuration::from_mins(minute) + SignedDuration::from_nanos(123_456_789),
            clock: "ticks".into(),
            clock_ns: 77 + minute.cast_unsigned() * 60_000_000_000,
        },
        epoch: Epoch { instance: "one".into(), version: 15, ..Epoch::default() },
        rows: (0..files).map(row).collect(),
        warnings: Vec::new(),
    }
}

pub(super) fn reads(history: &PostgresHistory, source: SourceId, tier: Tier) -> u64 {
    let mut sum = 0;
    let mut each = |row: RollupRow| sum += row.rollup.totals.amounts.or_zero(Counter::Reads);
    history.rollups(source, tier, Timestamp::MIN, Timestamp::MAX, &mut each).unwrap();
    sum
}

/// Three files read 60, 120 and 180 times a minute.
pub(super) fn truth(minutes: i64) -> u64 {
    minutes.cast_unsigned() * 360
}

#[test]
fn samples_come_back_as_they_were_to_the_nanosecond_and_the_last_bit() {
    let Some(server) = Server::start(15) else { return };
    let mut history = new(&server, "bits");
    let source = history.source("sqlserver://db1").unwrap().id;
    let mut odd = sample(1, 2);
    odd.taken.clock_ns = u64::MAX;
    odd.taken.clock = "another".into();
    odd.rows[0].subject.name = "a'; DROP TABLE iostall.sample; --\u{1f980}\\".into();
    history.add_sample(source, sample(0, 2)).unwrap();
    history.add_sample(source, odd.clone()).unwrap();
    assert_eq!(history.last_sample(source).unwrap(), Some(odd));
}

/// Text of servers may hold the character 0, which PostgreSQL cannot store: a single such name would have stopped a whole source.
#[test]
fn a_name_with_a_zero_in_it_stops_nothing() {
    let Some(server) = Server::start(15) else { return };
    let mut history = new(&server, "zero");
    let source = history.source("a\0b").unwrap();
    assert_eq!(history.source("a\0b").unwrap(), source);
    for minute in 0..3 {
        let mut odd = sample(minute, 2);
        odd.rows[0].subject.name = "x\0y".into();
        odd.taken.clock = "t\0icks".into();
        history.add_sample(source.id, odd).unwrap();
    }
    let last = history.last_sample(source.id).unwrap().unwrap();
    assert_eq!((last.rows[0].subject.name.as_str(), last.rows.len()), ("x\u{fffd}y", 2));
}

#[test]
fn two_writers_of_one_source_and_a_restart_make_one_history() {
    let Some(server) = Server::start(15) else { return };
    let mut one = new(&server, "two");
    let address = server.address("postgres", "two");
    let mut other = PostgresHistory::open(&address, &no_password()).unwrap();
    let source = one.source("s").unwrap();
    assert_eq!(other.source("s").unwrap(), source);
    let mut minute = 0;
    for turns in [[1, 1], [3, 1], [1, 4], [70, 0], [0, 65], [1, 1]] {
        for (history, samples) in [&mut one, &mut other].into_iter().zip(turns) {
            for _ in 0..samples {
                history.add_sample(source.id, sample(minute, 3)).unwrap();
                minute += 1;
            }
        }
    }
    drop(other);
    let mut again = PostgresHistory::open(&address, &no_password()).unwrap();
    again.add_sample(source.id, sample(minute, 3)).unwrap();
    again.finish().unwrap();
    for tier in [Tier::Hour, Tier::Day] {
        assert_eq!(reads(&again, source.id, tier), truth(minute));
    }
    again.rebuild(source.id).unwrap();
    assert_eq!(reads(&one, source.id, Tier::Day), truth(minute));
}

/// The server's end in the middle costs the call that runs into it, and nothing else.
#[test]
fn a_crash_of_the_server_loses_nothing_that_was_confirmed() {
    let Some(mut server) = Server::start(15) else { return };
    let mut history = new(&server, "crash");
    let source = history.source("s").unwrap().id;
    for minute in 0..90 {
        history.add_sample(source, sample(minute, 3)).unwrap();
    }
    server.crash();
    let error = history.add_sample(source, sample(90, 3)).err();
    assert!(error.as_ref().is_none_or(StoreError::may_pass), "{error:?}");
    for minute in 90..95 {
        history.add_sample(source, sample(minute, 3)).unwrap();
    }
    history.finish().unwrap();
    let mut taken = Vec::new();
    history.intervals(source, Timestamp::MIN, Timestamp::MAX, &mut |step| taken.push(step.at())).unwrap();
    let expected: Vec<Timestamp> = (1..95).map(|minute| sample(minute, 0).taken.utc).collect();
    assert_eq!(taken, expected);
    assert_eq!(reads(&history, source, Tier::Hour), truth(94));
}

#[test]
fn days_and_months_go_whole_and_nothing_that_was_not_rolled_up() {
    let Some(server) = Server::start(15) else { return };
    server.database("old", "");
    days_and_months_go(&server, "old");
}

/// In a new database.
pub(super) fn days_and_months_go(server: &Server, database: &str) {
    let address = server.address("postgres", database);
    PostgresHistory::initialise(&address, &no_password()).unwrap();
    let mut history = PostgresHistory::open(&address, &no_password()).unwrap();
    let source = history.source("s").unwrap().id;
    let day = 24 * 60;
    // The last samples of the first day are pending, and the process that knows of them ends.
    for minute in [0, 1, 2, 3] {
        history.add_sample(source, sample(minute, 3)).unwrap();
    }
    drop(history);
    let mut history = PostgresHistory::open(&address, &no_password()).unwrap();
    let retention = Retention {
        raw: SignedDuration::from_hours(24),
        hours: SignedDuration::from_hours(24 * 40),
        ..Retention::default()
    };
    let at = |minute| sample(minute, 0).taken.utc;
    history.forget(&retention, at(3 * day)).unwrap();
    assert_eq!(history.last_sample(source).unwrap(), None, "the day is gone");
    assert_eq!(reads(&history, source, Tier::Day), truth(3), "and was rolled up before");
    assert_eq!(history.sources().unwrap()[0].last, Some(at(3)), "when it was last seen stays");
    history.add_sample(source, sample(3 * day, 3)).unwrap();
    history.add_sample(source, sample(3 * day + 1, 3)).unwrap();
    history.finish().unwrap();
    assert_eq!(reads(&history, source, Tier::Hour), truth(3 * day + 1));
    history.forget(&retention, at(80 * day)).unwrap();
    assert_eq!(reads(&history, source, Tier::Hour), 0);
    assert_eq!(reads(&history, source, Tier::Day), truth(3 * day + 1));
    let seams = history.seams(source).unwrap().unwrap();
    assert_eq!((seams.days_until, seams.hours_until), (at(3 * day + 1), at(3 * day + 1)));
}
