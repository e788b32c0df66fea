//! A stream: one worker on one target. Determines the next request and when it may start.

use iostall_engine::pacing::Schedule;
use iostall_engine::{FileIndex, RequestOp};
use iostall_measure::{Moments, SyncCall};
use iostall_model::outcome::OpenLoop;
use iostall_model::profile::{Burst, SyncRule};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::job::Speed;
use crate::plan::{Planned, StreamPlan};
use crate::source::WriteSource;
use crate::window::Window;

/// An arrival submitted later than this after it was due counts as late.
const LATE_NS: u64 = 1_000_000;

pub(crate) enum Pace {
    /// As soon as a slot is free.
    Closed,
    /// As soon as a slot is free, but with a pause after every burst.
    Bursts(BurstPace),
    Open(Box<OpenPace>),
}

pub(crate) struct BurstPace {
    burst: Burst,
    left: u32,
    resume_ns: u64,
}

impl BurstPace {
    pub(crate) fn new(burst: Burst) -> Self {
        Self { burst, left: burst.requests, resume_ns: 0 }
    }

    fn started(&mut self, now_ns: u64) {
        self.left -= 1;
        if self.left == 0 {
            self.left = self.burst.requests;
            self.resume_ns = now_ns + self.burst.pause.0;
        }
    }
}

/// Arrivals on a schedule, and how well it was kept.
pub(crate) struct OpenPace {
    schedule: Schedule,
    /// The same schedule advanced to now: its lead over `schedule` is the exact backlog, without storing it.
    ahead: Schedule,
    backlog: u64,
    last_due_ns: Option<u64>,
    speed: Speed,
    factor: f64,
    end_seen: bool,
    gaps: Moments,
    kept: OpenLoop,
}

impl OpenPace {
    pub(crate) fn new(schedule: Schedule, rate_iops: f64, speed: Speed) -> Self {
        Self {
            speed,
            factor: 1.0,
            ahead: schedule.clone(),
            schedule,
            backlog: 0,
            last_due_ns: None,
            end_seen: false,
            gaps: Moments::default(),
            kept: OpenLoop { rate_asked_iops: rate_iops, ..OpenLoop::default() },
        }
    }

    /// Counts arrivals due by `now_ns`. The first call after the measured part counts up to its end
    /// separately: what was due then and had not started is the final backlog, however long the storage kept
    /// the worker waiting.
    fn look_ahead(&mut self, now_ns: u64, window: Window) {
        if !self.end_seen && now_ns >= window.measure_to_ns {
            self.end_seen = true;
            self.count_due_before(window.measure_to_ns, window);
            self.note_backlog_of_end();
        }
        self.count_due_before(now_ns.saturating_add(1), window);
        self.follow_speed(now_ns);
    }

    /// Takes over a speed that has changed, from `now_ns` on: everything that was due before has been counted.
    fn follow_speed(&mut self, now_ns: u64) {
        let factor = self.speed.factor();
        if factor.to_bits() != self.factor.to_bits() {
            self.factor = factor;
            let per_second = self.kept.rate_asked_iops * factor;
            self.ahead.change_rate(per_second, now_ns);
            self.schedule.change_rate(per_second, now_ns);
        }
    }

    fn count_due_before(&mut self, end_ns: u64, window: Window) {
        while self.ahead.next_due_ns() < end_ns {
            let due_ns = self.ahead.next_due_ns();
            if (window.measure_from_ns..window.measure_to_ns).contains(&due_ns) {
                self.kept.arrivals += 1;
            }
            if let Some(last_ns) = self.last_due_ns.replace(due_ns) {
                self.gaps.record((due_ns - last_ns) as f64);
            }
            self.backlog += 1;
            self.ahead.advance();
        }
    }

    fn note_backlog_of_end(&mut self) {
        self.kept.backlog_max = self.kept.backlog_max.max(self.backlog);
        self.kept.backlog_at_end = self.backlog;
    }

    fn take_due(&mut self, now_ns: u64) -> Option<u64> {
        let due_ns = self.schedule.next_due_ns();
        if due_ns > now_ns {
            return None;
        }
        self.schedule.advance();
        self.backlog -= 1;
        Some(due_ns)
    }

    /// Records arrivals that could not start for lack of a free slot.
    fn note_backlog(&mut self, now_ns: u64, window: Window) {
        if (window.measure_from_ns..window.measure_to_ns).contains(&now_ns) {
            self.kept.backlog_max = self.kept.backlog_max.max(self.backlog);
        }
    }

    fn note_start(&mut self, due_ns: u64, started_ns: u64, window: Window) {
        if (window.measure_from_ns..window.measure_to_ns).contains(&due_ns) {
            let lateness_ns = started_ns.saturating_sub(due_ns);
            self.kept.late_starts += u64::from(lateness_ns > LATE_NS);
            self.kept.lateness_ns_max = self.kept.lateness_ns_max.max(lateness_ns);
        }
    }
}

pub(crate) struct SyncState {
    rule: SyncRule,
    since: u32,
}

impl SyncState {
    pub(crate) fn new(rule: SyncRule) -> Self {
        Self { rule, since: 0 }
    }
}

pub(crate) struct Stream {
    /// One plan, or one for each slot of the stream.
    pub(crate) plans: Vec<StreamPlan>,
    pub(crate) file: FileIndex,
    pub(crate) pace: Pace,
    pub(crate) sync: Option<SyncState>,
    /// What is written; `None` if it only reads.
    pub(crate) source: Option<WriteSource>,
    pub(crate) free: Vec<u32>,
    pub(crate) to_sync: Vec<u32>,
}

impl Stream {
    #[inline]
    pub(crate) fn plan_next(&mut self, token: u32) -> Planned {
        let own = if self.plans.len() == 1 { 0 } else { token as usize % self.plans.len() };
        self.plans[own].next()
    }

    /// The intended start of the next request, if it may start now: `now_ns` in a closed loop. Call
    /// [`Stream::look_ahead`] first.
    #[inline]
    pub(crate) fn take_start(&mut self, now_ns: u64) -> Option<u64> {
        match &mut self.pace {
            Pace::Closed => Some(now_ns),
            Pace::Bursts(pace) if now_ns < pace.resume_ns => None,
            Pace::Bursts(pace) => {
                pace.started(now_ns);
                Some(now_ns)
            }
            Pace::Open(pace) => pace.take_due(now_ns),
        }
    }

    #[inline]
    pub(crate) fn look_ahead(&mut self, now_ns: u64, window: Window) {
        if let Pace::Open(pace) = &mut self.pace {
            pace.look_ahead(now_ns, window);
        }
    }

    #[inline]
    pub(crate) fn note_start(&mut self, due_ns: u64, started_ns: u64, window: Window) {
        if let Pace::Open(pace) = &mut self.pace {
            pace.note_start(due_ns, started_ns, window);
        }
    }

    /// In an open loop, records the backlog after every free slot was used.
    #[inline]
    pub(crate) fn note_backlog(&mut self, now_ns: u64, window: Window) {
        if let Pace::Open(pace) = &mut self.pace {
            pace.note_backlog(now_ns, window);
        }
    }

    /// When a free slot of this stream may start next; `None` if it has no free slot and waits for a
    /// completion.
    pub(crate) fn next_start_ns(&self) -> Option<u64> {
        if self.free.is_empty() {
            return None;
        }
        match &self.pace {
            Pace::Closed => Some(0),
            Pace::Bursts(pace) => Some(pace.resume_ns),
            Pace::Open(pace) => Some(pace.schedule.next_due_ns()),
        }
    }

    /// After a completed write: whether its slot must sync now.
    #[inline]
    pub(crate) fn owes_sync(&mut self) -> bool {
        let Some(sync) = &mut self.sync else { return false };
        sync.since += 1;
        let due = sync.since >= sync.rule.every;
        if due {
            sync.since = 0;
        }
        due
    }

    pub(crate) fn sync_op(&self) -> RequestOp {
        match self.sync.as_ref().map(|sync| sync.rule.call) {
            Some(SyncCall::Fsync) => RequestOp::Fsync,
            Some(SyncCall::Fdatasync) | None => RequestOp::Fdatasync,
        }
    }

    /// How well the schedule was kept, and its gaps; `None` in a closed loop.
    pub(crate) fn into_open_loop(self) -> Option<(OpenLoop, Moments)> {
        match self.pace {
            Pace::Open(pace) => Some((pace.kept, pace.gaps)),
            Pace::Closed | Pace::Bursts(_) => None,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct StreamDraw {
    random: Xoshiro256PlusPlus,
    /// Cumulative weights, one per stream.
    ends: Vec<u64>,
}

impl StreamDraw {
    /// `None` if no weight is above zero.
    pub(crate) fn new(weights: &[u32], seed: u64) -> Option<Self> {
        let mut end = 0;
        let ends: Vec<u64> = weights
            .iter()
            .map(|weight| {
                end += u64::from(*weight);
                end
            })
            .collect();
        (end > 0).then(|| Self { random: Xoshiro256PlusPlus::seed_from_u64(seed), ends })
    }

    /// Index of the next stream. The bias of taking the high half of a product is below 2^-32 for 32-bit weights.
    pub(crate) fn next(&mut self) -> usize {
        let total = self.ends.last().copied().unwrap_or(1);
        let ticket = ((u128::from(self.random.next_u64()) * u128::from(total)) >> 64) as u64;
        self.ends.partition_point(|end| *end <= ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_drawn_in_proportion_to_their_weights() {
        let mut draw = StreamDraw::new(&[1, 0, 3], 5).unwrap();
        let mut seen = [0_u32; 3];
        for _ in 0..40_000 {
            seen[draw.next()] += 1;
        }
        assert_eq!(seen[1], 0);
        assert!((9_500..10_500).contains(&seen[0]), "{seen:?}");
        assert!(StreamDraw::new(&[0, 0], 5).is_none());
    }
}
