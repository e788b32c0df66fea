//! Collector files and jobs: `iostall collect run --config`, `check` and `jobs`.

use std::fs;
use std::process::Command;

use crate::support::{Workspace, skip, until};

/// A collector file with a source that always exists.
fn workspace(rest: &str) -> Workspace {
    let workspace = Workspace::new();
    write(&workspace, &format!("[[source]]\nurl = \"linux:\"\ninterval = \"1s\"\n\n{rest}"));
    workspace
}

fn write(workspace: &Workspace, text: &str) {
    fs::write(workspace.path("collector.toml"), text).unwrap();
}

/// A job that runs `script` every second.
fn every_second(name: &str, script: &str, rest: &str) -> String {
    format!(
        "[[job]]\nname = \"{name}\"\ncalendar = \"* * * * * *\"\ncommand = [\"/bin/sh\", \"-c\", '''{script}''']\n{rest}\n"
    )
}

const RUN: [&str; 4] = ["collect", "run", "--config", "collector.toml"];

/// Nightly canaries, monthly drills and weekly prunes needed a separate crontab, whose failures nobody
/// noticed.
#[test]
fn a_job_runs_at_its_time_and_what_became_of_it_is_listed_and_notified() {
    let notified =
        "[channels.one]\ncommand = [\"/bin/sh\", \"-c\", 'cat > notified.new; mv notified.new notified']\n";
    let fails = every_second(
        "drill",
        "echo in the store $IOSTALL_STORE; echo no space left >&2; exit 3",
        "notify = [\"one\"]",
    );
    let workspace = workspace(&format!("{fails}{}{notified}", every_second("canary", "true", "")));
    let collector = workspace.start(&RUN);
    let text = until("a notification of the job", || fs::read_to_string(workspace.path("notified")).ok());
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&document["schema"], &document["job"]), (&"iostall-job".into(), &"drill".into()));
    assert_eq!((&document["occasion"], &document["outcome"]), (&"firing".into(), &"failed".into()));
    assert_eq!(document["detail"], "exit status: 3");
    let store = workspace.path("store.db");
    assert_eq!(document["output"], format!("in the store {}\nno space left", store.display()));
    collector.signal("INT");
    let ran = collector.ended().expect_status(0);
    assert!(
        ran.stderr.contains("job drill: started") && ran.stderr.contains("drill | no space left"),
        "{}",
        ran.stderr
    );
    let listed = workspace.run(&["collect", "jobs", "collector.toml"]).expect_status(0).stdout;
    assert!(listed.contains("\"drill\": next 20") && listed.contains("failed (exit status: 3)"), "{listed}");
    assert!(listed.contains("    no space left\n") && listed.contains("\"canary\""), "{listed}");
    // Samples were taken as usual.
    assert!(workspace.run(&["report", "volumes"]).stdout.contains("linux:"), "the host was sampled");
}

/// A restore that hung at night was still running in the morning, as was the shell's child that held the
/// lock.
#[test]
fn at_its_deadline_a_job_is_ended_with_everything_that_it_started() {
    let script = "sleep 3600 & echo $! > child.new; mv child.new child; wait";
    let workspace = workspace(&every_second("hangs", script, "deadline = \"1s\""));
    let mut collector = workspace.start(&RUN);
    collector.wait_for("job hangs, due at");
    let child = fs::read_to_string(workspace.path("child")).unwrap();
    // Another process with that number is not the sleep.
    let command = format!("/proc/{}/cmdline", child.trim());
    let is_gone = || fs::read_to_string(&command).ok().is_none_or(|words| !words.starts_with("sleep"));
    until("the end of what the job started", || is_gone().then_some(()));
    collector.signal("INT");
    let ran = collector.ended().expect_status(0);
    assert!(ran.stderr.contains("timed-out: killed at its deadline of 1s"), "{}", ran.stderr);
}

#[test]
fn a_run_that_was_missed_while_no_collector_ran_is_named_by_the_next_one() {
    let workspace = workspace(&every_second("prune", "true", ""));
    let mut collector = workspace.start(&RUN);
    collector.wait_for("job prune, due at");
    collector.signal("INT");
    collector.ended().expect_status(0);
    // Moves the last run into the past in the store, so that the test need not wait for minutes.
    let database = rusqlite::Connection::open(workspace.path("store.db")).unwrap();
    database.execute_batch(include_str!("sql/age_job_runs.sql")).unwrap();
    drop(database);
    let mut collector = workspace.start(&RUN);
    collector.wait_for("missed: the collector was not running");
    collector.signal("INT");
    collector.ended().expect_status(0);
}

#[test]
fn a_job_that_is_running_when_the_collector_ends_ends_with_it() {
    let script = "echo $$ > shell.new; mv shell.new shell; exec sleep 3600";
    let workspace = workspace(&every_second("long", script, ""));
    let collector = workspace.start(&RUN);
    let shell = until("the job", || fs::read_to_string(workspace.path("shell")).ok());
    collector.signal("INT");
    let ran = collector.ended().expect_status(0);
    assert!(ran.stderr.contains("stopped: the collector ended"), "{}", ran.stderr);
    let words = fs::read_to_string(format!("/proc/{}/cmdline", shell.trim())).unwrap_or_default();
    assert!(!words.starts_with("sleep"), "{words}");
}

#[test]
fn a_file_is_checked_before_anything_is_started() {
    let workspace = workspace(&every_second("drill", "true", "notify = [\"pager\"]"));
    let ran = workspace.run(&["collect", "check", "collector.toml"]).expect_status(2);
    assert!(ran.stderr.contains("job \"drill\": there is no channel \"pager\""), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: docs/watch.md"), "{}", ran.stderr);
    workspace.run(&RUN).expect_status(2);
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/collector.toml");
    let ran = workspace.run(&["collect", "check", example]).expect_status(0);
    assert!(
        ran.stdout.contains("source \"sales primary\": every 5s, postgres://db1.example.com:5432/sales"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("job \"nightly canary\": at 30 2 * * * Europe/Zurich"), "{}", ran.stdout);
    let both = workspace.run(&["collect", "run", "--config", "collector.toml", "linux:"]).expect_status(2);
    assert!(both.stderr.contains("cannot be used with"), "{}", both.stderr);
    workspace.run(&["collect", "run"]).expect_status(2);
}

/// The same file as systemd timers.
#[test]
fn the_jobs_of_a_file_are_timers_that_systemd_accepts() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/collector.toml");
    let workspace = Workspace::new();
    fs::create_dir(workspace.path("units")).unwrap();
    let ran = workspace.run(&["collect", "jobs", example, "--systemd", "units"]).expect_status(0);
    let files: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(files.len(), 6, "{}", ran.stdout);
    let timer = fs::read_to_string(workspace.path("units/iostall-nightly-canary.timer")).unwrap();
    assert!(timer.contains("OnCalendar=*-*-* 02:30:00 Europe/Zurich\n"), "{timer}");
    let service = fs::read_to_string(workspace.path("units/iostall-restore-drill.service")).unwrap();
    for line in ["User=drill\n", "TimeoutStartSec=14400\n", "Type=oneshot\n"] {
        assert!(service.contains(line), "{service}");
    }
    let printed = workspace.run(&["collect", "jobs", example, "--systemd", "-"]).expect_status(0).stdout;
    assert!(printed.contains("# iostall-rebuild-roll-ups.timer\n[Unit]\n"), "{printed}");
    for line in printed.lines().filter_map(|line| line.strip_prefix("OnCalendar=")) {
        let Ok(said) = Command::new("systemd-analyze").args(["calendar", line]).output() else {
            return skip("calendars of jobs", "systemd-analyze is not installed");
        };
        assert!(said.status.success(), "{line}: {}", String::from_utf8_lossy(&said.stderr));
    }
}

#[test]
fn jobs_need_no_source() {
    let workspace = Workspace::new();
    write(&workspace, &every_second("alone", "echo done > done", ""));
    let mut collector = workspace.start(&RUN);
    until("the job", || workspace.path("done").exists().then_some(()));
    collector.wait_for("job alone, due at");
    collector.signal("INT");
    collector.ended().expect_status(0);
}
