//! An hour of collecting in simulated time: real tickers, collector, store, alerts and metrics with a
//! scripted clock and sources. Nothing here sleeps: a wait in real time fails the test.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use iostall_collect::{Filter, Source, SourceError};
use iostall_measure::clock::NoRealSleep;
use iostall_measure::{Clock, ManualClock};
use iostall_model::alert::{Condition, Grouping, Match, Measured, Now, Occasion, Rule, RuleBook, RuleSource};
use iostall_model::{
    Change, Counter, Counters, Epoch, Gap, Kind, Level, ResetReason, Row, Sample, SampleTime, Scope, Subject,
    Tier,
};
use iostall_notify::{AlertFile, Message};
use iostall_store::{History, Retention, SqliteHistory};
use jiff::{SignedDuration, Timestamp};

use crate::sampling::{Event, Next, SamplerOptions, Sampling, Ticker};
use crate::{AlertEvent, Alerting, CollectEvent, Collector, Metrics, Observers, WatchClock};

const SECOND_NS: u64 = 1_000_000_000;
const INTERVAL: Duration = Duration::from_secs(10);

#[derive(Clone)]
struct SimClock {
    awake: ManualClock,
    start: Timestamp,
    /// When the machine falls asleep, in awake time, and for how long.
    sleeps: Arc<Vec<(u64, u64)>>,
}

impl SimClock {
    fn new(sleeps: &[(u64, u64)]) -> Self {
        let start = "2026-11-21T10:00:00Z".parse().unwrap();
        Self { awake: ManualClock::new(), start, sleeps: Arc::new(sleeps.to_vec()) }
    }

    fn another(&self) -> Self {
        Self { awake: ManualClock::new(), ..self.clone() }
    }

    /// Calendar time since the start.
    fn elapsed_ns(&self) -> u64 {
        let awake_ns = self.awake.now_ns();
        let asleep = self.sleeps.iter().filter(|(at_ns, _)| *at_ns <= awake_ns);
        awake_ns + asleep.map(|(_, length_ns)| length_ns).sum::<u64>()
    }

    fn elapsed_s(&self) -> u64 {
        self.elapsed_ns() / SECOND_NS
    }

    fn wait_until(&self, at: Timestamp) {
        let target_ns = u64::try_from(at.duration_since(self.start).as_nanos()).unwrap();
        while let Some(left_ns @ 1..) = target_ns.checked_sub(self.elapsed_ns()) {
            let (now_ns, sleeps) = (self.awake.now_ns(), self.sleeps.iter());
            let asleep_ns = sleeps.map(|(at_ns, _)| *at_ns).filter(|at_ns| *at_ns > now_ns).min();
            self.awake.advance_to(asleep_ns.unwrap_or(u64::MAX).min(now_ns + left_ns));
        }
    }
}

impl WatchClock for SimClock {
    fn now(&self) -> Now {
        let elapsed = SignedDuration::from_nanos(self.elapsed_ns().cast_signed());
        Now { utc: self.start + elapsed, clock_ns: self.awake.now_ns() }
    }
}

type Script = Box<dyn FnMut(&SimClock) -> Result<Sample, SourceError> + Send>;

struct Scripted {
    clock: SimClock,
    script: Script,
}

impl Source for Scripted {
    fn read(&mut self) -> Result<Sample, SourceError> {
        (self.script)(&self.clock)
    }
}

/// A source with its own timeline. Sources do not wait for each other, so each can run ahead.
struct Lane {
    ticker: Ticker,
    clock: SimClock,
    /// Its events with their awake times.
    events: VecDeque<(u64, Event)>,
}

impl Lane {
    /// Time of its next event; `None` after the last tick.
    fn next_ns(&mut self) -> Option<u64> {
        while self.events.is_empty() {
            let due = self.ticker.next(self.clock.now())?;
            self.clock.wait_until(crate::clock::timestamp(due.at_ns));
            let missed = self.ticker.missed_before(due);
            self.events.extend(missed.map(|event| (self.clock.awake.now_ns(), event)));
            let event = self.ticker.tick(due, &self.clock);
            self.events.push_back((self.clock.awake.now_ns(), event));
        }
        self.events.front().map(|(at_ns, _)| *at_ns)
    }
}

struct Lanes {
    lanes: Vec<Lane>,
    clock: SimClock,
}

impl Lanes {
    fn new(clock: &SimClock, scripts: Vec<Script>, options: &SamplerOptions) -> Self {
        let lane = |(index, script)| {
            let own = clock.another();
            let source = Box::new(Scripted { clock: own.clone(), script });
            Lane { ticker: Ticker::new(index, source, options.clone()), clock: own, events: VecDeque::new() }
        };
        Self { lanes: scripts.into_iter().enumerate().map(lane).collect(), clock: clock.clone() }
    }
}

impl Sampling for Lanes {
    fn next(&mut self, limit: Duration) -> Next {
        let earliest = self.lanes.iter_mut().filter_map(|lane| Some((lane.next_ns()?, lane)));
        let Some((at_ns, lane)) = earliest.min_by_key(|(at_ns, _)| *at_ns) else { return Next::Ended };
        let limit_ns = self.clock.awake.now_ns() + u64::try_from(limit.as_nanos()).unwrap();
        if at_ns > limit_ns {
            self.clock.awake.advance_to(limit_ns);
            return Next::Nothing;
        }
        self.clock.awake.advance_to(at_ns);
        lane.events.pop_front().map_or(Next::Nothing, |(_, event)| Next::Event(event))
    }
}

/// A file with a hundred reads a second and the given stall each, on a server that started at `begin_s`.
fn sample(clock: &SimClock, begin_s: u64, stall_ns: u64) -> Sample {
    let subject = Subject {
        kind: Kind::SqlServerFile,
        scope: Scope::Database("sales".into()),
        name: "E:\\a.mdf".into(),
        identity: "1".into(),
        volume: None,
    };
    let reads = 100 * (clock.elapsed_s() - begin_s);
    let counters = Counters::new().with(Counter::Reads, reads).with(Counter::ReadStall, stall_ns / 1_000_000);
    let epoch = Epoch {
        instance: "one".into(),
        version: 15,
        process_start: begin_s.to_string(),
        counters_since: vec![begin_s.to_string()],
        uptime_s: None,
    };
    let taken =
        SampleTime { utc: clock.now().utc, clock: "this boot".into(), clock_ns: 1 + clock.elapsed_ns() };
    Sample { taken, epoch, rows: vec![Row { subject, counters, age_ms: None }], warnings: Vec::new() }
}

/// Restarts before 10:16:40, takes 25 s to answer at 10:33:20, and stalls for 50 ms a read from 10:50 to 10:54.
fn slow_server() -> Script {
    let (mut stall_ns, mut before_s) = (0, 0);
    Box::new(move |clock: &SimClock| {
        let now_s = clock.elapsed_s();
        let begin_s = if now_s < 1_000 { 0 } else { 995 };
        if now_s == 2_000 {
            clock.awake.advance_by(25 * SECOND_NS);
        }
        let now_s = clock.elapsed_s();
        let wait_ms = if (3_001..=3_240).contains(&now_s) { 50 } else { 1 };
        stall_ns += 100 * (now_s - before_s) * wait_ms * 1_000_000;
        if before_s < begin_s {
            stall_ns = 0;
        }
        before_s = now_s;
        Ok(sample(clock, begin_s, stall_ns))
    })
}

/// Refuses the login from 10:20 to 10:30.
fn closed_server(tries: Arc<Mutex<Vec<u64>>>) -> Script {
    Box::new(move |clock: &SimClock| {
        if (1_200..1_800).contains(&clock.elapsed_s()) {
            tries.lock().unwrap().push(clock.elapsed_s() / 10);
            let (source_name, user) = ("postgres://b".to_owned(), "mon".to_owned());
            return Err(SourceError::Login { source_name, user, reason: "wrong password".into() });
        }
        Ok(sample(clock, 0, 0))
    })
}

fn rule(name: &str, condition: Condition, sustained_s: u64) -> Rule {
    Rule {
        name: name.into(),
        condition,
        matches: Match::default(),
        level: Level::Files,
        sustained_ns: sustained_s * SECOND_NS,
        clear_ns: sustained_s * SECOND_NS,
        operations_min: 10,
        repeat_ns: None,
        mute: Vec::new(),
        channels: Vec::new(),
        grouping: Grouping::default(),
        group_wait_ns: 0,
    }
}

fn rules() -> RuleBook {
    let by_class = BTreeMap::new();
    let slow = Condition::Over { measured: Measured::StallPerRead, threshold: Some(20e6), by_class };
    RuleBook {
        classes: Vec::new(),
        rules: vec![rule("slow", slow, 60), rule("silent", Condition::Silent, 120)],
    }
}

fn missed(gaps: &[Gap]) -> BTreeMap<&str, u64> {
    let mut all = BTreeMap::new();
    for gap in gaps {
        *all.entry(gap.reason.as_str()).or_default() += gap.missed;
    }
    all
}

const TOO_LONG: &str = "the previous reading took longer than the interval";
const SLEPT: &str = "this machine slept, or its clock was set forward";
const REFUSED: &str = "postgres://b refused the login \"mon\": wrong password";
const SOURCES: [&str; 2] = ["sqlserver://a", "postgres://b"];

struct Hour {
    _directory: tempfile::TempDir,
    history: SqliteHistory,
    kept: u64,
    /// Time, rule, source and occasion.
    notices: Vec<(String, String, String, Occasion)>,
    said: Vec<String>,
    tries: Vec<u64>,
    metrics: Metrics<SimClock>,
}

/// From 10 to 11 with a tick every ten seconds; the machine sleeps from 10:40:05 to 10:45:05.
fn an_hour() -> Hour {
    let _guard = NoRealSleep::on_this_thread();
    let clock = SimClock::new(&[(2_405 * SECOND_NS, 300 * SECOND_NS)]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("watch.db");
    let tries = Arc::new(Mutex::new(Vec::new()));
    let until = Some(clock.start + SignedDuration::from_hours(1));
    let options = SamplerOptions { interval: INTERVAL, until, filter: Filter::default() };
    let scripts = vec![slow_server(), closed_server(Arc::clone(&tries))];
    let metrics = Metrics::new(clock.clone());
    let alerting = Alerting::start(AlertFile { book: rules(), ..AlertFile::default() }, clock.now());
    let observers = Observers { metrics: Some(metrics.clone()), alerting: Some(alerting), jobs: None };
    let store = SqliteHistory::open(&path).unwrap();
    let retention = Retention::default();
    let mut collector = Collector::new(store, retention, observers, clock.clone());
    for name in SOURCES {
        let interval_ns = u64::try_from(INTERVAL.as_nanos()).unwrap();
        collector.add(RuleSource { name: name.into(), tags: Vec::new(), interval_ns }).unwrap();
    }
    let (mut notices, mut said) = (Vec::new(), Vec::new());
    let mut observer = |event: CollectEvent<'_>| match event {
        CollectEvent::Alert(AlertEvent::Notice(Message::Alert(notice))) => {
            let at = notice.at.strftime("%H:%M:%S").to_string();
            notices.push((at, notice.rule.clone(), notice.source.clone(), notice.occasion));
        }
        CollectEvent::Alert(_)
        | CollectEvent::Writer(_)
        | CollectEvent::Job(_)
        | CollectEvent::Push(_)
        | CollectEvent::SettingsLate { .. }
        | CollectEvent::Reloaded(_)
        | CollectEvent::Refused(_) => {
            panic!("nobody is told, nothing is doubted, and the disk is not full: {event:?}")
        }
        CollectEvent::AnswersAgain { source, at } => said.push(format!("{source} again {at:.0}")),
        CollectEvent::Missed { source, missed } => {
            said.push(format!("{source} {} {:.0}", missed.gap.reason, missed.gap.at));
        }
    };
    let kept = collector.run(&mut Lanes::new(&clock, scripts, &options), &mut observer).unwrap();
    let history = SqliteHistory::open(&path).unwrap();
    let tries = tries.lock().unwrap().clone();
    Hour { _directory: directory, history, kept, notices, said, tries, metrics }
}

fn counted(history: &SqliteHistory, name: &str) -> (u64, usize, usize) {
    let sources = history.sources().unwrap();
    let id = sources.iter().find(|watched| watched.source.name == name).unwrap().source.id;
    let (mut reads, mut intervals, mut resets) = (0, 0, 0);
    let mut add = |step: iostall_model::Step| {
        intervals += 1;
        match &step.changes[0] {
            Change::Delta(totals) => reads += totals.amounts.or_zero(Counter::Reads),
            Change::Reset(ResetReason::Restart) => resets += 1,
            other => panic!("{other:?}"),
        }
    };
    history.intervals(id, Timestamp::MIN, Timestamp::MAX, &mut add).unwrap();
    let mut rolled_up = 0;
    let mut roll =
        |row: iostall_store::RollupRow| rolled_up += row.rollup.totals.amounts.or_zero(Counter::Reads);
    history.rollups(id, Tier::Hour, Timestamp::UNIX_EPOCH, Timestamp::MAX, &mut roll).unwrap();
    assert_eq!(rolled_up, reads, "roll-ups hold what the raw samples say");
    (reads, intervals, resets)
}

fn gaps(history: &SqliteHistory, name: &str) -> Vec<Gap> {
    let sources = history.sources().unwrap();
    let id = sources.iter().find(|watched| watched.source.name == name).unwrap().source.id;
    history.gaps(id, Timestamp::MIN, Timestamp::MAX).unwrap()
}

/// How a collector handles an hour of trouble could only be tried by waiting for an hour, or not at all: no
/// test can put a machine to sleep.
#[test]
fn an_hour_of_collecting_has_every_sample_or_the_reason_why_not() {
    let hour = an_hour();
    // 360 ticks: two were missed while the server was slow, 29 while the machine slept.
    assert_eq!(missed(&gaps(&hour.history, "sqlserver://a")), BTreeMap::from([(SLEPT, 29), (TOO_LONG, 2)]));
    // From the first sample at 10:00:10 to 11:00, except the ten seconds that contain the restart.
    assert_eq!(counted(&hour.history, "sqlserver://a"), (100 * (3_590 - 10), 328, 1));
    // Refused at the first tick of the ten minutes, then after 1, 2, 4, 8, 16 and 30 ticks, when the login
    // worked.
    assert_eq!(hour.tries, [120, 121, 123, 127, 135, 151]);
    assert_eq!(missed(&gaps(&hour.history, "postgres://b")), BTreeMap::from([(REFUSED, 61), (SLEPT, 29)]));
    assert_eq!(counted(&hour.history, "postgres://b"), (100 * 3_590, 269, 0));
    assert_eq!(hour.kept, 329 + 270);
}

#[test]
fn in_that_hour_alerts_and_current_values_say_the_same_as_the_history() {
    let hour = an_hour();
    let notices: Vec<(&str, &str, &str, Occasion)> =
        hour.notices.iter().map(|(at, rule, source, why)| (&**at, &**rule, &**source, *why)).collect();
    // While the machine sleeps no server counts as silent, because nobody asked.
    assert_eq!(
        notices,
        [
            ("10:21:50", "silent", "postgres://b", Occasion::Firing),
            ("10:30:10", "silent", "postgres://b", Occasion::Resolved),
            ("10:51:00", "slow", "sqlserver://a", Occasion::Firing),
            ("10:55:00", "slow", "sqlserver://a", Occasion::Resolved),
        ]
    );
    let now = hour.metrics.now();
    let counts: Vec<(u64, u64, bool)> = now.iter().map(|one| (one.samples, one.gaps, one.is_up)).collect();
    assert_eq!(counts, [(329, 31, true), (270, 90, true)]);
    assert_eq!(now[0].resets, BTreeMap::from([(ResetReason::Restart, 1)]));
    let refusals = hour.said.iter().filter(|said| said.contains(REFUSED)).count();
    assert_eq!(refusals, hour.tries.len(), "each new pause is told once: {:?}", hour.said);
    assert!(hour.said.contains(&"postgres://b again 2026-11-21T10:30:10Z".to_owned()), "{:?}", hour.said);
}

/// Nothing checked that this hour takes no real time: one look at a channel with a limit would have cost a second each.
#[test]
#[should_panic(expected = "waits in real time")]
fn a_wait_for_events_in_real_time_would_be_noticed() {
    let _guard = NoRealSleep::on_this_thread();
    let (_sender, mut events) = std::sync::mpsc::channel::<Event>();
    let _ = events.next(Duration::from_secs(1));
}
