//! `iostall fsync`: commits by sync method on real files, the server's settings, and what it may write.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::running::Running;
use crate::support::{Workspace, skip, unmount, warnings};

const METHODS: [&str; 7] = [
    "fdatasync",
    "open_datasync",
    "open_datasync_direct",
    "fsync",
    "open_sync",
    "open_sync_direct",
    "sync_file_range",
];

/// The steps of a document, as scripts read them.
fn steps(run: &Value) -> &Vec<Value> {
    run["summary"]["steps"].as_array().expect("steps")
}

/// A PostgreSQL data directory with these settings, as far as files show it.
fn server(here: &Workspace, settings: &str) -> String {
    let directory = here.path("data");
    for name in ["global", "pg_wal"] {
        fs::create_dir_all(directory.join(name)).unwrap();
    }
    fs::write(directory.join("PG_VERSION"), "15\n").unwrap();
    fs::write(directory.join("postgresql.conf"), settings).unwrap();
    directory.to_str().unwrap().to_owned()
}

/// A tmpfs with these mount options; `None` if that is not allowed here.
fn tmpfs(here: &Workspace, options: &str) -> Option<String> {
    let at = here.path("memory");
    fs::create_dir(&at).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "none"]).arg(&at).output();
    mounted.is_ok_and(|mounted| mounted.status.success()).then(|| at.to_str().unwrap().to_owned())
}

/// A DBA asked which wal_sync_method suits a disk, and had to run another program that shows no latencies and keeps no results.
#[test]
fn every_method_is_measured_with_each_number_of_committers_and_shown_in_every_output() {
    let here = Workspace::new();
    let words =
        ["fsync", "--duration", "200ms", "--json", "o.json", "--csv", "o.csv", "--html", "o.html", "."];
    let ran = here.run(&words).expect_status(0);
    for word in METHODS {
        assert!(ran.stdout.contains(word), "{word}:\n{}", ran.stdout);
    }
    assert!(ran.stdout.contains("8 committers") && ran.stdout.contains("not durable"), "{}", ran.stdout);
    let run = here.json("o.json");
    let named: Vec<(&str, u64)> = steps(&run)
        .iter()
        .map(|step| (step["method"].as_str().unwrap(), step["committers"].as_u64().unwrap()))
        .collect();
    let expected: Vec<(&str, u64)> =
        [1, 8].iter().flat_map(|count| METHODS.map(|name| (name, *count))).collect();
    assert_eq!(named, expected);
    for (step, of_run) in steps(&run).iter().zip(run["fsync"]["steps"].as_array().unwrap()) {
        if step["unavailable"].is_string() {
            continue;
        }
        let (commits, flushes) = (step["commits"].as_u64().unwrap(), step["flushes"].as_u64().unwrap());
        assert!(commits > 0 && step["commits_per_s"].as_f64().unwrap() > 0.0, "{step}");
        assert!(step["commit_ms_p50"].as_f64() <= step["commit_ms_max"].as_f64(), "{step}");
        assert_eq!(of_run["commit_ns"]["count"].as_u64(), Some(commits));
        // A committer's record waits for at least its own flush.
        assert!(step["committers"] == 8 || flushes >= commits, "{step}");
    }
    let csv = fs::read_to_string(here.path("o.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 2 * METHODS.len(), "{csv}");
    let page = fs::read_to_string(here.path("o.html")).unwrap();
    assert!(page.contains("Commits a second") && page.contains("Commit latency"));
    assert!(!here.path("iostall-fsync.dat").exists(), "the segment is removed");
    let listed = here.run(&["runs"]).expect_status(0).stdout;
    assert!(listed.contains("fsync"), "{listed}");
    assert_eq!(run["targets"][0]["made_by_iostall"], true);
    assert!(run["devices"].as_array().is_none_or(|devices| devices.iter().all(|one| !one.is_null())));
}

#[test]
fn two_runs_are_compared_by_method_and_committers() {
    let here = Workspace::new();
    for _ in 0..2 {
        here.run(&["fsync", "--duration", "1s", "--methods", "fsync", "--committers", "2", "."])
            .expect_status(0);
    }
    let ran = here.run(&["compare", "last~1", "last"]);
    assert!(matches!(ran.status, Some(0 | 1)), "{}", ran.stderr);
    assert!(ran.stdout.contains("fsync, 2 committers"), "{}", ran.stdout);
}

#[test]
fn separate_logs_have_a_segment_each_while_they_are_measured() {
    let here = Workspace::new();
    let words =
        ["fsync", "--separate-logs", "--committers", "3", "--methods", "fdatasync", "--json", "o.json"];
    let mut running = here.start(&[&words[..], &["--duration", "1h", "."]].concat());
    running.wait_until("its committers", Running::is_loading);
    let segments = ["iostall-fsync.dat", "iostall-fsync-2.dat", "iostall-fsync-3.dat"];
    for name in segments {
        assert_eq!(fs::metadata(here.path(name)).map(|found| found.len()).ok(), Some(16 << 20), "{name}");
    }
    running.signal("INT");
    running.ended().expect_status(130);
    assert!(segments.iter().all(|name| !here.path(name).exists()));
}

/// The same for results: an hour of measuring must not be lost to Ctrl-C.
#[test]
fn an_interrupted_run_keeps_what_it_measured_and_removes_its_segment() {
    let here = Workspace::new();
    // Hours of steps, of which one is enough.
    let many = vec!["1"; 1000].join(",");
    let words = ["fsync", "--methods", "fdatasync,fsync", "--duration", "100ms", "--committers", &many];
    let mut running = here.start(&[&words[..], &["--json", "o.json", "."]].concat());
    let line = running.wait_for("commits/s");
    assert!(line.starts_with("fdatasync, 1 committer: "), "{line}");
    running.signal("INT");
    let ran = running.ended().expect_status(130);
    assert!(ran.stdout.contains("INTERRUPTED"), "{}", ran.stdout);
    let run = here.json("o.json");
    assert_eq!(run["interrupted"], true);
    assert!(!steps(&run).is_empty() && steps(&run).len() < 2000);
    assert!(!here.path("iostall-fsync.dat").exists());
}

/// A run that was killed left its segment behind, and the next one must neither refuse it nor leave it there.
#[test]
fn the_segment_of_a_killed_run_is_used_again() {
    let here = Workspace::new();
    let mut running = here.start(&["fsync", "--duration", "1h", "--methods", "open_datasync", "."]);
    running.wait_until("its committers", Running::is_loading);
    running.signal("KILL");
    assert_eq!(running.ended().status, None);
    assert!(here.path("iostall-fsync.dat").exists());
    here.run(&["fsync", "--duration", "100ms", "--methods", "fsync", "--committers", "1", "."])
        .expect_status(0);
    assert!(!here.path("iostall-fsync.dat").exists());
}

/// A server with fsync = off was measured, and its DBA took the numbers for what a commit costs there.
#[test]
fn the_settings_of_the_server_are_shown_and_those_that_lose_commits_are_warned_about() {
    let here = Workspace::new();
    let data = server(&here, "wal_sync_method = open_datasync  # was fsync\nfsync = off\n");
    fs::write(here.path("data/postgresql.auto.conf"), "synchronous_commit = 'off'\n").unwrap();
    let wal = format!("{data}/pg_wal");
    let words = ["fsync", "--duration", "100ms", "--methods", "fdatasync,open_datasync", "--committers", "1"];
    // A new file in a database's directory needs the user's word, in which nothing else is meant.
    let ran = here.run(&[&words[..], &[&wal]].concat()).expect_status(2);
    assert!(ran.stderr.contains("would be a new file in a directory of PostgreSQL"), "{}", ran.stderr);
    let allowed = ["--overwrite", &wal, "--json", "o.json", &wal];
    let ran = here.run(&[&words[..], &allowed].concat()).expect_status(0);
    assert!(ran.stdout.contains("open_datasync (the server's)"), "{}", ran.stdout);
    assert!(ran.stdout.contains("postgresql.conf:1"), "{}", ran.stdout);
    let run = here.json("o.json");
    assert_eq!(warnings(&run).iter().filter(|code| *code == "sync-off").count(), 2);
    assert!(ran.stdout.contains("can destroy the whole database"), "{}", ran.stdout);
    assert_eq!(run["fsync"]["server"]["settings"][0]["value"], "open_datasync");
    assert_eq!(fs::read_dir(&wal).unwrap().count(), 0, "nothing is left in the log's directory");
    // The log may be tested in another directory, beside the settings of the server.
    let elsewhere = ["--postgres", &data, "--json", "o.json", "."];
    here.run(&[&words[..], &elsewhere].concat()).expect_status(0);
    assert_eq!(here.json("o.json")["fsync"]["server"]["data_directory"], data.as_str());
    let ran = here.run(&[&words[..], &["--postgres", ".", "."]].concat()).expect_status(2);
    assert!(ran.stderr.contains("is no PostgreSQL data directory"), "{}", ran.stderr);
}

#[test]
fn a_file_of_the_user_s_with_the_name_of_a_segment_is_kept_whatever_is_allowed() {
    let here = Workspace::new();
    let data = server(&here, "");
    for directory in [here.path("").to_str().unwrap().to_owned(), format!("{data}/pg_wal")] {
        let file = Path::new(&directory).join("iostall-fsync.dat");
        fs::write(&file, "precious").unwrap();
        for allowed in [&directory, file.to_str().unwrap()] {
            let ran = here.run(&["fsync", "--overwrite", allowed, &directory]).expect_status(2);
            assert!(ran.stderr.contains("hint: "), "{}", ran.stderr);
            assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
        }
    }
}

#[test]
fn what_is_no_directory_is_refused_with_the_directory_to_name() {
    let here = Workspace::new();
    fs::write(here.path("wal"), "x").unwrap();
    let file = here.path("wal");
    let ran = here.run(&["fsync", file.to_str().unwrap()]).expect_status(2);
    assert!(ran.stderr.contains("is not a directory"), "{}", ran.stderr);
    let parent = file.parent().unwrap().to_str().unwrap();
    assert!(ran.stderr.contains(&format!("name {parent}")), "{}", ran.stderr);
    let ran = here.run(&["fsync", "wal"]).expect_status(2);
    assert!(ran.stderr.contains("name . for this one"), "{}", ran.stderr);
    let ran = here.run(&["fsync", "/dev/null"]).expect_status(2);
    assert!(ran.stderr.contains("iostall load"), "{}", ran.stderr);
    let ran = here.run(&["fsync", "missing"]).expect_status(2);
    assert!(ran.stderr.contains("there is no directory missing"), "{}", ran.stderr);
}

/// Filling the last of a file system would take down the database on it.
#[test]
fn a_full_file_system_and_one_that_is_read_only_are_refused_and_stay_as_they_were() {
    for (options, said) in [("size=12m", "must stay free"), ("ro,size=4g", "Read-only file system")] {
        let here = Workspace::new();
        let Some(place) = tmpfs(&here, options) else {
            return skip("fsync on a full file system", "no tmpfs can be mounted here");
        };
        let ran = here.run(&["fsync", &place]);
        let left = fs::read_dir(&place).unwrap().count();
        unmount(Path::new(&place));
        let ran = ran.expect_status(2);
        assert!(ran.stderr.contains(said) && ran.stderr.contains("hint: "), "{}", ran.stderr);
        assert_eq!(left, 0);
    }
}

/// A tmpfs answers a million flushes a second. It has no direct I/O either, which is no failure of the run.
#[test]
fn on_a_file_system_in_memory_no_device_is_measured_and_direct_methods_are_unavailable() {
    let here = Workspace::new();
    let Some(place) = tmpfs(&here, "size=4g") else {
        return skip("fsync on tmpfs", "no tmpfs can be mounted here");
    };
    let words = ["fsync", "--duration", "50ms", "--committers", "1", "--json", "o.json", &place];
    let ran = here.run(&words);
    unmount(Path::new(&place));
    let ran = ran.expect_status(0);
    let run = here.json("o.json");
    // Other tests may have the processors.
    let codes: Vec<String> = warnings(&run).into_iter().filter(|code| code != "generator-bound").collect();
    assert_eq!(codes, ["memory-file-system"]);
    assert!(steps(&run)[2]["unavailable"].is_string(), "{}", steps(&run)[2]);
    assert!(ran.stdout.contains("open_datasync_direct is unavailable"), "{}", ran.stdout);
}
