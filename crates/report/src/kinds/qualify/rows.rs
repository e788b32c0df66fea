//! A row for each measurement of each round, for spreadsheets, and the figures for scripts.

use iostall_measure::Percentile;
use iostall_model::claim::Claim;
use iostall_model::qualify::QualifyRound;
use iostall_model::{Point, QualifyOutcome, Run};
use iostall_session::analysis::qualify::{SteadyWindow, cliff, shown_window};
use serde::Serialize;

use super::super::points::PointsSummary;
use super::results;
use super::words::{deviation, figure_name, missed};
use crate::report::{Field, Series};

const HEADER: [&str; 14] = [
    "round",
    "stage",
    "fills",
    "write_pct",
    "block_size",
    "queue_depth",
    "workers",
    "iops",
    "mib_per_s",
    "latency_ms_mean",
    "latency_ms_p99",
    "latency_ms_max",
    "failed",
    "in_window",
];

pub(super) fn series(outcome: &QualifyOutcome) -> Series<'_> {
    let rounds = (1_u64..).zip(&outcome.rounds);
    let rows = rounds.flat_map(move |(number, round)| {
        round.points.iter().map(move |point| row(outcome, number, round, point))
    });
    Series { header: &HEADER, rows: Box::new(rows) }
}

fn row<'a>(outcome: &QualifyOutcome, number: u64, round: &QualifyRound, point: &Point) -> Vec<Field<'a>> {
    let is_in = outcome.steady.is_some_and(|span| (span.first.into()..=span.last.into()).contains(&number));
    let millis = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
    vec![
        number.into(),
        (u64::from(round.stage) + 1).into(),
        outcome.fills(round.written_bytes).into(),
        point.write_pct.percent().into(),
        point.block_size.to_string().into(),
        u64::from(point.queue_depth).into(),
        u64::from(point.workers).into(),
        point.iops().into(),
        point.mib_per_s().into(),
        point.latency_ns.mean().map(|ns| ns / 1e6).into(),
        millis(point.latency_ns.value_at(Percentile::P99)).into(),
        millis(point.latency_ns.max()).into(),
        point.failed().into(),
        u64::from(is_in).into(),
    ]
}

#[derive(Serialize)]
pub(super) struct QualifySummary {
    #[serde(flatten)]
    points: PointsSummary,
    state: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missed: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<WindowSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cliff: Option<CliffSummary>,
    #[serde(skip_serializing_if = "serde_json::Value::is_null")]
    result: serde_json::Value,
    active_bytes: u64,
    written_bytes: u64,
    written_fills: f64,
    claims: Vec<String>,
    deviations: Vec<String>,
}

#[derive(Serialize)]
struct WindowSummary {
    first_round: u32,
    last_round: u32,
    is_steady: bool,
    tracked: Vec<TrackedSummary>,
}

#[derive(Serialize)]
struct TrackedSummary {
    write_pct: f64,
    block_bytes: u32,
    /// `IOPS`, `MB/s` or `mean ms`.
    figure: &'static str,
    values: Vec<f64>,
    average: f64,
    range: f64,
    range_allowed: f64,
    slope_excursion: f64,
    slope_excursion_allowed: f64,
    slope: f64,
    intercept: f64,
    correlation: Option<f64>,
}

#[derive(Serialize)]
struct CliffSummary {
    fills: f64,
    iops_before: f64,
    iops_after: f64,
}

impl QualifySummary {
    pub(super) fn of(run: &Run, outcome: &QualifyOutcome) -> Self {
        let window = shown_window(outcome);
        let is_steady = outcome.steady.is_some();
        let failed = |window: &SteadyWindow| {
            let failed = window.checks.iter().filter(|(_, holds)| !holds);
            failed.map(|(check, _)| missed(*check)).collect::<Vec<_>>()
        };
        let may = |claim: &Claim| claim.denied(outcome, run.targets.first()).is_none();
        let claims = Claim::ALL.into_iter().filter(may).map(|claim| super::words::claim(claim).to_owned());
        let found = cliff(outcome).filter(|_| outcome.plan.test.is_saturation()).map(|found| CliffSummary {
            fills: found.fills,
            iops_before: found.iops_before,
            iops_after: found.iops_after,
        });
        Self {
            points: PointsSummary::of(run, &outcome.points),
            state: if is_steady { "steady" } else { "not-steady" },
            missed: window.as_ref().filter(|_| !is_steady).map(failed).unwrap_or_default(),
            window: window.map(|window| WindowSummary::of(&window, is_steady)),
            cliff: found,
            result: results::figures(outcome),
            active_bytes: outcome.active_bytes,
            written_bytes: outcome.written_bytes(),
            written_fills: outcome.fills(outcome.written_bytes()),
            claims: claims.collect(),
            deviations: outcome.deviations.iter().map(deviation).collect(),
        }
    }
}

impl WindowSummary {
    fn of(window: &SteadyWindow, is_steady: bool) -> Self {
        let tracked = window.tracked.iter().map(|one| TrackedSummary {
            write_pct: one.write_pct.percent(),
            block_bytes: one.size.bytes(),
            figure: figure_name(one.figure),
            values: one.values.clone(),
            average: one.determination.average,
            range: one.determination.range,
            range_allowed: one.determination.range_allowed,
            slope_excursion: one.determination.slope_excursion,
            slope_excursion_allowed: one.determination.slope_excursion_allowed,
            slope: one.determination.slope,
            intercept: one.determination.intercept,
            correlation: one.determination.correlation,
        });
        Self {
            first_round: window.rounds.first,
            last_round: window.rounds.last,
            is_steady,
            tracked: tracked.collect(),
        }
    }
}
