//! Control of a rate by a source that is made up.

use std::collections::VecDeque;

use iostall_measure::ManualClock;
use iostall_model::{Counter, Counters, Epoch, Row, SampleTime, Scope, Subject};

use super::*;

const MS: u64 = 1_000_000;
const MIB: u64 = 1 << 20;

#[derive(Clone, Copy)]
enum Says {
    /// So many commits since the last one, each of so many microseconds.
    Commits(u64, u64),
    /// It takes this many milliseconds to answer.
    Late(u64),
    Refused,
    Broken,
}

struct MadeUp {
    says: VecDeque<Says>,
    clock: ManualClock,
    commits: u64,
    stall_us: u64,
    timed: bool,
}

impl Source for MadeUp {
    fn read(&mut self) -> Result<Sample, SourceError> {
        let (commits, each_us) = match self.says.pop_front().unwrap_or(Says::Commits(0, 0)) {
            Says::Commits(commits, each_us) => (commits, each_us),
            Says::Late(ms) => {
                self.clock.advance_by(ms * MS);
                (0, 0)
            }
            Says::Refused => {
                return Err(SourceError::Connect { source_name: "shop".into(), reason: "refused".into() });
            }
            Says::Broken => panic!("a defect of the source"),
        };
        self.commits += commits;
        self.stall_us += commits * each_us;
        let counters = Counters::new()
            .with(Counter::Syncs, self.commits)
            .with_opt(Counter::SyncStall, self.timed.then_some(self.stall_us));
        let subject = Subject {
            kind: Kind::PostgresWal,
            scope: Scope::Source,
            name: "write-ahead log".into(),
            identity: "wal".into(),
            volume: None,
        };
        let off = "track_wal_io_timing is off: the stall of the write-ahead log is not measured";
        Ok(Sample {
            taken: SampleTime {
                utc: jiff::Timestamp::UNIX_EPOCH,
                clock: "boot".into(),
                clock_ns: self.clock.now_ns() + 1,
            },
            epoch: Epoch { version: 15, ..Epoch::default() },
            rows: vec![Row { subject, counters, age_ms: None }],
            warnings: if self.timed {
                Vec::new()
            } else {
                vec![
                    Warning::new(WarningCode::SettingOff, off)
                        .hint("ALTER SYSTEM SET track_wal_io_timing = on"),
                ]
            },
        })
    }
}

struct Bench {
    governed: Governed,
    clock: ManualClock,
}

impl Bench {
    fn new(says: impl IntoIterator<Item = Says>) -> Self {
        Self::begin(says, true).unwrap_or_else(|error| panic!("{error}"))
    }

    fn begin(says: impl IntoIterator<Item = Says>, timed: bool) -> Result<Self, GiveWayError> {
        let clock = ManualClock::new();
        let says = [Says::Commits(5, 100)].into_iter().chain(says).collect();
        let source = Box::new(MadeUp { says, clock: clock.clone(), commits: 0, stall_us: 0, timed });
        let request = GiveWayRequest {
            name: "postgres://shop".into(),
            source,
            requirements: vec!["commit.p95<5ms".parse().unwrap()],
            floor_bytes_per_s: 4 * MIB,
            limit_bytes_per_s: Some(1_000 * MIB),
        };
        let governed = Governed::begin(request, &RunClock::Manual(clock.clone()))?;
        Ok(Self { governed, clock })
    }

    /// Lets the time until a reading pass, in which as much is moved as may be, and reads.
    fn tick(&self) -> Option<Decision> {
        let mut control = self.governed.control.lock().unwrap();
        let end_ns = self.clock.now_ns() + control.pause_ns;
        while self.clock.now_ns() < end_ns {
            match self.governed.rate.take(64 << 10, self.clock.now_ns()) {
                Ok(()) => {}
                Err(due_ns) => self.clock.advance_to(due_ns.min(end_ns)),
            }
        }
        control.tick(&RunClock::Manual(self.clock.clone()), &self.governed.rate)
    }

    fn ticks(&self, count: u32) {
        for _ in 0..count {
            self.tick();
        }
    }

    fn rate(&self) -> u64 {
        self.governed.control.lock().unwrap().log.gave_way().decisions.last().unwrap().bytes_per_s
    }
}

#[test]
fn with_room_it_is_faster_and_when_users_wait_it_is_slower() {
    let room = std::iter::repeat_n(Says::Commits(20, 500), 30);
    let bench = Bench::new(room.chain(std::iter::repeat_n(Says::Commits(20, 9_000), 30)));
    bench.ticks(30);
    let fast = bench.rate();
    assert!(fast > 40 * MIB, "{fast}");
    bench.ticks(30);
    assert!(bench.rate() < fast / 4, "{} after {fast}", bench.rate());
    let gave_way = bench.governed.gave_way();
    let whys: Vec<Why> = gave_way.decisions.iter().map(|decision| decision.why).collect();
    assert_eq!(whys[0], Why::Begin);
    assert!(whys.contains(&Why::Faster) && whys.contains(&Why::Slower), "{whys:?}");
    let verdict = gave_way.verdict(&"commit.p95<5ms".parse().unwrap()).unwrap();
    assert!(!verdict.met && verdict.figure.is_some_and(|ns| ns > 8e6));
}

/// A server that was stopped for its nightly maintenance: the copy must neither stop nor take what is there.
#[test]
fn a_source_that_stops_answering_is_said_once_and_given_the_floor() {
    let says = std::iter::repeat_n(Says::Commits(20, 500), 20)
        .chain([Says::Refused; 8])
        .chain(std::iter::repeat_n(Says::Commits(20, 500), 20));
    let bench = Bench::new(says);
    let said: Vec<Decision> = (0..48).filter_map(|_| bench.tick()).collect();
    let whys: Vec<Why> = said.iter().map(|decision| decision.why).collect();
    assert_eq!(whys, [Why::Silent, Why::Answers]);
    assert_eq!(said[0].bytes_per_s, 4 * MIB);
    assert!(said[0].reason.as_ref().is_some_and(|reason| reason.contains("refused")));
    assert!(bench.rate() > 8 * MIB, "{}", bench.rate());
    let gave_way = bench.governed.gave_way();
    assert_eq!(gave_way.failed_readings, 8);
    assert!(gave_way.silent_ns > 1_000 * MS && gave_way.silent_ns <= gave_way.floor_ns);
    let warnings = warnings(&gave_way);
    assert_eq!(warnings.iter().map(|warning| warning.code).collect::<Vec<_>>(), [WarningCode::SourceSilent]);
}

/// A source with a defect must not leave the transfer at the rate of that moment.
#[test]
fn a_source_that_panics_is_one_that_does_not_answer() {
    let bench = Bench::new([Says::Commits(5, 100), Says::Broken]);
    assert_eq!(bench.tick(), None);
    assert_eq!(bench.tick().map(|decision| decision.why), Some(Why::Silent));
}

#[test]
fn a_limit_below_what_the_storage_can_do_is_warned_of() {
    let bench = Bench::new(std::iter::repeat_n(Says::Commits(20, 50_000), 100));
    bench.ticks(100);
    assert_eq!(bench.rate(), 4 * MIB);
    let gave_way = bench.governed.gave_way();
    assert!(gave_way.missed_at_floor_ns > gave_way.governed_ns / 2);
    let warnings = warnings(&gave_way);
    assert_eq!(warnings[0].code, WarningCode::FloorMissed);
}

/// A reading that takes long is a load on the source, so there are fewer of them.
#[test]
fn readings_take_at_most_a_twentieth_of_the_time() {
    let bench = Bench::new(std::iter::repeat_n(Says::Late(100), 40));
    bench.ticks(40);
    let gave_way = bench.governed.gave_way();
    assert_eq!(gave_way.interval_ns, 2_000 * MS);
    assert!(gave_way.reading_share().is_some_and(|share| share < 0.06), "{gave_way:?}");
}

/// A backup of a second, between the first two readings of a server that was slow to answer, was said to have kept every limit.
#[test]
fn what_users_waited_since_the_last_reading_counts_at_the_end() {
    let bench = Bench::new([Says::Late(150), Says::Commits(20, 9_000)]);
    bench.tick();
    let read_last = |after_ms: u64| {
        bench.clock.advance_by(after_ms * MS);
        bench.governed.control.lock().unwrap().read_last(&RunClock::Manual(bench.clock.clone()));
        let gave_way = bench.governed.gave_way();
        (gave_way.readings, gave_way.verdict(&"commit.p95<5ms".parse().unwrap()).unwrap().met)
    };
    assert_eq!(read_last(100), (1, true), "there was a reading just now");
    assert_eq!(read_last(1_000), (2, false));
}

#[test]
fn a_stall_that_is_not_reported_is_an_error_with_the_setting_to_change() {
    let Err(error) = Bench::begin([], false) else { panic!("accepted") };
    assert!(error.to_string().contains("track_wal_io_timing is off"), "{error}");
    assert!(error.hint().contains("ALTER SYSTEM"), "{}", error.hint());
}

/// A server that hangs answers neither its users nor us, and for the two seconds until the reading was given up the copy went on at full
/// speed.
#[test]
fn a_reading_that_hangs_brings_the_floor_before_it_is_given_up() {
    let bench = Bench::new([]);
    let Governed { rate, reading_since_ns, .. } = &bench.governed;
    rate.set(100 * MIB, 4);
    bench.governed.check(9_000 * MS);
    assert_eq!(rate.in_flight_max(), 4, "between readings there is nothing to wait for");
    reading_since_ns.store(1_000 * MS, Ordering::Relaxed);
    bench.governed.check(1_400 * MS);
    assert_eq!(rate.in_flight_max(), 4);
    bench.governed.check(1_600 * MS);
    assert_eq!(rate.in_flight_max(), 1);
    // The bucket is full, and then a byte takes as long as at the floor.
    let now_ns = 5_000 * MS;
    while rate.take(4 * MIB, now_ns).is_ok() {}
    let due_ns = rate.take(1, now_ns).unwrap_err();
    assert!((900 * MS..=1_000 * MS).contains(&(due_ns - now_ns)), "{due_ns}");
}
