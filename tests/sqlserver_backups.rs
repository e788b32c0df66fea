//! The ages of SQL Server's own backups, from msdb, against the crate's mock SQL Server: it plays the history, and reads none of the query.

use std::fs;

use serde_json::Value;

use crate::alerts::web_server;
use crate::sqlserver::server::{Answer, PASSWORD, Server, USER};
use crate::support::{PATIENCE, Workspace};

const HEADS: &str = "\ndatabase\tname\tidentity\tage_ms\tbackup_finished_utc_s\tbackup_elapsed_s\tbackup_bytes\tbackup_stored_bytes\n";
const DAY_S: i64 = 86_400;

/// A backup that ended so many seconds ago, or none.
fn line(database: &str, sort: &str, seconds_ago: Option<i64>) -> String {
    let at = seconds_ago.map(|ago| jiff::Timestamp::now().as_second() - ago);
    let figures =
        at.map_or_else(|| "\\N\t\\N\t\\N\t\\N".to_owned(), |at| format!("{at}\t8\t1073741824\t268435456"));
    format!("{database}\t{sort}\t{database}/{sort}\t\\N\t{figures}\n")
}

fn history(lines: &[(&str, &str, Option<i64>)]) -> String {
    let lines = lines.iter().map(|(database, sort, ago)| line(database, sort, *ago));
    HEADS.to_owned() + lines.collect::<String>().trim_end_matches('\n')
}

fn server(backups: &str) -> Server {
    let server = Server::start(None);
    let instance = include_str!("../crates/collect/testdata/sqlserver/2019_instance_1.tsv");
    server.answer_with("iostall:instance", instance);
    server
        .answer_with("iostall:files", include_str!("../crates/collect/testdata/sqlserver/2019_files_1.tsv"));
    server.answer_with("iostall:backups", backups);
    server
}

fn url(server: &Server) -> String {
    format!("sqlserver://{USER}@127.0.0.1:{}?password-env=MOCK_PASSWORD", server.port)
}

fn collect_twice(workspace: &Workspace, server: &Server) {
    for instance in [
        include_str!("../crates/collect/testdata/sqlserver/2019_instance_1.tsv"),
        include_str!("../crates/collect/testdata/sqlserver/2019_instance_2.tsv"),
    ] {
        server.answer_with("iostall:instance", instance);
        let mut command = workspace.command(&["collect", "once", "--timeout", "10m", &url(server)]);
        let ran = command.env("MOCK_PASSWORD", PASSWORD).output().expect("the binary runs");
        assert!(ran.status.success(), "{ran:?}");
    }
}

/// The server had kept the age of every backup for years, and nobody looked until one was needed.
#[test]
fn the_newest_backups_of_each_database_are_in_the_report_with_age_ratio_and_rate() {
    let workspace = Workspace::new();
    let server = server(&history(&[
        ("sales", "full", Some(3 * DAY_S + 7_300)),
        ("sales", "differential", Some(DAY_S)),
        ("sales", "log", None),
        ("stock", "full", None),
        ("stock", "copy-only", Some(2 * DAY_S)),
    ]));
    collect_twice(&workspace, &server);
    let text = workspace.run(&["report", "databases"]).expect_status(0).stdout;
    let lines: Vec<String> =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let has = |wanted: &str| lines.iter().any(|line| line.contains(wanted));
    assert!(has("stock none – – 2d 0h (copy-only) – – –"), "{text}");
    assert!(has("sales 3d 2h 24h 0m none – 1,024 4.00 : 1 128"), "{text}");
    let json = workspace.run(&["report", "files", "--json", "-"]).expect_status(0).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    let newest = json["sources"][0]["backups"]["newest"].as_array().unwrap();
    assert_eq!(newest.len(), 5, "{json}");
    assert_eq!((&newest[0]["sort"], &newest[0]["elapsed_s"]), (&"full".into(), &8.into()), "{json}");
    assert!(newest[2]["finished"].is_null(), "{json}");
    let files = workspace.run(&["report", "files"]).expect_status(0).stdout;
    assert!(!files.contains("copy-only"), "backups are of databases: {files}");
}

#[test]
fn a_history_that_may_not_be_read_costs_the_ages_and_not_the_counters() {
    let workspace = Workspace::new();
    let server = server(HEADS);
    let denied = "The SELECT permission was denied on the object 'backupset', database 'msdb', schema 'dbo'.";
    server.answer("iostall:backups", Answer::Errors(vec![(229, denied.into())]));
    collect_twice(&workspace, &server);
    let text = workspace.run(&["report", "databases"]).expect_status(0).stdout;
    // It is wrapped.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("the history of backups could not be read") && text.contains("(error 229)"),
        "{text}"
    );
    assert!(text.contains("sales"), "{text}");
}

/// The job was disabled for a test in March, and nobody missed its backups.
#[test]
fn a_database_without_a_recent_backup_is_an_alert_and_one_that_has_one_is_not() {
    let (port, got) = web_server(&["200 OK"]);
    let workspace = Workspace::new();
    let server = server(&history(&[
        ("sales", "full", Some(3 * DAY_S + 7_300)),
        ("sales", "snapshot", Some(3_600)),
        ("stock", "full", Some(3_600)),
    ]));
    let text = format!(
        "[[source]]\nurl = \"{}\"\ninterval = \"1s\"\n\n[channels.one]\nwebhook = \"http://127.0.0.1:{port}/\"\n\
         timeout = \"10m\"\n\n[[rules]]\nname = \"backups\"\nwhen = \"no-backup\"\nfor = \"26h\"\nnotify = [\"one\"]\n",
        url(&server)
    );
    fs::write(workspace.path("collector.toml"), text).unwrap();
    let checked = workspace.run(&["collect", "check", "collector.toml"]).expect_status(0);
    assert!(checked.stdout.contains("no backup (full) of a database for 26h 0m"), "{}", checked.stdout);
    let mut command = workspace.command(&["collect", "run", "--config", "collector.toml"]);
    let collector = crate::running::Running::new(command.env("MOCK_PASSWORD", PASSWORD));
    let fired: Value = serde_json::from_str(&got.recv_timeout(PATIENCE).unwrap().1).unwrap();
    assert_eq!((&fired["occasion"], &fired["metric"]), (&"firing".into(), &"backup_age_s".into()), "{fired}");
    assert_eq!((&fired["name"], &fired["count"]), (&"sales".into(), &1.into()), "{fired}");
    assert!(fired["summary"].as_str().unwrap().ends_with("last backup 3d 2h ago, limit 26h 0m"), "{fired}");
    // The history is read every five minutes, and once an hour with the settings: this collector did each of that once at most.
    let count = server.count("iostall:backups");
    assert!((1..=2).contains(&count), "{count}");
    collector.signal("INT");
    collector.ended().expect_status(0);
    // Another collector finds the alert in the store, and a backup in the history.
    server.answer_with(
        "iostall:backups",
        &history(&[("sales", "full", Some(60)), ("stock", "full", Some(3_600))]),
    );
    let mut command = workspace.command(&["collect", "run", "--config", "collector.toml"]);
    let collector = crate::running::Running::new(command.env("MOCK_PASSWORD", PASSWORD));
    let resolved: Value = serde_json::from_str(&got.recv_timeout(PATIENCE).unwrap().1).unwrap();
    assert_eq!(
        (&resolved["occasion"], &resolved["name"]),
        (&"resolved".into(), &"sales".into()),
        "{resolved}"
    );
    collector.signal("INT");
    collector.ended().expect_status(0);
}
