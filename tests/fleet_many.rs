//! Many simulated servers in one process, over loopback through the real service into a real PostgreSQL.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use iostall_measure::{Clock as _, MonotonicClock};
use jiff::SignedDuration;

use crate::fleet_agents::{Agents, Fleet, Told};
use crate::fleet_centre::Centre;
use crate::fleet_made_up::{FILES, reads_up_to};
use crate::postgres::Postgres;
use crate::support::{at_length, pause, until};

/// How many servers there are, and for how long.
struct Extent {
    servers: u64,
    interval_s: u64,
    /// From the first sample to when the service is killed.
    before_s: u64,
    /// Until another one is started: longer than an interval, so that all notice.
    away_s: u64,
    /// From then to the end, if all are back by then.
    after_s: u64,
}

/// As many requests and connections a second as 5,000 servers make that sample once a minute.
const SHORT: Extent = Extent { servers: 500, interval_s: 6, before_s: 14, away_s: 7, after_s: 5 };
/// Ten minutes, and until all are back.
const LONG: Extent = Extent { servers: 5_000, interval_s: 60, before_s: 360, away_s: 70, after_s: 170 };

impl Extent {
    /// Other numbers can be set, for who looks for the limit of a machine.
    fn here() -> Self {
        let usual = if at_length() { LONG } else { SHORT };
        let number = |name: &str, usual: u64| {
            let text = std::env::var(format!("IOSTALL_TEST_FLEET_{name}"));
            text.map_or(usual, |text| text.parse().unwrap())
        };
        Self {
            servers: number("SERVERS", usual.servers),
            interval_s: number("INTERVAL", usual.interval_s),
            before_s: number("BEFORE", usual.before_s),
            away_s: number("AWAY", usual.away_s),
            after_s: number("AFTER", usual.after_s),
        }
    }
}

/// What a process takes.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    memory_kib: u64,
    threads: u64,
    files: u64,
    cpu_ms: u64,
}

impl Taken {
    fn by(process: u32) -> Self {
        let read =
            |name: &str| std::fs::read_to_string(format!("/proc/{process}/{name}")).unwrap_or_default();
        let status = read("status");
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            line.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
        };
        let files = std::fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count);
        let stat = read("stat");
        let times = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
        let ticks: u64 = times.filter_map(|word| word.parse::<u64>().ok()).sum();
        Self {
            memory_kib: number("VmRSS:"),
            threads: number("Threads:"),
            files: files as u64,
            cpu_ms: ticks * 10,
        }
    }

    fn max(self, other: Self) -> Self {
        Self {
            memory_kib: self.memory_kib.max(other.memory_kib),
            threads: self.threads.max(other.threads),
            files: self.files.max(other.files),
            cpu_ms: self.cpu_ms.max(other.cpu_ms),
        }
    }
}

/// Looks how much a process takes at most, until it is asked.
struct Monitor {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Taken>,
}

impl Monitor {
    fn of(process: u32) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            let mut most = Taken::by(process);
            while !ends.load(Ordering::Relaxed) {
                pause(200);
                most = most.max(Taken::by(process));
            }
            most
        });
        Self { is_over, thread }
    }

    fn most(self) -> Taken {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// Processor time of the processes that a server of PostgreSQL has now, milliseconds.
fn sessions_cpu_ms(server: &Postgres) -> u64 {
    let id = server.id();
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    let ids = children.split_whitespace().filter_map(|word| word.parse().ok());
    ids.map(|id| Taken::by(id).cpu_ms).sum()
}

/// The value that so many of a hundred do not exceed.
fn of_hundred(sorted: &[u64], hundredths: usize) -> u64 {
    let place = (sorted.len() * hundredths).div_ceil(100).saturating_sub(1);
    sorted.get(place).copied().unwrap_or(0)
}

fn sorted(numbers: &std::sync::Mutex<Vec<u64>>) -> Vec<u64> {
    let mut numbers = numbers.lock().unwrap().clone();
    numbers.sort_unstable();
    numbers
}

fn line(text: &mut String, name: &str, sorted: &[u64]) {
    let at = |hundredths| of_hundred(sorted, hundredths) as f64 / 1_000.0;
    let (half, most, all) = (at(50), at(99), at(100));
    writeln!(text, "| {name} | {} | {half:.2} | {:.2} | {most:.2} | {all:.2} |", sorted.len(), at(90))
        .unwrap();
}

/// The figures as a part of a document.
fn figures(extent: &Extent, told: &Told, before: Taken, after: Taken, sessions: &str) -> String {
    let Extent { servers, interval_s, before_s, away_s, .. } = extent;
    let mut text = format!(
        "{servers} servers with {FILES} files each, a sample every {interval_s} s from each, spread over that time; the service killed after \
         {before_s} s and away for {away_s} s.\n\n| seconds | count | half | 90 of 100 | 99 of 100 | all |\n|---|---:|---:|---:|---:|---:|\n"
    );
    line(&mut text, "from sample to confirmation, before", &sorted(&told.lags_ms));
    line(&mut text, "the same, from the kill on", &sorted(&told.late_lags_ms));
    let back = sorted(&told.back_ms);
    line(&mut text, "from the return of the service to the first answer, of each server that was cut", &back);
    let mut in_second = vec![0_u64; 1 + usize::try_from(of_hundred(&back, 100) / 1_000).unwrap()];
    for ms in &back {
        in_second[usize::try_from(ms / 1_000).unwrap()] += 1;
    }
    let (most, cut) = (in_second.iter().max().unwrap_or(&0), told.cut.load(Ordering::Relaxed));
    let failures = told.failures.load(Ordering::Relaxed);
    writeln!(
        text,
        "\n{cut} servers noticed that the service was away, in {failures} tries that failed; at most {most} came back in one second."
    )
    .unwrap();
    for (name, taken, seconds) in [("before", before, *before_s), ("after", after, 0)] {
        let Taken { memory_kib, threads, files, cpu_ms } = taken;
        let share = if seconds > 0 {
            format!(" ({:.2} processors)", cpu_ms as f64 / 1_000.0 / seconds as f64)
        } else {
            String::new()
        };
        writeln!(
            text,
            "The service {name}: at most {:.0} MiB, {threads} threads, {files} open files; {:.1} s of processor time{share}.",
            memory_kib as f64 / 1_024.0,
            cpu_ms as f64 / 1_000.0
        )
        .unwrap();
    }
    writeln!(text, "{sessions}").unwrap();
    text
}

/// Every source has what was sent, once, and its roll-ups have what samples have.
fn assert_all_there(centre: &Centre, confirmed: &[u64]) {
    let found = centre.server.value(include_str!("sql/samples_by_server.sql"));
    assert_eq!(found.lines().count(), confirmed.len());
    for (line, confirmed) in found.lines().zip(confirmed) {
        let numbers: Vec<u64> = line.split('|').map(|text| text.parse().unwrap()).collect();
        let rows = confirmed * FILES;
        let reads = reads_up_to(*confirmed);
        // Last batch, samples, rows, rows once, rows that are wrong, reads of hours, reads of days.
        assert_eq!(numbers, [*confirmed, *confirmed, rows, rows, 0, reads, reads], "{line}");
    }
}

#[test]
fn many_servers_send_at_once_and_come_back_after_all_were_cut() {
    let extent = Extent::here();
    let settings: &[&str] =
        if at_length() { &["shared_buffers=512MB"] } else { &["fsync=off", "autovacuum=off"] };
    let Some(mut centre) = Centre::start_on(Postgres::made_and_set(&["-E", "UTF8"], settings)) else {
        return;
    };
    let last = (extent.servers - 1).to_string();
    centre.server.sql(&include_str!("sql/add_members.sql").replace("{last}", &last));
    let place = tempfile::tempdir().unwrap();
    let agents = Agents::start(&Fleet {
        servers: extent.servers,
        interval: SignedDuration::from_secs(i64::try_from(extent.interval_s).unwrap()),
        address: &centre.address(),
        fingerprint: &centre.fingerprint,
        place: place.path(),
    });
    let clock = MonotonicClock::new();
    let wait = |seconds: u64| clock.sleep_until(clock.now_ns() + seconds * 1_000_000_000);
    let monitor = Monitor::of(centre.running.id());
    wait(extent.before_s);
    assert_eq!(agents.told().sent.load(Ordering::Relaxed), extent.servers, "all have sent");
    let before = monitor.most();
    let cpu_s = sessions_cpu_ms(&centre.server) as f64 / 1_000.0;
    let sessions = format!("Sessions of PostgreSQL until the kill: {cpu_s:.1} s of processor time.");
    centre.end("KILL");
    wait(extent.away_s);
    let cut = agents.told().cut.load(Ordering::Relaxed);
    centre.serve_with(&[]);
    agents.is_back();
    let monitor = Monitor::of(centre.running.id());
    wait(extent.after_s);
    let back = || agents.told().back_ms.lock().unwrap().len() as u64;
    until("all are back", || (back() >= cut).then_some(()));
    let after = monitor.most();
    let (confirmed, told) = agents.end();
    let figures = figures(&extent, &told, before, after, &sessions);
    if let Some(path) = std::env::var_os("IOSTALL_TEST_FIGURES") {
        std::fs::write(path, &figures).unwrap();
    }
    // It writes the roll-ups of the hour that goes on.
    centre.end("INT");
    assert_all_there(&centre, &confirmed);
    assert_eq!(cut, extent.servers, "all have noticed: {figures}");
    let (lags, back) = (sorted(&told.lags_ms), sorted(&told.back_ms));
    assert!(of_hundred(&lags, 99) < 30_000, "{figures}");
    // They do not come all at once.
    assert!(of_hundred(&back, 90) - of_hundred(&back, 10) > 1_000, "{figures}");
}
