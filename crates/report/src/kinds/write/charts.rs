//! The charts of a paced write.

use iostall_model::PacedOutcome;
use iostall_model::paced::PacedInterval;
use serde_json::{Value, json};

use super::methods::method_name;
use crate::chart::{COLOURS, Chart, drawn, figure, latency_axis, rate_axis, rounded, seconds};

pub(super) fn charts(paced: &PacedOutcome) -> Vec<Chart> {
    let trace = |value: fn(&PacedInterval) -> Option<f64>, hover: &str| -> Vec<Value> {
        let drawn = paced.methods.iter().filter(|method| !method.intervals.is_empty());
        drawn
            .zip(COLOURS.iter().cycle())
            .map(|(method, colour)| {
                let gigabytes = |interval: &PacedInterval| rounded(interval.end_bytes as f64 / 1e9);
                json!({
                    "type": "scatter", "mode": if method.intervals.len() < 3 { "lines+markers" } else { "lines" },
                    "name": method_name(paced, method),
                    "x": method.intervals.iter().map(gigabytes).collect::<Vec<_>>(),
                    "y": method.intervals.iter().map(value).collect::<Vec<_>>(),
                    "line": {"color": colour, "width": 2}, "hovertemplate": hover,
                })
            })
            .collect()
    };
    let written = json!({"title": {"text": "gigabytes written"}, "rangemode": "tozero"});
    drawn([
        Chart {
            id: "peak".into(),
            title: "Peak write time".into(),
            caption: "The slowest write of each interval, against the data written so far.",
            figure: figure(
                &trace(|interval| Some(seconds(interval.write_ns_max.max(1) as f64)), "%{y:.3~s}s"),
                &written,
                &latency_axis(),
                "x unified",
            ),
        },
        Chart {
            id: "speed".into(),
            title: "Throughput".into(),
            caption: "Bytes of each interval over its time, pauses included, against the data written so far.",
            figure: figure(
                &trace(
                    |interval| interval.bytes_per_second().map(|rate| rounded(rate / 1_048_576.0)),
                    "%{y:,.0f} MiB/s",
                ),
                &written,
                &rate_axis("MiB/s"),
                "x unified",
            ),
        },
    ])
}
