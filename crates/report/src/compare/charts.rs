//! The charts of a comparison: how much each metric changed, and both sides on one axis.

use iostall_session::analysis::comparison::{ComparedSide, Comparison, Metric, MetricRow, MetricVerdict};
use serde_json::{Value, json};

use crate::chart::{COLOURS, Chart, drawn, figure, latency_axis, rate_axis, rounded, seconds, trace_name};

/// More bars cannot be read.
const BARS_MAX: usize = 40;

pub(super) fn charts(comparison: &Comparison, other: &ComparedSide) -> Vec<Chart> {
    drawn([
        changes(other),
        both(comparison, other, Metric::Iops),
        both(comparison, other, Metric::LatencyNsP99),
    ])
}

/// Blue is better and orange is worse on every chart; what may be chance is grey.
fn colour(row: &MetricRow) -> &'static str {
    match row.verdict {
        MetricVerdict::Significant | MetricVerdict::RunsDiffer if row.is_better() => COLOURS[0],
        MetricVerdict::Significant | MetricVerdict::RunsDiffer => COLOURS[1],
        MetricVerdict::NoDifference | MetricVerdict::TooFewSamples => "#8a8f98",
    }
}

fn changes(other: &ComparedSide) -> Chart {
    let rows: Vec<&MetricRow> =
        other.rows.iter().filter(|row| row.change_pct().is_some()).take(BARS_MAX).collect();
    let pct = |ratio: f64| rounded((ratio - 1.0) * 100.0);
    let change = |row: &&MetricRow| row.ratio().map_or(0.0, pct);
    let above = |row: &&MetricRow| row.found.map(|found| rounded(pct(found.ratio.high) - change(row)));
    let below = |row: &&MetricRow| row.found.map(|found| rounded(change(row) - pct(found.ratio.low)));
    let trace = json!({
        "type": "bar", "showlegend": false,
        "x": rows.iter().map(|row| trace_name(&row.subject, row.metric.name())).collect::<Vec<_>>(),
        "y": rows.iter().map(change).collect::<Vec<_>>(),
        "error_y": {
            "type": "data", "symmetric": false, "thickness": 1,
            "array": rows.iter().map(above).collect::<Vec<_>>(),
            "arrayminus": rows.iter().map(below).collect::<Vec<_>>(),
        },
        "marker": {"color": rows.iter().map(|row| colour(row)).collect::<Vec<_>>()},
        "hovertemplate": "%{x}: %{y:+.1f} %<extra></extra>",
    });
    Chart {
        id: "changes".into(),
        title: "Change of each metric".into(),
        caption: "Blue is better, orange is worse, grey may be chance. The whiskers are the 95 % interval.",
        figure: figure(&traces_of(&rows, trace), &names(), &percent_axis(), "closest"),
    }
}

/// Both sides on one axis, so that their lengths can be compared by eye.
fn both(comparison: &Comparison, other: &ComparedSide, metric: Metric) -> Chart {
    let rows: Vec<&MetricRow> = other.rows.iter().filter(|row| row.metric == metric).take(BARS_MAX).collect();
    let subjects: Vec<String> = rows.iter().map(|row| trace_name(&row.subject, "")).collect();
    let value = |value: f64| if metric.is_rate() { rounded(value) } else { seconds(value.max(1.0)) };
    let side = |label: &str, colour: &str, values: Vec<f64>| {
        json!({
            "type": "bar", "name": trace_name(label, "").trim_end(), "x": subjects, "y": values,
            "marker": {"color": colour},
            "hovertemplate": if metric.is_rate() { "%{y:,.0f}" } else { "%{y:.3~s}s" },
        })
    };
    let traces = if rows.is_empty() {
        Vec::new()
    } else {
        vec![
            side(&comparison.first, COLOURS[3], rows.iter().map(|row| value(row.first)).collect()),
            side(&other.label, COLOURS[2], rows.iter().map(|row| value(row.second)).collect()),
        ]
    };
    let (id, axis) = match metric {
        Metric::Iops | Metric::MibPerS => ("rates", rate_axis(metric.name())),
        Metric::LatencyNsMean | Metric::LatencyNsP50 | Metric::LatencyNsP99 => ("latencies", latency_axis()),
    };
    Chart {
        id: id.into(),
        title: metric.name().into(),
        caption: "Both sides on one axis.",
        figure: figure(&traces, &names(), &axis, "closest"),
    }
}

fn traces_of(rows: &[&MetricRow], trace: Value) -> Vec<Value> {
    if rows.is_empty() { Vec::new() } else { vec![trace] }
}

fn names() -> Value {
    json!({"title": {"text": ""}, "type": "category"})
}

fn percent_axis() -> Value {
    json!({"title": {"text": "change"}, "ticksuffix": " %", "zeroline": true})
}
