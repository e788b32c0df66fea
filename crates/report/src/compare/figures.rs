//! The figures of a comparison, for spreadsheets and scripts.

use iostall_session::analysis::comparison::{ComparedSide, Comparison, MetricVerdict, Samples};

const HEADER: [&str; 14] = [
    "first",
    "second",
    "subject",
    "metric",
    "first_value",
    "second_value",
    "difference",
    "change_pct",
    "ratio",
    "ratio_low",
    "ratio_high",
    "p_value",
    "p_value_corrected",
    "verdict",
];

fn word(verdict: MetricVerdict) -> &'static str {
    match verdict {
        MetricVerdict::TooFewSamples => "too-few-samples",
        MetricVerdict::NoDifference => "no-difference",
        MetricVerdict::RunsDiffer => "these-runs-differ",
        MetricVerdict::Significant => "significant",
    }
}

/// The comparison for spreadsheets: a row for each metric, unknown numbers empty.
pub(super) fn rows(comparison: &Comparison) -> Vec<Vec<String>> {
    let text = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let mut rows = vec![HEADER.map(str::to_owned).to_vec()];
    for (other, row) in
        comparison.others.iter().flat_map(|other| other.rows.iter().map(move |row| (other, row)))
    {
        let metric = serde_json::to_value(row.metric).ok();
        rows.push(vec![
            comparison.first.clone(),
            other.label.clone(),
            row.subject.clone(),
            metric.as_ref().and_then(|name| name.as_str()).unwrap_or_default().to_owned(),
            row.first.to_string(),
            row.second.to_string(),
            (row.second - row.first).to_string(),
            text(row.change_pct()),
            text(row.ratio()),
            text(row.found.map(|found| found.ratio.low)),
            text(row.found.map(|found| found.ratio.high)),
            text(row.found.map(|found| found.p_value)),
            text(row.p_value),
            word(row.verdict).to_owned(),
        ]);
    }
    rows
}

pub(super) fn to_json(comparison: &Comparison) -> serde_json::Value {
    let others: Vec<_> = comparison.others.iter().map(side_json).collect();
    serde_json::json!({
        "schema": "iostall-comparison", "schema_version": 2, "first": comparison.first, "others": others,
    })
}

fn side_json(other: &ComparedSide) -> serde_json::Value {
    let rows: Vec<_> = other
        .rows
        .iter()
        .map(|row| {
            serde_json::json!({
                "subject": row.subject, "metric": row.metric, "first": row.first, "second": row.second,
                "difference": row.second - row.first, "ratio": row.ratio(),
                "ratio_low": row.found.map(|found| found.ratio.low), "ratio_high": row.found.map(|found| found.ratio.high),
                "p_value": row.found.map(|found| found.p_value), "p_value_corrected": row.p_value,
                "change_pct": row.change_pct(), "verdict": word(row.verdict),
            })
        })
        .collect();
    let samples = match other.samples {
        Samples::Runs => "runs",
        Samples::Seconds => "seconds",
    };
    serde_json::json!({
        "label": other.label, "samples": samples, "runs": [other.runs.0, other.runs.1], "left_out": other.left_out,
        "differences": other.differences, "metrics": rows,
    })
}
