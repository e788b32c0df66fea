//! The report of a backup that SQL Server made itself.

use iostall_model::figures::per_second;
use iostall_model::sqlserver_backup::BackupKind;
use iostall_model::{BackupEnd, ProgressPoint, Run, SqlServerBackupOutcome};

use super::moved::NoSpans;
use super::sqlserver_trace;
use super::sqlserver_verify::files;
use super::striped::processed;
use crate::format::{NONE, bytes, count, duration, maybe_throughput, shown};
use crate::report::{Field, Report, Series};
use crate::section::{Fact, Layout, Note, Section};

const HEADER: [&str; 2] = ["at_s", "done_pct"];

pub(super) fn report<'a>(run: &'a Run, backup: &'a SqlServerBackupOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: String::new(),
        headline: line(backup),
        line: Box::new(|| line(backup)),
        answer: Box::new(|| answer(backup)),
        judgement: Box::new(|| None),
        asked: None,
        opens_one_way: false,
        sections: Box::new(|| vec![section(backup)]),
        when_empty: "",
        charts: Box::new(|| vec![Vec::new()]),
        series: Box::new(|| series(&backup.progress)),
        summary: Box::new(|| Box::new(NoSpans::new())),
    }
}

fn what(backup: &SqlServerBackupOutcome) -> String {
    let kind = match backup.kind {
        BackupKind::Full => "full backup",
        BackupKind::Differential => "differential backup",
        BackupKind::Log => "log backup",
    };
    format!("{kind} of {}", shown(&backup.database))
}

fn rate(backup: &SqlServerBackupOutcome, amount: Option<u64>) -> String {
    maybe_throughput(amount.and_then(|amount| per_second(amount as f64, backup.elapsed_ns)))
}

/// In the form of BACKUP's last message, with the rates of source and target apart.
fn line(backup: &SqlServerBackupOutcome) -> String {
    if backup.history.is_none() {
        let reached = backup.progress.last().map(|point| format!(", {} done", percent(*point)));
        let reached = reached.unwrap_or_default();
        return format!("{} on {}{reached}", what(backup), shown(&backup.server));
    }
    let whole = processed(Some(backup.pages()), backup.bytes(), backup.elapsed_ns);
    let mut parts = vec![format!("{}: processed {whole}", what(backup))];
    parts.extend(backup.ratio().map(|ratio| format!("compressed {ratio:.2} : 1")));
    let (source, stored) = (rate(backup, Some(backup.bytes())), rate(backup, backup.stored_bytes()));
    parts.push(format!("source {source}, stored {stored}"));
    parts.join("; ")
}

fn percent(point: ProgressPoint) -> String {
    format!("{:.1} %", f64::from(point.percent_hundredths) / 100.0)
}

fn answer(backup: &SqlServerBackupOutcome) -> String {
    let state = match &backup.end {
        BackupEnd::Complete | BackupEnd::CompleteAlone { .. } if backup.is_to_nul() => {
            "to NUL, so nothing was kept".to_owned()
        }
        BackupEnd::Complete => format!("complete: {}", devices(backup)),
        BackupEnd::CompleteAlone { .. } => {
            format!("complete, although the connection broke: {}", devices(backup))
        }
        BackupEnd::Failed { reason } => format!("FAILED: {}", shown(reason)),
        BackupEnd::Stopped { .. } => "STOPPED: there is no backup".to_owned(),
        BackupEnd::Unknown { .. } => {
            "UNKNOWN: the connection broke, and the server may still be writing".to_owned()
        }
    };
    let read_back = backup.read_back.as_ref().map(|found| match &found.failure {
        None => "read back without a fault".to_owned(),
        Some(failure) => format!("COULD NOT BE READ BACK: {}", shown(failure)),
    });
    let unread = backup.not_read_back.as_ref().map(|reason| format!("NOT READ BACK: {}", shown(reason)));
    [Some(line(backup)), Some(state), read_back, unread].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn devices(backup: &SqlServerBackupOutcome) -> String {
    match backup.devices.as_slice() {
        [] => NONE.to_owned(),
        [one] => shown(one),
        [first, rest @ ..] => format!("{} and {} more", shown(first), count(rest.len() as u64)),
    }
}

fn section(backup: &SqlServerBackupOutcome) -> Section {
    let listed = backup.read_back.as_ref().map(|found| found.files.as_slice()).unwrap_or_default();
    let files = (!listed.is_empty()).then(|| files(listed));
    let traced = backup.trace.iter().flat_map(sqlserver_trace::tables);
    Section {
        title: "Result".to_owned(),
        subtitle: line(backup),
        layout: Layout::Facts,
        notes: notes(backup),
        facts: facts(backup),
        tables: files.into_iter().chain(traced).collect(),
        ..Section::default()
    }
}

fn facts(backup: &SqlServerBackupOutcome) -> Vec<Fact> {
    let server = format!("{}, SQL Server {}, {}", backup.server, backup.version, backup.edition);
    let mut facts = vec![Fact::new("server", shown(&server))];
    facts.extend(backup.devices.iter().map(|device| Fact::new("to", shown(device))));
    let statement: Vec<&str> = backup.statement.split_whitespace().collect();
    facts.push(Fact::new("statement", shown(&statement.join(" "))));
    facts.push(Fact::new("time", duration(backup.elapsed_ns as f64)));
    facts.extend(backup.trace.as_ref().and_then(sqlserver_trace::buffers));
    let read_back = backup.read_back.as_ref().map(|found| {
        let took = duration(found.elapsed_ns as f64);
        Fact::new("read back", format!("in {took}; its files hold {} backups", count(found.backups)))
    });
    let Some(entry) = &backup.history else {
        facts.extend(read_back);
        return facts;
    };
    let stored = entry.stored_bytes.map_or_else(|| NONE.to_owned(), bytes);
    facts.push(Fact::new("size", format!("{}, stored as {stored}", bytes(entry.bytes))));
    let place = format!(
        "msdb's entry {}, number {} in its files, {} s by the server's clock, ended {} there",
        entry.backup_set_id,
        entry.position,
        entry.elapsed_s,
        shown(&entry.finished)
    );
    facts.push(Fact::new("history", place));
    facts.push(Fact::new("log", format!("{} to {}", shown(&entry.first_lsn), shown(&entry.last_lsn))));
    facts.push(Fact::new("checksums", if entry.has_checksums { "yes" } else { "no" }));
    facts.extend(read_back);
    facts
}

fn notes(backup: &SqlServerBackupOutcome) -> Vec<Note> {
    let mut notes = Vec::new();
    match &backup.end {
        BackupEnd::Complete => {}
        BackupEnd::CompleteAlone { reason } => notes.push(Note::caution(format!(
            "The connection broke ({}). The server went on, and its history has the backup.",
            shown(reason)
        ))),
        BackupEnd::Failed { reason } => notes.push(Note::bad(format!("FAILED: {}", shown(reason)))),
        BackupEnd::Stopped { how } => notes.push(Note::bad(format!(
            "STOPPED: {}. What is in the files is no backup; earlier backups in the same files are still good, \
             unless FORMAT or INIT replaced them.",
            shown(how)
        ))),
        BackupEnd::Unknown { reason } => notes.push(Note::bad(format!(
            "UNKNOWN: {}. The server may still be writing. Look at sys.dm_exec_requests and msdb.dbo.backupset \
             before you start it again.",
            shown(reason)
        ))),
    }
    if let Some(failure) = backup.read_back.as_ref().and_then(|found| found.failure.as_ref()) {
        notes.push(Note::bad(format!("COULD NOT BE READ BACK: {}", shown(failure))));
    }
    if let Some(reason) = &backup.not_read_back {
        notes.push(Note::bad(format!("NOT READ BACK: {}", shown(reason))));
    }
    if backup.history.as_ref().is_some_and(|entry| entry.is_damaged) {
        notes.push(Note::bad("DAMAGED PAGES: the server met damaged pages of the database and went on."));
    }
    notes
}

fn series(points: &[ProgressPoint]) -> Series<'_> {
    let row = |point: &ProgressPoint| -> Vec<Field<'_>> {
        let done_pct = f64::from(point.percent_hundredths) / 100.0;
        vec![(point.at_ns as f64 / 1e9).into(), done_pct.into()]
    };
    Series { header: &HEADER, rows: Box::new(points.iter().map(row)) }
}

#[cfg(test)]
mod tests {
    use iostall_model::HistoryEntry;

    use super::*;

    fn backup(end: BackupEnd) -> SqlServerBackupOutcome {
        SqlServerBackupOutcome {
            server: "sqlserver://db1:1433".into(),
            database: "sales".into(),
            devices: vec![r"E:\b\1.bak".into(), r"F:\b\2.bak".into()],
            elapsed_ns: 2_000_000_000,
            end,
            history: Some(HistoryEntry {
                bytes: 1 << 30,
                stored_bytes: Some(1 << 29),
                ..HistoryEntry::default()
            }),
            ..SqlServerBackupOutcome::default()
        }
    }

    /// The story: the server's 618 MB/s counted what was read; what reached the disks was a fifth of it.
    #[test]
    fn the_rates_of_source_and_target_are_apart() {
        assert_eq!(
            line(&backup(BackupEnd::Complete)),
            "full backup of sales: processed 131072 pages (1 GiB) in 2.000 seconds (512.000 MB/sec); \
             compressed 2.00 : 1; source 512 MiB/s, stored 256 MiB/s"
        );
    }

    #[test]
    fn the_answer_says_whether_there_is_a_backup_now() {
        let ends_with = |end, words: &str| {
            let answer = answer(&backup(end));
            assert!(answer.ends_with(words), "{answer}");
        };
        ends_with(BackupEnd::Complete, r"; complete: E:\b\1.bak and 1 more");
        ends_with(BackupEnd::Failed { reason: "disk full".into() }, "; FAILED: disk full");
        ends_with(BackupEnd::Unknown { reason: "cut".into() }, "the server may still be writing");
        let mut nul = backup(BackupEnd::Complete);
        nul.devices = vec!["NUL".into()];
        assert!(answer(&nul).ends_with("; to NUL, so nothing was kept"));
    }

    /// The story: a report of a broken backup showed 0 MiB/s as if it had been measured.
    #[test]
    fn what_is_not_in_the_history_has_no_rate() {
        let mut failed = backup(BackupEnd::Failed { reason: "disk full".into() });
        failed.history = None;
        failed.progress = vec![ProgressPoint { at_ns: 1, percent_hundredths: 4310 }];
        assert_eq!(line(&failed), "full backup of sales on sqlserver://db1:1433, 43.1 % done");
        assert!(facts(&failed).iter().all(|fact| !fact.value.contains("iB/s")));
    }
}
