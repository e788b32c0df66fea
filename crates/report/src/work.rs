//! The before and after table of real work.

use iostall_stats::compare::RUNS_MIN;
use iostall_stats::work::{JudgedJob, WorkVerdict};

use crate::format::{NONE, shown};
use crate::section::{Note, Section};
use crate::table::{Column, Severity, Table, TableCell};

pub(crate) fn section(judged: &[JudgedJob<'_>]) -> Section {
    let columns = vec![
        Column::words("job"),
        Column::numbers("runs"),
        Column::numbers("before s"),
        Column::numbers("after s"),
        Column::numbers("improvement s"),
        Column::numbers("improvement %"),
        Column::words("verdict"),
    ];
    let mut table = Table::new("Before and after", columns);
    for one in judged {
        table.row(cells(one));
    }
    table.note(
        "Times are means. The improvement's interval is 95 %; both it and p are from Welch's t test, p with Holm's correction for \
         the number of jobs.",
    );
    let anecdotes = judged.iter().filter(|one| matches!(one.verdict, WorkVerdict::Anecdote(..))).count();
    let mut notes = Vec::new();
    if anecdotes > 0 {
        notes.push(Note::caution(format!(
            "{anecdotes} of {} jobs have too few repeats for a verdict: it takes {RUNS_MIN} runs before and after. Until \
             then the table is an anecdote, however large the difference.",
            judged.len()
        )));
    }
    notes.push(Note::plain(
        "It compares storage only where both times processed the same data with the same plan and the same empty caches.",
    ));
    Section { notes, tables: vec![table], ..Section::titled("Work") }
}

fn cells(judged: &JudgedJob<'_>) -> Vec<TableCell> {
    let job = judged.job;
    let seconds = |value: Option<f64>| value.map_or(NONE.to_owned(), in_seconds);
    vec![
        shown(&job.name).into(),
        format!("{} / {}", job.before_s.len(), job.after_s.len()).into(),
        seconds(job.before()).into(),
        seconds(job.after()).into(),
        seconds(job.improvement_s()).into(),
        job.improvement_pct().map_or(NONE.to_owned(), |percent| format!("{percent:.1}")).into(),
        verdict(judged),
    ]
}

/// Whole seconds without decimals, others with as many as they were likely measured with.
fn in_seconds(seconds: f64) -> String {
    let text = format!("{seconds:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn verdict(judged: &JudgedJob<'_>) -> TableCell {
    let because = judged.found.zip(judged.p_value).map(|(found, p_value)| {
        let improvement = |ratio: f64| (1.0 - ratio) * 100.0;
        format!(
            " ({:.1} to {:.1} %, p = {:.3})",
            improvement(found.ratio.high),
            improvement(found.ratio.low),
            p_value
        )
    });
    let because = because.unwrap_or_default();
    match judged.verdict {
        WorkVerdict::Faster => TableCell::from(format!("faster{because}")).severity(Severity::Strong),
        WorkVerdict::Slower => TableCell::from(format!("slower{because}")).severity(Severity::Bad),
        WorkVerdict::NoDifference => format!("no significant difference{because}").into(),
        WorkVerdict::Anecdote(0, _) | WorkVerdict::Anecdote(_, 0) => {
            TableCell::from("only on one side").severity(Severity::Caution)
        }
        WorkVerdict::Anecdote(..) => TableCell::from("too few repeats").severity(Severity::Caution),
    }
}

fn word(verdict: WorkVerdict) -> &'static str {
    match verdict {
        WorkVerdict::Faster => "faster",
        WorkVerdict::Slower => "slower",
        WorkVerdict::NoDifference => "no-difference",
        WorkVerdict::Anecdote(..) => "too-few-repeats",
    }
}

/// The jobs for spreadsheets, the heading first; unknown numbers are empty.
pub(crate) fn rows(jobs: &[JudgedJob<'_>]) -> Vec<Vec<String>> {
    let text = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let heads = [
        "job",
        "before_s_mean",
        "after_s_mean",
        "improvement_s",
        "improvement_pct",
        "p_value_corrected",
        "verdict",
    ];
    let row = |judged: &JudgedJob<'_>| {
        vec![
            judged.job.name.clone(),
            text(judged.job.before()),
            text(judged.job.after()),
            text(judged.job.improvement_s()),
            text(judged.job.improvement_pct()),
            text(judged.p_value),
            word(judged.verdict).to_owned(),
        ]
    };
    std::iter::once(heads.map(str::to_owned).to_vec()).chain(jobs.iter().map(row)).collect()
}

pub(crate) fn to_json(jobs: &[JudgedJob<'_>]) -> serde_json::Value {
    let rows: Vec<_> = jobs
        .iter()
        .map(|judged| {
            let (job, found) = (judged.job, judged.found);
            serde_json::json!({
                "name": job.name, "before_s": job.before_s, "after_s": job.after_s, "before_s_mean": job.before(),
                "after_s_mean": job.after(), "improvement_s": job.improvement_s(),
                "improvement_pct": job.improvement_pct(), "p_value": judged.p_value,
                "ratio_low": found.map(|found| found.ratio.low), "ratio_high": found.map(|found| found.ratio.high),
                "verdict": word(judged.verdict),
            })
        })
        .collect();
    serde_json::json!({"schema": "iostall-work", "schema_version": 1, "jobs": rows})
}
