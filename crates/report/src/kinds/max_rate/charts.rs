//! The chart of a search for the highest rate.

use iostall_measure::Percentile;
use iostall_model::{MaxRateOutcome, Point};
use serde_json::{Value, json};

use crate::chart::{COLOURS, Chart, figure, latency_axis, rate_axis, rounded, seconds, target_trace};

pub(super) fn charts(outcome: &MaxRateOutcome) -> Vec<Chart> {
    let mut points: Vec<&Point> =
        outcome.points.iter().filter(|point| !point.latency_ns.is_empty()).collect();
    points.sort_by(|left, right| left.rate_iops.unwrap_or(0.0).total_cmp(&right.rate_iops.unwrap_or(0.0)));
    let Some(most) = points.last().and_then(|point| point.rate_iops) else { return Vec::new() };
    let line = |(name, percentile): (&str, Percentile), colour: &str| {
        let y = |point: &&Point| point.latency_ns.value_at(percentile).map(|ns| seconds(ns.max(1) as f64));
        json!({
            "type": "scatter", "mode": "lines+markers", "name": name,
            "x": points.iter().map(|point| point.rate_iops.map(rounded)).collect::<Vec<_>>(),
            "y": points.iter().map(y).collect::<Vec<_>>(), "line": {"color": colour, "width": 2},
            "hovertemplate": "%{x:,.0f} a second: %{y:.3~s}s",
        })
    };
    let mut traces: Vec<Value> = [("p50", Percentile::P50), ("p99", Percentile::P99)]
        .into_iter()
        .zip(COLOURS)
        .map(|(statistic, colour)| line(statistic, colour))
        .collect();
    traces.push(target_trace(most, outcome.latency_ns_p99_target));
    vec![Chart {
        id: "rates".into(),
        title: "Response time against rate".into(),
        caption: "Every rate that was tried; where p99 crosses the target is what can be promised.",
        figure: figure(&traces, &rate_axis("arrivals a second"), &latency_axis(), "closest"),
    }]
}
