//! One that holds up the centre, or the database that goes away under it: the other servers are served, and whoever watches sees it.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use iostall_measure::clock::utc_now;
use serde_json::Value;

use crate::copy_crash::draw;
use crate::fleet_centre::Centre;
use crate::fleet_hostile::{Client, batch, ids};
use crate::fleet_kills::kills;
use crate::support::{Ran, Workspace, until};

const SOURCES: [&str; 2] = ["01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8058"];

/// The client's side of a connection vanished in the middle of a batch, and that of the centre stayed. With the next batch of that
/// server the centre answered nobody any more, until it was started again.
#[test]
fn a_second_batch_of_a_server_while_the_first_is_on_its_way_stops_nobody() {
    let Some(centre) = Centre::start() else { return };
    let servers = ["bad", "good"].map(|name| centre.member(name));
    let [bad, good] = [0, 1].map(|place: usize| Client::of(&centre, &servers[place]));
    let [bad_store, good_store] = ["bad", "good"].map(|name| ids(&centre, name).0);
    let mut seed = 7;
    for number in 1..=kills() {
        let (after, taken) = (number - 1, utc_now().to_string());
        let first = batch(&bad_store, SOURCES[0], number, &taken);
        let body = zstd::encode_all(first.to_string().as_bytes(), 1).unwrap();
        let cut = usize::try_from(draw(&mut seed, body.len() as u64)).unwrap();
        let mut held = bad.begin(&format!("fleet/v1/append?after={after}"), &body, cut);
        // The first may not have its turn yet, and then this one has it.
        for _ in 0..2 {
            let (status, code, _) = bad.append(after, &first);
            assert!(status == 200 || code == "SlowDown", "{number}: {status} {code}");
        }
        let (status, code, _) = good.append(after, &batch(&good_store, SOURCES[1], number, &taken));
        assert_eq!((status, code.as_str()), (200, ""), "{number}");
        if draw(&mut seed, 2) == 0 {
            held.write_all(&body[cut..]).unwrap();
            held.flush().unwrap();
        }
        drop(held);
        until("the turn of the next", || (bad.append(after, &first).0 == 200).then_some(()));
    }
}

/// 700 connections that said nothing, of one address, kept all servers out for a quarter of a minute.
#[test]
fn whoever_only_holds_connections_keeps_no_server_out() {
    let Some(centre) = Centre::start() else { return };
    let server = centre.member("db1");
    let silent: Vec<TcpStream> =
        (0..700).map_while(|_| TcpStream::connect(("127.0.0.1", centre.port)).ok()).collect();
    assert!(silent.len() > 100, "{}", silent.len());
    for _ in 0..3 {
        server.run(&["collect", "once", "linux:"]).expect_status(0);
        centre.send(&server).expect_status(0);
    }
    // The clock of this machine is right, however long it waited for its turn.
    let servers = centre.here.run(&["fleet", "servers", &centre.url, "--json"]).expect_status(0).stdout;
    let servers: Value = serde_json::from_str(&servers).unwrap();
    let ahead_ms = servers[0]["clock_ahead_ms"].as_i64().unwrap();
    assert!(ahead_ms.abs() < 5_000, "{servers}");
    let is_cut = |mut stream: &TcpStream| {
        stream.set_nonblocking(true).unwrap();
        matches!(stream.read(&mut [0; 1]), Ok(0))
    };
    until("those that say nothing are cut", || silent.iter().all(is_cut).then_some(()));
}

fn fetch(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// After a restart of PostgreSQL the first request of each connection failed, minutes later too; and a service that was started with it
/// ended at once.
#[test]
fn a_database_that_was_started_again_costs_no_request_and_one_that_is_down_is_waited_for() {
    let Some(mut centre) = Centre::start() else { return };
    centre.restart_with("INT", &["--metrics", "127.0.0.1:0"]);
    let line = centre.running.said("metrics at ").trim().to_owned();
    let address = line.strip_prefix("metrics at http://").unwrap().strip_suffix("/metrics").unwrap();
    let servers = ["db1", "db2", "db3"].map(|name| centre.member(name));
    for server in &servers {
        centre.send(server).expect_status(0);
    }
    assert!(fetch(address, "/healthz").starts_with("HTTP/1.1 200 "));
    let page = fetch(address, "/metrics");
    for wanted in
        ["iostall_centre_up{} 1\n", "iostall_centre_servers{} 3\n", "iostall_centre_servers_silent{} 0\n"]
    {
        assert!(page.contains(wanted), "{wanted}: {page}");
    }
    // The story: PostgreSQL hung, and the page that should have said so hung with it, for ten minutes.
    centre.server.hold();
    let begun = utc_now();
    assert!(fetch(address, "/healthz").starts_with("HTTP/1.1 503 "));
    assert!(fetch(address, "/metrics").contains("iostall_centre_up{} 0\n"));
    assert!(utc_now().duration_since(begun).as_secs() < 8);
    centre.server.go_on();
    until("the repository goes on", || fetch(address, "/healthz").starts_with("HTTP/1.1 200 ").then_some(()));
    centre.server.stop();
    assert!(fetch(address, "/healthz").starts_with("HTTP/1.1 503 "));
    assert!(fetch(address, "/metrics").contains("iostall_centre_up{} 0\n"));
    centre.server.resume();
    until("the repository answers", || fetch(address, "/healthz").starts_with("HTTP/1.1 200 ").then_some(()));
    for server in &servers {
        server.run(&["collect", "once", "linux:"]).expect_status(0);
        centre.send(server).expect_status(0);
    }
    centre.end("INT");
    centre.server.stop();
    let line = ["fleet", "serve", &centre.url, "--certificate", "cert.pem", "--key", "key.pem", "--listen"];
    let mut waiting = centre.here.start(&[&line[..], &["127.0.0.1:0"]].concat());
    waiting.wait_for("is waited for");
    centre.server.resume();
    waiting.wait_for("serving the repository in ");
    waiting.signal("INT");
    waiting.ended().expect_status(0);
}

/// A server whose clock came up years ago made a table for each of its days, and one with too many series slowed all reports.
#[test]
fn what_no_server_sends_is_refused_and_whoever_lists_servers_sees_it() {
    let Some(centre) = Centre::start() else { return };
    let server = centre.member("db1");
    let client = Client::of(&centre, &server);
    let (store, _) = ids(&centre, "db1");
    let partitions = || centre.server.value(include_str!("sql/count_partitions.sql"));
    let before = partitions();
    for year in 2017..2023 {
        let taken = format!("{year}-01-01T00:00:00Z");
        assert_eq!(client.append(0, &batch(&store, SOURCES[0], 1, &taken)).1, "Clock");
    }
    assert_eq!(partitions(), before);
    let listed = || centre.here.run(&["fleet", "servers", &centre.url]).expect_status(0).stdout;
    until("the reason", || listed().contains("before this server joined").then_some(()));
}

/// Four servers called db1 joined with four codes for anybody, each as it liked.
#[test]
fn a_code_for_anybody_gives_no_name_that_somebody_has_and_is_read_from_standard_input() {
    let Some(centre) = Centre::start() else { return };
    let [first, second] = [Workspace::new(), Workspace::new()];
    centre.join(&first, &centre.code(&[])).expect_status(0);
    let ran = centre.join(&second, &centre.code(&[])).expect_status(2);
    assert!(ran.stderr.contains("--for NAME"), "{}", ran.stderr);
    let code = centre.code(&["--for", "db2"]);
    let line = ["fleet", "join", &centre.address(), "--certificate", &centre.fingerprint, "--code-file", "-"];
    let join = || {
        let typed = File::open(second.secret("typed", &code)).unwrap();
        Ran::from(second.command(&line).stdin(typed).output().unwrap())
    };
    let ran = join().expect_status(0);
    assert!(ran.stdout.contains("as db2"), "{}", ran.stdout);
    // Its own code once more is no other server's.
    let ran = join().expect_status(2);
    assert!(ran.stderr.contains("has been used") && !ran.stderr.contains("another server"), "{}", ran.stderr);
}
