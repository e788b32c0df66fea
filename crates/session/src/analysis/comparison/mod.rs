//! Runs compared: every metric of the first side beside the others', with an interval and whether the sides differ.

mod gathered;

use iostall_model::Run;
use iostall_model::comparable::differences;
use iostall_stats::compare::{ALPHA, Difference, RUNS_MIN, compare_runs, compare_seconds, correct_for_many};

use self::gathered::{Gathered, gather};
use crate::comparison::MeasuredSide;

pub use self::gathered::Metric;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Samples {
    /// One value a run: what is found holds for the next run of the same settings, too.
    Runs,
    /// The seconds of fewer runs than that takes: what is found holds for these runs alone.
    Seconds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricVerdict {
    /// Too few samples, or seconds that resemble each other for too long.
    TooFewSamples,
    /// What difference there is may be chance.
    NoDifference,
    /// These runs differ; whether what was tested does is not known.
    RunsDiffer,
    /// More than runs of the same settings differ among themselves.
    Significant,
}

#[derive(Clone, Debug)]
pub struct MetricRow {
    pub subject: String,
    pub metric: Metric,
    pub first: f64,
    pub second: f64,
    /// The statistics of the difference; `None` with too few samples.
    pub found: Option<Difference>,
    /// The p-value, corrected for the number of rows of the table.
    pub p_value: Option<f64>,
    pub verdict: MetricVerdict,
}

impl MetricRow {
    /// The other divided by the first; `None` if the first is zero.
    pub fn ratio(&self) -> Option<f64> {
        (self.first > 0.0).then(|| self.second / self.first)
    }

    /// The change in percent of the first; `None` if the first is zero.
    pub fn change_pct(&self) -> Option<f64> {
        self.ratio().map(|ratio| (ratio - 1.0) * 100.0)
    }

    /// Whether the other is higher where higher is better, or lower where it is not.
    pub fn is_better(&self) -> bool {
        (self.second > self.first) == self.metric.is_rate()
    }

    pub fn is_worse(&self) -> bool {
        match self.verdict {
            MetricVerdict::Significant | MetricVerdict::RunsDiffer => !self.is_better(),
            MetricVerdict::NoDifference | MetricVerdict::TooFewSamples => false,
        }
    }
}

#[derive(Clone, Debug)]
pub struct ComparedSide {
    pub label: String,
    pub rows: Vec<MetricRow>,
    /// Why they may not be comparable, one sentence each.
    pub differences: Vec<String>,
    pub left_out: Vec<String>,
    pub samples: Samples,
    /// Runs of the first side and of this one that are compared.
    pub runs: (usize, usize),
}

#[derive(Clone, Debug)]
pub struct Comparison {
    pub first: String,
    pub others: Vec<ComparedSide>,
}

impl Comparison {
    pub fn of(sides: &[MeasuredSide]) -> Self {
        let Some((first, others)) = sides.split_first() else {
            return Self { first: String::new(), others: Vec::new() };
        };
        let others = others.iter().map(|second| compared(first, second)).collect();
        Self { first: first.label.clone(), others }
    }
}

fn compared(first: &MeasuredSide, second: &MeasuredSide) -> ComparedSide {
    let Distinct { first, second: other, left_out } = distinct(&first.runs, &second.runs);
    let runs = (first.len(), other.len());
    let samples = if runs.0.min(runs.1) >= RUNS_MIN { Samples::Runs } else { Samples::Seconds };
    let rows = judged(rows(&first, &other, samples), samples);
    let label = second.label.clone();
    ComparedSide { label, rows, differences: reasons(&first, &other), left_out, samples, runs }
}

fn rows(first: &[&Run], second: &[&Run], samples: Samples) -> Vec<MetricRow> {
    let (ours, theirs) = (gather(first), gather(second));
    let mut rows = Vec::new();
    for (subject, ours) in &ours.0 {
        let Some(theirs) = theirs.get(subject) else { continue };
        for metric in Metric::ALL {
            let (Some(one), Some(other)) = (ours.value(metric), theirs.value(metric)) else { continue };
            rows.push(MetricRow {
                subject: subject.clone(),
                metric,
                first: one,
                second: other,
                found: difference(ours, theirs, metric, samples),
                p_value: None,
                verdict: MetricVerdict::TooFewSamples,
            });
        }
    }
    rows
}

fn difference(first: &Gathered, second: &Gathered, metric: Metric, samples: Samples) -> Option<Difference> {
    match samples {
        Samples::Runs => compare_runs(first.runs.get(&metric)?, second.runs.get(&metric)?),
        Samples::Seconds => compare_seconds(first.seconds.get(&metric)?, second.seconds.get(&metric)?),
    }
}

/// Verdicts on all rows together: in a table of many, some look different by chance.
fn judged(mut rows: Vec<MetricRow>, samples: Samples) -> Vec<MetricRow> {
    let p_values: Vec<Option<f64>> = rows.iter().map(|row| row.found.map(|found| found.p_value)).collect();
    for (row, p_value) in rows.iter_mut().zip(correct_for_many(&p_values)) {
        row.p_value = p_value;
        row.verdict = match (p_value, samples) {
            (None, _) => MetricVerdict::TooFewSamples,
            (Some(p_value), _) if p_value >= ALPHA => MetricVerdict::NoDifference,
            (Some(_), Samples::Runs) => MetricVerdict::Significant,
            (Some(_), Samples::Seconds) => MetricVerdict::RunsDiffer,
        };
    }
    rows
}

fn reasons(first: &[&Run], second: &[&Run]) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    for (ours, theirs) in first.iter().flat_map(|ours| second.iter().map(move |theirs| (ours, theirs))) {
        for reason in differences(ours, theirs) {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
    }
    reasons
}

struct Distinct<'a> {
    first: Vec<&'a Run>,
    second: Vec<&'a Run>,
    left_out: Vec<String>,
}

/// Leaves out repetitions of a run, which are no evidence, and runs of both sides, which compare with themselves.
fn distinct<'a>(first: &'a [Run], second: &'a [Run]) -> Distinct<'a> {
    let (ours, theirs) = (once(first), once(second));
    let repeated = first.len() + second.len() - ours.len() - theirs.len();
    let without = |side: &[&'a Run], other: &[&'a Run]| -> Vec<&'a Run> {
        side.iter().filter(|run| other.iter().all(|known| known.id != run.id)).copied().collect()
    };
    let (first, second) = (without(&ours, &theirs), without(&theirs, &ours));
    let shared = ours.len() - first.len();
    let mut left_out = Vec::new();
    match repeated {
        0 => {}
        1 => left_out.push("One run was given twice on its side. It counts once.".to_owned()),
        count => left_out.push(format!("{count} runs were repeated on their side. Each run counts once.")),
    }
    match shared {
        0 => {}
        1 => left_out.push("One run was given on both sides. It is left out of both.".to_owned()),
        count => left_out.push(format!("{count} runs were given on both sides. They are left out of both.")),
    }
    Distinct { first, second, left_out }
}

fn once(runs: &[Run]) -> Vec<&Run> {
    let mut kept: Vec<&Run> = Vec::new();
    for run in runs {
        if kept.iter().all(|known| known.id != run.id) {
            kept.push(run);
        }
    }
    kept
}
