//! A fleet of four servers in its forms.

use iostall_session::output::Form;
use iostall_watch::{
    DailyTrend, FleetCapacity, FleetDevice, FleetFile, FleetLoad, FleetReport, ServerFault, ServerState,
};

use super::{RepositoryEntry, sections, title, write_fleet};
use crate::forms::sections_text;
use crate::text::TextOptions;

fn load(server: &str, name: &str) -> FleetLoad {
    FleetLoad {
        server: server.into(),
        source: "sqlserver://x".into(),
        kind: "sqlserver-file".into(),
        scope: "sales".into(),
        name: name.into(),
        volume: Some("E:\\".into()),
        reads_per_s: Some(120.0),
        writes_per_s: None,
        mib_per_s: 3.5,
        stall_ms_per_s: 812.0,
        stall_ms_per_io: Some(6.8),
    }
}

fn report() -> FleetReport {
    let at = |text: &str| text.parse().unwrap();
    let server = |name: &str, faults: Vec<ServerFault>| ServerState {
        server: name.into(),
        id: "01".into(),
        version: Some("0.1.0".into()),
        sources: 2,
        newest_sample: Some(at("2026-03-08T11:59:00Z")),
        last_contact: Some(at("2026-03-08T11:59:30Z")),
        clock_ahead_ms: Some(-7_250),
        faults,
    };
    let grows = DailyTrend {
        days: 30,
        newest: Some(9.5),
        per_day: Some(0.2),
        per_day_min: Some(0.15),
        per_day_max: Some(0.3),
        refused: None,
    };
    let refused = DailyTrend { refused: Some("7 days; a trend needs 21".into()), ..DailyTrend::default() };
    FleetReport {
        repository: "postgres://central/iostall".into(),
        from: at("2026-03-01T12:00:00Z"),
        to: at("2026-03-08T12:00:00Z"),
        servers: vec![
            server("db1", vec![ServerFault::Clock, ServerFault::Cloned]),
            server("db2", Vec::new()),
            server("<b>db3", vec![ServerFault::Silent]),
        ],
        files: vec![FleetFile { load: load("db1", "E:\\data\\sales.mdf"), stall_ms_p95_trend: grows }],
        volumes: vec![load("db1", "E:\\")],
        devices: vec![FleetDevice {
            kind: "naa".into(),
            identity: "5000c5".into(),
            model: Some("Disk 9".into()),
            volumes: vec![load("db1", "E:\\"), load("db2", "F:\\")],
        }],
        capacity: vec![FleetCapacity {
            server: "db1".into(),
            source: "sqlserver://x".into(),
            first: at("2026-03-01T00:00:00Z"),
            last: at("2026-03-08T00:00:00Z"),
            bytes_first: 3e9,
            bytes_last: 5e9,
            trend: refused,
        }],
    }
}

#[test]
fn a_fleet_is_told_in_text_json_markdown_and_a_page() {
    let report = report();
    let options = TextOptions { width: 160, colour: false, unicode: true, percentiles: false, bars: false };
    let text = sections_text(&title(&report), &sections(&report), &options);
    for words in [
        "3 servers",
        "clock off, two machines send as this one",
        "Servers with which nothing is wrong: 1.",
        "sales.mdf",
        "0.20 (0.15 to 0.30)",
        "Disk 9, naa 5000c5",
        "7 days; a trend needs 21",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let written = |form| {
        let mut out = Vec::new();
        write_fleet(&report, form, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let json: serde_json::Value = serde_json::from_str(&written(Form::Json)).unwrap();
    assert_eq!(
        (&json["schema"], &json["files"][0]["name"]),
        (&"iostall-fleet".into(), &"E:\\data\\sales.mdf".into())
    );
    assert_eq!(json["servers"][2]["faults"][0], "silent");
    let page = written(Form::Html);
    assert!(page.contains("Neighbours on one device") && !page.contains("<b>db3"), "{page}");
    assert!(written(Form::Markdown).contains("| server |"));
}

#[test]
fn an_empty_fleet_says_so() {
    let report = FleetReport {
        servers: Vec::new(),
        files: Vec::new(),
        volumes: Vec::new(),
        devices: Vec::new(),
        capacity: Vec::new(),
        ..report()
    };
    let options = TextOptions { width: 100, colour: false, unicode: true, percentiles: false, bars: false };
    let text = sections_text(&title(&report), &sections(&report), &options);
    assert!(text.contains("No file was waited for") && text.contains("All 0 servers"), "{text}");
}

#[test]
fn what_was_done_to_a_repository_is_a_line_with_the_versions_of_what_keeps_it() {
    let entry = |before, timescaledb: Option<&str>| RepositoryEntry {
        repository: "postgres://central/iostall".into(),
        id: "an id".into(),
        done: "created",
        schema_version_before: before,
        schema_version: 9,
        postgres_version: 15,
        timescaledb_version: timescaledb.map(str::to_owned),
    };
    let name = "postgres://central/iostall";
    for (entry, line) in [
        (
            entry(None, None),
            format!("created a repository in {name}: schema version 9, PostgreSQL 15, id an id\n"),
        ),
        (
            entry(None, Some("2.28.3")),
            format!(
                "created a repository in {name}: schema version 9, PostgreSQL 15, TimescaleDB 2.28.3, id an id\n"
            ),
        ),
        (
            entry(Some(8), Some("2.28.3")),
            format!(
                "upgraded the repository in {name} from schema version 8 to 9 (PostgreSQL 15, TimescaleDB 2.28.3)\n"
            ),
        ),
        (entry(Some(9), None), format!("the repository in {name} is up to date: schema version 9\n")),
    ] {
        assert_eq!(entry.line(), line);
    }
}
