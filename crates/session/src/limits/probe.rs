//! One probe: requests of one size until they show what they can.

use iostall_measure::{BlockSize, Clock, Nanos, Rate};
use iostall_model::limits::{LimitsProbe, ProbeStep};
use iostall_model::outcome::IntervalPoint;
use iostall_model::profile::BlockMix;
use iostall_model::{Point, RoleProfile};

use super::search::{NAMES, Search, role};
use crate::analysis::limits::{PAGE, fall, fall_of};
use crate::error::SessionError;
use crate::point_runner::{Course, PointJob};

const INTERVAL: Nanos = Nanos(100_000_000);
const LENGTH_NS_MIN: u64 = 500_000_000;
/// Longest probe of a size that shows no more than its rate, nanoseconds, unless it is slow.
const SIZE_NS_MAX: u64 = 5_000_000_000;
/// Requests that such a probe waits for, up to so many times its length.
const COUNT_MIN: u64 = 100;
const SLOW: u64 = 8;
/// Part of the bytes for a short probe.
const SHORT_BYTES: f64 = 0.1;
/// Fewest intervals of the rate that lasts, and as a share of those before.
const AFTER_MIN: usize = 20;
const AFTER_SHARE: f64 = 0.2;

#[derive(Clone, Copy, Debug)]
pub(super) struct Probe<'a> {
    pub(super) step: ProbeStep,
    pub(super) targets: &'a [u32],
    pub(super) size: u32,
    pub(super) share: f64,
    /// Instead of a part: seconds.
    pub(super) length_s: Option<f64>,
    pub(super) pause_s: f64,
}

impl Probe<'_> {
    pub(super) fn of(size: u32) -> Self {
        Probe { step: ProbeStep::Size, targets: &[0], size, share: 0.0, length_s: None, pause_s: 0.0 }
    }

    fn label(&self, size: BlockSize) -> String {
        let who = match self.targets {
            [0] => "",
            [_] => " on the second target",
            _ => " on both",
        };
        match self.step {
            ProbeStep::Unloaded => format!("{size}, one at a time"),
            ProbeStep::Load | ProbeStep::Size | ProbeStep::Together => format!("{size}{who}"),
            ProbeStep::Again => format!("{size} after a pause"),
            ProbeStep::Sustained => format!("{size}, what lasts"),
        }
    }

    fn looks(&self) -> bool {
        matches!(self.step, ProbeStep::Load | ProbeStep::Again)
    }
}

impl Search<'_> {
    pub(super) fn probe(&mut self, probe: &Probe<'_>) -> Result<(), SessionError> {
        let now_ns = self.session.clock().now_ns();
        if self.runner.stopped() {
            return Ok(());
        }
        if let Some(end) = self.budget.is_over(now_ns, probe.size) {
            self.outcome.ended = end;
            return Ok(());
        }
        let size = BlockSize::new(probe.size.into()).map_err(|_| SessionError::NoRole)?;
        let role = self.role(probe, size);
        let label = probe.label(size);
        let length_ns = self.length_ns(probe).min(self.budget.left_ns(now_ns));
        let length = Nanos(length_ns.max(LENGTH_NS_MIN));
        let bytes_max = self.budget.bytes(if probe.looks() { 1.0 } else { SHORT_BYTES });
        let mut watch = Watch::new(probe, length);
        let mut go_on = |newest: &IntervalPoint| watch.go_on(newest);
        let job = PointJob {
            role: &role,
            targets: self.targets,
            first_target: 0,
            seed: self.outcome.plan.seed,
            label: &label,
            after_ns: Some(self.budget.left_ns(now_ns).saturating_sub(length.0)),
        };
        let waits = !probe.looks() && probe.step != ProbeStep::Unloaded;
        let most = if waits { Nanos(length.0.saturating_mul(SLOW)) } else { length };
        let most = Nanos(most.0.min(self.budget.left_ns(now_ns).max(LENGTH_NS_MIN)));
        let course = self.runner.course(&job, (most, INTERVAL), bytes_max, &mut go_on)?;
        let Some(course) = course else { return Ok(()) };
        self.keep(probe, size, &role, course);
        Ok(())
    }

    fn role(&self, probe: &Probe<'_>, size: BlockSize) -> RoleProfile {
        let whole = role(&self.base, &self.outcome.plan, size);
        let names = probe.targets.iter().filter_map(|target| NAMES.get(*target as usize));
        let targets = names.map(|name| (*name).to_owned()).collect();
        match probe.step {
            // Few, because each is taken from the bucket that is looked for next; a large one may count as many.
            ProbeStep::Unloaded => {
                let rate = Some(Rate::Iops(if probe.size > PAGE { 5.0 } else { 30.0 }));
                RoleProfile { targets, queue_depth: 1, workers: 1, rate, ..whole }
            }
            _ => RoleProfile { targets, ..whole },
        }
    }

    fn length_ns(&self, probe: &Probe<'_>) -> u64 {
        let seconds = probe.length_s.unwrap_or(self.budget.whole_s() * probe.share);
        let length_ns = Nanos::from_seconds(seconds).0;
        if probe.looks() { length_ns } else { length_ns.min(SIZE_NS_MAX) }
    }

    fn keep(&mut self, probe: &Probe<'_>, size: BlockSize, role: &RoleProfile, course: Course) {
        let whole = |point: &&IntervalPoint| point.length_ns == INTERVAL.0;
        let kept = LimitsProbe {
            step: probe.step,
            targets: probe.targets.to_vec(),
            block_size: size,
            in_flight: u64::from(role.queue_depth) * u64::from(role.workers) * probe.targets.len() as u64,
            start_ns: course.repeat.start_ns,
            pause_ns: Nanos::from_seconds(probe.pause_s).0,
            interval_ns: INTERVAL.0,
            counts: course.series.iter().filter(whole).map(count).collect(),
            latency_ns_mean: course.latency_ns.mean(),
            failed: course.repeat.failed,
            asked_bytes: Some(course.asked_bytes),
        };
        self.budget.spend(course.asked_bytes);
        // What a bucket gave beyond its refill is no capacity that lasts.
        let lasts = !matches!(probe.step, ProbeStep::Unloaded | ProbeStep::Again) && fall(&kept).is_none();
        if lasts && course.repeat.count > 0 {
            self.outcome.points.push(Point {
                targets: probe.targets.to_vec(),
                block_size: BlockMix::single(size),
                access: role.access,
                write_pct: role.write_pct,
                queue_depth: role.queue_depth,
                workers: role.workers,
                rate_iops: None,
                repeats: vec![course.repeat],
                latency_ns: course.latency_ns,
            });
        }
        self.outcome.probes.push(kept);
    }
}

fn count(point: &IntervalPoint) -> u64 {
    point.ops.iter().map(|op| op.count).sum()
}

struct Watch {
    looks: bool,
    /// For a probe that does not look for a fall: intervals after which it is over, if there were requests enough.
    intervals_min: usize,
    last_ns: Option<u64>,
    /// Intervals at which it looks again.
    next_look: usize,
    counts: Vec<u64>,
}

impl Watch {
    fn new(probe: &Probe<'_>, length: Nanos) -> Self {
        Self {
            looks: probe.looks(),
            intervals_min: usize::try_from(length.0 / INTERVAL.0).unwrap_or(usize::MAX),
            last_ns: None,
            next_look: AFTER_MIN,
            counts: Vec::new(),
        }
    }

    fn go_on(&mut self, newest: &IntervalPoint) -> bool {
        if self.last_ns == Some(newest.start_ns) {
            return true;
        }
        self.last_ns = Some(newest.start_ns);
        self.counts.push(count(newest));
        if !self.looks {
            let is_long = self.counts.len() >= self.intervals_min;
            return !(is_long && self.counts.iter().sum::<u64>() >= COUNT_MIN);
        }
        self.counts.len() < self.next_look || !self.has_fallen()
    }

    fn has_fallen(&mut self) -> bool {
        let count = self.counts.len();
        // Each look takes as long as the series is.
        self.next_look = count + (count / 20).max(5);
        fall_of(&self.counts, INTERVAL.0 as f64 / 1e9).is_some_and(|found| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
            let enough = (found.change.at as f64 * AFTER_SHARE) as usize;
            count - found.change.at >= enough.max(AFTER_MIN)
        })
    }
}
