//! Compares runs: every metric of the first side with the others', with an interval and its significance.

mod gathered;
mod metric;

use iostall_model::comparable::differences;
use iostall_stats::compare::{Difference, SAMPLES_MIN, Samples, compare};

use self::gathered::{Gathered, gather};
pub use self::metric::Metric;
use crate::comparison::MeasuredSide;

/// One metric of one subject on two sides.
#[derive(Clone, Debug)]
pub struct MetricRow {
    /// A role's operation, or a setting.
    pub subject: String,
    pub metric: Metric,
    pub first: f64,
    pub second: f64,
    /// The statistics of the difference; `None` with too few samples.
    pub found: Option<Difference>,
}

impl MetricRow {
    /// The other divided by the first; `None` if the first is zero.
    pub fn ratio(&self) -> Option<f64> {
        (self.first > 0.0).then(|| self.second / self.first)
    }

    /// Whether the difference is significant.
    pub fn is_significant(&self) -> bool {
        self.found.is_some_and(|found| found.is_significant())
    }
}

/// The second or a later side, compared with the first.
#[derive(Clone, Debug)]
pub struct ComparedSide {
    pub label: String,
    pub rows: Vec<MetricRow>,
    /// Why they may not be comparable, one sentence each.
    pub differences: Vec<String>,
    /// What counts as a sample.
    pub samples: Samples,
}

/// A comparison of sides with the first of them.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub first: String,
    pub others: Vec<ComparedSide>,
    /// The bootstrap's.
    pub seed: u64,
}

impl Comparison {
    /// Compares every side with the first.
    pub fn of(sides: &[MeasuredSide], seed: u64) -> Self {
        let Some((first, others)) = sides.split_first() else {
            return Self { first: String::new(), others: Vec::new(), seed };
        };
        let others = others.iter().map(|second| compared(first, second, seed)).collect();
        Self { first: first.label.clone(), others, seed }
    }
}

fn compared(first: &MeasuredSide, second: &MeasuredSide, seed: u64) -> ComparedSide {
    let samples = if first.runs.len() >= SAMPLES_MIN && second.runs.len() >= SAMPLES_MIN {
        Samples::Runs
    } else {
        Samples::Seconds
    };
    let (ours, theirs) = (gather(&first.runs), gather(&second.runs));
    let mut rows = Vec::new();
    for (subject, ours) in &ours.0 {
        let Some(theirs) = theirs.get(subject) else { continue };
        for metric in Metric::ALL {
            let (Some(one), Some(other)) = (ours.value(metric), theirs.value(metric)) else { continue };
            let values = |side: &Gathered| -> Vec<f64> {
                let all = if samples == Samples::Runs { &side.runs } else { &side.seconds };
                all.get(&metric).cloned().unwrap_or_default()
            };
            let found = compare(&values(ours), &values(theirs), samples, seed);
            rows.push(MetricRow { subject: subject.clone(), metric, first: one, second: other, found });
        }
    }
    let mut reasons: Vec<String> = Vec::new();
    for pair in first.runs.iter().flat_map(|ours| second.runs.iter().map(move |theirs| (ours, theirs))) {
        for reason in differences(pair.0, pair.1) {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
    }
    ComparedSide { label: second.label.clone(), rows, differences: reasons, samples }
}
