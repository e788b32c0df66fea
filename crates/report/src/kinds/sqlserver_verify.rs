//! The report of a server's own backup that the server has read back.

use iostall_model::figures::per_second;
use iostall_model::{BackupHeader, FileInBackup, Run, SqlServerVerifyOutcome};

use super::moved::NoSpans;
use crate::format::{NONE, bytes, count, duration, maybe_throughput, shown};
use crate::report::{Field, Report, Series};
use crate::section::{Fact, Layout, Note, Section};
use crate::table::{Column, Table, TableCell};

const HEADER: [&str; 9] = [
    "position",
    "database",
    "type",
    "bytes",
    "stored_bytes",
    "finished",
    "is_copy_only",
    "has_checksums",
    "is_damaged",
];

pub(super) fn report<'a>(run: &'a Run, verify: &'a SqlServerVerifyOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: String::new(),
        headline: line(verify),
        line: Box::new(|| line(verify)),
        answer: Box::new(|| answer(verify)),
        judgement: Box::new(|| None),
        asked: None,
        opens_one_way: false,
        sections: Box::new(|| vec![section(verify)]),
        when_empty: "",
        charts: Box::new(|| vec![Vec::new()]),
        series: Box::new(|| series(&verify.backups)),
        summary: Box::new(|| Box::new(NoSpans::new())),
    }
}

fn line(verify: &SqlServerVerifyOutcome) -> String {
    let Some(backup) = verify.checked() else { return "no backup".to_owned() };
    format!(
        "{} backup of {} of {}, number {} of {} in its files",
        shown(&backup.kind),
        shown(&backup.database),
        shown(&backup.finished),
        count(backup.position),
        count(verify.backups.len() as u64)
    )
}

fn answer(verify: &SqlServerVerifyOutcome) -> String {
    let found = match (&verify.failure, verify.headers_only) {
        (Some(failure), _) => format!("COULD NOT BE READ BACK: {}", shown(failure)),
        (None, true) => "only its headers were read".to_owned(),
        (None, false) => format!(
            "read back without a fault: {} in {} ({})",
            bytes(verify.stored_bytes()),
            duration(verify.elapsed_ns as f64),
            rate(verify)
        ),
    };
    format!("{}; {found}", line(verify))
}

fn rate(verify: &SqlServerVerifyOutcome) -> String {
    maybe_throughput(per_second(verify.stored_bytes() as f64, verify.elapsed_ns))
}

fn section(verify: &SqlServerVerifyOutcome) -> Section {
    Section {
        title: "Result".to_owned(),
        subtitle: line(verify),
        layout: Layout::Facts,
        notes: notes(verify),
        facts: facts(verify),
        tables: vec![backups(verify), files(&verify.files)],
        ..Section::default()
    }
}

fn notes(verify: &SqlServerVerifyOutcome) -> Vec<Note> {
    let mut notes = Vec::new();
    if let Some(failure) = &verify.failure {
        notes.push(Note::bad(format!("COULD NOT BE READ BACK: {}", shown(failure))));
    }
    if verify.checked().is_some_and(|backup| backup.is_damaged) {
        notes.push(Note::bad("DAMAGED PAGES: the server met damaged pages of the database and went on."));
    }
    if verify.checked().is_some_and(|backup| !backup.has_checksums) && !verify.headers_only {
        notes.push(Note::caution(
            "The backup has no checksums, so damaged pages were not looked for: back up with --checksum.",
        ));
    }
    notes
}

fn facts(verify: &SqlServerVerifyOutcome) -> Vec<Fact> {
    let server = format!("{}, SQL Server {}, {}", verify.server, verify.version, verify.edition);
    let mut facts = vec![Fact::new("server", shown(&server))];
    facts.extend(verify.devices.iter().map(|device| Fact::new("from", shown(device))));
    if let Some(backup) = verify.checked() {
        facts.push(Fact::new("made on", shown(&backup.server)));
    }
    let one_line = |text: &String| shown(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    facts.extend(verify.statements.iter().map(|statement| Fact::new("statement", one_line(statement))));
    facts
}

fn backups(verify: &SqlServerVerifyOutcome) -> Table {
    let columns = vec![
        Column::numbers("number"),
        Column::words("database"),
        Column::words("type"),
        Column::numbers("size"),
        Column::numbers("stored").droppable(1),
        Column::words("finished"),
        Column::words("copy-only").droppable(2),
        Column::words("checksums").droppable(0),
        Column::words("checked"),
    ];
    let mut table = Table::new("Backups in the files", columns);
    let yes = |is_so: bool| if is_so { "yes" } else { "" };
    for backup in &verify.backups {
        table.row(vec![
            TableCell::from(backup.position.to_string()),
            TableCell::from(shown(&backup.database)),
            TableCell::from(shown(&backup.kind)),
            TableCell::from(bytes(backup.bytes)),
            TableCell::from(backup.stored_bytes.map_or_else(|| NONE.to_owned(), bytes)),
            TableCell::from(shown(&backup.finished)),
            TableCell::from(yes(backup.is_copy_only)),
            TableCell::from(yes(backup.has_checksums)),
            TableCell::from(yes(backup.position == verify.position)),
        ]);
    }
    table
}

/// What a restore under another name has to place with MOVE.
pub(super) fn files(files: &[FileInBackup]) -> Table {
    let mut table = Table::new(
        "Files in the backup",
        vec![Column::words("logical name"), Column::words("file"), Column::numbers("size")],
    );
    for file in files {
        table.row(vec![
            TableCell::from(shown(&file.logical_name)),
            TableCell::from(shown(&file.physical_name)),
            TableCell::from(bytes(file.bytes)),
        ]);
    }
    table
}

fn series(backups: &[BackupHeader]) -> Series<'_> {
    let row = |one: &BackupHeader| -> Vec<Field<'_>> {
        vec![
            one.position.into(),
            one.database.clone().into(),
            one.kind.clone().into(),
            one.bytes.into(),
            one.stored_bytes.into(),
            one.finished.clone().into(),
            u64::from(one.is_copy_only).into(),
            u64::from(one.has_checksums).into(),
            u64::from(one.is_damaged).into(),
        ]
    };
    Series { header: &HEADER, rows: Box::new(backups.iter().map(row)) }
}
