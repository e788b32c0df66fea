//! How fast the volume was at each guard.

use iostall_model::guard::GuardFigure;
use iostall_model::{GuardOutcome, Run};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::chart::{COLOURS, Chart, drawn, figure, rate_axis, rounded, seconds};

pub(super) fn charts(run: &Run, outcome: &GuardOutcome) -> Vec<Chart> {
    let mut guards: Vec<(Timestamp, Vec<GuardFigure>)> =
        outcome.history.iter().map(|past| (past.started_utc, past.figures.clone())).collect();
    guards.push((run.started_utc, outcome.points.iter().filter_map(GuardFigure::of).collect()));
    let mut sizes: Vec<u32> =
        guards.iter().flat_map(|(_, figures)| figures).map(|figure| figure.block_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let is_canary = outcome.plan.rate_iops.is_some();
    let traces: Vec<Value> =
        sizes.iter().zip(COLOURS).map(|(size, colour)| line(&guards, *size, colour, is_canary)).collect();
    if traces.is_empty() {
        return Vec::new();
    }
    let x = json!({"type": "date"});
    let y = if is_canary {
        json!({"title": {"text": "mean latency"}, "tickformat": ".3~s", "ticksuffix": "s"})
    } else {
        rate_axis("IOPS")
    };
    drawn(vec![Chart {
        id: "history".into(),
        title: "Its history".into(),
        caption: "A point for each guard of this target with the same probes, the last one this run's.",
        figure: figure(&traces, &x, &y, "closest"),
    }])
}

fn line(guards: &[(Timestamp, Vec<GuardFigure>)], size: u32, colour: &str, is_canary: bool) -> Value {
    let of_size = guards.iter().filter_map(|(at, figures)| {
        let figure = figures.iter().find(|figure| figure.block_bytes == size)?;
        let value = if is_canary { seconds(figure.latency_ns_mean) } else { rounded(figure.iops) };
        Some((at.to_string(), value))
    });
    let (x, y): (Vec<String>, Vec<f64>) = of_size.unzip();
    json!({
        "type": "scatter", "mode": "lines+markers", "name": format!("{} KiB", size >> 10), "x": x, "y": y,
        "line": {"color": colour, "width": 2},
    })
}
