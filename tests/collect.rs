//! `iostall collect`, `report` and `store`.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::support::{Ran, Workspace, copy_binary_to, skip};
use crate::top::has_interval;

/// Whether the kernel counts any device on this machine.
fn has_counted_device() -> bool {
    let text = fs::read_to_string("/proc/diskstats").unwrap_or_default();
    let is_used = |line: &str| line.split_ascii_whitespace().nth(3).is_some_and(|reads| reads != "0");
    text.lines().any(is_used)
}

#[test]
fn what_a_login_needs_is_printed_for_every_kind_of_source() {
    let workspace = Workspace::new();
    for (engine, wanted) in [
        ("sqlserver", "VIEW SERVER STATE"),
        ("postgres", "CREATE ROLE"),
        ("mysql", "file_summary_by_instance"),
        ("linux", "/proc/diskstats"),
    ] {
        let ran = workspace.run(&["collect", "grants", engine]);
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        assert!(ran.stdout.contains(wanted), "{engine}");
    }
}

#[test]
fn a_password_on_the_command_line_is_refused_and_not_repeated() {
    let workspace = Workspace::new();
    let ran = workspace.run(&["collect", "once", "postgres://mon:hunter2@127.0.0.1/sales"]);
    assert_eq!(ran.status, Some(2));
    assert!(ran.stderr.contains("password-file") && !ran.stderr.contains("hunter2"), "{}", ran.stderr);
}

#[test]
fn a_source_that_cannot_be_opened_is_told_with_what_to_do_next() {
    let workspace = Workspace::new();
    for (source, fault, advice) in [
        ("oracle://db1", "cannot be watched", "hint: write postgres://"),
        ("db1", "is not a source", "hint: write postgres://"),
        ("mysql://db1?tsl=on", "is not known", "hint: known are password-file"),
        ("mysql://db1?tls=maybe", "tls=maybe", "hint: write tls=on"),
        (
            "mysql://u@db1?password-file=nowhere.txt",
            "nowhere.txt",
            "hint: put the password in the first line",
        ),
        ("mysql://u@db1?password-env=NOT_SET_HERE", "NOT_SET_HERE", "hint: export NOT_SET_HERE"),
        ("postgres://u@db1?ca=nowhere.pem", "nowhere.pem", "hint: ?ca=FILE names"),
        ("postgres://u@127.0.0.1:9", "cannot connect", "hint: check that the server runs"),
    ] {
        let ran = workspace.run(&["collect", "once", source]);
        assert_eq!(ran.status, Some(2), "{source}: {}", ran.stderr);
        assert!(ran.stderr.contains(fault) && ran.stderr.contains(advice), "{source}: {}", ran.stderr);
    }
}

/// An hourly source was first read at the next full hour: a wrong place was never noticed.
#[test]
fn drives_that_are_not_there_are_told_at_the_start_and_others_are_sampled() {
    let workspace = Workspace::new();
    let run = |place: &str| workspace.run(&["collect", "run", place, "--duration", "3s", "--store", "s.db"]);
    let said = run("smart:/nonexistent").expect_status(0);
    assert!(said.stderr.contains("/nonexistent"), "{}{}", said.stdout, said.stderr);
    let document = r#"{"avail_spare":100,"spare_thresh":10,"percent_used":1,"data_units_written":"7"}"#;
    fs::create_dir(workspace.path("drives")).unwrap();
    fs::write(workspace.path("drives/nvme0@2026-11-01T00:00:00Z.json"), document).unwrap();
    let place = format!("smart:{}", workspace.path("drives").display());
    let said = run(&place).expect_status(0);
    assert!(said.stderr.contains("1 sample"), "{}{}", said.stdout, said.stderr);
}

#[test]
fn one_source_named_twice_is_refused() {
    let ran = Workspace::new().run(&["collect", "once", "linux:", "linux:"]);
    assert_eq!(ran.status, Some(2));
    assert!(ran.stderr.contains("named twice"), "{}", ran.stderr);
}

#[test]
fn a_report_of_nothing_says_what_to_do() {
    let ran = Workspace::new().run(&["report", "files"]);
    assert_eq!(ran.status, Some(2));
    assert!(ran.stderr.contains("iostall collect run"), "{}", ran.stderr);
}

#[test]
fn two_samples_make_an_interval_and_the_report_has_its_forms() {
    if !has_counted_device() {
        return skip("report volumes", "no block device is counted here");
    }
    let workspace = Workspace::new();
    for _ in 0..2 {
        let ran = workspace.run(&["collect", "once", "linux:"]);
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    }
    let ran = workspace.run(&["report", "volumes", "--json", "v.json", "--csv", "v.csv"]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("\nlinux:\n"), "{}", ran.stdout);
    let json = workspace.json("v.json");
    assert!(has_interval(&json), "{json}");
    let csv = std::fs::read_to_string(workspace.path("v.csv")).unwrap();
    assert_eq!(csv.lines().count(), json["groups"].as_array().unwrap().len() + 1);
    let rebuilt = workspace.run(&["store", "rebuild"]);
    assert_eq!(rebuilt.status, Some(0), "{}", rebuilt.stderr);
}

#[test]
fn a_dead_source_is_a_gap_and_delays_nobody_and_stopping_keeps_what_was_sampled() {
    let workspace = Workspace::new();
    // Nobody listens on port 9, so the connection fails at once.
    let dead = "postgres://mon@127.0.0.1:9/sales";
    let mut collector = workspace.start(&["collect", "run", "--interval", "1s", "linux:", dead]);
    collector.wait_for("hint: check that the server runs");
    if has_counted_device() {
        collector.wait_until("a report with an interval and the gap", |_| {
            let report = workspace.run(&["report", "server", "--json", "-"]);
            report.status == Some(0) && report.stderr.contains("missed sample")
        });
    }
    collector.signal("INT");
    let ran = collector.ended().expect_status(0);
    assert!(ran.stderr.contains("cannot connect to postgres://127.0.0.1:9/sales"), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: check that the server runs"), "{}", ran.stderr);
    assert!(ran.stderr.contains("stored "), "{}", ran.stderr);
    if has_counted_device() {
        let report = workspace.run(&["report", "server", "--json", "-"]);
        let json: Value = serde_json::from_str(&report.stdout).unwrap();
        assert_eq!(json["groups"][0]["name"], "all disks");
        assert!(
            report.stderr.contains("missed sample"),
            "the gap is told with the report: {}",
            report.stderr
        );
    }
}

/// `collect run linux: postgres://… --database sales` stored only pressure for the host: the filter compared
/// the database name with the role of each disk, and silently dropped all disks.
#[test]
fn choosing_databases_leaves_a_host_its_devices() {
    if !has_counted_device() {
        return skip("a choice of databases beside a host", "no block device is counted here");
    }
    let workspace = Workspace::new();
    // Nothing listens there, and the host is read all the same.
    let absent = "postgres://u@127.0.0.1:9/postgres";
    for _ in 0..2 {
        workspace.run(&["collect", "once", "linux:", absent, "--database", "sales"]);
    }
    let ran = workspace.run(&["report", "server", "--json", "s.json"]).expect_status(0);
    let json = workspace.json("s.json");
    assert_eq!(json["groups"][0]["name"], "all disks", "{}", ran.stdout);
}

/// Samples existed only in SQLite, in a format no other tool reads. Now a separate program, if installed,
/// writes them as Parquet.
#[test]
fn an_export_is_done_by_the_program_that_is_installed_for_it() {
    let workspace = Workspace::new();
    // In a separate directory, because the real exporter may be next to the built program.
    let (own, somewhere) = (workspace.path("bin"), workspace.path("somewhere"));
    for directory in [&own, &somewhere] {
        std::fs::create_dir(directory).unwrap();
    }
    let program = own.join("iostall");
    copy_binary_to(&program);
    let export = |path: &str| {
        let mut command = std::process::Command::new(&program);
        command.args(["store", "export", "--parquet=-out", "--store", "s.db"]);
        Ran::from(command.current_dir(workspace.path("")).env("PATH", path).output().unwrap())
    };
    let path = somewhere.to_str().unwrap();
    let ran = export(path).expect_status(2);
    assert!(ran.stderr.contains("iostall-lake"), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: `cargo install"), "{}", ran.stderr);
    // Links to an existing program instead of scripts: a newly written file cannot be executed while another
    // test forks.
    symlink("/bin/echo", somewhere.join("iostall-lake")).unwrap();
    assert_eq!(export(path).expect_status(0).stdout, "export --parquet=-out -- s.db\n");
    export("somewhere").expect_status(2);
    symlink("/bin/false", own.join("iostall-lake")).unwrap();
    assert_eq!(export(path).expect_status(2).stdout, "", "the one beside the program goes first");
}

/// A server that was switched off stayed in every report and listing.
#[test]
fn a_watched_source_is_listed_and_removed_by_its_name_alone() {
    let workspace = Workspace::new();
    workspace.run(&["collect", "once", "linux:"]).expect_status(0);
    let listed = workspace.run(&["store", "sources"]).expect_status(0).stdout;
    assert!(listed.starts_with("source") && listed.contains("\nlinux:"), "{listed}");
    let json = workspace.run(&["store", "sources", "--json"]).expect_status(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert!(json[0]["name"] == "linux:" && json[0]["last_utc"].is_string(), "{json}");
    let refused = workspace.run(&["store", "remove", "linux"]).expect_status(2);
    assert!(refused.stderr.contains("no watched source linux"), "{}", refused.stderr);
    workspace.run(&["store", "remove", "linux:"]).expect_status(0);
    let listed = workspace.run(&["store", "sources"]).expect_status(0).stdout;
    assert!(listed.contains("no source has been watched"), "{listed}");
}
