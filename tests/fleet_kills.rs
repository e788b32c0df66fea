//! Kills, cuts and restored backups of either side: what was collected is in the repository, once.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use iostall_measure::{Clock as _, MonotonicClock};

use crate::copy_crash::draw;
use crate::fleet_centre::{Centre, reference};
use crate::fleet_notes::{note, notes_in};
use crate::fleet_runs::{measure, runs_in};
use crate::support::Workspace;

/// How many of each are killed; more with `IOSTALL_TEST_KILLS`, as `./check --long` sets it.
const KILLS: u64 = 6;

pub(crate) fn kills() -> u64 {
    std::env::var("IOSTALL_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS)
}

/// Samples, epochs, rows and counters of all sources, as a hash.
fn content(centre: &Centre, database: &str) -> String {
    centre.server.value_in(database, include_str!("sql/fleet_content.sql"))
}

/// The repository has what the store has: the same as another repository, which got all of it at once.
#[track_caller]
pub(crate) fn assert_same(centre: &Centre, server: &Workspace, number: u64) {
    let database = format!("reference_{number}");
    reference(&centre.server, &centre.here.path("word"), &server.path("store.db"), &database);
    let (found, wanted) = (content(centre, "postgres"), content(centre, &database));
    assert!(wanted.starts_with(|c: char| ('1'..='9').contains(&c)), "{wanted}");
    assert_eq!(found, wanted);
    assert_eq!(runs_in(centre, "postgres"), runs_in(centre, &database));
    let notes = notes_in(centre, &database);
    assert!(notes.contains("setting|"), "{notes}");
    assert_eq!(notes_in(centre, "postgres"), notes);
}

fn pause(ns: u64) {
    let clock = MonotonicClock::new();
    clock.sleep_until(clock.now_ns() + ns);
}

#[test]
fn kills_of_servers_and_centres_lose_nothing_and_store_nothing_twice() {
    let Some(mut centre) = Centre::start() else { return };
    let server = centre.member("db1");
    let clock = MonotonicClock::new();
    let begun_ns = clock.now_ns();
    centre.send(&server).expect_status(0);
    let whole_ns = clock.now_ns() - begun_ns;
    let mut sampling = server.start(&["collect", "run", "--interval", "1s", "linux:"]);
    let mut state = 15;
    for kill in 0..2 * kills() {
        measure(&server, &format!("run {kill}"));
        note(&server, &[&format!("note {kill}")]);
        let address = centre.address();
        let mut sending = server.start(&["fleet", "send", &address]);
        pause(draw(&mut state, whole_ns + whole_ns / 4));
        if kill % 2 == 0 {
            if !sending.has_ended() {
                sending.signal("KILL");
            }
            sending.wait_until_ended();
        } else {
            centre.restart("KILL");
            let ended = sending.ended();
            assert!(matches!(ended.status, Some(0 | 2)), "{kill}: {:?}: {}", ended.status, ended.stderr);
            assert!(ended.status == Some(0) || ended.stderr.contains("hint: "), "{kill}: {}", ended.stderr);
        }
    }
    sampling.signal("INT");
    sampling.wait_until_ended();
    centre.send(&server).expect_status(0);
    assert_same(&centre, &server, 1);
}

/// A proxy that cuts each connection after so many bytes from the client, or from the centre.
struct Cutter {
    port: u16,
    left: Arc<AtomicU64>,
}

impl Cutter {
    fn before(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let left = Arc::new(AtomicU64::new(u64::MAX));
        let of_listener = Arc::clone(&left);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                let back =
                    (server.try_clone().unwrap(), client.try_clone().unwrap(), Arc::clone(&of_listener));
                let left = Arc::clone(&of_listener);
                std::thread::spawn(move || pass(&client, &server, &left));
                std::thread::spawn(move || pass(&back.0, &back.1, &back.2));
            }
        });
        Self { port, left }
    }
}

/// Passes bytes on until there are none left to pass.
fn pass(mut from: &TcpStream, mut to: &TcpStream, left: &AtomicU64) {
    let mut piece = [0; 512];
    while let Ok(read) = from.read(&mut piece)
        && read > 0
    {
        let before = left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| Some(left.saturating_sub(read as u64)));
        if before.unwrap_or(0) < read as u64 || to.write_all(&piece[..read]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

#[test]
fn a_network_that_is_cut_at_any_byte_loses_nothing_and_stores_nothing_twice() {
    let Some(mut centre) = Centre::start() else { return };
    let real = centre.port;
    let cutter = Cutter::before(real);
    centre.port = cutter.port;
    let server = centre.member("db1");
    cutter.left.store(1 << 40, Ordering::SeqCst);
    centre.send(&server).expect_status(0);
    let all = (1 << 40) - cutter.left.load(Ordering::SeqCst);
    for cut in 0..kills() * 2 {
        measure(&server, &format!("run {cut}"));
        server.run(&["collect", "once", "linux:"]).expect_status(0);
        cutter.left.store(all * cut / (kills() * 2), Ordering::SeqCst);
        let ran = centre.send(&server).expect_status(2);
        assert!(ran.stderr.contains("hint: check that `iostall fleet serve` runs"), "{cut}: {}", ran.stderr);
    }
    cutter.left.store(u64::MAX, Ordering::SeqCst);
    centre.send(&server).expect_status(0);
    assert_same(&centre, &server, 1);
}

/// The repository was lost, and a dump of the day before was restored. Servers had gone on, and one had a new key.
#[test]
fn a_centre_that_is_restored_from_an_older_backup_gets_again_what_it_lacks() {
    let Some(mut centre) = Centre::start() else { return };
    let server = centre.member("db1");
    centre.send(&server).expect_status(0);
    let dump = centre.server.data().with_file_name("dump");
    let dump = dump.to_str().unwrap();
    measure(&server, "before the dump");
    centre.send(&server).expect_status(0);
    centre.server.passes("pg_dump", &["-Fc", "-n", "iostall", "-f", dump]);
    server.run(&["collect", "once", "linux:"]).expect_status(0);
    measure(&server, "after the dump");
    make_key_old(&server);
    note(&server, &["after the dump"]);
    centre.send(&server).expect_status(0);
    centre.send(&server).expect_status(0);
    assert_eq!(server.json("store.db.fleet")["centres"][0]["keys"].as_array().unwrap().len(), 2, "a new key");
    centre.server.sql("DROP SCHEMA iostall CASCADE");
    centre.server.passes("pg_restore", &[dump]);
    centre.restart("INT");
    server.run(&["collect", "once", "linux:"]).expect_status(0);
    centre.send(&server).expect_status(0);
    assert_same(&centre, &server, 1);
    // The same while the service runs: it had written what is no longer there.
    centre.server.sql("DROP SCHEMA iostall CASCADE");
    centre.server.passes("pg_restore", &[dump]);
    server.run(&["collect", "once", "linux:"]).expect_status(0);
    centre.restart("INT");
    centre.send(&server).expect_status(0);
    assert_same(&centre, &server, 2);
}

/// Has the next `fleet send` replace the key.
fn make_key_old(server: &Workspace) {
    let mut kept = server.json("store.db.fleet");
    kept["centres"][0]["keys"][0]["made"] = "2020-01-01T00:00:00Z".into();
    server.secret("store.db.fleet", &kept.to_string());
}
