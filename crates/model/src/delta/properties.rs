//! Property tests with simulated servers: whatever happens to their counters and clocks, no rate is negative
//! or invented.

use super::*;
use crate::sample::SampleTime;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Event {
    /// The server works for a time: reads, and the milliseconds they waited.
    Work {
        reads: u64,
        stall_ms: u64,
        ns: u64,
    },
    Gap {
        reads: u64,
        stall_ms: u64,
        ns: u64,
    },
    Restart,
    /// The file is closed and reopened, which its handle shows.
    Reattach,
    /// The file is closed and reopened, which only smaller counters show.
    SilentReset,
    Recreate,
    WallStep(i64),
    /// The collector's host reboots: a different monotonic clock.
    OtherClock(u64),
    Upgrade,
}

fn event() -> impl Strategy<Value = Event> {
    let work = (0_u64..10_000, 0_u64..1 << 31, 1_000_000_u64..400_000_000_000_000);
    prop_oneof![
        6 => work.clone().prop_map(|(reads, stall_ms, ns)| Event::Work { reads, stall_ms, ns }),
        1 => work.prop_map(|(reads, stall_ms, ns)| Event::Gap { reads, stall_ms, ns }),
        1 => Just(Event::Restart),
        1 => Just(Event::Reattach),
        1 => Just(Event::SilentReset),
        1 => Just(Event::Recreate),
        1 => any::<i32>().prop_map(|seconds| Event::WallStep(i64::from(seconds) / 100)),
        1 => (0_u64..1 << 40).prop_map(Event::OtherClock),
        1 => Just(Event::Upgrade),
    ]
}

/// A device, a file, and what really happened to them since the last sample.
struct World {
    kind: Kind,
    wall_s: i64,
    clock: u64,
    clock_ns: u64,
    epoch: u32,
    version: u32,
    handle: u64,
    identity: u32,
    reads: u64,
    stall_ms: u64,
    /// Actual change since the last sample: `None` if the counters restarted in between.
    truth: Option<(u64, u64)>,
    /// Actual time since the last sample; `None` if no clock spans it.
    length_ns: Option<u64>,
}

impl World {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            wall_s: 1_780_000_000,
            clock: 0,
            clock_ns: 5,
            epoch: 0,
            version: 16,
            handle: 0,
            identity: 0,
            reads: 0,
            stall_ms: 0,
            truth: Some((0, 0)),
            length_ns: Some(0),
        }
    }

    fn work(&mut self, reads: u64, stall_ms: u64, ns: u64) {
        // Limited by the number of requests that a device of this kind has in flight.
        let most_ms = (ns / 1_000_000).saturating_mul(self.kind.parallelism_max(Counter::ReadStall));
        let stall_ms = stall_ms.min(most_ms);
        self.reads += reads;
        self.stall_ms += stall_ms;
        self.clock_ns += ns;
        self.wall_s += i64::try_from(ns / 1_000_000_000).unwrap();
        self.truth = self.truth.map(|(all, waited)| (all + reads, waited + stall_ms));
        self.length_ns = self.length_ns.map(|length| length + ns);
    }

    fn restart(&mut self) {
        (self.reads, self.stall_ms, self.truth) = (0, 0, None);
    }

    fn apply(&mut self, event: &Event) {
        match *event {
            Event::Work { reads, stall_ms, ns } | Event::Gap { reads, stall_ms, ns } => {
                self.work(reads, stall_ms, ns);
            }
            Event::Restart => {
                self.restart();
                self.epoch += 1;
            }
            Event::Reattach => {
                self.restart();
                self.handle += 1;
            }
            // Visible only if a counter is lower at the next sample, so no work may precede it.
            Event::SilentReset => self.restart(),
            Event::Recreate => {
                self.restart();
                self.identity += 1;
            }
            Event::WallStep(seconds) => self.wall_s = (self.wall_s + seconds).clamp(0, 4_000_000_000),
            Event::OtherClock(ns) => {
                self.clock += 1;
                self.clock_ns = ns;
                self.length_ns = None;
            }
            Event::Upgrade => {
                self.version += 1;
                self.truth = None;
            }
        }
    }

    fn sample(&mut self) -> Sample {
        let stall = match self.kind.column(Counter::ReadStall).width_bits {
            Some(bits) if bits < 64 => self.stall_ms & ((1 << bits) - 1),
            _ => self.stall_ms,
        };
        let counters = Counters::new()
            .with(Counter::Reads, self.reads)
            .with(Counter::ReadStall, stall)
            .with(Counter::Handle, self.handle);
        let subject = Subject {
            kind: self.kind,
            scope: Scope::Source,
            name: "one".into(),
            identity: self.identity.to_string(),
            volume: None,
        };
        let taken = SampleTime {
            utc: jiff::Timestamp::from_second(self.wall_s).unwrap(),
            clock: self.clock.to_string(),
            clock_ns: self.clock_ns,
        };
        let epoch = Epoch {
            instance: "i".into(),
            version: self.version,
            process_start: self.epoch.to_string(),
            counters_since: vec![self.epoch.to_string()],
            uptime_s: None,
        };
        (self.truth, self.length_ns) = (Some((0, 0)), Some(0));
        Sample { taken, epoch, rows: vec![Row { subject, counters, age_ms: None }], warnings: Vec::new() }
    }
}

fn check(kind: Kind, events: &[Event]) -> Result<(), TestCaseError> {
    let mut world = World::new(kind);
    let mut before = world.sample();
    for event in events {
        world.apply(event);
        // A gap is an interval without a sample; a silent reset is visible only while the counters are lower.
        if matches!(event, Event::Gap { .. }) {
            continue;
        }
        let (truth, length_ns) = (world.truth, world.length_ns);
        let now = world.sample();
        let silent = truth.is_none() && matches!(event, Event::SilentReset);
        match compare(&before, &now).as_slice() {
            [Change::Delta(totals)] => {
                prop_assert_eq!(Some(totals.covered_ns), length_ns, "the interval is the true one");
                let invisible = silent && before.rows[0].counters.or_zero(Counter::Reads) == 0;
                let (reads, stall_ms) = if invisible {
                    (0, 0)
                } else {
                    truth.ok_or_else(|| TestCaseError::fail("a delta across a reset"))?
                };
                prop_assert_eq!(totals.amounts.get(Counter::Reads), Some(reads));
                if let Some(stall_ns) = totals.amounts.get(Counter::ReadStall) {
                    prop_assert_eq!(stall_ns, stall_ms * 1_000_000);
                }
            }
            [Change::Reset(reason)] => {
                let explained = truth.is_none()
                    || length_ns.is_none_or(|length| length == 0)
                    || *reason == ResetReason::Wrap;
                prop_assert!(explained, "{reason:?} out of nothing");
            }
            other => prop_assert!(false, "{other:?}"),
        }
        before = now;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_sequence_of_events_invents_a_rate_for_a_file_without_widths(events in prop::collection::vec(event(), 1..60)) {
        check(Kind::SqlServerFile, &events)?;
    }

    #[test]
    fn no_sequence_of_events_invents_a_rate_for_a_device_whose_timers_wrap(events in prop::collection::vec(event(), 1..60)) {
        check(Kind::LinuxDevice, &events)?;
    }

    #[test]
    fn any_two_readings_give_no_amount_above_what_was_counted(
        before in prop::collection::vec(any::<u64>(), 4), now in prop::collection::vec(any::<u64>(), 4),
        ns in prop::option::of(1_u64..u64::MAX), kind in prop::sample::select(&Kind::ALL[..]),
    ) {
        let counters = |values: &[u64]| Counters::new()
            .with(Counter::Reads, values[0])
            .with(Counter::ReadBytes, values[1])
            .with(Counter::Writes, values[2])
            .with(Counter::WriteBytes, values[3]);
        let change = difference(kind, &counters(&before), &counters(&now), ns);
        let grew = before.iter().zip(&now).all(|(before, now)| now >= before);
        prop_assert_eq!(change.delta().is_some(), grew && ns.is_some());
        if let Some(totals) = change.delta() {
            prop_assert_eq!(totals.amounts.get(Counter::Reads), Some(now[0] - before[0]));
            prop_assert_eq!(totals.amounts.get(Counter::Writes), Some(now[2] - before[2]));
        }
    }
}
