//! What copies, backups and verifications share: throughput over time, what set the pace, and mismatches.

use iostall_measure::Rate;
use iostall_model::GiveWay;
use iostall_model::figures::per_second;
use iostall_model::transfer::{Mismatch, TransferPoint};
use serde::Serialize;
use serde_json::{Value, json};

use super::give_way;
use crate::chart::{COLOURS, Chart, drawn, figure, rate_axis, rounded, seconds};
use crate::format::shown;
use crate::section::Note;

#[derive(Serialize)]
pub(super) struct NoSpans {
    spans: [(); 0],
}

impl NoSpans {
    pub(super) fn new() -> Self {
        Self { spans: [] }
    }
}

pub(super) fn mismatches(mismatches: &[Mismatch]) -> Vec<Note> {
    mismatches
        .iter()
        .map(|mismatch| {
            Note::bad(format!("DIFFERENT {}: {}", shown(&mismatch.path), shown(&mismatch.message)))
        })
        .collect()
}

/// What set the pace where a rate did.
pub(super) fn limit_pace(gave_way: Option<&GiveWay>, limit: Option<u64>) -> String {
    match (gave_way, limit) {
        (Some(gave_way), _) => give_way::pace(gave_way),
        (None, Some(limit)) => format!("its --limit of {} set the pace", Rate::BytesPerSecond(limit as f64)),
        (None, None) => "its --limit set the pace".to_owned(),
    }
}

pub(super) fn charts(points: &[TransferPoint]) -> Vec<Chart> {
    drawn([chart(points)])
}

fn chart(points: &[TransferPoint]) -> Chart {
    type Side = (&'static str, fn(&TransferPoint) -> u64);
    const SIDES: [Side; 2] = [("read", |point| point.read_bytes), ("written", |point| point.written_bytes)];
    let x: Vec<f64> = points.iter().map(|point| seconds(point.start_ns as f64)).collect();
    let traces: Vec<Value> = SIDES
        .iter()
        .zip(COLOURS)
        .filter(|((_, bytes), _)| points.iter().any(|point| bytes(point) > 0))
        .map(|((name, bytes), colour)| {
            let rate = |point: &TransferPoint| {
                per_second(bytes(point) as f64 / 1_048_576.0, point.length_ns).map(rounded)
            };
            json!({
                "type": "scatter", "mode": if points.len() < 3 { "lines+markers" } else { "lines" },
                "name": name, "x": x, "y": points.iter().map(rate).collect::<Vec<_>>(),
                "line": {"color": colour, "width": 2}, "hovertemplate": "%{y:,.0f} MiB/s",
            })
        })
        .collect();
    Chart {
        id: "moved".into(),
        title: "Throughput over time".into(),
        caption: "Data read and written, in MiB a second.",
        figure: figure(
            &traces,
            &json!({"title": {"text": "seconds from the start"}, "rangemode": "tozero"}),
            &rate_axis("MiB/s"),
            "x unified",
        ),
    }
}
