//! Latency against requests a second, for threads times depth and for depth alone.

use iostall_model::qualify::QualifyTest;
use iostall_model::{Point, QualifyOutcome};

use super::stage_rounds::stages;
use super::window::points_of;

/// Slower points are no choice for the most requests a second: the specification's 5 ms, nanoseconds.
const MEAN_NS_MAX: f64 = 5e6;
/// Up to which share of the most requests a second more in flight brings nothing.
const PLATEAU: f64 = 0.95;

#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    pub points: Vec<Point>,
    /// Indices: the most requests a second with a mean latency below 5 ms, one request in flight, and the point halfway between
    /// both. `None` where there is none.
    pub most: Option<usize>,
    pub least: Option<usize>,
    pub middle: Option<usize>,
}

/// The curve of a demand test; `None` for another test, or before its second stage.
pub fn demand(outcome: &QualifyOutcome) -> Option<Demand> {
    if outcome.plan.test != QualifyTest::Demand {
        return None;
    }
    let all = stages(outcome);
    let mut points = all.get(1).filter(|stage| !stage.rounds.is_empty()).map(points_of)?;
    // The writes before them are no point of the curve.
    points.remove(0);
    let iops = |index: &usize| points[*index].iops().unwrap_or(0.0);
    let is_quick = |index: &usize| points[*index].latency_ns.mean().is_some_and(|ns| ns < MEAN_NS_MAX);
    let most = (0..points.len()).filter(is_quick).max_by(|left, right| iops(left).total_cmp(&iops(right)));
    let least = (0..points.len()).find(|index| points[*index].in_flight() == 1);
    let middle = most.zip(least).and_then(|(most, least)| {
        let halfway = f64::midpoint(iops(&most), iops(&least));
        let apart = |index: &usize| (iops(index) - halfway).abs();
        (0..points.len()).min_by(|left, right| apart(left).total_cmp(&apart(right)))
    });
    Some(Demand { points, most, least, middle })
}

#[derive(Clone, Debug, PartialEq)]
pub struct DepthCurve {
    pub points: Vec<Point>,
    /// The smallest depth that brings nearly the most requests a second: what is deeper only waits longer.
    pub enough: Option<u32>,
}

/// A curve for each share of writes of a depth test; none for another test.
pub fn depth_curves(outcome: &QualifyOutcome) -> Vec<DepthCurve> {
    let all = stages(outcome);
    let Some(only) = all.first().filter(|_| outcome.plan.test == QualifyTest::Depth) else {
        return Vec::new();
    };
    let points = points_of(only);
    let of_mix = |write_pct: &iostall_measure::Percent| {
        let points: Vec<Point> =
            points.iter().filter(|point| point.write_pct == *write_pct).cloned().collect();
        let iops = |point: &Point| point.iops().unwrap_or(0.0);
        let most = points.iter().map(iops).fold(0.0, f64::max);
        let enough = points.iter().find(|point| iops(point) >= PLATEAU * most).map(|point| point.queue_depth);
        DepthCurve { points, enough }
    };
    outcome.plan.write_pcts.iter().map(of_mix).filter(|curve| !curve.points.is_empty()).collect()
}
