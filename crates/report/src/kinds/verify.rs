//! The report of a verification.

use iostall_model::transfer::TransferPoint;
use iostall_model::{Run, VerifyOutcome};

use super::moved::{self, NoSpans, mismatches};
use crate::format::{bytes, count, duration, maybe_throughput, shown};
use crate::report::{Field, Report, Series};
use crate::section::{Fact, Layout, Note, Section};

const EXTRA_LISTED: usize = 100;

/// In the order of a row's fields.
const HEADER: [&str; 4] = ["start_s", "length_s", "read_bytes", "written_bytes"];

pub(super) fn report<'a>(run: &'a Run, verify: &'a VerifyOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: String::new(),
        headline: headline(verify),
        line: Box::new(|| headline(verify)),
        answer: Box::new(|| headline(verify)),
        judgement: Box::new(|| None),
        asked: None,
        opens_one_way: false,
        sections: Box::new(|| vec![section(verify)]),
        when_empty: "",
        charts: Box::new(|| vec![moved::charts(&verify.series)]),
        series: Box::new(|| series(verify)),
        summary: Box::new(|| Box::new(NoSpans::new())),
    }
}

fn section(verify: &VerifyOutcome) -> Section {
    Section {
        title: "Result".to_owned(),
        subtitle: headline(verify),
        layout: Layout::Facts,
        notes: notes(verify),
        facts: vec![Fact { label: "manifest".to_owned(), value: shown(&verify.manifest) }],
        ..Section::default()
    }
}

fn series(verify: &VerifyOutcome) -> Series<'_> {
    let row = |point: &TransferPoint| -> Vec<Field<'_>> {
        let (start_s, length_s) = (point.start_ns as f64 / 1e9, point.length_ns as f64 / 1e9);
        vec![start_s.into(), length_s.into(), point.read_bytes.into(), point.written_bytes.into()]
    };
    Series { header: &HEADER, rows: Box::new(verify.series.iter().map(row)) }
}

fn headline(verify: &VerifyOutcome) -> String {
    let rate = (verify.elapsed_ns > 0).then(|| verify.bytes as f64 / (verify.elapsed_ns as f64 / 1e9));
    format!(
        "{} of {} files as they should be; {} read in {}, {}",
        count(verify.equal),
        count(verify.files),
        bytes(verify.bytes),
        duration(verify.elapsed_ns as f64),
        maybe_throughput(rate),
    )
}

fn notes(verify: &VerifyOutcome) -> Vec<Note> {
    let mut notes = mismatches(&verify.mismatches);
    notes.extend(
        verify.extra.iter().take(EXTRA_LISTED).map(|path| Note::bad(format!("EXTRA {}", shown(path)))),
    );
    let more = verify.extra.len().saturating_sub(EXTRA_LISTED) as u64;
    if more > 0 {
        notes.push(Note::bad(format!("EXTRA: {} more, which JSON lists.", count(more))));
    }
    if verify.unchecked() > 0 {
        let (left, all) = (count(verify.unchecked()), count(verify.files));
        notes.push(Note::caution(format!("{left} of {all} files were NOT CHECKED: it was stopped before.")));
    }
    notes
}
