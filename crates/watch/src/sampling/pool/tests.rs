//! Sources that hang, refuse and come and go, read by few threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

use iostall_collect::{Filter, Source, SourceError};
use iostall_model::{Epoch, Sample, SampleTime};

use super::super::event::SamplerOptions;
use super::*;

const INTERVAL: Duration = Duration::from_millis(20);
const LIMITS: PoolLimits = PoolLimits { threads: 8, connections: 3 };

/// Who reads now, who is connected, and the most of both.
#[derive(Default)]
struct Count {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Count {
    fn add(&self) {
        self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
    }

    fn subtract(&self) {
        self.now.fetch_sub(1, Ordering::SeqCst);
    }
}

#[derive(Clone, Default)]
struct Counts {
    reading: Arc<Count>,
    connected: Arc<Count>,
}

/// Answers, refuses, or says that it was asked and answers when the other end is gone.
#[derive(Default)]
struct Scripted {
    counts: Counts,
    is_connected: bool,
    refuses: bool,
    hangs: Option<(Sender<()>, Option<Receiver<()>>)>,
}

impl Source for Scripted {
    fn read(&mut self) -> Result<Sample, SourceError> {
        if !std::mem::replace(&mut self.is_connected, true) {
            self.counts.connected.add();
        }
        self.counts.reading.add();
        if let Some((asked, hold)) = &self.hangs {
            let _ = asked.send(());
            let _ = hold.as_ref().map(Receiver::recv);
        }
        self.counts.reading.subtract();
        if self.refuses {
            let (source_name, user) = ("x".to_owned(), "mon".to_owned());
            return Err(SourceError::Login { source_name, user, reason: "wrong password".into() });
        }
        let taken = SampleTime { utc: utc_now(), clock: "test".into(), clock_ns: 1 };
        Ok(Sample { taken, epoch: Epoch::default(), rows: Vec::new(), warnings: Vec::new() })
    }

    fn disconnect(&mut self) {
        if std::mem::take(&mut self.is_connected) {
            self.counts.connected.subtract();
        }
    }
}

fn set_source(name: &str, server: &str, source: Scripted) -> SetSource {
    let options = SamplerOptions { interval: INTERVAL, until: None, filter: Filter::default() };
    SetSource { source: Box::new(source), name: name.into(), server: server.into(), options }
}

fn steps(pool: &mut SourcePool, count: usize, mut each: impl FnMut(usize)) {
    let mut seen = 0;
    while seen < count {
        if let Next::Event(Event::Step { source, .. }) = pool.next(WAIT) {
            each(source);
            seen += 1;
        }
    }
}

/// Each that hangs would keep a thread, and all others would wait for it.
#[test]
fn sources_that_hang_leave_threads_for_all_others() {
    let mut pool = SourcePool::new(LIMITS, None, false);
    for index in 0..20 {
        pool.put(index, set_source(&format!("a{index}"), &format!("answers{index}"), Scripted::default()));
    }
    steps(&mut pool, 60, |_| ());
    let (asked, hanging) = channel();
    let mut held = Vec::new();
    for index in 20..60 {
        let (release, waits) = channel::<()>();
        held.push(release);
        let source = Scripted { hangs: Some((asked.clone(), Some(waits))), ..Scripted::default() };
        pool.put(index, set_source(&format!("h{index}"), &format!("hangs{index}"), source));
    }
    let mut seen = std::collections::BTreeSet::new();
    steps(&mut pool, 400, |source| {
        seen.insert(source);
    });
    assert_eq!(seen, (0..20).collect());
    assert_eq!(hanging.try_iter().count(), LIMITS.threads / THREADS_OF_ONE_FAILING);
    drop(held);
    pool.stopper().stop();
}

#[test]
fn of_one_server_few_are_read_at_a_time_and_few_connections_stay_open() {
    let counts = Counts::default();
    let mut pool = SourcePool::new(LIMITS, None, false);
    for index in 0..50 {
        let source = Scripted { counts: counts.clone(), ..Scripted::default() };
        pool.put(index, set_source(&format!("s{index}"), "one", source));
    }
    let mut seen = std::collections::BTreeSet::new();
    steps(&mut pool, 300, |source| {
        seen.insert(source);
    });
    assert!(counts.reading.most.load(Ordering::SeqCst) <= OF_SERVER_MAX);
    assert!(counts.connected.most.load(Ordering::SeqCst) <= 2 * OF_SERVER_MAX);
    assert_eq!(seen.len(), 50, "everyone's turn comes");
    pool.stopper().stop();
    while !matches!(pool.next(WAIT), Next::Ended) {}
    assert!((1..=OF_SERVER_MAX).contains(&counts.connected.now.load(Ordering::SeqCst)));
}

#[test]
fn connections_to_many_servers_stay_open_up_to_a_limit() {
    let counts = Counts::default();
    let mut pool = SourcePool::new(LIMITS, None, false);
    for index in 0..30 {
        let source = Scripted { counts: counts.clone(), ..Scripted::default() };
        pool.put(index, set_source(&format!("s{index}"), &format!("server {index}"), source));
    }
    steps(&mut pool, 200, |_| ());
    pool.stopper().stop();
    while !matches!(pool.next(WAIT), Next::Ended) {}
    assert_eq!(counts.connected.now.load(Ordering::SeqCst), LIMITS.connections);
}

#[test]
fn once_reads_each_source_once_whether_it_answers_or_not_and_ends() {
    let counts = Counts::default();
    let mut pool = SourcePool::new(LIMITS, None, true);
    for index in 0..20 {
        let source = Scripted { counts: counts.clone(), refuses: index % 4 == 0, ..Scripted::default() };
        pool.put(index, set_source(&format!("s{index}"), &format!("server {index}"), source));
    }
    let (mut answers, mut refusals) = (0, 0);
    loop {
        match pool.next(WAIT) {
            Next::Event(Event::Step { .. }) => answers += 1,
            Next::Event(Event::Missed(_)) => refusals += 1,
            Next::Nothing => {}
            Next::Ended => break,
        }
    }
    assert_eq!((answers, refusals, counts.connected.now.load(Ordering::SeqCst)), (15, 5, 0));
}

/// The account would be locked.
#[test]
fn a_refused_login_is_left_alone_for_longer_and_longer() {
    let counts = Counts::default();
    let mut pool = SourcePool::new(LIMITS, None, false);
    let source = Scripted { counts, refuses: true, ..Scripted::default() };
    pool.put(0, set_source("s", "one", source));
    let mut tries = std::collections::BTreeSet::new();
    while tries.len() < 5 {
        if let Next::Event(Event::Missed(Missed { retry: Some(retry), .. })) = pool.next(WAIT) {
            tries.insert(retry.ticks);
        }
    }
    let last = tries.last().copied().unwrap_or_default();
    assert!(last >= 16, "{tries:?}");
}

#[test]
fn a_source_that_is_removed_or_replaced_while_it_is_read_is_not_read_again() {
    let mut pool = SourcePool::new(LIMITS, None, false);
    let (asked, hanging) = channel();
    let (release, waits) = channel::<()>();
    pool.put(
        0,
        set_source("s", "one", Scripted { hangs: Some((asked, Some(waits))), ..Scripted::default() }),
    );
    hanging.recv().unwrap();
    pool.put(0, set_source("s", "one", Scripted::default()));
    steps(&mut pool, 3, |source| assert_eq!(source, 0));
    drop(release);
    steps(&mut pool, 10, |source| assert_eq!(source, 0));
    assert!(hanging.try_recv().is_err(), "the one before was asked again");
    pool.remove(0);
    while matches!(pool.next(INTERVAL * 10), Next::Event(_)) {}
    pool.stopper().stop();
    assert!(matches!(pool.next(WAIT), Next::Ended));
}
