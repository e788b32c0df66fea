//! A comparison in every output format: of runs, or of the times of real work.

use std::io::{self, Write};

use iostall_model::Verdict;
use iostall_session::analysis::comparison::{ComparedSide, Comparison, MetricVerdict, Samples};
use iostall_session::output::Form;
use iostall_stats::work::JudgedJob;
use serde_json::{Value, json};

use super::page::{charts, sections};
use crate::chart::Chart;
use crate::forms::{write_figures, write_page};
use crate::html::write_compare_html;
use crate::junit::{Suite, write_verdicts};
use crate::markdown::write_sections_markdown;
use crate::section::Section;
use crate::{verdicts, work};

pub struct ComparisonDocument {
    pub title: String,
    pub sections: Vec<Section>,
    pub verdicts: Vec<Verdict>,
    charts: Vec<Vec<Chart>>,
    json: Value,
    /// The heading first.
    rows: Vec<Vec<String>>,
}

impl ComparisonDocument {
    pub fn of_runs(title: String, comparison: &Comparison, verdicts: Vec<Verdict>) -> Self {
        let (sections, json) = (sections(comparison), to_json(comparison));
        let charts = comparison.others.iter().map(|other| charts(comparison, other)).collect();
        Self::new((title, sections, json), charts, rows(comparison), verdicts)
    }

    pub fn of_work(jobs: &[JudgedJob<'_>], verdicts: Vec<Verdict>) -> Self {
        let title = "Before and after".to_owned();
        let (sections, json) = (vec![work::section(jobs)], work::to_json(jobs));
        Self::new((title, sections, json), Vec::new(), work::rows(jobs), verdicts)
    }

    fn new(
        (title, mut sections, mut json): (String, Vec<Section>, Value),
        charts: Vec<Vec<Chart>>,
        rows: Vec<Vec<String>>,
        verdicts: Vec<Verdict>,
    ) -> Self {
        sections.extend(verdicts::section(&verdicts));
        if !verdicts.is_empty() {
            json["verdicts"] = json!(verdicts);
        }
        Self { title, sections, verdicts, charts, json, rows }
    }

    /// Writes it. Fails if `out` fails, or for a format that a comparison does not have.
    pub fn write(&self, form: Form, out: &mut dyn Write) -> io::Result<()> {
        match form {
            Form::Json => write_figures(&self.json, out),
            Form::Csv => {
                let mut writer = csv::Writer::from_writer(out);
                self.rows.iter().try_for_each(|row| writer.write_record(row))?;
                writer.flush()
            }
            Form::Html => {
                write_page(out, |text| write_compare_html(&self.title, &self.sections, &self.charts, text))
            }
            Form::Markdown => {
                let title = format!("compare: {}", self.title);
                write_page(out, |text| write_sections_markdown(&title, &self.sections, text))
            }
            Form::Junit => write_verdicts(&self.suite(), &self.verdicts, out),
            Form::Log | Form::Manifest { .. } => Err(io::Error::other("a comparison has no such form")),
        }
    }

    /// Every number of the table is a property, by the text before it in its row.
    fn suite(&self) -> Suite<'_> {
        let heads = self.rows.first().map_or(&[][..], Vec::as_slice);
        let of_row = |row: &Vec<String>| {
            let is_number = |text: &String| text.parse::<f64>().is_ok();
            let name: Vec<&str> =
                row.iter().take_while(|text| !is_number(text)).map(String::as_str).collect();
            let name = name.join(".");
            let numbers = heads.iter().zip(row).filter(|(_, text)| is_number(text));
            numbers.map(|(head, text)| (format!("{name}.{head}"), text.clone())).collect::<Vec<_>>()
        };
        let properties = self.rows.iter().skip(1).flat_map(of_row).collect();
        Suite { kind: "compare", name: &self.title, started: None, hostname: None, seconds: 0.0, properties }
    }
}

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

#[cfg(test)]
mod tests {
    use iostall_model::{Run, RunId};
    use iostall_session::comparison::MeasuredSide;
    use iostall_session::requirements::comparison_verdicts;
    use iostall_stats::work::{Job, evaluate};
    use uuid::Uuid;

    use super::*;
    use crate::fixture;

    fn document(required: &[&str]) -> ComparisonDocument {
        let run = |id: u128| Run { id: RunId(Uuid::from_u128(id)), ..fixture::run() };
        let side = |label: &str, id| MeasuredSide { label: label.into(), runs: vec![run(id)] };
        let comparison = Comparison::of(&[side("<A>", 1), side("B", 2)]);
        let required: Vec<_> = required.iter().map(|text| text.parse().unwrap()).collect();
        let verdicts = comparison_verdicts(&comparison, &required);
        ComparisonDocument::of_runs("Comparison of <A>, B".into(), &comparison, verdicts)
    }

    fn written(document: &ComparisonDocument, form: Form) -> String {
        let mut out = Vec::new();
        document.write(form, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// A comparison could be read on the terminal and by a script, and nowhere else.
    #[test]
    fn a_comparison_has_a_page_a_table_and_a_text_for_a_ticket() {
        let document = document(&["no-regression"]);
        let page = written(&document, Form::Html);
        assert!(page.contains("B against &lt;A&gt;") && page.contains("class=\"chart\""));
        assert!(!page.contains("<A>") && page.contains("no-regression is "));
        let markdown = written(&document, Form::Markdown);
        assert!(markdown.starts_with("# iostall compare: Comparison of &lt;A&gt;, B\n"), "{markdown}");
        assert!(markdown.contains("| change |") || markdown.contains(" change |"), "{markdown}");
        let csv = written(&document, Form::Csv);
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let heads = reader.headers().unwrap().clone();
        assert!(heads.iter().any(|head| head == "change_pct"));
        assert!(reader.records().map(Result::unwrap).all(|row| row.len() == heads.len()));
        let junit = written(&document, Form::Junit);
        assert!(junit.starts_with("<testsuites name=\"iostall compare\" tests=\"1\""), "{junit}");
        assert!(junit.contains("data read.iops.first_value\""), "{junit}");
        assert!(document.write(Form::Log, &mut Vec::new()).is_err());
    }

    #[test]
    fn the_times_of_jobs_have_the_same_forms() {
        let job = Job { name: "nightly".into(), before_s: vec![10.0; 4], after_s: vec![5.0; 4] };
        let jobs = [job];
        let document = ComparisonDocument::of_work(&evaluate(&jobs), Vec::new());
        assert!(written(&document, Form::Csv).contains("nightly,"));
        assert!(written(&document, Form::Html).contains("nightly"));
        assert!(written(&document, Form::Json).contains("iostall-work"));
        assert!(!written(&document, Form::Json).contains("verdicts"));
    }
}
