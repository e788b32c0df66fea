//! The knee of a throughput and latency curve: the queue depth beyond which more requests in flight add
//! latency and no throughput. Uses four definitions, because each fails in some case, and combines them.

mod kneedle;
mod usl;

use iostall_measure::{Histogram, Percentile};

pub use kneedle::{Bend, kneedle};
pub use usl::{POINTS_MIN as USL_POINTS_MIN, UslFit, fit as fit_usl};

/// Largest relative difference between the requests in flight and their number by Little's law.
pub const LITTLE_SHARE_MAX: f64 = 0.05;
/// The curve is still rising if the last point has this share more throughput than the one before.
const STILL_RISING: f64 = 0.05;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    pub in_flight: u64,
    pub iops: f64,
    pub latency_ns_mean: f64,
    /// 99th percentile of the latency, nanoseconds.
    pub latency_ns_p99: f64,
}

impl CurvePoint {
    /// The point for a measured setting; `None` if nothing completed.
    pub fn measured(in_flight: u64, iops: Option<f64>, latency_ns: &Histogram) -> Option<Self> {
        Some(Self {
            in_flight,
            iops: iops.filter(|iops| *iops > 0.0)?,
            latency_ns_mean: latency_ns.mean().filter(|mean| *mean > 0.0)?,
            latency_ns_p99: latency_ns.value_at(Percentile::P99)? as f64,
        })
    }

    /// Kleinrock's power: throughput divided by mean latency, requests a second per second.
    pub fn power(&self) -> f64 {
        self.iops / (self.latency_ns_mean / 1e9)
    }

    pub fn in_flight_by_little(&self) -> f64 {
        self.iops * self.latency_ns_mean / 1e9
    }

    /// Relative difference between Little's law and the configured depth. In a saturated closed loop they are
    /// equal; beyond 5 % the generator was the bottleneck, not the device.
    pub fn little_deviation(&self) -> f64 {
        let asked = self.in_flight as f64;
        (self.in_flight_by_little() - asked).abs() / asked
    }

    pub fn obeys_little(&self) -> bool {
        self.little_deviation() <= LITTLE_SHARE_MAX
    }
}

/// The points of the curve as indices into `points`: by ascending requests in flight, and for several
/// settings with the same number the one with the highest throughput.
pub fn curve_of(points: &[CurvePoint]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|left, right| {
        let (left, right) = (&points[*left], &points[*right]);
        left.in_flight.cmp(&right.in_flight).then(right.iops.total_cmp(&left.iops))
    });
    order.dedup_by_key(|index| points[*index].in_flight);
    order
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharpness {
    /// The power knee and Kneedle's are at most one step apart.
    Sharp,
    /// They are further apart: the curve bends slowly, and any setting between them is about as good.
    NotSharp,
    /// Throughput was still rising at the last point, so the knee may lie beyond.
    StillRising,
    TooFewPoints,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The highest throughput that meets the latency target.
    Slo(usize),
    /// No point meets the latency target; this one has the lowest 99th percentile.
    SloMissed(usize),
    /// Without a target: the best ratio of throughput to latency.
    Power(usize),
}

impl Choice {
    pub fn index(self) -> usize {
        match self {
            Self::Slo(index) | Self::SloMissed(index) | Self::Power(index) => index,
        }
    }
}

/// The knees of a sweep, as indices into the points given to [`Knees::of`].
#[derive(Clone, Debug, PartialEq)]
pub struct Knees {
    /// The curve, see [`curve_of`].
    pub curve: Vec<usize>,
    /// The points whose 99th percentile meets the target; none without one.
    pub within_target: Vec<usize>,
    /// Highest throughput whose 99th percentile meets the target; `None` without a target or if no point
    /// meets it.
    pub slo: Option<usize>,
    pub power: Option<usize>,
    /// Kneedle on throughput over queue depth (not its logarithm), with sensitivity 1.
    pub kneedle: Option<usize>,
    /// The universal scalability law fitted to the curve.
    pub usl: Option<UslFit>,
    pub sharpness: Sharpness,
    /// `None` without points.
    pub choice: Option<Choice>,
}

impl Knees {
    /// The knees of `points` (in any order), with an optional latency target.
    pub fn of(points: &[CurvePoint], p99_ns_target: Option<f64>) -> Self {
        let curve = curve_of(points);
        let best_by = |value: &dyn Fn(&CurvePoint) -> f64| {
            curve
                .iter()
                .copied()
                .max_by(|left, right| value(&points[*left]).total_cmp(&value(&points[*right])))
        };
        let power = best_by(&CurvePoint::power);
        let meets =
            |index: &usize| p99_ns_target.is_some_and(|target| points[*index].latency_ns_p99 <= target);
        let within_target: Vec<usize> = (0..points.len()).filter(meets).collect();
        let slo = within_target
            .iter()
            .copied()
            .max_by(|left, right| points[*left].iops.total_cmp(&points[*right].iops));
        let pairs: Vec<(f64, f64)> =
            curve.iter().map(|index| (points[*index].in_flight as f64, points[*index].iops)).collect();
        let kneedle = kneedle(&pairs, Bend::ConcaveRising, 1.0).map(|place| curve[place]);
        let choice = match (p99_ns_target, slo) {
            (Some(_), Some(slo)) => Some(Choice::Slo(slo)),
            (Some(_), None) => best_by(&|point| -point.latency_ns_p99).map(Choice::SloMissed),
            (None, _) => power.map(Choice::Power),
        };
        let sharpness = sharpness(&pairs, &curve, power, kneedle);
        Self { within_target, slo, power, kneedle, usl: fit_usl(&pairs), sharpness, choice, curve }
    }
}

fn sharpness(
    pairs: &[(f64, f64)],
    curve: &[usize],
    power: Option<usize>,
    kneedle: Option<usize>,
) -> Sharpness {
    let [.., (_, before), (_, last)] = pairs else { return Sharpness::TooFewPoints };
    if pairs.len() < 4 {
        return Sharpness::TooFewPoints;
    }
    let place = |index: Option<usize>| curve.iter().position(|found| Some(*found) == index);
    match (place(power), place(kneedle)) {
        (Some(power), _) if power + 1 == curve.len() => Sharpness::StillRising,
        _ if *last > before * (1.0 + STILL_RISING) => Sharpness::StillRising,
        (Some(power), Some(kneedle)) if power.abs_diff(kneedle) <= 1 => Sharpness::Sharp,
        _ => Sharpness::NotSharp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A device of `units` parallel units that each take `service_ns`, in a closed loop without think time.
    fn closed(in_flight: u64, units: u64, service_ns: f64) -> CurvePoint {
        let iops = in_flight.min(units) as f64 / (service_ns / 1e9);
        let latency_ns_mean = in_flight as f64 / iops * 1e9;
        CurvePoint { in_flight, iops, latency_ns_mean, latency_ns_p99: latency_ns_mean * 2.0 }
    }

    fn doubling(units: u64) -> Vec<CurvePoint> {
        (0..8).map(|power| closed(1 << power, units, 1e5)).collect()
    }

    #[test]
    fn on_a_closed_loop_of_c_units_power_and_kneedle_are_at_c_and_the_knee_is_sharp() {
        for units in [8, 32] {
            let points = doubling(units);
            let knees = Knees::of(&points, None);
            assert_eq!(knees.power.map(|index| points[index].in_flight), Some(units));
            assert_eq!(knees.kneedle, knees.power);
            assert_eq!(knees.sharpness, Sharpness::Sharp);
            assert_eq!(knees.choice, knees.power.map(Choice::Power));
        }
    }

    #[test]
    fn on_an_open_queue_of_one_server_power_is_best_at_half_load() {
        // M/M/1 with a service time of 1 ms: X = rho / S, R = S / (1 - rho).
        let points: Vec<CurvePoint> = (1_u32..20)
            .map(|twentieths| f64::from(twentieths) / 20.0)
            .zip(1..)
            .map(|(load, in_flight)| CurvePoint {
                in_flight,
                iops: load * 1e3,
                latency_ns_mean: 1e6 / (1.0 - load),
                latency_ns_p99: 5e6 / (1.0 - load),
            })
            .collect();
        let knees = Knees::of(&points, None);
        let best = points[knees.power.unwrap()];
        assert!((best.iops - 500.0).abs() < 1e-9);
        assert!((best.latency_ns_mean - 2e6).abs() < 1.0);
    }

    #[test]
    fn a_latency_target_chooses_the_most_throughput_that_keeps_it() {
        let points = doubling(8);
        // p99 is 200 µs up to 8 in flight, then 400, 800, …
        let slo = |target_ns: f64| Knees::of(&points, Some(target_ns)).choice;
        assert!(matches!(slo(5e5), Some(Choice::Slo(index)) if points[index].iops >= 8e4));
        assert!(matches!(slo(1e5), Some(Choice::SloMissed(index)) if points[index].latency_ns_p99 <= 2e5));
        assert_eq!(Knees::of(&points, Some(1e5)).slo, None);
    }

    #[test]
    fn a_curve_that_bends_slowly_has_no_sharp_knee_and_one_that_still_rises_says_so() {
        let of = |iops: &[f64]| {
            let points: Vec<CurvePoint> = iops
                .iter()
                .enumerate()
                .map(|(power, iops)| {
                    let in_flight = 1_u64 << power;
                    let latency_ns_mean = in_flight as f64 / iops * 1e9;
                    CurvePoint { in_flight, iops: *iops, latency_ns_mean, latency_ns_p99: latency_ns_mean }
                })
                .collect();
            Knees::of(&points, None).sharpness
        };
        assert_eq!(of(&[100.0, 130.0, 168.0, 215.0, 265.0, 310.0, 340.0, 350.0]), Sharpness::NotSharp);
        assert_eq!(of(&[100.0, 200.0, 400.0, 800.0, 1600.0]), Sharpness::StillRising);
        assert_eq!(of(&[100.0, 200.0, 210.0]), Sharpness::TooFewPoints);
        assert_eq!(of(&[100.0, 200.0, 210.0, 211.0]), Sharpness::Sharp, "four points are enough");
        assert_eq!(of(&[]), Sharpness::TooFewPoints);
    }

    #[test]
    fn of_two_settings_with_as_many_in_flight_the_better_one_is_on_the_curve() {
        let points = [closed(8, 4, 1e5), closed(2, 8, 1e5), closed(8, 8, 1e5), closed(4, 8, 1e5)];
        assert_eq!(curve_of(&points), [1, 3, 2]);
    }

    #[test]
    fn a_generator_that_does_not_keep_its_depth_is_found_by_little_s_law() {
        assert!(closed(32, 8, 1e5).obeys_little());
        let lazy = CurvePoint { in_flight: 40, ..closed(32, 8, 1e5) };
        assert!((lazy.little_deviation() - 0.2).abs() < 1e-9);
        assert!(!lazy.obeys_little());
    }

    proptest! {
        #[test]
        fn every_answer_is_the_best_of_its_kind_by_plain_search(
            rates in prop::collection::vec((1.0_f64..1e6, 1e3_f64..1e9, 1.0_f64..4.0), 1..20),
            target in 1e3_f64..1e9,
        ) {
            let points: Vec<CurvePoint> = (1_u64..).zip(&rates).map(|(in_flight, (iops, mean, tail))| CurvePoint {
                in_flight, iops: *iops, latency_ns_mean: *mean, latency_ns_p99: mean * tail,
            }).collect();
            let knees = Knees::of(&points, Some(target));
            let power = knees.power.unwrap();
            prop_assert!(points.iter().all(|point| point.power() <= points[power].power()));
            let meets: Vec<&CurvePoint> = points.iter().filter(|point| point.latency_ns_p99 <= target).collect();
            match knees.slo {
                None => prop_assert!(meets.is_empty()),
                Some(slo) => prop_assert!(meets.iter().all(|point| point.iops <= points[slo].iops)),
            }
        }
    }
}
