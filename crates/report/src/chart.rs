//! Charts of a page, in the chart library's format. Times are in seconds, so that the library's SI prefixes
//! give `µs` and `ms` at every zoom level.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::format::shown;

pub struct Chart {
    /// Unique in its span.
    pub(crate) id: Cow<'static, str>,
    pub(crate) title: Cow<'static, str>,
    pub(crate) caption: &'static str,
    pub(crate) figure: Value,
}

/// Colours that colour-blind readers can distinguish, on light and dark backgrounds.
pub(crate) const COLOURS: [&str; 8] =
    ["#3b82c4", "#e07b1a", "#2e9e6b", "#8b63c7", "#d1495b", "#1b9aaa", "#a0703c", "#d65fa0"];

pub(crate) fn figure(traces: &[Value], x: &Value, y: &Value, hover: &str) -> Value {
    // A label for a whole second shows wherever the mouse is; otherwise it belongs to a nearby line.
    let distance = if hover == "closest" { 20 } else { -1 };
    let layout = json!({"xaxis": x, "yaxis": y, "hovermode": hover, "hoverdistance": distance});
    json!({"data": traces, "layout": layout})
}

/// The name of a trace. The chart library treats names as markup, including links, so a role's name is
/// escaped.
pub(crate) fn trace_name(role: &str, rest: &str) -> String {
    let role = shown(role).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("{role} {rest}")
}

pub(crate) fn latency_axis() -> Value {
    length_axis("latency")
}

/// The same from left to right, where labels lie side by side: with more ticks they covered each other.
pub(crate) fn latency_axis_across() -> Value {
    let mut axis = latency_axis();
    axis["nticks"] = json!(4);
    axis
}

/// A logarithmic axis of lengths of time. The library chooses its ticks: with one a decade, latencies of 2 to 8 ms had none.
pub(crate) fn length_axis(title: &str) -> Value {
    json!({"title": {"text": title}, "type": "log", "tickformat": "~s", "ticksuffix": "s", "nticks": 6})
}

pub(crate) fn rate_axis(unit: &str) -> Value {
    json!({"title": {"text": unit}, "rangemode": "tozero", "exponentformat": "SI"})
}

/// Six significant digits: finer than any screen, and a third of the bytes.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

pub(crate) fn seconds(ns: f64) -> f64 {
    rounded(ns / 1e9)
}

pub(crate) fn drawn(charts: impl IntoIterator<Item = Chart>) -> Vec<Chart> {
    let has_data = |chart: &Chart| chart.figure["data"].as_array().is_some_and(|data| !data.is_empty());
    charts.into_iter().filter(has_data).collect()
}

/// The target for the 99th percentile, as a line up to the rate `most`.
pub(crate) fn target_trace(most: f64, target_ns: u64) -> Value {
    json!({
        "type": "scatter", "mode": "lines", "name": "p99 target", "x": [0.0, rounded(most)],
        "y": [seconds(target_ns as f64), seconds(target_ns as f64)],
        "line": {"color": COLOURS[4], "dash": "longdash", "width": 1},
        "hovertemplate": "target %{y:.3~s}s",
    })
}
