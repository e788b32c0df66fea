//! The depth search tries settings in this order: doubles the requests in flight until throughput stops
//! growing, repeats that with more workers, then fills the gaps around the knees.

use iostall_model::point::setting;
use iostall_model::{Point, RoleProfile};
use iostall_stats::knee::{CurvePoint, Knees};

use crate::error::SessionError;
use crate::event::Event;
use crate::point_runner::{PointJob, PointRunner, Precision};
use crate::targets::Targets;

/// A step counts as a gain from this share of more throughput on.
const GAIN: f64 = 0.05;
/// After this many steps without a gain, nothing more is expected of this number of workers.
const STEPS_WITHOUT_GAIN: u32 = 2;
/// How often the gaps next to the knees are halved.
const REFINEMENTS: u32 = 2;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) in_flight_max: u64,
    pub(crate) workers_max: u32,
    /// Target for the 99th percentile, nanoseconds.
    pub(crate) latency_ns_p99_target: Option<u64>,
}

pub(crate) struct DepthSearch<'a> {
    runner: PointRunner<'a>,
    targets: &'a Targets,
    role: RoleProfile,
    seed: u64,
    precision: Precision,
    limits: Limits,
    points: Vec<Point>,
    checked: Option<Point>,
}

impl<'a> DepthSearch<'a> {
    pub(crate) fn new(
        runner: PointRunner<'a>,
        targets: &'a Targets,
        role: RoleProfile,
        seed: u64,
        precision: Precision,
        limits: Limits,
    ) -> Self {
        Self { runner, targets, role, seed, precision, limits, points: Vec::new(), checked: None }
    }

    pub(crate) fn run(&mut self) -> Result<(), SessionError> {
        self.double()?;
        for _ in 0..REFINEMENTS {
            for (queue_depth, workers) in self.gaps() {
                self.measure(queue_depth, workers)?;
            }
        }
        self.check()
    }

    pub(crate) fn finish(self) -> (PointRunner<'a>, Vec<Point>, Option<Point>) {
        (self.runner, self.points, self.checked)
    }

    fn double(&mut self) -> Result<(), SessionError> {
        let mut best = Best { iops: 0.0, in_flight: 0 };
        let mut workers = 1;
        while workers <= self.limits.workers_max {
            // More workers first try the depth that was best with fewer.
            let per_depth = u64::from(workers) * self.target_count();
            let mut queue_depth = u32::try_from(best.in_flight / per_depth).unwrap_or(u32::MAX).max(1);
            let (mut gained, mut without_gain) = (false, 0);
            while u64::from(queue_depth) * per_depth <= self.limits.in_flight_max
                && without_gain < STEPS_WITHOUT_GAIN
            {
                let Some(point) = self.measure(queue_depth, workers)? else { return Ok(()) };
                let iops = point.iops().unwrap_or(0.0);
                if iops > best.iops * (1.0 + GAIN) {
                    (gained, without_gain) = (true, 0);
                    best = Best { iops, in_flight: point.in_flight() };
                } else {
                    without_gain += 1;
                }
                queue_depth *= 2;
            }
            if !gained {
                break;
            }
            workers *= 2;
        }
        Ok(())
    }

    fn target_count(&self) -> u64 {
        self.targets.count() as u64
    }

    /// Measures one setting and keeps it. `None` if stopped.
    fn measure(&mut self, queue_depth: u32, workers: u32) -> Result<Option<&Point>, SessionError> {
        let Some(point) = self.measure_as(queue_depth, workers, false)? else { return Ok(None) };
        self.points.push(point);
        Ok(self.points.last())
    }

    fn measure_as(
        &mut self,
        queue_depth: u32,
        workers: u32,
        again: bool,
    ) -> Result<Option<Point>, SessionError> {
        let label = setting(queue_depth, workers);
        let role = RoleProfile { queue_depth, workers, ..self.role.clone() };
        let job = PointJob {
            role: &role,
            targets: self.targets,
            first_target: 0,
            seed: self.seed,
            label: &label,
            after_ns: None,
        };
        let point = self.runner.point(&job, &self.precision)?;
        if let Some(point) = &point {
            self.runner.emit(&Event::PointMeasured { label: &label, again, point });
        }
        Ok(point)
    }

    fn knees(&self) -> (Vec<CurvePoint>, Vec<usize>, Knees) {
        let (measured, points): (Vec<usize>, Vec<CurvePoint>) = self
            .points
            .iter()
            .enumerate()
            .filter_map(|(index, point)| {
                Some((index, CurvePoint::measured(point.in_flight(), point.iops(), &point.latency_ns)?))
            })
            .unzip();
        let knees = Knees::of(&points, self.limits.latency_ns_p99_target.map(|target| target as f64));
        (points, measured, knees)
    }

    fn gaps(&self) -> Vec<(u32, u32)> {
        let (points, measured, knees) = self.knees();
        let mut gaps = Vec::new();
        for knee in [knees.power, knees.slo].into_iter().flatten() {
            let Some(place) = knees.curve.iter().position(|index| *index == knee) else { continue };
            let workers = self.points[measured[knee]].workers;
            let step = u64::from(workers) * self.target_count();
            let neighbours = [place.checked_sub(1), Some(place + 1)].into_iter().flatten();
            for neighbour in neighbours.filter_map(|place| knees.curve.get(place)) {
                let middle = u64::midpoint(points[knee].in_flight, points[*neighbour].in_flight);
                let queue_depth = u32::try_from(middle / step).unwrap_or(u32::MAX);
                let is_new = queue_depth > 0
                    && !gaps.contains(&(queue_depth, workers))
                    && points.iter().all(|point| point.in_flight != u64::from(queue_depth) * step);
                if is_new {
                    gaps.push((queue_depth, workers));
                }
            }
        }
        gaps
    }

    /// Measures the chosen setting once more, in case burst credits are used up or a cache has filled.
    fn check(&mut self) -> Result<(), SessionError> {
        let (_, measured, knees) = self.knees();
        let Some(choice) = knees.choice else { return Ok(()) };
        let point = &self.points[measured[choice.index()]];
        let (queue_depth, workers) = (point.queue_depth, point.workers);
        self.checked = self.measure_as(queue_depth, workers, true)?;
        Ok(())
    }
}

struct Best {
    iops: f64,
    in_flight: u64,
}
