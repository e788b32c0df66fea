//! Servers, volumes and devices of a repository on a real server, and what reports read of them.

use iostall_model::device::{Greeting, IdentityKind, PlacedOn, Placement};
use iostall_model::{Counter, Counters, Epoch, Kind, Row, Sample, SampleTime, Scope, Subject};
use jiff::SignedDuration;

use super::server::{Server, no_password};
use super::*;

const FILES: [&str; 1] = ["sqlserver-file"];

fn new(server: &Server, name: &str) -> PostgresHistory {
    let address = server.database(name, "");
    PostgresHistory::initialise(&address, &no_password()).unwrap();
    PostgresHistory::open(&address, &no_password()).unwrap()
}

fn start() -> Timestamp {
    "2026-03-01T09:58:00Z".parse().unwrap()
}

/// Minute `minute` of a server with two files on `volume`, whose reads wait one and four milliseconds each.
fn sample(minute: i64, volume: &str) -> Sample {
    let reads = minute.cast_unsigned() * 60;
    let row = |file: u64| {
        let subject = Subject {
            kind: Kind::SqlServerFile,
            scope: Scope::Database("sales".into()),
            name: format!("{volume}data\\file{file}.mdf"),
            identity: format!("{file}/guid"),
            volume: Some(volume.into()),
        };
        let counters = Counters::new()
            .with(Counter::Reads, reads)
            .with(Counter::ReadBytes, reads * 8192)
            .with(Counter::ReadStall, reads * (1 + file * 3))
            .with(Counter::SizeBytes, (1 << 30) + (minute.cast_unsigned() << 20));
        Row { subject, counters, age_ms: None }
    };
    Sample {
        taken: SampleTime {
            utc: start() + SignedDuration::from_mins(minute),
            clock: "ticks".into(),
            clock_ns: 77 + minute.cast_unsigned() * 60_000_000_000,
        },
        epoch: Epoch { instance: "one".into(), version: 15, ..Epoch::default() },
        rows: (0..2).map(row).collect(),
        warnings: Vec::new(),
    }
}

fn append(history: &mut PostgresHistory, name: &str, volume: &str, minutes: std::ops::Range<i64>) -> Source {
    let source = Source {
        id: SourceId::new(start()),
        store: StoreId::new(start()),
        name: format!("sqlserver://{name}"),
    };
    let samples: Vec<Sample> = minutes.map(|minute| sample(minute, volume)).collect();
    history.append(&Batch::of(source.clone(), 1, &samples)).unwrap();
    history.finish().unwrap();
    source
}

fn on(volume: &str, kind: IdentityKind, identity: &str) -> Placement {
    let device = PlacedOn { kind, identity: identity.into(), model: Some("Disk '9'".into()) };
    Placement { volume: volume.into(), devices: vec![device] }
}

/// A repository of the first version, with history in it, is brought up to date in place: all of it is there after that, more of it
/// can be appended, and the volumes that its series named are known.
#[test]
fn a_repository_of_the_first_version_is_upgraded_with_all_that_is_in_it() {
    for version in [15, 18] {
        let Some(server) = Server::start(version) else { return };
        let address = server.database("old", "");
        server.sql("old", &format!("BEGIN; CREATE SCHEMA iostall; {}; COMMIT", schema::first_migration()));
        server.sql("old", include_str!("../../testdata/fill_postgres_0001.sql"));
        let open = || PostgresHistory::open(&address, &no_password());
        assert!(matches!(open(), Err(RepositoryError::Older { found: 1, .. })));
        let done = PostgresHistory::initialise(&address, &no_password()).unwrap();
        assert_eq!(done.done, Initialised::Upgraded { from: 1 });
        assert_eq!(
            PostgresHistory::initialise(&address, &no_password()).unwrap().done,
            Initialised::UpToDate
        );
        let mut history = open().unwrap();
        let watched = history.sources().unwrap();
        let source = watched[0].source.clone();
        assert_eq!((watched.len(), source.name.as_str()), (1, "sqlserver://db1"));
        assert_eq!(history.last_sample(source.id).unwrap(), Some(sample(1, "E:\\")));
        let shown = |sql: &str| server.sql("old", sql);
        let of_series = include_str!("../../testdata/show_series_volumes.sql");
        assert_eq!(
            shown(of_series),
            "E:\\data\\file0.mdf|E:\\|t\nE:\\data\\file1.mdf|E:\\|t\nsda1|sda1 (/data)|t"
        );
        let more: Vec<Sample> = (2..90).map(|minute| sample(minute, "E:\\")).collect();
        assert_eq!(history.append(&Batch::of(source.clone(), 2, &more)).unwrap(), Appended::Added);
        let mut reads = 0;
        let mut each = |row: RollupRow| reads += row.rollup.totals.amounts.or_zero(Counter::Reads);
        history.finish().unwrap();
        history.rollups(source.id, Tier::Day, Timestamp::MIN, Timestamp::MAX, &mut each).unwrap();
        assert_eq!(reads, 89 * 60 * 2);
        if version != 15 {
            continue;
        }
        let mut count = 0;
        // What every history must do, on databases that were upgraded.
        crate::history::contract::run_all(|| {
            count += 1;
            let name = format!("upgraded_{count}");
            let address = server.database(&name, "");
            server
                .sql(&name, &format!("BEGIN; CREATE SCHEMA iostall; {}; COMMIT", schema::first_migration()));
            server.sql(&name, include_str!("../../testdata/mark_postgres_0001.sql"));
            PostgresHistory::initialise(&address, &no_password()).unwrap();
            PostgresHistory::open(&address, &no_password()).unwrap()
        });
    }
}

#[test]
fn a_volume_is_on_its_devices_from_when_to_when_they_are_seen_and_a_tag_stays() {
    let Some(server) = Server::start(15) else { return };
    let mut history = new(&server, "places");
    let source = append(&mut history, "db1", "E:\\", 0..3);
    let shown = |sql: &str| server.sql("places", sql);
    let (places, of_series) = (
        include_str!("../../testdata/show_places.sql"),
        include_str!("../../testdata/show_series_volumes.sql"),
    );
    let naa = on("E:\\", IdentityKind::Naa, "5000c5");
    history.place(source.id, std::slice::from_ref(&naa)).unwrap();
    history.place(source.id, std::slice::from_ref(&naa)).unwrap();
    assert_eq!(shown(places), "E:\\|naa|5000c5|t");
    history.tag("sqlserver://db1", "E:\\", None, "san '7'; DROP TABLE iostall.device").unwrap();
    history.tag("sqlserver://db1", "E:\\", None, "san 8").unwrap();
    history
        .place(
            source.id,
            &[on("E:\\", IdentityKind::Cloud, "amazon:vol-1"), on("X:\\", IdentityKind::Naa, "1")],
        )
        .unwrap();
    let expected = "E:\\|cloud|amazon:vol-1|t\nE:\\|naa|5000c5|f\nE:\\|tag|san '7'; DROP TABLE iostall.device|f\nE:\\|tag|san 8|t";
    assert_eq!(shown(places), expected);
    // A volume that was looked at and has no device that says who it is.
    history.place(source.id, &[Placement { volume: "E:\\".into(), devices: Vec::new() }]).unwrap();
    assert!(shown(places).starts_with("E:\\|cloud|amazon:vol-1|f"), "{}", shown(places));
    // The files are moved.
    history.append(&Batch::of(source.clone(), 2, &[sample(3, "F:\\")])).unwrap();
    history.place(source.id, &[]).unwrap();
    assert_eq!(
        shown(of_series),
        "F:\\data\\file0.mdf|E:\\|f\nF:\\data\\file0.mdf|F:\\|t\nF:\\data\\file1.mdf|E:\\|f\nF:\\data\\file1.mdf|F:\\|t"
    );
    let unknown = history.tag("sqlserver://db1", "G:\\", None, "x").unwrap_err();
    assert!(unknown.hint().unwrap().contains("fleet report"), "{unknown}");
    append(&mut history, "db1", "F:\\", 0..2);
    let again = history.sources().unwrap().into_iter().find(|it| it.source.id != source.id).unwrap();
    history.place(again.source.id, &[]).unwrap();
    let several = history.tag("sqlserver://db1", "F:\\", None, "x").unwrap_err();
    assert!(several.hint().unwrap().contains("--server"), "{several}");
    history.tag("sqlserver://db1", "F:\\", Some(&source.store.to_string()), "x").unwrap();
    history.remove(source.id).unwrap();
    assert_eq!(shown(places), "", "they go with their source");
}

#[test]
fn a_server_is_known_by_what_was_last_said_of_it() {
    let Some(server) = Server::start(15) else { return };
    let mut history = new(&server, "greeted");
    let store = StoreId::new(start());
    for host in ["db1", "db9"] {
        let now = iostall_measure::clock::utc_now() + SignedDuration::from_secs(60);
        let greeting = Greeting { hostname: host.into(), version: "0.1.0".into(), now };
        history.greet(store, &greeting).unwrap();
    }
    let source = Source { id: SourceId::new(start()), store, name: "s".into() };
    history.append(&Batch::of(source, 1, &[sample(0, "E:\\")])).unwrap();
    let servers = history.fleet_servers().unwrap();
    assert_eq!((servers.len(), servers[0].hostname.as_deref(), servers[0].sources), (1, Some("db9"), 1));
    assert!(servers[0].clone_noticed.is_none() && servers[0].newest_sample == Some(start()));
    assert!(servers[0].clock_ahead_ms.is_some_and(|ms| (50_000..=60_000).contains(&ms)), "{servers:?}");
}

#[test]
fn the_worst_of_all_servers_is_the_same_by_days_hours_and_both() {
    let Some(server) = Server::start(15) else { return };
    let mut history = new(&server, "worst");
    // Three days and some hours, of two servers.
    let minutes = 3 * 24 * 60 + 200;
    let one = append(&mut history, "db1", "E:\\", 0..minutes);
    let other = append(&mut history, "db2", "F:\\", 0..70);
    for (source, volume) in [(&one, "E:\\"), (&other, "F:\\")] {
        history.place(source.id, &[on(volume, IdentityKind::Naa, "5000c5")]).unwrap();
    }
    let at = |minute| start() + SignedDuration::from_mins(minute);
    let whole = (at(0), at(minutes));
    let files = history.fleet_files(whole, &FILES, 10).unwrap();
    let found: Vec<(&str, &str, Option<f64>)> =
        files.iter().map(|file| (file.source.as_str(), file.name.as_str(), file.reads)).collect();
    let all = ((minutes - 1) * 60) as f64;
    assert_eq!(
        found,
        [
            ("sqlserver://db1", "E:\\data\\file1.mdf", Some(all)),
            ("sqlserver://db1", "E:\\data\\file0.mdf", Some(all)),
            ("sqlserver://db2", "F:\\data\\file1.mdf", Some(69.0 * 60.0)),
            ("sqlserver://db2", "F:\\data\\file0.mdf", Some(69.0 * 60.0)),
        ]
    );
    assert!((files[0].stall_ns - all * 4e6).abs() < 1.0, "{files:?}");
    // From 10:00 to 12:00 of the first day are hours alone.
    let hours = history.fleet_files((at(2), at(122)), &FILES, 1).unwrap();
    assert_eq!(hours[0].reads, Some(7_200.0));
    let volumes = history.fleet_volumes(whole, &FILES, 10).unwrap();
    assert_eq!((volumes[0].name.as_str(), volumes[0].reads), ("E:\\", Some(2.0 * all)));
    assert_eq!(history.fleet_files(whole, &["linux-device"], 10).unwrap(), []);
    // The devices were seen today, the window is long ago: nothing is known of then.
    assert_eq!(history.fleet_neighbours(whole, &FILES, 10).unwrap(), []);
    let until_now = (at(0), iostall_measure::clock::utc_now() + SignedDuration::from_mins(5));
    let shared = history.fleet_neighbours(until_now, &FILES, 10).unwrap();
    assert_eq!((shared.len(), shared[0].kind.as_str(), shared[0].identity.as_str()), (1, "naa", "5000c5"));
    let members: Vec<&str> = shared[0].volumes.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(members, ["E:\\", "F:\\"]);
    let days = history.fleet_days(whole, &files[..1]).unwrap();
    assert_eq!((days.len(), days[0].len()), (1, 2), "whole days");
    assert_eq!(days[0][0].1.ops(), 24 * 60 * 60);
    let sizes = history.fleet_sizes(whole, &FILES).unwrap();
    assert_eq!((sizes.len(), sizes[0].days.len(), sizes[1].days.len()), (2, 4, 1));
    let grown = sizes[0].days[2].1 - sizes[0].days[1].1;
    assert!((grown - 2.0 * 24.0 * 60.0 * 1_048_576.0).abs() < 1.0, "{sizes:?}");
}
