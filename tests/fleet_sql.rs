//! Releases that change databases: real PostgreSQL and MariaDB, and who kills, forbids or breaks it.

use std::fs;
use std::path::Path;
use std::process::Command;

use iostall_watch::deploy::{Policy, PushAgent};

use crate::fleet_centre::{Centre, assert_refused};
use crate::fleet_push::Pushing;
use crate::fleet_release::{Signer, apply};
use crate::mariadb::{Mariadb, PASSWORD};
use crate::postgres::Postgres;
use crate::support::{Workspace, skip};

const GRANT: &str = include_str!("sql/release/grant.toml");
const FIRST: &str = include_str!("sql/release/counter_1.toml");
const SECOND: &str = include_str!("sql/release/counter_2.toml");
const STATE: &str = include_str!("sql/release_state.sql");
/// What the policy of a test allows, unless it says more.
const ALLOWED: &str = r#"statements = ["GRANT SELECT ON * TO monitor", "REVOKE SELECT ON * FROM monitor", "CREATE OR REPLACE FUNCTION monitor_**", "DROP FUNCTION monitor_*()", "GRANT EXECUTE ON FUNCTION monitor_*() TO monitor"]"#;

/// Adds a database to the policy of a server.
fn allow_sql(signer: &Signer, server: &Workspace, url: &str, allowed: &str) {
    signer.allow(server, "role = \"standby\"");
    let policy = fs::read_to_string(server.path("push.toml")).unwrap();
    let rule = format!(
        "[sources]\ndb1 = '{url}'\n[[allow]]\nkind = \"sql\"\nnames = [\"*.toml\"]\nsources = [\"db1\"]\nverify = ['SELECT **']\n{allowed}\n"
    );
    server.secret("push.toml", &format!("{policy}{rule}"));
}

/// A server with a database of orders.
fn database() -> Option<Postgres> {
    let Some(server) = Postgres::start() else {
        skip("releases for databases", "PostgreSQL 15 is not installed");
        return None;
    };
    server.sql(include_str!("sql/release_orders.sql"));
    Some(server)
}

fn url(server: &Postgres, of: &Workspace) -> String {
    server.url("postgres", &of.secret("word", "right\n"))
}

#[test]
fn a_release_changes_a_database_drifts_and_is_rolled_back_to_the_hash_before() {
    let Some(pushing) = Pushing::start(Centre::start()) else { return };
    let Some(database) = database() else { return };
    let server = pushing.server("db1", "standby");
    allow_sql(&pushing.signer, &server, &url(&database, &server), ALLOWED);
    let before = database.value(STATE);
    assert!(before.starts_with("f||0"), "{before}");
    let release = |version, counter| {
        pushing.signer.release(version, &[("sql/grant.toml", GRANT), ("sql/counter.toml", counter)])
    };
    let first = release(1, FIRST);
    let ran = apply(&server, &first, &["--dry-run"]).expect_status(0);
    assert!(ran.stdout.contains("add      sql/counter.toml  postgres://127.0.0.1"), "{}", ran.stdout);
    assert_eq!(database.value(STATE), before, "a plan changes nothing");
    pushing.push("apply", &[&first]).expect_status(0);
    pushing.ask(&server).expect_status(0);
    let of_first = database.value(STATE);
    assert!(of_first.starts_with("t|") && of_first != before, "{of_first}");
    pushing.push("drift", &[]).expect_status(0);
    let second = release(2, SECOND);
    let plan = pushing.json("plan", &[&second]);
    assert_eq!(plan["servers"][0]["changes"].to_string(), "[\"sql/counter.toml\"]", "{plan}");
    pushing.push("apply", &[&second]).expect_status(0);
    pushing.ask(&server).expect_status(0);
    let of_second = database.value(STATE);
    assert_ne!(of_second, of_first);
    // Somebody changes it by hand.
    database.sql(include_str!("sql/release_change_function.sql"));
    pushing.ask(&server).expect_status(0);
    let drift = pushing.push("drift", &[]).expect_status(1).stdout;
    assert!(drift.contains("db1  sql/counter.toml  wanted ") && drift.contains("1 of 2"), "{drift}");
    let permit = pushing.signer.permit(&second);
    assert_refused(
        apply(&server, &permit, &[]),
        &["sql/counter.toml", "was changed by hand since release 2"],
    );
    // The same release once more repairs it.
    let ran = apply(&server, &second, &[]).expect_status(0);
    assert!(ran.stdout.contains("replace  sql/counter.toml"), "{}", ran.stdout);
    assert_eq!(database.value(STATE), of_second);
    pushing.push("rollback", &["2", "--permit", &permit]).expect_status(0);
    pushing.ask(&server).expect_status(0);
    assert_eq!(database.value(STATE), of_first);
    assert_eq!(pushing.json("status", &["2"])[0]["state"], "undone");
    pushing.push("drift", &[]).expect_status(0);
    pushing.push("rollback", &["1", "--permit", &pushing.signer.permit(&first)]).expect_status(0);
    let ran = pushing.ask(&server).expect_status(1);
    assert!(ran.stderr.contains("release 1 is not the last one"), "{}", ran.stderr);
    assert_eq!(database.value(STATE), of_first, "only the last one is undone");
}

/// Objects that come with the grant, and why a server refuses all of the release. A line each: what is replaced in the first one, by what,
/// and the reason.
fn refused_objects() -> Vec<(String, &'static str)> {
    let object = |line: &'static str| {
        let [from, to, reason]: [&'static str; 3] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        assert!(FIRST.contains(from), "{from}");
        (FIRST.replacen(from, &to.replace("\\n", "\n"), 1), reason)
    };
    include_str!("sql/refused_objects.txt").lines().map(object).collect()
}

#[test]
fn what_is_forbidden_or_fails_leaves_nothing_in_a_database() {
    let Some(database) = database() else { return };
    database.sql(include_str!("sql/release_sequence.sql"));
    let (signer, server) = (Signer::new(), Workspace::new());
    allow_sql(&signer, &server, &url(&database, &server), ALLOWED);
    let before = database.value(STATE);
    for (object, words) in refused_objects() {
        let release = signer.release(
            1,
            &[("settings/a.toml", "a = 1\n"), ("sql/a-grant.toml", GRANT), ("sql/counter.toml", &object)],
        );
        let ran = apply(&server, &release, &[]).expect_status(2);
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
        assert_eq!(database.value(STATE), before, "{words}");
        assert!(!server.path("etc/a.toml").exists(), "{words}");
    }
    // Without a way back it is not even signed.
    fs::create_dir_all(signer.here.path("bad/sql")).unwrap();
    for line in ["undo", "verify"] {
        let kept: Vec<&str> = GRANT.lines().filter(|one| !one.starts_with(line)).collect();
        fs::write(signer.here.path("bad/sql/a.toml"), kept.join("\n")).unwrap();
        let make =
            ["fleet", "release", "make", "bad", "--version", "3", "--key", "key", "--to", "bad.release"];
        assert_refused(signer.here.run(&make), &["sql/a.toml", &format!("missing field `{line}`")]);
    }
    let ends = GRANT.replacen("apply = [", "apply = [\"GRANT pg_monitor TO monitor\", \"/* */ commit\", ", 1);
    fs::write(signer.here.path("bad/sql/a.toml"), ends).unwrap();
    let make = ["fleet", "release", "make", "bad", "--version", "3", "--key", "key", "--to", "bad.release"];
    assert_refused(signer.here.run(&make), &["ends or prepares a transaction"]);
    let none = signer.release(3, &[("sql/counter.toml", FIRST)]);
    signer.allow(&server, "");
    assert_refused(apply(&server, &none, &[]), &["no rule allows this kind"]);
    assert_eq!(database.value(STATE), before);
}

const KILL_AFTER: &str = "IOSTALL_TEST_SQL_KILL_AFTER";
const PLACE: &str = "IOSTALL_TEST_SQL_PLACE";

/// The process that is killed, below. By itself it does nothing.
#[test]
fn change_a_database_and_be_killed() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let last: u32 = std::env::var(KILL_AFTER).unwrap().parse().unwrap();
    let place = Path::new(&place);
    let bytes = fs::read(place.join("bytes")).unwrap();
    let mut agent = PushAgent::open(Policy::read(&place.join("push.toml")).unwrap()).unwrap().0;
    let mut step = 0;
    let done = agent.apply(&bytes, &mut |_| {
        if step == last {
            let id = std::process::id().to_string();
            Command::new("kill").args(["-KILL", &id]).status().unwrap();
        }
        step += 1;
    });
    done.unwrap();
}

/// Applies a file in a process that is killed after so many steps; whether it was.
fn is_killed(server: &Workspace, file: &str, after: u32) -> bool {
    fs::copy(file, server.path("bytes")).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "fleet_sql::change_a_database_and_be_killed", "--nocapture"]);
    let place = server.path("push.toml").parent().unwrap().to_owned();
    let output = command.env(PLACE, place).env(KILL_AFTER, after.to_string()).output().unwrap();
    match output.status.code() {
        Some(0) => false,
        None => true,
        Some(_) => panic!("{}", String::from_utf8_lossy(&output.stdout)),
    }
}

#[test]
fn an_agent_that_is_killed_between_any_two_steps_leaves_a_database_before_or_after() {
    let Some(database) = database() else { return };
    let signer = Signer::new();
    let objects =
        |counter| [("settings/a.toml", "a = 1\n"), ("sql/counter.toml", counter), ("sql/grant.toml", GRANT)];
    let (first, second) =
        (signer.release(1, &[("sql/counter.toml", FIRST)]), signer.release(2, &objects(SECOND)));
    let undo = signer.permit(&second);
    let mut kills = 0;
    for after in 0.. {
        let server = Workspace::new();
        allow_sql(&signer, &server, &url(&database, &server), ALLOWED);
        apply(&server, &first, &[]).expect_status(0);
        let old = database.value(STATE);
        let was_killed = is_killed(&server, &second, after);
        kills += u32::from(was_killed);
        // Whatever was recorded, the next one does first; the same once more is then all there is to do.
        drop(PushAgent::open(Policy::read(&server.path("push.toml")).unwrap()).unwrap());
        let now = database.value(STATE);
        let is_new = server.path("etc/a.toml").exists();
        assert_eq!(now != old, is_new, "after step {after}: all of it or nothing");
        apply(&server, &second, &[]).expect_status(0);
        let new = database.value(STATE);
        assert!(new.starts_with("t|") && new != old, "{new}");
        is_killed(&server, &undo, after);
        drop(PushAgent::open(Policy::read(&server.path("push.toml")).unwrap()).unwrap());
        if database.value(STATE) != old {
            apply(&server, &undo, &[]).expect_status(0);
        }
        assert_eq!(database.value(STATE), old, "after step {after}");
        assert!(!server.path("etc/a.toml").exists());
        database.sql(include_str!("sql/release_drop_function.sql"));
        if !was_killed {
            break;
        }
    }
    // Staged, recorded, two ran, committed, replaced, verified, completed.
    assert_eq!(kills, 8);
}

#[test]
fn a_database_that_is_off_in_the_middle_is_waited_for() {
    let Some(mut database) = database() else { return };
    let (signer, server) = (Signer::new(), Workspace::new());
    allow_sql(&signer, &server, &url(&database, &server), ALLOWED);
    let release = signer.release(1, &[("settings/a.toml", "a = 1\n"), ("sql/counter.toml", FIRST)]);
    let before = database.value(STATE);
    // After it was recorded, and before it ran.
    assert!(is_killed(&server, &release, 1));
    database.stop();
    let ran = apply(&server, &release, &[]).expect_status(2);
    assert!(
        ran.stderr.contains("could neither be finished nor put back") && ran.stderr.contains("hint: "),
        "{}",
        ran.stderr
    );
    assert!(!server.path("etc/a.toml").exists());
    database.resume();
    assert_eq!(database.value(STATE), before);
    let ran = apply(&server, &release, &[]).expect_status(0);
    assert!(
        ran.stderr.contains("is finished") && ran.stdout.contains("same     sql/counter.toml"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    assert_ne!(database.value(STATE), before);
    assert!(server.path("etc/a.toml").exists());
}

#[test]
fn a_release_changes_mariadb_statement_by_statement() {
    const COUNTER: &str = include_str!("sql/release/mariadb_counter.toml");
    let Some(database) = Mariadb::made_with(&[]) else {
        skip("releases for MariaDB", "MariaDB is not installed");
        return;
    };
    database.sql(include_str!("sql/release_shop.sql"));
    let state = || database.value(include_str!("sql/release_shop_state.sql"));
    let (signer, server) = (Signer::new(), Workspace::new());
    let url = database.url(&server.secret("word", &format!("{PASSWORD}\n")));
    let allowed = "statements = ['CREATE OR REPLACE PROCEDURE shop.monitor_**', 'DROP PROCEDURE IF EXISTS shop.monitor_*']";
    allow_sql(&signer, &server, &format!("{url}&tls=off"), allowed);
    let unexpected =
        COUNTER.lines().filter(|line| !line.starts_with("expect")).collect::<Vec<_>>().join("\n");
    let release = signer.release(1, &[("sql/counter.toml", &unexpected)]);
    assert!(apply(&server, &release, &[]).expect_status(2).stderr.contains("expect must say"));
    let wrong = signer.release(1, &[("sql/counter.toml", &COUNTER.replace("expect = \"", "expect = \"x"))]);
    let ran = apply(&server, &wrong, &[]).expect_status(2);
    assert!(ran.stderr.contains("everything is as it was before"), "{}", ran.stderr);
    assert_eq!(state(), "0", "what is not as expected is undone");
    let two = signer.release(
        1,
        &[(
            "sql/counter.toml",
            &COUNTER.replacen("shop.orders\"", "shop.orders; DROP TABLE shop.orders\"", 1),
        )],
    );
    assert!(apply(&server, &two, &[]).expect_status(2).stderr.contains("error 1064"));
    let release = signer.release(1, &[("sql/counter.toml", COUNTER)]);
    apply(&server, &release, &[]).expect_status(0);
    assert_eq!(state(), "1");
    let ran = apply(&server, &release, &[]).expect_status(0);
    assert!(ran.stdout.contains("same     sql/counter.toml"), "{}", ran.stdout);
    apply(&server, &signer.permit(&release), &[]).expect_status(0);
    assert_eq!(state(), "0");
}
