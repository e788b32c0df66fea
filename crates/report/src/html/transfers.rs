//! The figures of a copy, a verification or a paced writing.

use iostall_model::PacedOutcome;
use iostall_model::paced::PacedInterval;
use iostall_model::transfer::TransferPoint;
use iostall_model::{Run, RunBody};
use serde_json::{Value, json};

use super::charts::{COLOURS, Chart, figure, latency_axis, rate_axis, rounded, seconds};
use crate::transfer::method_name;
use iostall_model::figures::per_second;

/// The charts of the run; none where nothing was moved.
pub(super) fn charts(run: &Run) -> Vec<Chart> {
    let all = match &run.body {
        RunBody::Copy(copy) => vec![moved_chart(&copy.series)],
        RunBody::Verify(verify) => vec![moved_chart(&verify.series)],
        RunBody::Write(paced) => paced_charts(paced),
        _ => Vec::new(),
    };
    all.into_iter()
        .filter(|chart| chart.figure["data"].as_array().is_some_and(|data| !data.is_empty()))
        .collect()
}

fn moved_chart(points: &[TransferPoint]) -> Chart {
    type Side = (&'static str, fn(&TransferPoint) -> u64);
    const SIDES: [Side; 2] = [("read", |point| point.read_bytes), ("written", |point| point.written_bytes)];
    let x: Vec<f64> = points.iter().map(|point| seconds(point.start_ns as f64)).collect();
    let traces: Vec<Value> = SIDES
        .iter()
        .zip(COLOURS)
        .filter(|((_, bytes), _)| points.iter().any(|point| bytes(point) > 0))
        .map(|((name, bytes), colour)| {
            let rate =
                |point: &TransferPoint| per_second(bytes(point) as f64 / 1e6, point.length_ns).map(rounded);
            json!({
                "type": "scatter", "mode": if points.len() < 3 { "lines+markers" } else { "lines" },
                "name": name, "x": x, "y": points.iter().map(rate).collect::<Vec<_>>(),
                "line": {"color": colour, "width": 2}, "hovertemplate": "%{y:,.0f} MB/s",
            })
        })
        .collect();
    Chart {
        id: "moved".into(),
        title: "Throughput over time".into(),
        caption: "Data read and written, in megabytes (10^6 bytes) a second.",
        figure: figure(
            &traces,
            &json!({"title": {"text": "seconds from the start"}, "rangemode": "tozero"}),
            &rate_axis("MB/s"),
            "x unified",
        ),
    }
}

/// Peak write time and throughput against the data written, methods overlaid.
fn paced_charts(paced: &PacedOutcome) -> Vec<Chart> {
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
    vec![
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
                    |interval| interval.bytes_per_second().map(|rate| rounded(rate / 1e6)),
                    "%{y:,.0f} MB/s",
                ),
                &written,
                &rate_axis("MB/s"),
                "x unified",
            ),
        },
    ]
}
