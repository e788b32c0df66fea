//! The results of a sweep for scripts.

use iostall_model::{Run, SweepOutcome};
use iostall_session::analysis::points::iops_half_width;
use iostall_session::analysis::sweep::SweepAnalysis;
use iostall_stats::knee::{Choice, Sharpness};
use serde::Serialize;

use super::notes;
use crate::kinds::points::PointsSummary;

#[derive(Debug, Serialize)]
pub(super) struct Summary {
    #[serde(flatten)]
    points: PointsSummary,
    sweep: SweepSummary,
}

pub(super) fn summary(run: &Run, outcome: &SweepOutcome) -> Summary {
    Summary { points: PointsSummary::of(run, &outcome.points), sweep: SweepSummary::of(run, outcome) }
}

#[derive(Debug, Serialize)]
struct SweepSummary {
    knees: Vec<KneeSummary>,
    sharpness: &'static str,
    target_missed: bool,
    usl: Option<UslSummary>,
    plateau_iops: Option<f64>,
    /// Requests in flight of the settings that cannot be told from the recommended one; null where each was measured once.
    alike_in_flight: Option<Vec<u64>>,
    findings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct KneeSummary {
    by: &'static str,
    queue_depth: u32,
    workers: u32,
    in_flight: u64,
    iops: f64,
    iops_half_width_pct: Option<f64>,
    latency_ns_p99: f64,
    recommended: bool,
}

#[derive(Debug, Serialize)]
struct UslSummary {
    contention: f64,
    coherence: f64,
    throughput_of_one_iops: f64,
    peak_in_flight: Option<f64>,
    limit_iops: Option<f64>,
    residual_iops: f64,
}

impl SweepSummary {
    fn of(run: &Run, outcome: &SweepOutcome) -> Self {
        let found = SweepAnalysis::of(outcome);
        let knees = &found.knees;
        let chosen = match knees.choice {
            Some(Choice::Slo(_)) => "latency",
            Some(Choice::Power(_)) => "power",
            Some(Choice::SloMissed(_)) | None => "",
        };
        let all = [("latency", knees.slo), ("power", knees.power), ("kneedle", knees.kneedle)];
        let summary = |(by, index): (&'static str, Option<usize>)| {
            let index = index?;
            Some(KneeSummary {
                by,
                queue_depth: found.points[index].queue_depth,
                workers: found.points[index].workers,
                in_flight: found.curve_points[index].in_flight,
                iops: found.curve_points[index].iops,
                iops_half_width_pct: iops_half_width(&found.points[index].repeats).map(|share| share * 100.0),
                latency_ns_p99: found.curve_points[index].latency_ns_p99,
                recommended: by == chosen,
            })
        };
        Self {
            knees: all.into_iter().filter_map(summary).collect(),
            sharpness: match knees.sharpness {
                Sharpness::Sharp => "sharp",
                Sharpness::NotSharp => "not-sharp",
                Sharpness::StillRising => "still-rising",
                Sharpness::TooFewPoints => "too-few-points",
            },
            target_missed: matches!(knees.choice, Some(Choice::SloMissed(_))),
            usl: knees.usl.map(|usl| UslSummary {
                contention: usl.contention,
                coherence: usl.coherence,
                throughput_of_one_iops: usl.throughput_of_one,
                peak_in_flight: usl.peak(),
                limit_iops: usl.limit(),
                residual_iops: usl.residual,
            }),
            plateau_iops: found.plateau().map(|flat| flat.level),
            alike_in_flight: found
                .alike()
                .map(|alike| alike.into_iter().map(|index| found.curve_points[index].in_flight).collect()),
            findings: notes(run, outcome, &found).into_iter().map(|note| note.text).collect(),
        }
    }
}
