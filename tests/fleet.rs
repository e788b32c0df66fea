//! The central repository of a fleet, on a real PostgreSQL.

use crate::fleet_centre::{Centre, assert_refused};
use crate::fleet_kills::assert_same;
use crate::postgres::Postgres;
use crate::support::{Workspace, skip, until};

/// A server, and a file with the password of its administrator.
fn server(here: &Workspace) -> Option<(Postgres, std::path::PathBuf)> {
    let Some(server) = Postgres::made_with(&["-E", "UTF8"]) else {
        skip("the repository of a fleet", "PostgreSQL 15 is not installed");
        return None;
    };
    Some((server, here.secret("word", "right\n")))
}

#[test]
fn a_repository_is_created_once_and_says_so() {
    let here = Workspace::new();
    let Some((server, word)) = server(&here) else { return };
    server.sql("CREATE DATABASE central");
    let url = server.url("central", &word);
    let ran = here.run(&["fleet", "init", &url]).expect_status(0);
    assert!(ran.stdout.contains("created a repository in postgres://127.0.0.1"), "{}", ran.stdout);
    let again = here.run(&["fleet", "init", &url, "--json"]).expect_status(0).stdout;
    let again: serde_json::Value = serde_json::from_str(&again).unwrap();
    assert_eq!(again["done"], "up-to-date");
    assert_eq!(again["schema_version_before"], again["schema_version"]);
    assert_eq!(again["postgres_version"], 15);
    for text in [ran.stdout, ran.stderr, again.to_string()] {
        assert!(!text.contains("right") && !text.contains("mon@"), "{text}");
    }
    let ran =
        here.run(&["fleet", "init", &server.url("central", &here.secret("bad", "wrong\n"))]).expect_status(2);
    assert!(ran.stderr.contains("refused the login") && !ran.stderr.contains("wrong\n"), "{}", ran.stderr);
}

#[test]
fn what_is_not_a_repository_is_refused_with_what_to_do() {
    let here = Workspace::new();
    let Some((server, word)) = server(&here) else { return };
    let refused = |url: &str, words: &[&str]| {
        let ran = here.run(&["fleet", "init", url]).expect_status(2);
        assert!(ran.stdout.is_empty(), "{}", ran.stdout);
        for word in words {
            assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
        }
    };
    refused("linux:", &["not a PostgreSQL database", "hint: write postgres://"]);
    refused("postgres://mon:right@127.0.0.1/x", &["password"]);
    refused(&server.url("nowhere", &word), &["nowhere"]);
    server.sql(include_str!("sql/foreign_schema.sql"));
    refused(&server.url("postgres", &word), &["not a repository of iostall", "nothing was changed"]);
    assert_eq!(server.value(include_str!("sql/tables_in_schema.sql")), "1");
}

#[test]
fn a_database_without_a_repository_is_told_what_makes_one() {
    let here = Workspace::new();
    let Some((server, word)) = server(&here) else { return };
    let ran = here.run(&["fleet", "servers", &server.url("postgres", &word)]).expect_status(2);
    assert!(ran.stderr.contains("has no repository") && ran.stderr.contains("fleet init"), "{}", ran.stderr);
}

/// Each server once logged in to the repository itself, with write access to the history of all others.
#[test]
fn history_is_sent_to_a_centre_and_nowhere_else() {
    let here = Workspace::new();
    here.run(&["collect", "once", "linux:"]).expect_status(0);
    for url in ["postgres://mon:right@127.0.0.1/x", "postgresql://mon@127.0.0.1/x"] {
        let ran = here.run(&["fleet", "send", url]);
        assert!(!ran.stderr.contains("mon"), "{}", ran.stderr);
        assert_refused(ran, &["send to a centre", "fleet serve", "fleet join", "fleet pull"]);
    }
    for url in ["dir:/mnt/fleet", "s3://bucket/fleet", "http://central"] {
        assert_refused(here.run(&["fleet", "send", url]), &["is no address of a centre"]);
    }
}

#[test]
fn what_a_server_has_sampled_is_sent_once_and_stays_there() {
    let Some(centre) = Centre::start() else { return };
    let server = centre.member("db1");
    server.run(&["collect", "once", "linux:", &centre.url]).expect_status(0);
    let ran = centre.send(&server).expect_status(0);
    assert!(ran.stdout.contains("linux:: 2 samples\n"), "{}", ran.stdout);
    let sent = centre.counts();
    assert!(sent.starts_with("1|2|3|"), "servers, sources, samples, rows: {sent}");
    let ran = centre.send(&server).expect_status(0);
    assert!(ran.stdout.contains("linux:: 0 samples\n"), "{}", ran.stdout);
    assert_eq!(centre.counts(), sent);
    let kept = server.run(&["store", "sources"]).expect_status(0).stdout;
    assert!(kept.contains("linux:"), "{kept}");
}

/// Two that sent at once read the same samples twice; what one had sent in between was there twice.
#[test]
fn of_two_that_send_one_store_at_once_nothing_is_there_twice() {
    let Some(centre) = Centre::start() else { return };
    let server = centre.member("db1");
    let address = centre.address();
    let follow = ["fleet", "send", "--follow", "--every", "50ms", &address];
    let sampling = server.start(&["collect", "run", "--interval", "1s", "linux:"]);
    let following = [server.start(&follow), server.start(&follow)];
    let samples = || -> u64 { centre.counts().split('|').nth(2).unwrap().parse().unwrap() };
    until("samples come", || (samples() >= 4).then_some(()));
    for mut one in following {
        one.signal("KILL");
        one.wait_until_ended();
    }
    sampling.signal("INT");
    sampling.ended().expect_status(0);
    centre.send(&server).expect_status(0);
    assert_same(&centre, &server, 1);
}

#[test]
fn a_fleet_report_tells_of_all_servers_and_a_tag_makes_neighbours() {
    let Some(centre) = Centre::start() else { return };
    let Centre { here, server, url, .. } = &centre;
    server.sql(include_str!("sql/fill_fleet.sql"));
    centre.send(&centre.member("db9")).expect_status(0);
    let report = |more: &[&str]| {
        let words =
            [&["fleet", "report", url, "--since", "2026-02-01", "--until", "2026-03-05"], more].concat();
        here.run(&words).expect_status(0).stdout
    };
    let text = report(&[]);
    for words in ["3 servers", "silent for a day", "E:\\data\\slow.mdf", "Neighbours"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    for (source, volume) in [("sqlserver://db1", "E:\\"), ("sqlserver://db2", "F:\\")] {
        here.run(&["fleet", "tag", url, source, volume, "san 7"]).expect_status(0);
    }
    let ran = here.run(&["fleet", "tag", url, "sqlserver://db3", "E:\\", "x"]).expect_status(2);
    assert!(ran.stderr.contains("no volume") && ran.stderr.contains("hint: "), "{}", ran.stderr);
    // From now on they are known to be on one device.
    let found = here.run(&["fleet", "report", url, "--since", "2026-02-01", "--json", "-"]).expect_status(0);
    let found: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!(found["schema"], "iostall-fleet");
    assert_eq!(found["files"][0]["name"], "E:\\data\\slow.mdf");
    assert_eq!(
        (&found["devices"][0]["kind"], &found["devices"][0]["identity"]),
        (&"tag".into(), &"san 7".into())
    );
    assert_eq!(found["devices"][0]["volumes"].as_array().unwrap().len(), 2);
    assert_eq!(found["files"][0]["stall_ms_p95_trend"]["days"], 2);
    let servers = found["servers"].as_array().unwrap();
    let own = servers.iter().find(|one| !one["version"].is_null()).unwrap();
    assert_eq!((own["faults"].as_array().unwrap().len(), &own["sources"]), (0, &1.into()));
    let page = here.path("fleet.html");
    report(&["--html", page.to_str().unwrap(), "--markdown", "-"]);
    assert!(std::fs::read_to_string(page).unwrap().contains("slow.mdf"));
    let ran = here.run(&["fleet", "report", url, "--since", "1h", "--until", "2026-01-01"]).expect_status(2);
    assert!(ran.stderr.contains("ends before it begins"), "{}", ran.stderr);
}
