//! Charts of a drive: what was written a day, and how it is amplified.

use iostall_model::drive::{Endurance, WearInterval};
use serde_json::{Value, json};

use crate::chart::{COLOURS, Chart, drawn, figure, rate_axis, rounded};

pub(super) fn charts(one: &Endurance) -> Vec<Chart> {
    let written = [
        trace("by hosts", COLOURS[0], &one.intervals, |one| one.host_bytes),
        trace("to the flash", COLOURS[1], &one.intervals, |one| one.nand_bytes),
    ];
    let traces: Vec<Value> = written.into_iter().flatten().collect();
    drawn([Chart {
        id: "written".into(),
        title: "Written a day".into(),
        caption: "The mean between each two readings.",
        figure: figure(&traces, &json!({"type": "date"}), &rate_axis("bytes/day"), "x unified"),
    }])
}

/// A step from each reading to the next; nothing across a break.
fn trace(
    name: &str,
    colour: &str,
    intervals: &[WearInterval],
    bytes_of: fn(&WearInterval) -> Option<u64>,
) -> Option<Value> {
    if intervals.iter().all(|one| bytes_of(one).is_none()) {
        return None;
    }
    let per_day = |one: &WearInterval| bytes_of(one).map(|bytes| rounded(bytes as f64 / one.days()));
    Some(json!({
        "type": "scatter", "mode": "lines", "name": name, "line": {"color": colour, "shape": "vh"},
        "x": intervals.iter().map(|one| one.to_utc.to_string()).collect::<Vec<_>>(),
        "y": intervals.iter().map(per_day).collect::<Vec<_>>(),
        "hovertemplate": "%{y:.3s}B a day",
    }))
}
