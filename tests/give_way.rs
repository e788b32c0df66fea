//! Transfers that give way to a database: a real PostgreSQL with users, and one that is stopped.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::process::Stdio;

use serde_json::Value;

use crate::copy::content;
use crate::postgres::Postgres;
use crate::support::{Workspace, skip, until};

/// A limit that no commit ever reaches here, so that nothing depends on how fast this machine is.
const NEVER_NEAR: &str = "commit.p95<100s";

fn server(test: &str) -> Option<Postgres> {
    let server = Postgres::start();
    if server.is_none() {
        skip(test, "PostgreSQL is not installed");
    }
    server
}

fn whys(gave_way: &Value) -> Vec<String> {
    let decisions = gave_way["decisions"].as_array().expect("decisions");
    decisions.iter().map(|decision| decision["why"].as_str().expect("a reason").to_owned()).collect()
}

/// A nightly copy beside a shop: it had one limit for the whole night, set for the worst minute of it. Now it takes what the shop leaves,
/// and the run says what it took and when.
#[test]
fn a_copy_beside_users_says_what_it_decided_and_arrives_whole() {
    let Some(server) = server("giving way") else { return };
    let here = Workspace::new();
    let url = server.url("postgres", &here.secret("password", "right\n"));
    server.time_the_log();
    let _users = server.users();
    fs::write(here.path("data"), content(40_000_000)).unwrap();
    let words = ["copy", "--reflink", "never", "--verify", "--limit", "8MB/s", "--yield-floor", "1MB/s"];
    let yields = ["--yield-to", &url, "--require", NEVER_NEAR, "--json", "run.json", "data", "copied"];
    let ran = here.run(&[&words[..], &yields].concat()).expect_status(0);
    assert_eq!(fs::read(here.path("copied")).unwrap(), content(40_000_000));
    let run = here.json("run.json");
    let gave_way = &run["copy"]["gave_way"];
    let whys = whys(gave_way);
    assert_eq!(whys[0], "begin", "{gave_way}");
    assert!(whys.iter().any(|why| why == "faster"), "{gave_way}");
    assert!(gave_way["readings"].as_u64().is_some_and(|readings| readings > 5), "{gave_way}");
    assert!(gave_way["kept"][0]["wait_ns"]["count"].as_u64().is_some_and(|count| count > 0), "{gave_way}");
    assert!(!gave_way.to_string().contains("right"), "no password: {gave_way}");
    let fastest = gave_way["decisions"].as_array().unwrap().iter().map(|one| one["bytes_per_s"].as_u64());
    assert!(fastest.max().flatten().is_some_and(|rate| rate <= 8_000_000), "the limit holds too: {gave_way}");
    let verdict = &run["verdicts"][0];
    assert_eq!((&verdict["met"], verdict["figure"].is_f64()), (&true.into(), true), "{verdict}");
    assert!(run["copy"]["shape"]["transfer_bytes"].as_u64().is_some_and(|bytes| bytes <= 256 << 10));
    // The report in text is of the stored run.
    let shown = here.run(&["runs", "show", "1"]).expect_status(0).stdout;
    assert!(
        shown.contains("Giving way to postgres://") && shown.contains("faster: there is room"),
        "{shown}"
    );
    here.run(&["runs", "show", "1", "--html", "run.html"]).expect_status(0);
    assert!(fs::read_to_string(here.path("run.html")).unwrap().contains("Allowed rate"), "{}", ran.stdout);
}

/// The server was stopped for its upgrade in the middle of the night. The copy must neither end nor take the whole disk, which the server
/// needs when it starts again.
#[test]
fn a_copy_whose_server_is_stopped_goes_on_at_its_floor_and_arrives_whole() {
    let Some(mut server) = server("giving way to a server that is stopped") else { return };
    let here = Workspace::new();
    let url = server.url("postgres", &here.secret("password", "right\n"));
    server.time_the_log();
    fs::write(here.path("data"), content(24_000_000)).unwrap();
    let words = ["copy", "--yield-floor", "16MB/s", "--yield-to", &url, "--require", NEVER_NEAR];
    let mut copy = here.command(&[&words[..], &["--json", "run.json", "data", "-"]].concat());
    copy.stdout(Stdio::piped()).stderr(File::create(here.path("said")).unwrap());
    // Nobody reads its output yet, so it waits in the middle of the copy.
    let mut copy = copy.spawn().unwrap();
    let said = || fs::read_to_string(here.path("said")).unwrap();
    // The server is asked once before anything is copied: one that does not answer then is refused.
    let mut output = copy.stdout.take().unwrap();
    let mut copied = vec![0];
    output.read_exact(&mut copied).unwrap();
    server.stop();
    until("the floor", || {
        assert_eq!(copy.try_wait().unwrap(), None, "{}", said());
        said().contains("giving way: at the floor of ").then_some(())
    });
    output.read_to_end(&mut copied).unwrap();
    assert_eq!(copy.wait().unwrap().code(), Some(0), "{}", said());
    assert!(copied == content(24_000_000), "{} bytes arrived", copied.len());
    let run = here.json("run.json");
    let gave_way = &run["copy"]["gave_way"];
    let silent = gave_way["decisions"].as_array().unwrap().iter().find(|one| one["why"] == "silent").unwrap();
    assert_eq!(
        (&silent["bytes_per_s"], &silent["in_flight_max"]),
        (&16_000_000.into(), &1.into()),
        "{gave_way}"
    );
    assert!(gave_way["failed_readings"].as_u64().is_some_and(|failed| failed > 0));
    let warning = run["warnings"].as_array().unwrap().iter().find(|one| one["code"] == "source-silent");
    let message = warning.unwrap()["message"].as_str().unwrap();
    assert!(message.contains("did not answer") && message.contains("floor"), "{message}");
}

/// A limit that this storage cannot keep even alone: the transfer is done all the same, at its floor, and the answer is no.
#[test]
fn a_limit_that_cannot_be_kept_leaves_the_floor_a_warning_and_a_no() {
    let Some(server) = server("giving way for ever") else { return };
    let here = Workspace::new();
    let url = server.url("postgres", &here.secret("password", "right\n"));
    server.time_the_log();
    let _users = server.users();
    fs::write(here.path("data"), content(20_000_000)).unwrap();
    let words = ["copy", "--reflink", "never", "--yield-floor", "2MB/s", "--yield-to", &url];
    let yields = ["--require", "commit.mean<1ns", "--json", "run.json", "data", "copied"];
    here.run(&[&words[..], &yields].concat()).expect_status(1);
    assert_eq!(fs::read(here.path("copied")).unwrap(), content(20_000_000));
    let run = here.json("run.json");
    let whys = whys(&run["copy"]["gave_way"]);
    assert!(whys.contains(&"slower".to_owned()) && whys.contains(&"missed".to_owned()), "{whys:?}");
    assert_eq!(run["verdicts"][0]["met"], false);
    let codes = crate::support::warnings(&run);
    assert!(codes.contains(&"floor-missed".to_owned()), "{codes:?}");
}

#[test]
fn what_cannot_be_kept_is_refused_before_anything_is_moved() {
    let Some(mut server) = server("refusals of giving way") else { return };
    let here = Workspace::new();
    let url = server.url("postgres", &here.secret("password", "right\n"));
    let wrong = server.url("postgres", &here.secret("wrong", "wrong\n"));
    fs::write(here.path("data"), content(5_000)).unwrap();
    let refused = |url: &str, require: &[&str]| {
        let words = [&["copy", "--no-store", "--yield-to", url], require, &["data", "copied"]].concat();
        let ran = here.run(&words).expect_status(2);
        assert!(!here.path("copied").exists(), "{}", ran.stderr);
        ran.stderr
    };
    let commit = ["--require", NEVER_NEAR];
    // The server does not time its log, as is usual.
    let said = refused(&url, &commit);
    assert!(said.contains("track_wal_io_timing is off") && said.contains("ALTER SYSTEM"), "{said}");
    server.time_the_log();
    let said = refused(&url, &[]);
    assert!(said.contains("--require"), "{said}");
    let said = refused(&url, &["--require", "throughput>1MB"]);
    assert!(
        said.contains("what the users of the source wait for") && said.contains("commit.p95<5ms"),
        "{said}"
    );
    let said = refused(&url, &["--require", "commit.p95>5ms"]);
    assert!(said.contains("no upper limit"), "{said}");
    let said = refused(&wrong, &commit);
    assert!(said.contains("refused the login"), "{said}");
    let said = refused("nothing://here", &commit);
    assert!(said.contains("hint:"), "{said}");
    server.stop();
    let said = refused(&url, &commit);
    assert!(said.contains("cannot connect"), "{said}");
}

#[test]
fn a_paced_write_gives_way_too() {
    let Some(server) = server("a paced write that gives way") else { return };
    let here = Workspace::new();
    let url = server.url("postgres", &here.secret("password", "right\n"));
    server.time_the_log();
    let words = ["write", "--methods", "buffered,direct", "--size", "4MiB", "--packet", "64K"];
    let yields = ["--yield-to", &url, "--require", NEVER_NEAR, "--json", "run.json", "t.dat"];
    here.run(&[&words[..], &yields].concat()).expect_status(0);
    let run = here.json("run.json");
    assert_eq!(whys(&run["write"]["gave_way"])[0], "begin");
    let bytes = run["write"]["methods"].as_array().unwrap().iter().map(|method| method["bytes"].as_u64());
    assert_eq!(bytes.flatten().collect::<Vec<_>>(), [4 << 20; 2]);
    // Nobody committed anything, so nobody waited.
    assert_eq!(run["verdicts"][0]["met"], true);
}

/// A backup at night beside a shop had one limit, set for the worst minute; and so had the restore of a test server's data beside it.
#[test]
fn a_backup_and_a_restore_beside_users_say_what_they_decided() {
    let Some(server) = server("a backup that gives way") else { return };
    let here = Workspace::new();
    let url = server.url("postgres", &here.secret("password", "right\n"));
    server.time_the_log();
    let _users = server.users();
    fs::write(here.path("data"), content(16_000_000)).unwrap();
    let yields = ["--yield-floor", "1MB/s", "--limit", "8MB/s", "--yield-to", &url, "--require", NEVER_NEAR];
    let create =
        ["backup", "create", "--compress", "none", "--to", "a.iob", "--to", "b.iob", "--json", "run.json"];
    here.run(&[&create[..], &yields, &["data"]].concat()).expect_status(0);
    let restore = ["backup", "restore", "a.iob", "--to", "restored", "--json", "restored.json"];
    here.run(&[&restore[..], &yields].concat()).expect_status(0);
    assert!(fs::read(here.path("restored")).unwrap() == content(16_000_000));
    for (name, kind) in [("run.json", "backup"), ("restored.json", "restore")] {
        let run = here.json(name);
        let gave_way = &run[kind]["gave_way"];
        let whys = whys(gave_way);
        assert_eq!(whys[0], "begin", "{gave_way}");
        assert!(whys.iter().any(|why| why == "faster"), "{gave_way}");
        let rates = gave_way["decisions"].as_array().unwrap().iter().map(|one| one["bytes_per_s"].as_u64());
        assert!(
            rates.max().flatten().is_some_and(|rate| rate <= 8_000_000),
            "the limit holds too: {gave_way}"
        );
        assert!(!run.to_string().contains("right"), "no password");
        let verdict = &run["verdicts"][0];
        assert_eq!((&verdict["met"], verdict["figure"].is_f64()), (&true.into(), true), "{verdict}");
    }
    for number in ["1", "2"] {
        let shown = here.run(&["runs", "show", number]).expect_status(0).stdout;
        assert!(shown.contains("Giving way to postgres://"), "{shown}");
    }
}

/// The server was stopped in the middle of its backup's night. The backup goes on at its floor, and what was stored is whole.
#[test]
fn a_backup_whose_server_is_stopped_goes_on_at_its_floor_and_is_whole() {
    let Some(mut server) = server("a backup beside a server that is stopped") else { return };
    let here = Workspace::new();
    let url = server.url("postgres", &here.secret("password", "right\n"));
    server.time_the_log();
    let words = ["backup", "create", "--to", "a.iob", "--json", "run.json", "--yield-floor", "16MB/s"];
    let yields = ["--yield-to", &url, "--require", NEVER_NEAR, "-"];
    let mut create = here.command(&[&words[..], &yields].concat());
    create.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(File::create(here.path("said")).unwrap());
    let mut create = create.spawn().unwrap();
    let said = || fs::read_to_string(here.path("said")).unwrap();
    // It waits for its input, in the middle of the backup.
    let mut input = create.stdin.take().unwrap();
    input.write_all(&content(1_000_000)[..300_000]).unwrap();
    until("sessions of the backup", || server.has_session().then_some(()));
    server.stop();
    until("the floor", || {
        assert_eq!(create.try_wait().unwrap(), None, "{}", said());
        said().contains("giving way: at the floor of ").then_some(())
    });
    input.write_all(&content(1_000_000)[300_000..]).unwrap();
    drop(input);
    assert_eq!(create.wait().unwrap().code(), Some(0), "{}", said());
    here.run(&["backup", "restore", "a.iob", "--to", "restored"]).expect_status(0);
    assert!(fs::read(here.path("restored")).unwrap() == content(1_000_000));
    let run = here.json("run.json");
    let gave_way = &run["backup"]["gave_way"];
    let silent = gave_way["decisions"].as_array().unwrap().iter().find(|one| one["why"] == "silent").unwrap();
    let floor = (&silent["bytes_per_s"], &silent["in_flight_max"]);
    assert_eq!(floor, (&16_000_000.into(), &1.into()), "{gave_way}");
    assert!(crate::support::warnings(&run).contains(&"source-silent".to_owned()));
}

/// What is required of the source was not kept: the backup is whole all the same, and the answer is no.
#[test]
fn a_backup_that_could_not_keep_its_limit_is_whole_and_answers_no() {
    let Some(server) = server("a backup that gives way for ever") else { return };
    let here = Workspace::new();
    let url = server.url("postgres", &here.secret("password", "right\n"));
    server.time_the_log();
    let _users = server.users();
    // Who has not committed yet has not waited.
    until("a commit", || (server.value(include_str!("sql/users_orders.sql")) != "0").then_some(()));
    fs::write(here.path("data"), content(8_000_000)).unwrap();
    let create =
        ["backup", "create", "--to", "a.iob", "--json", "run.json", "--yield-floor", "2MB/s", "data"];
    let yields = ["--yield-to", &url, "--require", "commit.mean<1ns"];
    here.run(&[&create[..], &yields].concat()).expect_status(1);
    let run = here.json("run.json");
    assert!(run["backup"]["manifest"].is_string(), "{run}");
    assert_eq!(run["verdicts"][0]["met"], false);
    here.run(&["backup", "verify", "a.iob"]).expect_status(0);
    // A source that cannot be read, and a limit that is none: nothing is begun.
    for yields in [
        ["--yield-to", "nothing://here", "--require", NEVER_NEAR],
        ["--yield-to", &url, "--require", "throughput>1MB"],
    ] {
        let create = ["backup", "create", "--no-store", "--to", "b.iob", "data"];
        here.run(&[&create[..], &yields].concat()).expect_status(2);
        let restore = ["backup", "restore", "a.iob", "--no-store", "--to", "restored"];
        here.run(&[&restore[..], &yields].concat()).expect_status(2);
    }
    let left =
        fs::read_dir(here.path(".")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(!left.into_iter().any(|name| name.contains("b.iob") || name.contains("restored")));
}
