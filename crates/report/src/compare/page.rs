//! A comparison as sections, with the same layout in text and HTML.

use iostall_session::analysis::comparison::{
    ComparedSide, Comparison, Metric, MetricRow, MetricVerdict, Samples,
};
use iostall_stats::compare::RUNS_MIN;
use serde_json::{Value, json};

use crate::chart::{COLOURS, Chart, drawn, figure, latency_axis, rate_axis, rounded, seconds, trace_name};
use crate::format::{NONE, duration, number};
use crate::section::{Note, Section};
use crate::table::{Column, Severity, Table, TableCell};

pub(super) fn sections(comparison: &Comparison) -> Vec<Section> {
    comparison.others.iter().map(|other| section(comparison, other)).collect()
}

fn section(comparison: &Comparison, other: &ComparedSide) -> Section {
    let mut notes = vec![headline(other)];
    notes.extend(reach(other));
    notes.extend(other.left_out.iter().map(Note::caution));
    notes.extend(other.differences.iter().map(|differs| Note::caution(format!("Not the same: {differs}."))));
    Section {
        notes,
        tables: if other.rows.is_empty() { Vec::new() } else { vec![table(comparison, other)] },
        ..Section::titled(format!("{} against {}", other.label, comparison.first))
    }
}

fn headline(other: &ComparedSide) -> Note {
    let all = other.rows.len();
    let untested = other.rows.iter().filter(|row| row.verdict == MetricVerdict::TooFewSamples).count();
    let tested = all - untested;
    let rest =
        if untested == 0 { String::new() } else { format!("; {untested} of {all} could not be tested") };
    let differing = other
        .rows
        .iter()
        .filter(|row| matches!(row.verdict, MetricVerdict::Significant | MetricVerdict::RunsDiffer))
        .count();
    let has_verdict = other.rows.iter().any(|row| row.verdict != MetricVerdict::TooFewSamples);
    match (other.samples, differing) {
        _ if other.runs.0 == 0 || other.runs.1 == 0 => {
            Note::caution("A run cannot be compared with itself: no run is on one side only.")
        }
        _ if all == 0 => Note::caution("The two have nothing in common that could be compared."),
        _ if !has_verdict => Note::caution(format!(
            "No verdict: there are too few samples, or seconds that resemble each other for too long. Repeat each side, at \
             least {RUNS_MIN} runs of each, or measure longer."
        )),
        (_, 0) => {
            let unproved = unproved_change(other).unwrap_or_default();
            Note::strong(format!("No difference could be shown in {tested} metrics{unproved}{rest}."))
        }
        (Samples::Runs, count) => {
            Note::strong(format!("{count} of {tested} metrics differ significantly{rest}."))
        }
        (Samples::Seconds, count) => {
            Note::strong(format!("These runs differ in {count} of {tested} metrics{rest}."))
        }
    }
}

/// A change that this many percent or more and yet may be chance is said: that nothing was shown is no proof that nothing is there.
const SHOWN_PCT_MIN: f64 = 5.0;

fn unproved_change(other: &ComparedSide) -> Option<String> {
    let unproved = other.rows.iter().filter(|row| row.verdict == MetricVerdict::NoDifference);
    let changes = unproved.filter_map(|row| Some((row, row.change_pct()?)));
    let (row, change) = changes.max_by(|(_, one), (_, other)| one.abs().total_cmp(&other.abs()))?;
    (change.abs() >= SHOWN_PCT_MIN)
        .then(|| format!(" ({} {} {change:+.0} % may be chance)", row.subject, row.metric.name()))
}

/// How far the verdict reaches, where it reaches no further than the runs that were given.
fn reach(other: &ComparedSide) -> Option<Note> {
    (other.samples == Samples::Seconds && !other.rows.is_empty()).then(|| {
        Note::caution(format!(
            "That is about these runs alone: the next run of the same settings may differ as much. Whether what was tested \
             differs takes at least {RUNS_MIN} runs a side, measured in turn: iostall compare --fresh {RUNS_MIN}."
        ))
    })
}

fn table(comparison: &Comparison, other: &ComparedSide) -> Table {
    let columns = vec![
        Column::words(""),
        Column::numbers(&comparison.first),
        Column::numbers(&other.label),
        Column::numbers("difference").droppable(1),
        Column::numbers("change"),
        Column::numbers("ratio").droppable(0),
        Column::numbers("95 % of the ratio").droppable(3),
        Column::numbers("p").droppable(2),
        Column::words("verdict"),
    ];
    let mut table = Table::new("Metrics", columns);
    let mut subject = "";
    for row in &other.rows {
        if row.subject != subject {
            table.group(row.subject.clone(), "");
            subject = &row.subject;
        }
        table.row(cells(row));
    }
    let samples = match other.samples {
        Samples::Runs => "each run is one sample",
        Samples::Seconds => {
            "the samples are the seconds of the runs (intervals of points), counted for fewer where they resemble each other; \
             the percentiles' are those of each second"
        }
    };
    table.note(&format!(
        "95 %: of this metric alone. p: Welch's t test, with Holm's correction for the {} metrics of this table, so that chance \
         alone makes a difference in at most 5 of 100 such tables; {samples}.",
        other.rows.len()
    ));
    table
}

fn cells(row: &MetricRow) -> Vec<TableCell> {
    let difference = row.second - row.first;
    let sign = if difference < 0.0 { "-" } else { "+" };
    let found = row.found.as_ref();
    let interval = found.map(|found| format!("{:.3} to {:.3}", found.ratio.low, found.ratio.high));
    let p = row
        .p_value
        .map(|p_value| if p_value < 0.001 { "<0.001".to_owned() } else { format!("{p_value:.3}") });
    let none = || NONE.to_owned();
    vec![
        row.metric.name().into(),
        value(row.metric, row.first).into(),
        value(row.metric, row.second).into(),
        format!("{sign}{}", value(row.metric, difference.abs())).into(),
        row.change_pct().map_or_else(none, |change| format!("{change:+.1} %")).into(),
        row.ratio().map_or_else(none, |ratio| format!("{ratio:.3}")).into(),
        interval.unwrap_or_else(none).into(),
        p.unwrap_or_else(none).into(),
        verdict(row),
    ]
}

fn verdict(row: &MetricRow) -> TableCell {
    let change = row.change_pct().unwrap_or(0.0);
    match row.verdict {
        MetricVerdict::TooFewSamples => TableCell::from("too few samples").severity(Severity::Caution),
        MetricVerdict::NoDifference => "no difference beyond chance".into(),
        MetricVerdict::RunsDiffer => format!("these runs differ, {change:+.1} %").into(),
        MetricVerdict::Significant if row.is_better() => {
            TableCell::from(format!("better, {change:+.1} %")).severity(Severity::Strong)
        }
        MetricVerdict::Significant => {
            TableCell::from(format!("worse, {change:+.1} %")).severity(Severity::Bad)
        }
    }
}

fn value(metric: Metric, value: f64) -> String {
    if metric.is_rate() { number(value) } else { duration(value) }
}

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
