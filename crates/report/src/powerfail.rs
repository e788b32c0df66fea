//! What a loss of power left of what was acknowledged.

use std::io::{self, Write};

use iostall_model::powerfail::{
    Cut, Finding, Found, LostWrite, PowerfailReport, Primitive, PrimitiveVerdict,
};
use iostall_session::output::Form;
use iostall_session::powerfail::Written;
use serde_json::json;

use crate::format::{bytes, count, duration, percent, shown};
use crate::forms::write_page;
use crate::markdown::write_sections_markdown;
use crate::section::{Fact, Layout, Note, Section};
use crate::table::{Column, Severity, Table, TableCell};

pub fn title(report: &PowerfailReport) -> String {
    format!("powerfail: {}", shown(&report.cut.run.target))
}

pub fn sections(report: &PowerfailReport) -> Vec<Section> {
    let cut = &report.cut;
    let tables = if cut.lost.is_empty() { Vec::new() } else { vec![lost(cut)] };
    let of_cut = Section { notes: notes(report), tables, facts: facts(cut), ..Section::titled("This cut") };
    let notes = report.verdicts.iter().flat_map(|verdict| meaning(verdict, report.below)).collect();
    let all = Section {
        results: Some(verdicts(&report.verdicts)),
        notes,
        layout: Layout::Figures,
        ..Section::titled("All cuts")
    };
    vec![of_cut, all]
}

pub fn write_powerfail(report: &PowerfailReport, form: Form, out: &mut dyn Write) -> io::Result<()> {
    if form == Form::Markdown {
        return write_page(out, |text| write_sections_markdown(&title(report), &sections(report), text));
    }
    let mut document = json!({"schema": "iostall-drive-powerfail", "schema_version": 1});
    for (key, value) in json!(report).as_object().into_iter().flatten() {
        document[key] = value.clone();
    }
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

/// What a writer did whose power did not fail, in one sentence.
pub fn written(written: &Written) -> String {
    format!(
        "run {}: {} writes acknowledged by {} flushes with {} in {}; the power did not fail",
        written.run.run,
        count(written.acknowledged_writes),
        count(written.acknowledged_flushes),
        written.run.primitive.name(),
        duration(written.elapsed_ns as f64)
    )
}

fn notes(report: &PowerfailReport) -> Vec<Note> {
    let cut = &report.cut;
    let mut notes: Vec<Note> = report.findings.iter().map(|finding| note(*finding, cut)).collect();
    if cut.acknowledged_writes == 0 {
        notes
            .push(Note::caution("Nothing was acknowledged before the end: this says nothing of the device."));
    } else if !cut.is_loss() {
        let blocks = count(cut.blocks_checked);
        notes.insert(0, Note::strong(format!("Nothing that was acknowledged is lost ({blocks} blocks).")));
    }
    if cut.is_ended {
        notes.push(Note::caution("The writer ended by itself: no power failed, and this is not counted."));
    }
    if !cut.run.is_direct {
        notes.push(Note::caution(
            "The writes went through the page cache, because there is no direct I/O here.",
        ));
    }
    notes
}

fn note(finding: Finding, cut: &Cut) -> Note {
    let (kept, gone) = cut.last_flush;
    match finding {
        Finding::Lost => Note::bad(format!(
            "LOST: {} of {} blocks do not hold what {} had acknowledged.",
            count(cut.lost_writes),
            count(cut.blocks_checked),
            cut.run.primitive.name()
        )),
        Finding::Stale => {
            Note::bad(format!("STALE: {} of them hold an older version again.", count(cut.stale_writes)))
        }
        Finding::FlushIgnored => Note::bad(
            "IGNORED: of the last acknowledged flush nothing is there, and nothing after it either.",
        ),
        Finding::FlushPartial => Note::bad(format!(
            "PARTIAL: of the last acknowledged flush {} of {} writes are there.",
            count(kept),
            count(kept + gone)
        )),
        Finding::Reordered => {
            let (before, after) = cut.reordered.unwrap_or_default();
            Note::bad(format!(
                "REORDERED: a write of flush {before} is lost, and one of flush {after}, which came later, is there."
            ))
        }
        Finding::Torn => Note::caution(format!(
            "TORN at {} bytes: {} blocks hold pieces of several writes. A flush promises nothing else, but \
             full_page_writes and the doublewrite buffer must stay on.",
            cut.torn_bytes.unwrap_or_default(),
            count(cut.torn_blocks)
        )),
    }
}

fn facts(cut: &Cut) -> Vec<Fact> {
    let run = &cut.run;
    let fua = match run.takes_fua {
        Some(true) => "the device takes FUA",
        Some(false) => "the device takes no FUA: the kernel sends a flush instead",
        None => "unknown",
    };
    vec![
        Fact::new("run", run.run.as_str()),
        Fact::new("primitive", run.primitive.name()),
        Fact::new("FUA", fua),
        Fact::new(
            "writes",
            format!("{} of {}", count(cut.acknowledged_writes), bytes(run.block_bytes.into())),
        ),
        Fact::new("flushes", count(cut.acknowledged_flushes)),
    ]
}

fn lost(cut: &Cut) -> Table {
    let columns = vec![
        Column::numbers("write"),
        Column::numbers("flush"),
        Column::numbers("byte"),
        Column::words("what is there"),
    ];
    let mut table = Table::new("Lost writes", columns);
    for LostWrite { sequence, offset, flush, found } in &cut.lost {
        let found = match found {
            Found::Missing => "nothing of this run".to_owned(),
            Found::Stale { sequence } => format!("write {sequence}"),
            Found::Torn => "pieces".to_owned(),
            Found::Unreadable => "cannot be read".to_owned(),
        };
        table.row(vec![
            sequence.to_string().into(),
            flush.to_string().into(),
            offset.to_string().into(),
            found.into(),
        ]);
    }
    let more = cut.lost_writes - cut.lost.len() as u64;
    if more > 0 {
        table.notes.push(format!("{} more.", count(more)));
    }
    table
}

fn verdicts(all: &[PrimitiveVerdict]) -> Table {
    let columns = vec![
        Column::words("primitive"),
        Column::numbers("cuts"),
        Column::numbers("with loss"),
        Column::numbers("at most lose"),
        Column::words("verdict"),
    ];
    let mut table = Table::new("", columns);
    for one in all {
        let (verdict, severity) = match one {
            _ if one.cuts_with_loss > 0 => ("loses what it acknowledged", Severity::Bad),
            _ if one.cuts == 0 => ("nothing known", Severity::Caution),
            _ if one.is_not_passed && one.primitive == Primitive::RwfDsync => {
                ("FUA not passed by this stack; its flush: no loss seen", Severity::Caution)
            }
            _ => ("no loss seen", Severity::Good),
        };
        table.row(vec![
            one.primitive.name().into(),
            count(one.cuts).into(),
            count(one.cuts_with_loss).into(),
            one.loss_share_max.map_or_else(|| "-".to_owned(), percent).into(),
            TableCell::from(verdict).severity(severity),
        ]);
    }
    table
}

fn meaning(verdict: &PrimitiveVerdict, below: f64) -> Vec<Note> {
    let name = verdict.primitive.name();
    let mut notes = Vec::new();
    if let Some(share) = verdict.loss_share_max {
        notes.push(Note::plain(format!(
            "{name}: with a confidence of 95 %, fewer than {} of cuts lose something (0 of n: about 3/n). That fewer \
             than {} do takes {} cuts without a loss.",
            percent(share),
            percent(below),
            count(verdict.cuts_wanted)
        )));
    }
    if verdict.is_not_passed {
        notes.push(Note::plain(format!(
            "{name}: the device takes no FUA (queue/fua is 0), so the kernel turned it into a write and a flush. \
             Nothing is known of FUA."
        )));
    }
    notes
}
