//! The rate search: the highest Poisson arrival rate (as from independent users) at which response times meet
//! a target.

use iostall_measure::number::number;
use iostall_measure::{Nanos, Rate};
use iostall_model::profile::Arrivals;
use iostall_model::{Point, RoleProfile};
use iostall_stats::rate_search::{RateSearch, Trial};

use crate::depth_search::Limits;
use crate::error::SessionError;
use crate::event::Event;
use crate::point_runner::{PointJob, PointRunner, Precision};
use crate::targets::Targets;

const PRECISION: f64 = 0.05;
/// Requests in flight of the closed loop that runs first.
const PROBE_IN_FLIGHT: u64 = 32;
/// The lowest rate: below it, a minute does not give enough samples for a 99th percentile.
const RATE_MIN: f64 = 20.0;
/// Lowest rate relative to the closed loop's: with so little load nothing queues, and less would not help.
const RATE_MIN_SHARE: f64 = 1.0 / 64.0;
const RATE_MAX_SHARE: f64 = 16.0;
/// Fewest arrivals per interval, so that its 99th percentile has ten samples beyond it.
const ARRIVALS_MIN: f64 = 1200.0;
const CONFIRM_REPEATS: u32 = 3;

pub(crate) struct RateSearchRun<'a> {
    pub(crate) runner: PointRunner<'a>,
    pub(crate) targets: &'a Targets,
    pub(crate) role: RoleProfile,
    pub(crate) seed: u64,
    pub(crate) precision: Precision,
    pub(crate) limits: Limits,
    pub(crate) p99_ns_target: u64,
}

pub(crate) struct Searched {
    pub(crate) probe: Option<Point>,
    pub(crate) points: Vec<Point>,
    pub(crate) confirmations: u32,
}

impl<'a> RateSearchRun<'a> {
    pub(crate) fn run(mut self) -> Result<(PointRunner<'a>, Searched), SessionError> {
        let mut searched = Searched { probe: self.probe()?, points: Vec::new(), confirmations: 0 };
        let Some(closed) = searched.probe.as_ref().and_then(Point::iops).filter(|iops| *iops > 0.0) else {
            return Ok((self.runner, searched));
        };
        let floor = (closed * RATE_MIN_SHARE).max(RATE_MIN);
        let ceiling = (closed * RATE_MAX_SHARE).max(floor);
        let mut search = RateSearch::new(closed / 2.0, floor, ceiling, PRECISION);
        while let Some(trial) = search.next() {
            let Some(point) = self.try_rate(trial)? else { break };
            let met = point.answers_in_time(self.p99_ns_target);
            self.runner.emit(&Event::RateTried { rate_iops: trial.rate(), in_time: met, point: &point });
            searched.points.push(point);
            searched.confirmations += u32::from(matches!(trial, Trial::Confirm(_)));
            search.update(met);
        }
        Ok((self.runner, searched))
    }

    fn probe(&mut self) -> Result<Option<Point>, SessionError> {
        let in_flight = PROBE_IN_FLIGHT.min(self.limits.in_flight_max) / self.targets.count() as u64;
        let queue_depth = u32::try_from(in_flight).unwrap_or(1).max(1);
        let role = RoleProfile { queue_depth, workers: 1, ..self.role.clone() };
        let precision = Precision { repeats_min: 1, repeats_max: 1, ..self.precision };
        let label = format!("closed loop, depth {queue_depth}");
        let point = self.point(&role, &precision, &label)?;
        if let Some(point) = &point {
            self.runner.emit(&Event::PointMeasured { label: &label, again: false, point });
        }
        Ok(point)
    }

    fn try_rate(&mut self, trial: Trial) -> Result<Option<Point>, SessionError> {
        let rate = trial.rate();
        let workers = self.limits.workers_max;
        let per_depth = u64::from(workers) * self.targets.count() as u64;
        let role = RoleProfile {
            rate: Some(Rate::Iops(rate)),
            arrivals: Arrivals::Poisson,
            workers,
            queue_depth: u32::try_from(self.limits.in_flight_max / per_depth).unwrap_or(u32::MAX).max(1),
            ..self.role.clone()
        };
        let repeats = match trial {
            Trial::Search(_) => 1,
            Trial::Confirm(_) => CONFIRM_REPEATS,
        };
        let interval = Nanos(self.precision.interval.0.max(Nanos::from_seconds(ARRIVALS_MIN / rate).0));
        let precision = Precision { interval, repeats_min: repeats, repeats_max: repeats, ..self.precision };
        let point = self.point(&role, &precision, &format!("{} a second", number(rate)))?;
        // An interrupted confirmation confirms nothing.
        Ok(point.filter(|_| !self.runner.stopped()))
    }

    fn point(
        &mut self,
        role: &RoleProfile,
        precision: &Precision,
        label: &str,
    ) -> Result<Option<Point>, SessionError> {
        let job =
            PointJob { role, targets: self.targets, first_target: 0, seed: self.seed, label, after_ns: None };
        self.runner.point(&job, precision)
    }
}
