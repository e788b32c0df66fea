//! Many simulated servers in one process, over loopback into a real PostgreSQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use iostall_measure::clock::utc_now;
use iostall_measure::{Clock as _, MonotonicClock};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::copy_crash::draw;
use crate::fleet_centre::Centre;
use crate::fleet_hostile::{Client, batch};
use crate::support::until;

/// How many servers, and for how long before and after all connections are cut; more with `IOSTALL_TEST_SERVERS` and
/// `IOSTALL_TEST_SECONDS`.
const SERVERS: u64 = 40;
const SECONDS: u64 = 3;
const FILES: u64 = 40;

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// What all have to know, and what they report.
struct Fleet {
    is_over: AtomicBool,
    confirmed: AtomicU64,
    failures: AtomicU64,
    slowest_ms: AtomicU64,
}

/// An id like that of a store or a source.
fn id(kind: u64, number: u64) -> String {
    format!("01890a5d-ac96-774b-bcc{kind}-{number:012x}")
}

fn key(number: u64) -> [u8; 32] {
    Sha256::digest(format!("key {number}")).into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// A minute of a server with some files.
fn minute(number: u64, sequence: u64) -> Value {
    let mut document = batch(&id(0, number), &id(1, number), sequence, &utc_now().to_string());
    let file = |file: u64| {
        json!({"kind": "linux-device", "scope": 2, "scope_name": "disk", "name": format!("sd{file}"),
               "identity": format!("8:{file}"), "volume": null})
    };
    document["series"] = (0..FILES).map(file).collect();
    document["samples"]["row_count"] = json!([FILES]);
    let column = |value: &dyn Fn(u64) -> Value| -> Value { (0..FILES).map(value).collect() };
    document["rows"] = json!({
        "series": column(&|file| file.into()),
        "age_ms": column(&|_| Value::Null),
        "counters": {"reads": column(&|file| (sequence * (file + 1)).into()),
                     "writes": column(&|file| (sequence * 3 + file).into())},
    });
    document
}

/// Sends a batch after the other until it is over; the number of the last one that was confirmed.
fn agent(client: &Client, number: u64, fleet: &Fleet) -> u64 {
    let clock = MonotonicClock::new();
    let (mut confirmed, mut seed) = (0, number + 1);
    while !fleet.is_over.load(Ordering::Relaxed) {
        let begun_ns = clock.now_ns();
        let known = client.post("fleet/v1/known", json!({"source": id(1, number)}).to_string().as_bytes());
        let known: Option<Value> = (known.0 == 200).then(|| serde_json::from_str(&known.2).unwrap());
        let appended = known.as_ref().map(|known| known["appended"].as_u64().unwrap());
        let sent = appended.map(|after| {
            assert!(after >= confirmed, "server {number}: {after} after {confirmed} were confirmed");
            (after + 1, client.append(after, &minute(number, after + 1)).0)
        });
        let pause_ms = if let Some((sequence, 200)) = sent {
            confirmed = sequence;
            fleet.confirmed.fetch_add(1, Ordering::Relaxed);
            fleet.slowest_ms.fetch_max((clock.now_ns() - begun_ns) / 1_000_000, Ordering::Relaxed);
            200 + draw(&mut seed, 200)
        } else {
            fleet.failures.fetch_add(1, Ordering::Relaxed);
            draw(&mut seed, 500)
        };
        clock.sleep_until(clock.now_ns() + pause_ms * 1_000_000);
    }
    confirmed
}

#[test]
fn many_servers_send_at_once_and_come_back_after_all_were_cut() {
    let Some(mut centre) = Centre::start() else { return };
    let (servers, seconds) =
        (setting("IOSTALL_TEST_SERVERS", SERVERS), setting("IOSTALL_TEST_SECONDS", SECONDS));
    let hashes: Vec<String> = (0..servers).map(|number| hex(&Sha256::digest(key(number)))).collect();
    centre.server.sql(&include_str!("sql/add_members.sql").replace("{hashes}", &hashes.join(",")));
    let fleet = Arc::new(Fleet {
        is_over: AtomicBool::new(false),
        confirmed: AtomicU64::new(0),
        failures: AtomicU64::new(0),
        slowest_ms: AtomicU64::new(0),
    });
    let agents: Vec<_> = (0..servers)
        .map(|number| {
            let (client, fleet) = (Client::with_key(&centre, &hex(&key(number))), Arc::clone(&fleet));
            std::thread::spawn(move || agent(&client, number, &fleet))
        })
        .collect();
    let clock = MonotonicClock::new();
    let pause = || clock.sleep_until(clock.now_ns() + seconds * 1_000_000_000);
    until("all have sent", || (fleet.confirmed.load(Ordering::Relaxed) >= servers).then_some(()));
    pause();
    centre.restart("KILL");
    let before = fleet.confirmed.load(Ordering::Relaxed);
    until("they are back", || (fleet.confirmed.load(Ordering::Relaxed) >= before + servers).then_some(()));
    pause();
    fleet.is_over.store(true, Ordering::Relaxed);
    let confirmed: Vec<u64> = agents.into_iter().map(|agent| agent.join().unwrap()).collect();
    let found = centre.server.value(include_str!("sql/samples_by_server.sql"));
    for (line, confirmed) in found.lines().zip(&confirmed) {
        // Number of the last batch, samples, rows, and numbers that are there once.
        let numbers: Vec<u64> = line.split('|').map(|text| text.parse().unwrap()).collect();
        let [appended, samples, rows, reads] = numbers[..] else { panic!("{line}") };
        assert!(appended >= *confirmed && appended <= confirmed + 1, "{line}: {confirmed}");
        assert_eq!((samples, rows), (appended, appended * FILES), "{line}");
        assert_eq!(reads, FILES * (FILES + 1) / 2 * (appended * (appended + 1) / 2), "{line}");
    }
    assert_eq!(found.lines().count() as u64, servers);
    let slowest_ms = fleet.slowest_ms.load(Ordering::Relaxed);
    assert!(slowest_ms < 60_000, "{slowest_ms} ms");
}
