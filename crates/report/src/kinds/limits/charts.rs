//! The rate of every probe over time.

use iostall_model::LimitsOutcome;
use iostall_model::limits::{LimitsProbe, ProbeStep};
use serde_json::{Value, json};

use crate::chart::{COLOURS, Chart, drawn, figure, rate_axis, rounded};

/// Points of a line at most: a page of an hour's search stays small.
const POINTS_MAX: usize = 1000;

pub(super) fn charts(outcome: &LimitsOutcome) -> Vec<Chart> {
    let loaded = outcome.probes.iter().filter(|probe| probe.step != ProbeStep::Unloaded);
    let traces: Vec<Value> =
        loaded.zip(COLOURS.iter().cycle()).map(|(probe, colour)| trace(probe, colour)).collect();
    if traces.is_empty() {
        return Vec::new();
    }
    let x = json!({"title": {"text": "seconds from the start"}});
    drawn(vec![Chart {
        id: "limits".into(),
        title: "Requests a second".into(),
        caption: "A line for each probe; where the first one falls, a bucket is empty.",
        figure: figure(&traces, &x, &rate_axis("IOPS"), "closest"),
    }])
}

fn trace(probe: &LimitsProbe, colour: &str) -> Value {
    let each = probe.counts.len().div_ceil(POINTS_MAX).max(1);
    let seconds = probe.interval_s() * each as f64;
    let start_s = probe.start_ns as f64 / 1e9;
    let rates = probe.counts.chunks_exact(each).map(|part| part.iter().sum::<u64>() as f64 / seconds);
    let (x, y): (Vec<f64>, Vec<f64>) = rates
        .enumerate()
        .map(|(index, rate)| (rounded(start_s + (index as f64 + 0.5) * seconds), rounded(rate)))
        .unzip();
    json!({
        "type": "scatter", "mode": "lines", "name": probe.block_size.to_string(), "x": x, "y": y,
        "line": {"color": colour, "width": 2}, "hovertemplate": "%{x} s: %{y:,.0f}",
    })
}
