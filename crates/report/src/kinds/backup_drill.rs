//! The report of a drill: whether a backup can be relied on, and how long it takes to recover from it.

use iostall_model::drill::{CheckState, DrillCheck};
use iostall_model::wal_archive::RecoveryRecord;
use iostall_model::{DrillOutcome, Run};

use super::moved::{self, NoSpans};
use super::striped;
use crate::format::{bytes, count, duration, shown};
use crate::report::Report;
use crate::section::{Fact, Layout, Note, Section};
use crate::table::{Column, Severity, Table, TableCell};

pub(super) fn report<'a>(run: &'a Run, drill: &'a DrillOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: String::new(),
        headline: line(drill),
        line: Box::new(|| line(drill)),
        answer: Box::new(|| answer(run, drill)),
        judgement: Box::new(|| None),
        asked: None,
        opens_one_way: false,
        sections: Box::new(|| vec![section(drill)]),
        when_empty: "",
        charts: Box::new(|| vec![moved::charts(&drill.series)]),
        series: Box::new(|| striped::series(&drill.series)),
        summary: Box::new(|| Box::new(NoSpans::new())),
    }
}

fn time(ns: u64) -> String {
    duration(ns as f64)
}

fn engines(drill: &DrillOutcome) -> String {
    if drill.engines.is_empty() { "no engine".to_owned() } else { drill.engines.join(", ") }
}

fn line(drill: &DrillOutcome) -> String {
    let restored = format!("restored {} in {}", bytes(drill.bytes), time(drill.restore_ns));
    let Some(recover_ns) = drill.recover_ns() else {
        return format!("not recovered; {restored}");
    };
    let started = if drill.engines.is_empty() {
        "no engine was started".to_owned()
    } else {
        format!("{} up after {}", engines(drill), time(drill.start_ns))
    };
    let checked = match drill.checks_ns {
        0 => String::new(),
        checks_ns => format!("; checks {}", time(checks_ns)),
    };
    format!("time to recover {} ({restored}, {started}){checked}", time(recover_ns))
}

fn answer(run: &Run, drill: &DrillOutcome) -> String {
    let failed: Vec<&DrillCheck> = drill.failed().collect();
    let state = match (drill.damage.len() as u64, failed.as_slice()) {
        (0, []) if run.interrupted => "NOT DRILLED to the end".to_owned(),
        (0, []) if !drill.is_complete => "NOT DRILLED: not every check was made".to_owned(),
        (0, []) if drill.engines.is_empty() => {
            "the backup was restored, and every frame of it is as it was written; no engine was started on these files, \
             which proves less than a database that starts"
                .to_owned()
        }
        (0, []) => "the backup is good: the database started from it, and every check passed".to_owned(),
        (0, [one]) => format!("THE DRILL FAILED: {}: {}", shown(&one.name), shown(&one.detail)),
        (0, [first, ..]) => format!(
            "THE DRILL FAILED in {} checks, the first: {}: {}",
            failed.len(),
            shown(&first.name),
            shown(&first.detail)
        ),
        (1, _) => "THE BACKUP IS DAMAGED in 1 place".to_owned(),
        (places, _) => format!("THE BACKUP IS DAMAGED in {} places", count(places)),
    };
    format!("{}; {state}", line(drill))
}

fn section(drill: &DrillOutcome) -> Section {
    Section {
        title: "Result".to_owned(),
        subtitle: line(drill),
        layout: Layout::Notes,
        notes: notes(drill),
        facts: facts(drill),
        tables: vec![checks(&drill.checks)],
        ..Section::default()
    }
}

fn facts(drill: &DrillOutcome) -> Vec<Fact> {
    let made = drill.made_utc.map_or_else(String::new, |made| format!(", made {made:.0}"));
    let left = if drill.is_kept { "left there" } else { "removed again" };
    let mut facts = vec![
        Fact::new("backup", shown(&drill.from)),
        Fact::new("set", format!("{}{made}", shown(&drill.set))),
        Fact::new("of", shown(&drill.source)),
        Fact::new("engine", engines(drill)),
        Fact::new("restored to", format!("{}, {left}", shown(&drill.scratch))),
        Fact::new(
            "holds",
            format!(
                "{} in {} files, from {} of stripes",
                bytes(drill.bytes),
                count(drill.files),
                bytes(drill.stored_bytes)
            ),
        ),
    ];
    facts.extend(drill.recovery.as_ref().map(|recovery| Fact::new("brought to", recovered_to(recovery))));
    facts
}

fn recovered_to(recovery: &RecoveryRecord) -> String {
    let (until, archive) = (shown(&recovery.until), shown(&recovery.archive));
    format!("{until} on timeline {}, with the log in {archive}", recovery.timeline)
}

fn checks(checks: &[DrillCheck]) -> Table {
    let columns =
        vec![Column::words("check"), Column::words("result"), Column::numbers("time"), Column::words("what")];
    let mut table = Table::new("Checks", columns);
    for check in checks {
        let (word, severity) = match check.state {
            CheckState::Passed => ("passed", Severity::Good),
            CheckState::Failed => ("FAILED", Severity::Bad),
            CheckState::NotAvailable => ("not available", Severity::Caution),
        };
        table.row(vec![
            TableCell::from(shown(&check.name)),
            TableCell::from(word.to_owned()).severity(severity),
            TableCell::from(time(check.elapsed_ns)),
            TableCell::from(shown(&check.detail)),
        ]);
    }
    table
}

fn notes(drill: &DrillOutcome) -> Vec<Note> {
    let mut notes: Vec<Note> = drill
        .failed()
        .map(|check| Note::bad(format!("FAILED {}: {}", shown(&check.name), shown(&check.detail))))
        .collect();
    notes.extend(striped::damage(&drill.damage));
    if drill.engines.is_empty() && drill.is_complete {
        notes.push(Note::caution(
            "No engine was started, because these files are of no database that iostall can start. That they were written \
             as they were read says nothing about whether a program can use them.",
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn good() -> DrillOutcome {
        DrillOutcome {
            engines: vec!["PostgreSQL 15.8".into()],
            bytes: 1 << 30,
            restore_ns: 2_000_000_000,
            start_ns: 1_000_000_000,
            checks_ns: 4_000_000_000,
            is_complete: true,
            ..DrillOutcome::default()
        }
    }

    /// The story: "the restore takes an hour" was a guess, and with recovery it took three.
    #[test]
    fn the_time_to_recover_includes_the_start_of_the_engine_and_not_our_checks() {
        let drill = good();
        assert_eq!(
            line(&drill),
            "time to recover 3.00 s (restored 1 GiB in 2.00 s, PostgreSQL 15.8 up after 1.00 s); checks 4.00 s"
        );
        assert!(answer(&fixture::judged(), &drill).ends_with("every check passed"));
    }

    #[test]
    fn what_failed_is_in_the_answer_and_files_without_an_engine_prove_less() {
        let check = DrillCheck {
            name: "amcheck of shop".into(),
            state: CheckState::Failed,
            detail: "block 5 of public.account".into(),
            elapsed_ns: 1,
        };
        let failed = DrillOutcome { checks: vec![check], ..good() };
        let said = answer(&fixture::judged(), &failed);
        assert!(said.ends_with("THE DRILL FAILED: amcheck of shop: block 5 of public.account"), "{said}");
        let files = DrillOutcome { engines: Vec::new(), ..good() };
        assert!(answer(&fixture::judged(), &files).contains("which proves less"));
        assert!(notes(&files)[0].text.starts_with("No engine was started"));
    }
}
