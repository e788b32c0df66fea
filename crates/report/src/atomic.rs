//! What a stack promises about writes that are not torn.

use std::io::{self, Write};

use iostall_model::atomic::{
    AtomicCondition, AtomicLayer, AtomicReport, AtomicUnits, PageProof, ProtectionAdvice, RequiredUnit,
    TornProof,
};
use iostall_session::output::Form;
use serde_json::json;

use crate::format::{bytes, count, percent, shown};
use crate::forms::write_page;
use crate::html::write_sections_html;
use crate::markdown::write_sections_markdown;
use crate::section::{Fact, Note, Section};
use crate::table::{Column, Severity, Table, TableCell};

pub fn title(report: &AtomicReport) -> String {
    format!("drive atomic: {}", shown(&report.target))
}

pub fn sections(report: &AtomicReport) -> Vec<Section> {
    let mut notes = vec![promise(report)];
    if report.is_by_file_system() {
        notes.push(Note::plain(
            "The device takes less than that: the file system writes elsewhere first, which costs time.",
        ));
    }
    notes.extend(report.required.as_ref().map(required));
    notes.extend(report.proof.iter().flat_map(proven));
    notes.push(Note::plain(
        "Untorn is not durable: what was not flushed is lost whole. `iostall drive powerfail` shows what a flush is worth.",
    ));
    let mut tables = vec![conditions(&report.conditions)];
    let pages = report.proof.iter().flat_map(|proof| &proof.pages);
    tables.extend((pages.clone().count() > 0).then(|| proofs(pages)));
    vec![Section {
        notes,
        results: Some(databases(report)),
        tables,
        facts: facts(report),
        ..Section::titled("Untorn writes")
    }]
}

pub fn write_atomic(report: &AtomicReport, form: Form, out: &mut dyn Write) -> io::Result<()> {
    let (title, sections) = (title(report), sections(report));
    match form {
        Form::Markdown => write_page(out, |text| write_sections_markdown(&title, &sections, text)),
        Form::Html => write_page(out, |text| {
            write_sections_html("drive atomic", &title, &sections, &[Vec::new()], text)
        }),
        _ => {
            let mut document = json!({"schema": "iostall-drive-atomic", "schema_version": 1});
            for (key, value) in json!(report).as_object().into_iter().flatten() {
                document[key] = value.clone();
            }
            document["units"] = json!(report.units());
            serde_json::to_writer_pretty(&mut *out, &document)?;
            writeln!(out)
        }
    }
}

fn promise(report: &AtomicReport) -> Note {
    let record = report.file_system.as_ref().and_then(|found| found.record_bytes);
    match (report.units(), record, report.sector_bytes()) {
        (Some(units), ..) => {
            Note::strong(format!("The stack takes writes of {} untorn, with RWF_ATOMIC.", range(units)))
        }
        (None, Some(record), _) => {
            Note::strong(format!("The file system replaces records of {} whole.", bytes(record)))
        }
        (None, None, Some(sector)) => Note::strong(format!(
            "The stack promises no untorn writes beyond a sector of {}.",
            bytes(sector.into())
        )),
        (None, None, None) => Note::strong("The stack promises no untorn writes."),
    }
}

fn range(units: AtomicUnits) -> String {
    if units.min_bytes == units.max_bytes {
        bytes(units.max_bytes)
    } else {
        format!("{} to {}", bytes(units.min_bytes), bytes(units.max_bytes))
    }
}

fn required(required: &RequiredUnit) -> Note {
    let size = bytes(required.bytes);
    if required.is_met {
        Note::plain(format!("Required: a write of {size} is promised untorn: yes."))
    } else {
        Note::bad(format!("Required: a write of {size} is promised untorn, and no cut tore one: NO."))
    }
}

fn proven(proof: &TornProof) -> Vec<Note> {
    let mut notes = Vec::new();
    if proof.cuts == 0 {
        notes.push(Note::caution("None of the cuts is of this target and says something: nothing is shown."));
    } else if let Some(pieces) = proof.torn_bytes {
        notes.push(Note::bad(format!(
            "NOT UNTORN: {} of {} cuts tore a write, at {pieces} bytes: what protects larger pages must stay on. (The writes of \
             `powerfail` are ordinary ones, without RWF_ATOMIC.)",
            count(proof.torn_cuts),
            count(proof.cuts),
        )));
    } else {
        let cuts = count(proof.cuts);
        let most = proof.pages.last().and_then(|page| page.torn_share_max).map(percent).unwrap_or_default();
        notes.push(Note::plain(format!(
            "No tear in {cuts} of {cuts} cuts: with a confidence of 95 %, fewer than {most} of cuts tear a write \
             (0 of n: about 3/n). That is no promise."
        )));
    }
    if proof.other_cuts > 0 {
        notes.push(Note::plain(format!(
            "{} cuts of the file are of other targets, or say nothing.",
            count(proof.other_cuts)
        )));
    }
    notes
}

fn databases(report: &AtomicReport) -> Table {
    let columns = vec![
        Column::words("database"),
        Column::words("setting"),
        Column::numbers("page"),
        Column::words("here"),
        Column::words("because, or if"),
    ];
    let mut table = Table::new("", columns);
    for one in &report.protections {
        let (here, severity) = match one.advice {
            ProtectionAdvice::OffIf => ("off only if", Severity::Good),
            ProtectionAdvice::LeaveOn => ("leave on", Severity::Plain),
        };
        table.row(vec![
            one.engine.as_str().into(),
            one.setting.as_str().into(),
            bytes(one.page_bytes).into(),
            TableCell::from(here).severity(severity),
            one.why.as_str().into(),
        ]);
    }
    table
}

fn conditions(all: &[AtomicCondition]) -> Table {
    let mut table = Table::new("What must hold", vec![Column::words("here"), Column::words("condition")]);
    for one in all {
        let (here, severity) = match one.is_met {
            Some(true) => ("yes", Severity::Good),
            Some(false) => ("no", Severity::Bad),
            None => ("not seen", Severity::Plain),
        };
        table.row(vec![TableCell::from(here).severity(severity), one.text.as_str().into()]);
    }
    table
}

fn proofs<'a>(pages: impl Iterator<Item = &'a PageProof>) -> Table {
    let columns = vec![
        Column::numbers("page"),
        Column::numbers("cuts"),
        Column::numbers("torn"),
        Column::numbers("at most torn"),
    ];
    let mut table = Table::new("What cuts showed", columns);
    for page in pages {
        let severity = if page.torn_cuts > 0 { Severity::Bad } else { Severity::Plain };
        table.row(vec![
            bytes(page.page_bytes).into(),
            count(page.cuts).into(),
            TableCell::from(count(page.torn_cuts)).severity(severity),
            page.torn_share_max.map_or_else(|| "-".to_owned(), percent).into(),
        ]);
    }
    table
}

fn facts(report: &AtomicReport) -> Vec<Fact> {
    let units = |units: AtomicUnits| if units.max_bytes > 0 { range(units) } else { "none".to_owned() };
    let mut facts = vec![
        Fact::new("kernel", report.kernel.as_deref().map_or_else(|| "unknown".to_owned(), shown)),
        Fact::new(
            "file system",
            report.file_system.as_ref().map_or_else(
                || "none: a device".to_owned(),
                |found| format!("{}, blocks of {}", shown(&found.kind), bytes(found.block_bytes)),
            ),
        ),
        Fact::new("statx", report.statx.map_or_else(|| "does not say".to_owned(), units)),
    ];
    facts.extend(report.layers.iter().map(|layer| Fact::new(shown(&layer.device), words_of(layer, &units))));
    if report.layers.is_empty() {
        facts.push(Fact::new("device", "no block device"));
    }
    facts
}

fn words_of(layer: &AtomicLayer, units: &dyn Fn(AtomicUnits) -> String) -> String {
    let mut words: Vec<String> = layer.model.as_deref().map(shown).into_iter().collect();
    match (layer.start_bytes, layer.queue) {
        (Some(start), _) => words.push(format!("a partition, from byte {}", count(start))),
        (None, Some(queue)) => words.push(format!("untorn: {}", units(queue.units))),
        (None, None) => words.push("untorn: does not say".to_owned()),
    }
    if let Some(queue) = layer.queue.filter(|queue| queue.boundary_bytes > 0) {
        words.push(format!("not across multiples of {}", bytes(queue.boundary_bytes)));
    }
    if let Some(nvme) = layer.nvme {
        let name = if nvme.namespace_bytes.is_some() { "NAWUPF" } else { "AWUPF" };
        words.push(format!("{name} {}", bytes(nvme.bytes())));
    }
    let sector = |size: Option<u32>| size.map_or_else(|| "?".to_owned(), |size| size.to_string());
    words.push(format!(
        "sectors of {} (physical {})",
        sector(layer.logical_sector_bytes),
        sector(layer.physical_sector_bytes)
    ));
    words.join(", ")
}
