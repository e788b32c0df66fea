//! The charts of a window: the worst groups over time.

use std::collections::BTreeSet;

use iostall_model::{Counter, Note, Totals};
use iostall_watch::windows::{Cause, GroupKey, Line, Mark, WatchReport, WatchSeries};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::chart::{COLOURS, Chart, drawn, figure, length_axis, rate_axis, rounded, seconds, trace_name};
use crate::notes::notes_with_room;
use crate::watch::columns::stall_label;

/// A number of a piece of a line; `None` if it has none.
type Of = fn(&Totals) -> Option<f64>;

/// One of a group's lines in a chart: label, dash, and number.
type Side = (&'static str, &'static str, Of);

struct Plot {
    id: &'static str,
    title: &'static str,
    caption: &'static str,
    sides: &'static [Side],
    hover: &'static str,
    axis: fn() -> Value,
    /// Whether its numbers are stalls, whose meaning depends on the kind.
    is_stall: bool,
}

const NOTE_COLOUR: &str = "#6b5b95";
/// As many notes as lines can be told apart.
const NOTES_DRAWN: usize = 100;
const MIB: f64 = 1_048_576.0;

const PLOTS: [Plot; 5] = [
    Plot {
        id: "rates",
        title: "Reads and writes a second",
        caption: "Means of each step. Shaded: a gap (grey) or a reset (red), where nothing is drawn.",
        sides: &[
            ("reads", "solid", |totals| totals.per_second(Counter::Reads)),
            ("writes", "dot", |totals| totals.per_second(Counter::Writes)),
        ],
        hover: "%{y:,.3~f} a second",
        axis: || rate_axis("a second"),
        is_stall: false,
    },
    Plot {
        id: "bytes",
        title: "MiB a second",
        caption: "Read: drawn through; written: dotted.",
        sides: &[
            ("read", "solid", |totals| totals.per_second(Counter::ReadBytes).map(|bytes| bytes / MIB)),
            ("written", "dot", |totals| totals.per_second(Counter::WriteBytes).map(|bytes| bytes / MIB)),
        ],
        hover: "%{y:,.3~f} MiB/s",
        axis: || rate_axis("MiB/s"),
        is_stall: false,
    },
    Plot {
        id: "read-stall",
        title: "Stall per read",
        caption: "Time waited over reads; no line where nothing was read.",
        sides: &[("per read", "solid", |totals| totals.read_stall_ns_mean().map(seconds))],
        hover: "%{y:.3~s}s",
        axis: stall_axis,
        is_stall: true,
    },
    Plot {
        id: "write-stall",
        title: "Stall per write",
        caption: "Time waited over writes; no line where nothing was written.",
        sides: &[("per write", "solid", |totals| totals.write_stall_ns_mean().map(seconds))],
        hover: "%{y:.3~s}s",
        axis: stall_axis,
        is_stall: true,
    },
    Plot {
        id: "queue",
        title: "Queue depth by Little's law",
        caption: "Stall over time: how many reads and writes waited at once, on the mean.",
        sides: &[("in flight", "solid", Totals::queue_depth_mean)],
        hover: "%{y:,.3~f} in flight",
        axis: || rate_axis("in flight"),
        is_stall: true,
    },
];

pub(super) fn charts(report: &WatchReport, series: &WatchSeries) -> Vec<Chart> {
    let shades = shapes(report, series);
    let numbers = note_numbers(report);
    let over_time = |plot: &Plot| {
        let lines = series.lines.iter().zip(COLOURS.iter().cycle());
        let traces: Vec<Value> =
            lines.flat_map(|(line, colour)| traces(plot, line, report.sources.len() > 1, colour)).collect();
        let mut figure = figure(&traces, &time_axis(report), &(plot.axis)(), "x unified");
        figure["layout"]["shapes"] = shades.clone();
        if numbers.as_array().is_some_and(|numbers| !numbers.is_empty()) {
            figure["layout"]["annotations"] = numbers.clone();
        }
        Chart { id: plot.id.into(), title: plot.title.into(), caption: plot.caption, figure }
    };
    let mut all: Vec<Chart> = PLOTS.iter().map(over_time).collect();
    all.push(distribution(report, series));
    drawn(all)
}

fn traces(plot: &Plot, line: &Line, several: bool, colour: &str) -> Vec<Value> {
    let label = if plot.is_stall { stall_label(line.key.kind) } else { String::new() };
    let group = group_name(&line.key, several);
    let sides = plot.sides.iter();
    sides
        .filter_map(|(side, dash, of)| {
            trace(line, *of, &trace_name(&group, &format!("{side}{label}")), colour, dash, plot.hover)
        })
        .enumerate()
        .map(|(place, mut trace)| {
            // One entry of the legend a group: its other lines have the same colour, and appear and go with it.
            trace["legendgroup"] = json!(group);
            trace["showlegend"] = json!(place == 0);
            trace
        })
        .collect()
}

fn time_axis(report: &WatchReport) -> Value {
    json!({"title": {"text": "time (UTC)"}, "type": "date", "range": [ms(report.from), ms(report.to)]})
}

fn stall_axis() -> Value {
    json!({"title": {"text": "stall"}, "tickformat": "~s", "ticksuffix": "s", "rangemode": "tozero"})
}

fn ms(at: Timestamp) -> i64 {
    at.as_millisecond()
}

/// The line of one number, as steps: each mean lasts from the beginning to the end of its piece, and unknown
/// periods are blank. `None` if no piece has the number.
fn trace(line: &Line, of: Of, name: &str, colour: &str, dash: &str, hover: &str) -> Option<Value> {
    let (mut x, mut y): (Vec<i64>, Vec<Option<f64>>) = (Vec::new(), Vec::new());
    for (index, piece) in line.pieces.iter().enumerate() {
        let Some(value) = of(&piece.totals) else { continue };
        x.push(ms(piece.start));
        y.push(Some(rounded(value)));
        let next = line.pieces.get(index + 1);
        let continues = next.is_some_and(|next| next.start == piece.end && of(&next.totals).is_some());
        if !continues {
            x.extend([ms(piece.end); 2]);
            y.extend([Some(rounded(value)), None]);
        }
    }
    (!x.is_empty()).then(|| {
        json!({
            "type": "scatter", "mode": "lines", "name": name, "x": x, "y": y, "connectgaps": false,
            "line": {"color": colour, "dash": dash, "width": 2, "shape": "hv"}, "hovertemplate": hover,
        })
    })
}

/// The notes about any source, each once, in order of time, and how many there is no room for.
pub(super) fn notes(report: &WatchReport) -> (Vec<&Note>, usize) {
    let all: BTreeSet<&Note> = report.sources.iter().flat_map(|source| &source.notes).collect();
    notes_with_room(all, NOTES_DRAWN)
}

/// The number of each note at its line; what it says is in the table.
fn note_numbers(report: &WatchReport) -> Value {
    let number = |(place, note): (usize, &Note)| {
        json!({
            "x": ms(note.at), "xref": "x", "y": 1, "yref": "paper", "yanchor": "bottom",
            "text": (place + 1).to_string(), "showarrow": false, "font": {"color": NOTE_COLOUR},
        })
    };
    notes(report).0.into_iter().enumerate().map(number).collect()
}

/// Shades marked periods, and draws a line at each note, or a shade for as long as what it is about lasted.
fn shapes(report: &WatchReport, series: &WatchSeries) -> Value {
    let line = |note: &Note| {
        let end = note.end.filter(|end| *end > note.at);
        json!({
            "type": if end.is_some() { "rect" } else { "line" }, "xref": "x", "yref": "paper", "layer": "below",
            "x0": ms(note.at), "x1": ms(end.unwrap_or(note.at)), "y0": 0, "y1": 1,
            "fillcolor": NOTE_COLOUR, "opacity": if end.is_some() { 0.25 } else { 1.0 },
            "line": {"color": NOTE_COLOUR, "width": 1, "dash": "dash"},
        })
    };
    let shape = |mark: &Mark| {
        let colour = match mark.cause {
            Cause::Gap(_) => "#808a94",
            Cause::Rows(..) => "#d1495b",
        };
        json!({
            "type": "rect", "xref": "x", "yref": "paper", "layer": "below",
            "x0": ms(mark.start), "x1": ms(mark.end), "y0": 0, "y1": 1,
            "fillcolor": colour, "opacity": 0.25, "line": {"color": colour, "width": 1},
        })
    };
    series.marks.iter().map(shape).chain(notes(report).0.into_iter().map(line)).collect()
}

/// Share of reads and writes by the mean stall of their interval.
fn distribution(report: &WatchReport, series: &WatchSeries) -> Chart {
    const SHARES: std::ops::RangeInclusive<u8> = 1..=100;
    // A logarithmic axis has no zero, which sources that count whole milliseconds often report.
    const SHORTEST_NS: u64 = 1_000;
    let several = report.sources.len() > 1;
    let lines = series.lines.iter().zip(COLOURS.iter().cycle());
    let traces: Vec<Value> = lines
        .filter_map(|(line, colour)| {
            let ops_by_stall = &report.window.groups.get(&line.key)?.ops_by_stall;
            let x: Vec<f64> = SHARES
                .filter_map(|pct| ops_by_stall.stall_ns_at(f64::from(pct) / 100.0))
                .map(|ns| seconds(ns.max(SHORTEST_NS) as f64))
                .collect();
            (!x.is_empty()).then(|| {
                json!({
                    "type": "scatter", "mode": "lines", "name": trace_name(&group_name(&line.key, several), &stall_label(line.key.kind)),
                    "x": x, "y": SHARES.collect::<Vec<u8>>(), "line": {"color": colour, "width": 2, "shape": "vh"},
                    "hovertemplate": "%{y} % in intervals of at most %{x:.3~s}s",
                })
            })
        })
        .collect();
    Chart {
        id: "distribution".into(),
        title: "Stall per I/O: distribution of interval averages".into(),
        caption: "Share of the I/O by the mean of the interval it fell in. It is not the distribution of single requests.",
        figure: figure(
            &traces,
            &length_axis("stall"),
            &json!({"title": {"text": "share of reads and writes"}, "ticksuffix": " %", "range": [0, 101]}),
            "closest",
        ),
    }
}

/// Its name, with its source before it where there are several.
pub(super) fn group_name(key: &GroupKey, several: bool) -> String {
    if several { format!("{}: {}", key.source, key.name) } else { key.name.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_watch::windows::fixture;

    fn data(id: &str) -> Vec<Value> {
        let charts = charts(&fixture::report(), &fixture::series());
        charts.iter().find(|chart| chart.id == id).unwrap().figure["data"].as_array().unwrap().clone()
    }

    fn line(id: &str, name: &str) -> Value {
        data(id).into_iter().find(|trace| trace["name"].as_str().unwrap().starts_with(name)).unwrap()
    }

    #[test]
    fn an_idle_minute_is_a_rate_of_zero_and_a_stall_of_nothing() {
        let idle = 15 * 60_000 + "2026-11-21T10:00:00Z".parse::<Timestamp>().unwrap().as_millisecond();
        let value = |trace: &Value| {
            let x = trace["x"].as_array().unwrap();
            x.iter().rposition(|at| at.as_i64() == Some(idle)).map(|place| trace["y"][place].clone())
        };
        assert_eq!(value(&line("rates", "E:\\data\\a.mdf reads")), Some(json!(0.0)));
        assert_eq!(value(&line("read-stall", "E:\\data\\a.mdf")), Some(Value::Null), "the line ends there");
    }

    #[test]
    fn a_line_is_broken_at_each_mark_and_ends_where_its_last_interval_does() {
        let trace = line("rates", "E:\\data\\b.mdf reads");
        let breaks = trace["y"].as_array().unwrap().iter().filter(|y| y.is_null()).count();
        assert_eq!(breaks, 2, "the gap and the end");
        let trace = line("rates", "E:\\data\\a.mdf reads");
        assert_eq!(trace["y"].as_array().unwrap().iter().filter(|y| y.is_null()).count(), 3, "and the reset");
    }

    #[test]
    fn stall_that_is_not_to_completion_carries_its_name() {
        let trace = line("write-stall", "./shop/t.ibd");
        assert_eq!(trace["name"], "./shop/t.ibd per write (submission only if asynchronous)");
        assert!(data("read-stall").iter().all(|trace| !trace["name"].as_str().unwrap().contains("t.ibd")));
    }
}
