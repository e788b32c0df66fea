//! Runs of servers in the repository of their fleet: load tests, copies, backups and so on.

use serde_json::{Value, json};

use crate::fleet_centre::{Centre, assert_refused};
use crate::fleet_devices::OlderCentre;
use crate::fleet_hostile::Client;
use crate::support::{Workspace, until};

/// All runs in a database.
pub(crate) fn runs_in(centre: &Centre, database: &str) -> String {
    centre.server.value_in(database, include_str!("sql/run_content.sql"))
}

/// A load test that measures nothing and takes no time.
pub(crate) fn measure(server: &Workspace, name: &str) {
    let words = ["load", "--engine", "null", "--duration", "20ms", "--warmup", "0", "--name", name];
    server.run(&[&words[..], &["--preset", "random-read"]].concat()).expect_status(0);
}

/// A load test, a copy and a backup.
fn work(server: &Workspace) {
    measure(server, "load \u{1b}[2J'; --");
    std::fs::create_dir_all(server.path("shop")).unwrap();
    std::fs::write(server.path("shop/orders"), "paid".repeat(1_000)).unwrap();
    server.run(&["copy", "shop", "copied"]).expect_status(0);
    server.run(&["backup", "create", "--to", "shop.iob", "shop"]).expect_status(0);
}

fn json_of(here: &Workspace, words: &[&str]) -> Value {
    serde_json::from_str(&here.run(words).expect_status(0).stdout).unwrap()
}

#[test]
fn a_load_test_a_copy_and_a_backup_come_once_and_as_they_are() {
    let Some(centre) = Centre::start() else { return };
    let server = centre.member("db1");
    work(&server);
    let sent = json_of(&server, &["fleet", "send", &centre.address(), "--json"]);
    assert_eq!((&sent["runs"], &sent["sources"][0]["samples"]), (&json!(3), &json!(1)), "{sent}");
    let there = runs_in(&centre, "postgres");
    let again = json_of(&server, &["fleet", "send", &centre.address(), "--json"]);
    assert_eq!((&again["runs"], &again["sources"][0]["samples"]), (&json!(0), &json!(0)), "{again}");
    // They are what the server has, and stay when they are deleted there.
    let listed = json_of(&centre.here, &["fleet", "runs", &centre.url, "--json"]);
    let own = json_of(&server, &["runs", "--json"]);
    for (there, here) in listed.as_array().unwrap().iter().zip(own.as_array().unwrap()) {
        for field in ["number", "id", "kind", "name", "ended_utc", "targets", "iops", "measured_ns"] {
            assert_eq!(there[field], here[field], "{field}: {listed}");
        }
        assert_eq!(there["server"], "db1");
        let number = here["number"].to_string();
        let shown = ["fleet", "runs", &centre.url, "show", "db1", &number, "--json", "-"];
        assert_eq!(
            json_of(&centre.here, &shown),
            json_of(&server, &["runs", "show", &number, "--json", "-"])
        );
    }
    assert_eq!(listed.as_array().unwrap().len(), 3);
    server.run(&["runs", "delete", "1", "2", "3"]).expect_status(0);
    centre.send(&server).expect_status(0);
    assert_eq!(runs_in(&centre, "postgres"), there);
}

#[test]
fn the_runs_of_a_fleet_are_narrowed_by_server_and_kind() {
    let Some(centre) = Centre::start() else { return };
    let (server, other) = (centre.member("db1"), centre.member("db2"));
    work(&server);
    measure(&other, "of db2");
    for one in [&server, &other] {
        centre.send(one).expect_status(0);
    }
    let list = |words: &[&str]| {
        let ran = centre.here.run(&[&["fleet", "runs", &centre.url][..], words].concat()).expect_status(0);
        assert!(!ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
        (ran.stdout.lines().skip(1).count(), ran.stdout, ran.stderr)
    };
    assert_eq!(list(&[]).0, 4);
    assert_eq!(list(&["--limit", "2"]).0, 2);
    let (count, text, _) = list(&["--server", "db2"]);
    assert!(count == 1 && text.contains("db2") && text.contains("of db2"), "{text}");
    let (count, text, _) = list(&["--kind", "backup"]);
    assert!(count == 1 && text.contains("db1"), "{text}");
    assert!(list(&["--since", "2099-01-01"]).2.contains("no server has sent such a run"));
    let show =
        |words: &[&str]| centre.here.run(&[&["fleet", "runs", &centre.url, "show"][..], words].concat());
    let shown = show(&["db2"]).expect_status(0).stdout;
    assert!(shown.contains("of db2") && shown.contains("IOPS"), "{shown}");
    assert_refused(show(&["db2", "7"]), &["has no run #7 of a server \"db2\"", "fleet runs"]);
    assert_refused(show(&["db3", "1"]), &["of a server \"db3\""]);
}

/// What a centre has deleted is not sent again by a server that still has it.
#[test]
fn runs_are_kept_for_as_long_as_the_centre_is_asked_to() {
    let Some(mut centre) = Centre::start() else { return };
    let server = centre.member("db1");
    measure(&server, "old");
    centre.send(&server).expect_status(0);
    centre.restart("INT");
    assert!(runs_in(&centre, "postgres").starts_with("1 "), "without the option they are kept");
    // Old enough when the service first looks, which it then does once an hour.
    crate::support::pause(1_500);
    centre.restart_with("INT", &["--keep-runs", "1s"]);
    until("the run is deleted", || (runs_in(&centre, "postgres") == "0").then_some(()));
    assert_eq!(centre.send(&server).expect_status(0).stdout, "linux:: 0 samples\n");
    centre.restart("INT");
    measure(&server, "new");
    assert_eq!(centre.send(&server).expect_status(0).stdout, "linux:: 0 samples\n1 run\n");
}

/// An older centre takes samples alone; what it has no place for is sent when it is upgraded.
#[test]
fn runs_wait_for_an_older_centre_to_be_upgraded() {
    let Some(mut centre) = Centre::start() else { return };
    let real = centre.port;
    centre.port = OlderCentre::before(&centre, &["runs", "run", "place"]).port;
    let server = centre.member("db1");
    measure(&server, "early");
    let ran = centre.send(&server).expect_status(0);
    assert_eq!(ran.stdout, "linux:: 1 sample\n");
    centre.port = real;
    centre.join(&server, &centre.code(&["--for", "db1"])).expect_status(0);
    let ran = centre.send(&server).expect_status(0);
    assert_eq!(ran.stdout, "linux:: 0 samples\n1 run\n");
}

/// A body of a run: an entry, and a document.
fn body(entry: &Value, document: &str) -> Vec<u8> {
    zstd::encode_all(format!("{entry}\n{document}").as_bytes(), 1).unwrap()
}

#[test]
fn what_a_hostile_server_sends_for_runs_harms_nobody_else() {
    let Some(centre) = Centre::start() else { return };
    let (server, other) = (centre.member("db1"), centre.member("db2"));
    measure(&server, "real");
    centre.send(&server).expect_status(0);
    let before = runs_in(&centre, "postgres");
    let listed = json_of(&centre.here, &["fleet", "runs", &centre.url, "--json"]);
    let client = Client::of(&centre, &other);
    let entry = |name: &str, ended: &str| {
        json!({"number": 1, "id": listed[0]["id"], "kind": "load", "name": name, "started_utc": ended, "ended_utc": ended,
               "host": "h", "tool_version": "0", "interrupted": false, "warning_count": 0, "targets": ["/x"],
               "summary": {"measured_ns": 1, "block_size": null, "iops": 1.5, "mib_per_s": null, "latency_ns_p99": 7}})
    };
    let document = |more: &str| format!("{{\"schema\":\"iostall-run\",\"id\":{}{more}}}", listed[0]["id"]);
    let post = |body: &[u8]| {
        let (status, code, _) = client.post("fleet/v1/run", body);
        (status, code)
    };
    let refused = (400, "Run".to_owned());
    let good = entry("x", "2026-03-01T09:58:00Z");
    assert_eq!(post(b"garbage"), refused);
    assert_eq!(post(&body(&json!({}), "{}")), refused);
    assert_eq!(post(&body(&good, "{")), refused);
    assert_eq!(post(&body(&good, &document(",\"a\":\"\\ud800\""))), refused);
    assert_eq!(post(&body(&good, &document(",\"a\":1e999999"))), refused);
    assert_eq!(post(&body(&entry(&"x".repeat(9_000), "2026-03-01T09:58:00Z"), &document(""))), refused);
    assert_eq!(post(&body(&entry("x", "2099-01-01T00:00:00Z"), &document(""))), (400, "Clock".to_owned()));
    let deep = document(&format!(",\"a\":{}{}", "[".repeat(100_000), "]".repeat(100_000)));
    assert_eq!(post(&body(&good, &deep)), refused);
    let spaces = zstd::encode_all(&vec![b' '; 33 << 20][..], 1).unwrap();
    assert_eq!(post(&spaces), (413, "TooLong".to_owned()));
    assert_eq!(runs_in(&centre, "postgres"), before);
    // The id of another server's run is a run of its own, and takes the place of none.
    let named = entry("'; DROP TABLE iostall.run; --\u{0}\u{1b}[2J", "2026-03-01T09:58:00Z");
    assert_eq!(post(&body(&named, &document(",\"a\":\"\\u0000\\\\u0000\""))).0, 200);
    assert_eq!(client.post("fleet/v1/runs", b"{\"runs\":[{\"id\":1}]}").0, 400);
    let shown = centre.here.run(&["fleet", "runs", &centre.url]).expect_status(0).stdout;
    assert!(shown.lines().count() == 3 && !shown.contains('\u{1b}'), "{shown}");
    let show = ["fleet", "runs", &centre.url, "show", "db2", "1"];
    assert_refused(centre.here.run(&show), &["cannot be stored or read"]);
    assert!(runs_in(&centre, "postgres").contains(before.split_once(' ').unwrap().1));
    centre.send(&server).expect_status(0);
}
