//! `iostall collect settings` and `iostall collect advise`: how servers and hosts are set, what changed, and what could be better.

use serde_json::Value;

use crate::mariadb::{Mariadb, PASSWORD};
use crate::postgres::Postgres;
use crate::sqlserver::server::{Answer, PASSWORD as MOCK_PASSWORD, Server, USER};
use crate::support::{Workspace, skip, until};

/// What a command that prints JSON prints.
fn json(here: &Workspace, arguments: &[&str]) -> Value {
    let ran = here.run(&[&["collect"], arguments, &["--json"]].concat()).expect_status(0);
    serde_json::from_str(&ran.stdout).unwrap()
}

/// The value of a setting of the only source, if it was read.
fn value(here: &Workspace, name: &str) -> Option<String> {
    let ran = here.run(&["collect", "settings", "--json"]);
    let all: Value = serde_json::from_str(&ran.stdout).ok()?;
    let found = all[0]["settings"].as_array()?.iter().find(|setting| setting["name"] == name)?.clone();
    found["value"].as_str().map(str::to_owned)
}

/// The rules that speak, by their ids.
fn found(advice: &Value) -> Vec<&str> {
    let rules = advice[0]["rules"].as_array().unwrap();
    let found = rules.iter().filter(|rule| rule["outcome"] == "found");
    found.map(|rule| rule["id"].as_str().unwrap()).collect()
}

/// Samples `source` until `is_read`.
fn collect(here: &Workspace, source: &str, is_read: impl Fn() -> bool) {
    let collector = here.start(&["collect", "run", "--interval", "1s", source]);
    until("the settings", || is_read().then_some(()));
    collector.signal("INT");
    collector.ended().expect_status(0);
}

fn store(here: &Workspace) -> rusqlite::Connection {
    rusqlite::Connection::open(here.path("store.db")).unwrap()
}

#[test]
fn a_setting_of_a_real_postgresql_that_changes_is_a_version_a_line_in_the_report_and_advice() {
    let Some(server) = Postgres::start() else {
        return skip("settings of PostgreSQL", "PostgreSQL 15 is not installed");
    };
    let here = Workspace::new();
    let url = server.url("postgres", &here.secret("password", "right"));
    collect(&here, &url, || value(&here, "track_io_timing").as_deref() == Some("off"));
    assert_eq!(value(&here, "role").as_deref(), Some("primary"));
    let advice = json(&here, &["advise"]);
    let ids = found(&advice);
    assert!(ids.contains(&"fsync-off") && ids.contains(&"io-timing-off"), "{ids:?}");
    assert!(!ids.contains(&"full-page-writes-off") && !ids.contains(&"checksums-off"), "{ids:?}");
    assert_eq!(json(&here, &["settings", "--changes"])[0]["changes"], Value::Array(Vec::new()));

    server.sql(include_str!("sql/time_reads.sql"));
    server.sql(include_str!("sql/reload.sql"));
    collect(&here, &url, || value(&here, "track_io_timing").as_deref() == Some("on"));
    let changes = json(&here, &["settings", "--changes"])[0]["changes"].clone();
    let change = changes.as_array().unwrap().iter().find(|change| change["name"] == "track_io_timing");
    let change = change.unwrap_or_else(|| panic!("{changes}"));
    assert_eq!((&change["before"], &change["after"]), (&"off".into(), &"on".into()));
    assert!(!found(&json(&here, &["advise"])).contains(&"io-timing-off"));
    let text = here.run(&["collect", "settings", "--diff", "1h.."]).expect_status(0).stdout;
    assert!(text.contains("track_io_timing: off → on"), "{text}");
    here.run(&["report", "server", "--json", "report.json", "--html", "report.html"]).expect_status(0);
    let notes = here.json("report.json")["sources"][0]["notes"].clone();
    let is_it = |note: &Value| note["kind"] == "setting" && note["text"] == "track_io_timing: off → on";
    assert!(notes.as_array().unwrap().iter().any(is_it), "{notes}");
    let page = std::fs::read_to_string(here.path("report.html")).unwrap();
    assert!(page.contains("track_io_timing: off → on"));
    let all = here.run(&["collect", "settings"]).expect_status(0).stdout;
    assert!(!all.contains("right") && !all.contains("password"), "{all}");
}

#[test]
fn a_setting_of_a_real_mariadb_that_costs_durability_is_advice_with_its_evidence() {
    let Some(server) = Mariadb::made_with(&[]) else {
        return skip("settings of MariaDB", "mariadb-server-core and mariadb-backup are not installed");
    };
    let here = Workspace::new();
    let url = server.url(&here.secret("password", PASSWORD));
    collect(&here, &url, || value(&here, "innodb_flush_log_at_trx_commit").as_deref() == Some("0"));
    server.sql(include_str!("sql/mariadb_flush_less.sql"));
    collect(&here, &url, || value(&here, "innodb_flush_log_at_trx_commit").as_deref() == Some("2"));
    let text = here.run(&["collect", "settings", "--changes"]).expect_status(0).stdout;
    assert!(text.contains("innodb_flush_log_at_trx_commit: 0 → 2"), "{text}");
    let advice = json(&here, &["advise", "--rule", "commits-not-flushed"]);
    assert_eq!(found(&advice), ["commits-not-flushed"]);
    assert_eq!(advice[0]["rules"][0]["evidence"][0]["value"], "2", "{advice}");
    let text = here.run(&["collect", "advise"]).expect_status(0).stdout;
    for part in ["commits-not-flushed", "performance-schema-off", "why:", "do:", "source: MySQL", "fine "] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn this_host_is_read_once_an_hour_and_a_changed_setting_is_a_version() {
    let here = Workspace::new();
    let once = || here.run(&["collect", "once", "linux:"]).expect_status(0);
    let refused = here.run(&["collect", "settings"]).expect_status(2);
    assert!(
        refused.stderr.contains("no settings") && refused.stderr.contains("collect once"),
        "{}",
        refused.stderr
    );
    once();
    assert_eq!(value(&here, "engine").as_deref(), Some("linux"));
    let swappiness = value(&here, "vm.swappiness").unwrap();
    store(&here).execute(include_str!("sql/older_setting.sql"), []).unwrap();
    once();
    assert_eq!(value(&here, "vm.swappiness").as_deref(), Some("7"), "read within the hour");
    store(&here).execute(include_str!("sql/settings_began_earlier.sql"), []).unwrap();
    store(&here).execute(include_str!("sql/settings_read_earlier.sql"), []).unwrap();
    once();
    let text =
        here.run(&["collect", "settings", "--changes", "--name", "swappiness"]).expect_status(0).stdout;
    assert!(text.contains(&format!("vm.swappiness: 7 → {swappiness}")), "{text}");
    let then = json(&here, &["settings", "--at", "1h", "--name", "vm.swappiness"]);
    assert_eq!(then[0]["settings"][0]["value"], "7", "{then}");
    let nobody = here.run(&["collect", "advise", "--source", "postgres"]).expect_status(2);
    assert!(nobody.stderr.contains("linux:"), "{}", nobody.stderr);
    here.run(&["collect", "advise"]).expect_status(0);
}

#[test]
fn a_sql_server_is_advised_on_what_it_tells_and_what_it_does_not_is_not_known() {
    let (here, server) = (Workspace::new(), Server::start(None));
    server.answer_with(
        "iostall:instance",
        include_str!("../crates/collect/testdata/sqlserver/2019_instance_1.tsv"),
    );
    server
        .answer_with("iostall:files", include_str!("../crates/collect/testdata/sqlserver/2019_files_1.tsv"));
    let rows = |text: &str| format!("written by a test\nsubject\tname\tvalue\n{text}\n");
    for (tag, text) in [
        ("iostall:settings_server", "\tmax degree of parallelism\t8"),
        ("iostall:settings_services", "service\tinstant file initialization\toff"),
        (
            "iostall:settings_databases",
            "database sales\trecovery model\tFULL\ndatabase sales\tpage verify\tCHECKSUM",
        ),
        ("iostall:settings_files", "file sales/data\tgrowth\t10 %\nfile sales/log\tgrowth\t64 MiB"),
        ("iostall:settings_groups", "group ag\trole\tprimary"),
        ("iostall:settings_volumes", "volume E:\\\tfree bytes\t1\nvolume E:\\\tsize bytes\t107374182400"),
    ] {
        server.answer_with(tag, &rows(text));
    }
    server.answer_with(
        "iostall:settings_traces",
        "written by a test\nTraceFlag\tStatus\tGlobal\tSession\n3226\t1\t1\t0",
    );
    let backups = "written by a test\ndatabase\tname\tidentity\tbackup_finished_utc_s\nsales\tfull\ts/f\t1000000\nsales\tlog\ts/l\t\\N";
    server.answer_with("iostall:backups", backups);
    let denied = "The user does not have permission to perform this action.";
    server.answer("iostall:settings_fragments", Answer::Errors(vec![(300, denied.into())]));
    let source = format!("sqlserver://{USER}@127.0.0.1:{}?password-env=MOCK_PASSWORD", server.port);
    let mut once = here.command(&["collect", "once", "--timeout", "10m", &source]);
    let ran = once.env("MOCK_PASSWORD", MOCK_PASSWORD).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));

    let advice = json(&here, &["advise"]);
    let ids = found(&advice);
    for id in [
        "growth-in-percent",
        "instant-initialization-off",
        "no-backup",
        "log-not-backed-up",
        "volume-space-short",
    ] {
        assert!(ids.contains(&id), "{id}: {ids:?}");
    }
    assert!(!ids.contains(&"page-verify-weak"), "{ids:?}");
    let text = here.run(&["collect", "advise"]).expect_status(0).stdout;
    assert!(text.contains("not known   log-fragments") && text.contains("permission"), "{text}");
    assert!(text.contains("file sales/data growth = 10 %"), "{text}");
    let text = here.run(&["collect", "settings"]).expect_status(0).stdout;
    for part in ["trace flag 3226 state", "group ag role", "max degree of parallelism", "could not be read"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
