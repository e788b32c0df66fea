//! Alerts over a restart, in groups, through the templates of receivers; and the sign of life of a collector.

use std::fs;

use serde_json::Value;

use crate::alerts::web_server;
use crate::support::{PATIENCE, Workspace, until};

/// A server at which nobody listens.
const DEAD: &str = "postgres://mon@127.0.0.1:9/sales";

fn collector_file(workspace: &Workspace, sources: &[&str], channel: &str, rest: &str) {
    let source = |url: &&str| format!("[[source]]\nurl = \"{url}\"\ninterval = \"1s\"\n");
    let sources = sources.iter().map(source).collect::<Vec<String>>().concat();
    let text = format!("{sources}\n[channels.one]\n{channel}\ntimeout = \"10m\"\n\n{rest}");
    fs::write(workspace.path("collector.toml"), text).unwrap();
}

const RUN: [&str; 4] = ["collect", "run", "--config", "collector.toml"];

const SILENT: &str = "[[rules]]\nname = \"dead\"\nwhen = \"silent\"\nsource = \"postgres\"\nfor = \"1s\"\nnotify = [\"one\"]\n";

fn body(request: &(String, String)) -> Value {
    serde_json::from_str(&request.1).unwrap()
}

/// Waits for so many more missed samples: each is a second in which a rule may hold.
fn wait_for_misses(workspace: &Workspace, count: i64) {
    let database = rusqlite::Connection::open(workspace.path("store.db")).unwrap();
    let missed =
        || database.query_row(include_str!("sql/missed_samples.sql"), [], |row| row.get::<_, i64>(0));
    let before = missed().unwrap();
    until("missed samples", || missed().is_ok_and(|now| now >= before + count).then_some(()));
}

/// After each restart of the collector everything that fired was sent again, and what had ended while it was down was never
/// resolved: its incident stayed open.
#[test]
fn an_alert_fires_once_over_restarts_and_is_resolved_when_its_source_is_gone_from_the_file() {
    let (port, got) = web_server(&["200 OK"]);
    let workspace = Workspace::new();
    let channel = format!("webhook = \"http://127.0.0.1:{port}/\"");
    collector_file(&workspace, &["linux:", DEAD], &channel, SILENT);
    let collector = workspace.start(&RUN);
    assert_eq!(body(&got.recv_timeout(PATIENCE).unwrap())["occasion"], "firing");
    collector.signal("INT");
    collector.ended().expect_status(0);
    let collector = workspace.start(&RUN);
    wait_for_misses(&workspace, 4);
    collector.signal("INT");
    let ran = collector.ended().expect_status(0);
    assert!(!ran.stderr.contains("alert:"), "{}", ran.stderr);
    assert!(got.try_recv().is_err(), "nothing is sent again");
    collector_file(&workspace, &["linux:"], &channel, SILENT);
    let collector = workspace.start(&RUN);
    let resolved = body(&got.recv_timeout(PATIENCE).unwrap());
    assert_eq!(
        (&resolved["occasion"], &resolved["source"]),
        (&"resolved".into(), &"postgres://127.0.0.1:9/sales".into())
    );
    collector.signal("INT");
    collector.ended().expect_status(0);
}

/// A receiver that was down when the collector was restarted never heard of the alert.
#[test]
fn what_could_not_be_delivered_before_a_restart_is_delivered_after_it() {
    let workspace = Workspace::new();
    collector_file(&workspace, &["linux:", DEAD], "webhook = \"http://127.0.0.1:9/\"\nattempts = 10", SILENT);
    let mut collector = workspace.start(&RUN);
    collector.wait_for("alert: dead");
    collector.signal("INT");
    collector.ended().expect_status(0);
    let (port, got) = web_server(&["200 OK"]);
    collector_file(&workspace, &["linux:", DEAD], &format!("webhook = \"http://127.0.0.1:{port}/\""), SILENT);
    let collector = workspace.start(&RUN);
    assert_eq!(body(&got.recv_timeout(PATIENCE).unwrap())["rule"], "dead");
    collector.signal("INT");
    collector.ended().expect_status(0);
}

/// Each receiver wanted a relay of one's own that turned our document into its own.
#[test]
fn a_template_turns_a_notice_into_what_the_receiver_reads() {
    let (port, got) = web_server(&["202 Accepted"]);
    let workspace = Workspace::new();
    workspace.secret("key", "routing-key\n");
    fs::write(workspace.path("own.json"), "{\"title\": {{ rule }}, \"by\": \"me\"}").unwrap();
    let address = format!("webhook = \"http://127.0.0.1:{port}/x\"\ntimeout = \"10m\"");
    let rule = "[[rules]]\nname = \"dead\"\nwhen = \"silent\"\nfor = \"1m\"\nnotify = [\"one\"]\n";
    let test = |channel: &str| {
        fs::write(workspace.path("alerts.toml"), format!("[channels.one]\n{address}\n{channel}\n\n{rule}"))
            .unwrap();
        workspace.run(&["alerts", "test", "alerts.toml"]).expect_status(0);
        let request = got.recv_timeout(PATIENCE).unwrap();
        (request.0.clone(), body(&request))
    };
    assert!(test("template = \"slack\"").1["text"].as_str().unwrap().starts_with("*TEST* test of dead"));
    assert_eq!(test("template = \"teams\"").1["attachments"][0]["content"]["type"], "AdaptiveCard");
    let event = test("template = \"pagerduty\"\ntoken-file = \"key\"").1;
    assert_eq!((&event["routing_key"], &event["event_action"]), (&"routing-key".into(), &"trigger".into()));
    let (head, alert) = test("template = \"opsgenie\"\ntoken-file = \"key\"");
    assert!(head.to_ascii_lowercase().contains("authorization: geniekey routing-key"), "{head}");
    assert!(alert["alias"].as_str().unwrap().starts_with("iostall-alert-"), "{alert}");
    assert_eq!(test("template-file = \"own.json\"").1["title"], "dead");
    fs::write(workspace.path("own.json"), "{{ oops").unwrap();
    let ran = workspace.run(&["alerts", "check", "alerts.toml"]).expect_status(2);
    assert!(ran.stderr.contains("own.json, line 1"), "{}", ran.stderr);
}

/// A collector that hung, or whose machine was gone, was noticed when somebody missed its alerts.
#[test]
fn a_heartbeat_is_sent_while_samples_arrive_and_not_when_they_do_not() {
    let (port, got) = web_server(&["200 OK"]);
    let workspace = Workspace::new();
    let beat = format!("heartbeat = \"http://127.0.0.1:{port}/ping/1\"\nevery = \"1s\"");
    collector_file(&workspace, &["linux:"], &beat, "");
    let collector = workspace.start(&RUN);
    for _ in 0..2 {
        let (head, _) = got.recv_timeout(PATIENCE).unwrap();
        assert!(head.starts_with("GET /ping/1 HTTP/1.1"), "{head}");
    }
    collector.signal("INT");
    collector.ended().expect_status(0);
    while got.try_recv().is_ok() {}
    collector_file(&workspace, &[DEAD], &beat, "");
    let collector = workspace.start(&RUN);
    wait_for_misses(&workspace, 3);
    collector.signal("INT");
    collector.ended().expect_status(0);
    assert!(got.try_recv().is_err(), "no sample, no sign of life");
}

/// Each new server meant a restart of the collector, and a gap for all the others.
#[test]
fn a_changed_file_counts_without_a_restart_and_a_bad_one_changes_nothing() {
    let (port, got) = web_server(&["200 OK"]);
    let workspace = Workspace::new();
    let channel = format!("webhook = \"http://127.0.0.1:{port}/\"");
    collector_file(&workspace, &["linux:"], &channel, SILENT);
    let mut collector = workspace.start(&RUN);
    until("the first sample", || {
        workspace.run(&["report", "volumes"]).stdout.contains("linux:").then_some(())
    });
    fs::write(workspace.path("collector.toml"), "[[source]]\nurl = \"linux:\"\ncolour = 1\n").unwrap();
    collector.wait_for("what was read before still counts");
    collector_file(&workspace, &["linux:", DEAD], &channel, SILENT);
    collector.wait_for("has changed and counts from now on");
    assert_eq!(body(&got.recv_timeout(PATIENCE).unwrap())["occasion"], "firing");
    // Gone from the file, it is not asked any more, and nobody waits for its alert to end.
    let job = "[[job]]\nname = \"new\"\ncalendar = \"* * * * * *\"\ncommand = [\"/bin/sh\", \"-c\", \"echo > ran\"]\n";
    collector_file(&workspace, &["linux:"], &channel, &format!("{SILENT}{job}"));
    assert_eq!(body(&got.recv_timeout(PATIENCE).unwrap())["occasion"], "resolved");
    until("the new job", || workspace.path("ran").exists().then_some(()));
    collector.signal("INT");
    let ran = collector.ended().expect_status(0);
    assert!(ran.stderr.contains("unknown field `colour`"), "{}", ran.stderr);
    let gaps = workspace.run(&["report", "volumes", "--json", "-"]).expect_status(0).stdout;
    let report: Value = serde_json::from_str(&gaps).unwrap();
    assert_eq!(
        report["sources"][0]["gaps"],
        Value::Array(Vec::new()),
        "the host was sampled all the time: {report}"
    );
}
