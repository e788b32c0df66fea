//! The figures of a sweep: latency over throughput, and both over requests in flight.

use iostall_measure::Percentile;
use iostall_model::SweepOutcome;
use iostall_session::analysis::sweep::SweepAnalysis;
use serde_json::{Value, json};

use crate::chart::{COLOURS, Chart, figure, latency_axis, rate_axis, rounded, seconds, target_trace};

pub(super) fn charts(outcome: &SweepOutcome) -> Vec<Chart> {
    let found = SweepAnalysis::of(outcome);
    if found.points.is_empty() {
        return Vec::new();
    }
    vec![
        Chart {
            id: "curve".into(),
            title: "Latency against throughput".into(),
            caption: "Each point is a setting; up to the knee more in flight buys throughput, beyond it only latency.",
            figure: figure(&curve_traces(&found, outcome), &rate_axis("IOPS"), &latency_axis(), "closest"),
        },
        Chart {
            id: "depth".into(),
            title: "Throughput against requests in flight".into(),
            caption: "Where the line turns flat, the storage is saturated.",
            figure: figure(&depth_traces(&found), &depth_axis(), &rate_axis("IOPS"), "closest"),
        },
    ]
}

fn depth_axis() -> Value {
    json!({"title": {"text": "requests in flight"}, "type": "log", "dtick": std::f64::consts::LOG10_2, "tickformat": "~s"})
}

fn curve_traces(found: &SweepAnalysis<'_>, outcome: &SweepOutcome) -> Vec<Value> {
    let statistics: [(&str, &str, Option<Percentile>); 3] = [
        ("p50", "dot", Some(Percentile::P50)),
        ("mean", "solid", None),
        ("p99", "dash", Some(Percentile::P99)),
    ];
    let curve: Vec<usize> = found.knees.curve.clone();
    let x: Vec<f64> = curve.iter().map(|index| rounded(found.curve_points[*index].iops)).collect();
    let names: Vec<String> = curve.iter().map(|index| found.points[*index].setting()).collect();
    let mut traces: Vec<Value> = statistics
        .into_iter()
        .zip(COLOURS)
        .map(|((name, dash, percentile), colour)| {
            let latency = |index: &usize| {
                let histogram = &found.points[*index].latency_ns;
                let ns = match percentile {
                    Some(percentile) => histogram.value_at(percentile).map(|ns| ns as f64),
                    None => histogram.mean(),
                };
                ns.map(|ns| seconds(ns.max(1.0)))
            };
            json!({
                "type": "scatter", "mode": "lines+markers", "name": name, "x": x.clone(),
                "y": curve.iter().map(latency).collect::<Vec<_>>(), "customdata": names.clone(),
                "line": {"color": colour, "dash": dash, "width": 2},
                "hovertemplate": "%{customdata}: %{x:,.0f} IOPS, %{y:.3~s}s",
            })
        })
        .collect();
    traces.extend(knee_trace(found));
    let most = found.curve_points.iter().map(|point| point.iops).fold(0.0, f64::max);
    traces.extend(outcome.latency_ns_p99_target.map(|target| target_trace(most, target)));
    traces
}

/// A ring around the recommended setting.
fn knee_trace(found: &SweepAnalysis<'_>) -> Option<Value> {
    let index = found.knees.choice?.index();
    let p99 = found.points[index].latency_ns.value_at(Percentile::P99)?;
    Some(json!({
        "type": "scatter", "mode": "markers", "name": format!("use {}", found.points[index].setting()),
        "x": [rounded(found.curve_points[index].iops)], "y": [seconds(p99.max(1) as f64)],
        "marker": {"size": 18, "symbol": "circle-open", "color": COLOURS[4], "line": {"width": 3}},
        "hovertemplate": "%{x:,.0f} IOPS, p99 %{y:.3~s}s",
    }))
}

fn depth_traces(found: &SweepAnalysis<'_>) -> Vec<Value> {
    let mut workers: Vec<u32> = found.points.iter().map(|point| point.workers).collect();
    workers.sort_unstable();
    workers.dedup();
    workers
        .iter()
        .zip(COLOURS.iter().cycle())
        .map(|(count, colour)| {
            let mut of_these: Vec<usize> =
                (0..found.points.len()).filter(|index| found.points[*index].workers == *count).collect();
            of_these.sort_by_key(|index| found.curve_points[*index].in_flight);
            let plural = if *count == 1 { "" } else { "s" };
            json!({
                "type": "scatter", "mode": "lines+markers", "name": format!("{count} worker{plural}"),
                "x": of_these.iter().map(|index| found.curve_points[*index].in_flight).collect::<Vec<_>>(),
                "y": of_these.iter().map(|index| rounded(found.curve_points[*index].iops)).collect::<Vec<_>>(),
                "line": {"color": colour, "width": 2},
                "hovertemplate": "%{x} in flight: %{y:,.0f} IOPS",
            })
        })
        .collect()
}
