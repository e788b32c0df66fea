//! A comparison as sections, with the same layout in text and HTML.

use iostall_session::analysis::comparison::{ComparedSide, Comparison, Metric, MetricRow};
use iostall_stats::compare::{SAMPLES_MIN, Samples};

use crate::format::{NONE, duration, number};
use crate::section::{Note, Section};
use crate::table::{Column, Severity, Table, TableCell};

/// Notes and a table for each side except the first.
pub fn sections(comparison: &Comparison) -> Vec<Section> {
    comparison.others.iter().map(|other| section(comparison, other)).collect()
}

fn section(comparison: &Comparison, other: &ComparedSide) -> Section {
    let mut notes: Vec<Note> = Vec::new();
    let significant: Vec<&MetricRow> = other.rows.iter().filter(|row| row.is_significant()).collect();
    notes.push(match (other.rows.len(), significant.len()) {
        (0, _) => Note::caution("The two have nothing in common that could be compared."),
        (_, 0) if other.rows.iter().all(|row| row.found.is_none()) => Note::caution(format!(
            "No verdict: there are too few samples. Measure longer, or repeat: at least {SAMPLES_MIN} runs a side."
        )),
        (all, 0) => Note::strong(format!("No significant difference in any of {all} metrics.")),
        (all, count) => Note::strong(format!("{count} of {all} metrics differ significantly.")),
    });
    notes.extend(other.differences.iter().map(|differs| Note::caution(format!("Not the same: {differs}."))));
    Section {
        notes,
        tables: if other.rows.is_empty() { Vec::new() } else { vec![table(comparison, other)] },
        ..Section::titled(format!("{} against {}", other.label, comparison.first))
    }
}

fn table(comparison: &Comparison, other: &ComparedSide) -> Table {
    let columns = vec![
        Column::words(""),
        Column::numbers(&comparison.first),
        Column::numbers(&other.label),
        Column::numbers("difference").droppable(1),
        Column::numbers("ratio"),
        Column::numbers("95 % of the ratio").droppable(2),
        Column::numbers("p").droppable(3),
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
            "seconds (intervals of points) are the samples, put in blocks as long as their correlation lasts; the \
             percentiles' are those of each second"
        }
    };
    table.note(&format!(
        "95 %: percentile bootstrap (seed {}). p: Mann–Whitney rank test. {samples}. Significant: p < 0.05 and 1 outside \
         the interval. With so many metrics one in twenty differs by chance.",
        comparison.seed
    ));
    table
}

fn cells(row: &MetricRow) -> Vec<TableCell> {
    let difference = row.second - row.first;
    let sign = if difference < 0.0 { "-" } else { "+" };
    let found = row.found.as_ref();
    let interval = found.map(|found| format!("{:.3} to {:.3}", found.ratio.low, found.ratio.high));
    let p =
        found.map(
            |found| if found.p_value < 0.001 { "<0.001".to_owned() } else { format!("{:.3}", found.p_value) },
        );
    let none = || NONE.to_owned();
    vec![
        row.metric.name().into(),
        value(row.metric, row.first).into(),
        value(row.metric, row.second).into(),
        format!("{sign}{}", value(row.metric, difference.abs())).into(),
        row.ratio().map_or_else(none, |ratio| format!("{ratio:.3}")).into(),
        interval.unwrap_or_else(none).into(),
        p.unwrap_or_else(none).into(),
        verdict(row),
    ]
}

fn verdict(row: &MetricRow) -> TableCell {
    if row.found.is_none() {
        return TableCell::from("too few samples").severity(Severity::Caution);
    }
    if !row.is_significant() {
        return "no significant difference".into();
    }
    let change = row.ratio().map_or(0.0, |ratio| (ratio - 1.0) * 100.0);
    let better = (row.second > row.first) == row.metric.is_rate();
    let word = if better { "better" } else { "worse" };
    TableCell::from(format!("{word}, {change:+.1} %")).severity(if better {
        Severity::Strong
    } else {
        Severity::Bad
    })
}

fn value(metric: Metric, value: f64) -> String {
    if metric.is_rate() { number(value) } else { duration(value) }
}
