//! `iostall collect run` against a PostgreSQL server that refuses the login: the server's log shows how often
//! it tries.

use std::path::PathBuf;

use serde_json::Value;

use crate::postgres::Postgres;
use crate::support::{Ran, Workspace, skip, until};

/// Writes a password to a file.
fn password(workspace: &Workspace, word: &str) -> PathBuf {
    workspace.secret("password", word)
}

/// Missed samples in the store. Without numbers, a report shows at least these.
fn missed_samples(workspace: &Workspace) -> u64 {
    let ran = workspace.run(&["report", "server"]);
    let words: Vec<&str> = ran.stderr.split_whitespace().collect();
    let count = |three: &[&str]| match three {
        [count, "missed", "sample" | "samples"] => count.parse::<u64>().ok(),
        _ => None,
    };
    words.windows(3).filter_map(count).sum()
}

/// Runs a collector until it has missed `ticks` samples and `is_enough` is true; returns its output.
fn refused_for(workspace: &Workspace, url: &str, ticks: u64, is_enough: impl Fn() -> bool) -> Ran {
    let mut collector = workspace.start(&["collect", "run", "--interval", "1s", url]);
    collector.wait_until("the gaps", |_| is_enough() && missed_samples(workspace) >= ticks);
    collector.signal("INT");
    collector.ended().expect_status(0)
}

/// Attempts are made at ticks 0, 1, 3, 7, 15 and so on; a machine that was asleep makes fewer.
fn tries_at_most(ticks: u64) -> usize {
    usize::try_from((ticks + 1).ilog2()).unwrap() + 1
}

/// A wrong password was tried at every tick, which locked accounts within seconds.
#[test]
fn a_refused_login_is_tried_less_and_less_often_and_every_tick_is_a_gap() {
    let Some(server) = Postgres::start() else {
        return skip("refused logins", "PostgreSQL 15 is not installed");
    };
    let workspace = Workspace::new();
    let refused = || server.logged("password authentication failed for user \"mon\"");
    let url = server.url("postgres", &password(&workspace, "wrong"));
    let ran = refused_for(&workspace, &url, 8, || refused() >= 2);
    let tries = refused();
    let ticks = missed_samples(&workspace);
    assert!((2..=tries_at_most(ticks)).contains(&tries), "{tries} tries in {ticks} ticks:\n{}", server.log());
    assert!(ran.stderr.contains("refused the login \"mon\""), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("; next try at ").count(), tries, "each pause is told: {}", ran.stderr);

    let workspace = Workspace::new();
    let url = server.url("nowhere", &password(&workspace, "right"));
    let ran = refused_for(&workspace, &url, 5, || true);
    let tries = server.logged("database \"nowhere\" does not exist");
    let ticks = missed_samples(&workspace);
    assert!((1..=tries_at_most(ticks)).contains(&tries), "{tries} tries in {ticks} ticks:\n{}", server.log());
    assert!(ran.stderr.contains("database \"nowhere\" does not exist; next try at "), "{}", ran.stderr);
}

#[test]
fn a_login_that_is_let_in_again_is_sampled_again() {
    let Some(server) = Postgres::start() else {
        return skip("a login that is let in again", "PostgreSQL 15 is not installed");
    };
    server.sql("CREATE ROLE other LOGIN PASSWORD 'right'");
    let workspace = Workspace::new();
    let url = server.url("postgres", &password(&workspace, "later")).replace("mon@", "other@");
    let collector = workspace.start(&["collect", "run", "--interval", "1s", &url]);
    until("a refusal", || (server.logged("password authentication failed") > 1).then_some(()));
    server.sql("ALTER ROLE other PASSWORD 'later'");
    until("a sample", || {
        let ran = workspace.run(&["report", "server", "--json", "-"]);
        let json: Value = serde_json::from_str(&ran.stdout).ok()?;
        (!json["groups"].as_array()?.is_empty()).then_some(())
    });
    collector.signal("INT");
    let ran = collector.ended().expect_status(0);
    assert!(ran.stderr.contains("answers again at "), "{}", ran.stderr);
}
