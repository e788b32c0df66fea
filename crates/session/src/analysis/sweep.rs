//! Analysis of a sweep: knees, limits, and whether the storage changed meanwhile.

use iostall_model::{Point, Repeat, SweepOutcome};
use iostall_stats::alike::alike;
use iostall_stats::change::{Change, change};
use iostall_stats::knee::{Choice, CurvePoint, Knees};
use iostall_stats::plateau::{Plateau, plateau};

const CHANGE_MIN: f64 = 0.1;

pub struct SweepAnalysis<'a> {
    /// Every point in which something completed.
    pub points: Vec<&'a Point>,
    pub curve_points: Vec<CurvePoint>,
    /// Indices into both.
    pub knees: Knees,
}

impl<'a> SweepAnalysis<'a> {
    pub fn of(outcome: &'a SweepOutcome) -> Self {
        let (points, curve_points): (Vec<&Point>, Vec<CurvePoint>) = outcome
            .points
            .iter()
            .filter_map(|point| {
                Some((point, CurvePoint::measured(point.in_flight(), point.iops(), &point.latency_ns)?))
            })
            .unzip();
        let target = outcome.latency_ns_p99_target.map(|target| target as f64);
        let knees = Knees::of(&curve_points, target);
        Self { points, curve_points, knees }
    }

    /// `(in flight, IOPS)` along the curve.
    pub fn pairs(&self) -> Vec<(f64, f64)> {
        let point = |index: &usize| &self.curve_points[*index];
        self.knees.curve.iter().map(|index| (point(index).in_flight as f64, point(index).iops)).collect()
    }

    pub fn plateau(&self) -> Option<Plateau> {
        plateau(&self.pairs())
    }

    /// The settings that what was measured cannot tell from the chosen one, which is among them, by rising requests in flight.
    /// `None` where there is no choice, or each setting was measured once only.
    pub fn alike(&self) -> Option<Vec<usize>> {
        let choice = self.knees.choice?;
        let candidates: Vec<usize> = match choice {
            Choice::Power(_) | Choice::SloMissed(_) => self.knees.curve.clone(),
            Choice::Slo(_) => self.knees.within_target.clone(),
        };
        let values: Vec<Vec<f64>> =
            candidates.iter().map(|index| merits(self.points[*index], choice)).collect();
        let best = candidates.iter().position(|index| *index == choice.index())?;
        let mut alike: Vec<usize> =
            alike(&values, best)?.into_iter().map(|place| candidates[place]).collect();
        alike.sort_by_key(|index| self.curve_points[*index].in_flight);
        Some(alike)
    }

    pub fn short_of_depth(&self) -> usize {
        self.curve_points.iter().filter(|point| !point.obeys_little()).count()
    }

    pub fn is_power(&self, index: usize) -> bool {
        self.knees.power == Some(index)
    }
}

fn merits(point: &Point, choice: Choice) -> Vec<f64> {
    let merit = |repeat: &Repeat| match choice {
        Choice::Slo(_) => repeat.iops(),
        Choice::SloMissed(_) => repeat.latency_ns_p99.map(|ns| ns as f64),
        Choice::Power(_) => Some(repeat.iops()? / repeat.latency_ns_mean?),
    };
    point.repeats.iter().filter_map(merit).collect()
}

#[derive(Clone, Copy, Debug)]
pub struct LaterChange {
    pub later_ns: u64,
    pub change: Change,
}

/// Whether the chosen setting gave the same result when measured again at the end; `None` if so, or if it was
/// not repeated.
pub fn later_change(outcome: &SweepOutcome, point: &Point) -> Option<LaterChange> {
    let again = outcome.checked.as_ref()?;
    let first = point.repeats.first()?.start_ns;
    let later_ns = again.repeats.first()?.start_ns.saturating_sub(first);
    let series: Vec<f64> = point.repeats.iter().chain(&again.repeats).filter_map(Repeat::iops).collect();
    let side_min = point.repeats.len().min(again.repeats.len()).min(3);
    Some(LaterChange { later_ns, change: change(&series, side_min, CHANGE_MIN)? })
}

pub fn target_missed(outcome: &SweepOutcome) -> bool {
    matches!(SweepAnalysis::of(outcome).knees.choice, Some(Choice::SloMissed(_)))
}
