//! What one shape of I/O got from storage: rates and latencies for each setting.

use iostall_measure::{Caching, Durability, Percent, Percentile};
use serde::{Deserialize, Serialize};

use crate::outcome::{OpOutcome, SpanOutcome};
use crate::point::{Point, exceeds_backlog};
use crate::profile::{Access, BlockMix, Profile, RoleProfile};

/// A kind of I/O, without its depth or rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IoShape {
    pub block_size: BlockMix,
    pub access: Access,
    pub write_pct: Percent,
    pub caching: Caching,
    pub durability: Durability,
}

impl IoShape {
    pub fn of_role(role: &RoleProfile) -> Self {
        Self {
            block_size: role.block_size.clone(),
            access: role.access,
            write_pct: role.write_pct,
            caching: role.caching,
            durability: role.durability,
        }
    }

    /// The shape of a profile with a single role; `None` with several at once, because their shares of the
    /// device are unknown.
    pub fn of_profile(profile: &Profile) -> Option<Self> {
        let mut roles = profile.spans.iter().flat_map(|span| &span.roles);
        let role = roles.next()?;
        roles.next().is_none().then(|| Self::of_role(role))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CapacityPoint {
    /// Requests in flight: in a closed loop as many as were asked for, in an open one as many as there were.
    pub in_flight: u64,
    /// Open loop: requested arrivals per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_iops: Option<f64>,
    /// Open loop: more was asked for than could be done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_saturated: bool,
    pub iops: f64,
    pub mib_per_s: f64,
    /// Median latency, nanoseconds: response in an open loop, otherwise service.
    pub latency_ns_p50: u64,
    pub latency_ns_p99: u64,
}

impl CapacityPoint {
    /// Whether it did what was asked for and might have done more.
    pub fn is_paced(&self) -> bool {
        self.rate_iops.is_some() && !self.is_saturated
    }

    /// The result of a point; `None` if nothing completed.
    pub fn of_point(point: &Point) -> Option<Self> {
        Some(Self {
            in_flight: point.in_flight(),
            rate_iops: point.rate_iops,
            is_saturated: point.rate_iops.is_some() && !point.keeps_its_rate(),
            iops: point.iops()?,
            mib_per_s: point.mib_per_s()?,
            latency_ns_p50: point.latency_ns.value_at(Percentile::P50)?,
            latency_ns_p99: point.latency_ns.value_at(Percentile::P99)?,
        })
    }

    /// The result of a span with a single role; `None` with several roles, or if nothing completed.
    pub fn of_span(span: &SpanOutcome) -> Option<Self> {
        let [role] = span.roles.as_slice() else { return None };
        let moved: OpOutcome = role.reads_and_writes()?;
        let open = role.open_loop.as_ref();
        Some(Self {
            in_flight: open.map_or(role.depth_asked, |_| whole_requests(role.depth_mean)),
            rate_iops: open.map(|open| open.rate_asked_iops),
            is_saturated: open.is_some_and(|open| exceeds_backlog(open.backlog_at_end, open.arrivals as f64)),
            iops: moved.iops(span.measured_ns)?,
            mib_per_s: moved.mebibytes_per_second(span.measured_ns)?,
            latency_ns_p50: moved.latency_ns().value_at(Percentile::P50)?,
            latency_ns_p99: moved.latency_ns().value_at(Percentile::P99)?,
        })
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count, rounded and positive")]
fn whole_requests(mean: f64) -> u64 {
    mean.round().max(1.0) as u64
}

#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    pub target: u32,
    pub shape: IoShape,
    pub curve: Vec<CapacityPoint>,
}

/// Groups points by shape and target; `shape` returns that of a point. Only points on one target count: with
/// several, the share of each is unknown.
pub(crate) fn by_shape(points: &[Point], shape: impl Fn(&Point) -> IoShape) -> Vec<Capacity> {
    let mut found: Vec<Capacity> = Vec::new();
    for point in points {
        let ([target], Some(figures)) = (point.targets.as_slice(), CapacityPoint::of_point(point)) else {
            continue;
        };
        let shape = shape(point);
        match found.iter_mut().find(|capacity| capacity.target == *target && capacity.shape == shape) {
            Some(capacity) => capacity.curve.push(figures),
            None => found.push(Capacity { target: *target, shape, curve: vec![figures] }),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use iostall_measure::Histogram;

    use super::*;
    use crate::point::Repeat;

    fn point(targets: &[u32], block_size: &str, queue_depth: u32) -> Point {
        let mut latency_ns = Histogram::new();
        latency_ns.record(1_000_000 * u64::from(queue_depth));
        Point {
            targets: targets.to_vec(),
            block_size: block_size.parse().unwrap(),
            access: Access::Random,
            write_pct: Percent::default(),
            queue_depth,
            workers: 1,
            rate_iops: None,
            repeats: vec![Repeat {
                start_ns: 0,
                measured_ns: 1_000_000_000,
                count: 100 * u64::from(queue_depth),
                bytes: 819_200 * u64::from(queue_depth),
                failed: 0,
                latency_ns_mean: None,
                latency_ns_p99: None,
                backlog_at_end: None,
            }],
            latency_ns,
        }
    }

    #[test]
    fn points_are_put_together_by_target_and_shape_and_those_on_several_targets_are_left_out() {
        let points = [
            point(&[0], "8K", 4),
            point(&[0], "64K", 1),
            point(&[1], "8K", 1),
            point(&[0, 1], "8K", 1),
            point(&[0], "8K", 1),
        ];
        let shape = |point: &Point| IoShape {
            block_size: point.block_size.clone(),
            access: point.access,
            write_pct: point.write_pct,
            caching: Caching::default(),
            durability: Durability::default(),
        };
        let found = by_shape(&points, shape);
        let parts: Vec<(u32, String, Vec<u64>)> = found
            .iter()
            .map(|one| {
                (
                    one.target,
                    one.shape.block_size.to_string(),
                    one.curve.iter().map(|point| point.in_flight).collect(),
                )
            })
            .collect();
        assert_eq!(
            parts,
            [(0, "8K".into(), vec![4, 1]), (0, "64K".into(), vec![1]), (1, "8K".into(), vec![1])]
        );
        assert!(
            (found[0].curve[0].iops - 400.0).abs() < 1e-9 && found[0].curve[0].latency_ns_p99 >= 4_000_000
        );
    }
}
