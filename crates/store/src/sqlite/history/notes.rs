//! Notes in SQLite: what was noted, and what iostall itself did according to the same file.

use iostall_model::job::JobRun;
use iostall_model::{Note, NoteKind};
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Row, ToSql, named_params};

use super::sheets::remember_removed;
use super::{SourceNumber, SqliteHistory, from_utc_ns, statements, utc_ns};
use crate::collector_state::StoredNote;
use crate::error::StoreError;
use crate::sqlite::{begin, fault, parsed, sortable};

/// Runs of jobs that were due earlier before a window are taken to have ended before it.
const JOB_LASTS_MAX: SignedDuration = SignedDuration::from_hours(7 * 24);

impl SqliteHistory {
    pub(super) fn add_note_of(
        &mut self,
        source: Option<SourceNumber>,
        note: &Note,
    ) -> Result<(), StoreError> {
        let add = || {
            let transaction = begin(&self.connection, &self.path, note.text.len() as u64)?;
            let parameters = named_params! {
                ":source": source.map(|source| source.0),
                ":at_utc_ns": utc_ns(note.at),
                ":end_utc_ns": note.end.map(utc_ns),
                ":kind": note.kind.name(),
                ":text": note.text,
            };
            transaction.execute(statements::ADD_NOTE, parameters)?;
            transaction.commit()
        };
        add().map_err(fault(&self.path, "write to"))
    }

    pub(super) fn remove_note_of(&mut self, number: u32) -> Result<bool, StoreError> {
        let remove = || {
            let transaction = begin(&self.connection, &self.path, 0)?;
            remember_removed(&transaction, self.id, number)?;
            let removed = transaction.execute(statements::DELETE_NOTE, named_params! {":number": number})?;
            transaction.commit()?;
            Ok(removed > 0)
        };
        remove().map_err(fault(&self.path, "write to"))
    }

    pub(super) fn all_notes_of(&self, from: Timestamp, to: Timestamp) -> Result<Vec<StoredNote>, StoreError> {
        let parameters = named_params! {":from": utc_ns(from), ":to": utc_ns(to)};
        self.rows(statements::LIST_ALL_NOTES, parameters, |row| {
            Ok(StoredNote { number: row.get("number")?, source: row.get("source")?, note: noted(row)? })
        })
    }

    pub(super) fn notes_of(
        &self,
        source: SourceNumber,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<Note>, StoreError> {
        let parameters = named_params! {":source": source.0, ":from": utc_ns(from), ":to": utc_ns(to)};
        let mut all = self.rows(statements::LIST_NOTES, parameters, noted)?;
        let parameters = named_params! {":from": sortable(from), ":to": sortable(to)};
        all.extend(self.rows(statements::LIST_OWN_RUNS, parameters, of_run)?);
        let early = from.checked_sub(JOB_LASTS_MAX).unwrap_or(Timestamp::MIN);
        let parameters = named_params! {":from": utc_ns(early), ":to": utc_ns(to)};
        let jobs: Vec<JobRun> = self.rows(statements::LIST_JOB_RUNS_SINCE, parameters, |row| {
            parsed(row, "document", |text| serde_json::from_str(text))
        })?;
        let is_inside = |note: &Note| note.at < to && note.end.is_none_or(|end| end >= from);
        all.extend(jobs.iter().filter_map(of_job).filter(is_inside));
        all.extend(self.setting_notes(source, from, to)?);
        all.sort_by_key(|note| note.at);
        Ok(all)
    }

    fn rows<T>(
        &self,
        statement: &str,
        parameters: &[(&str, &dyn ToSql)],
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let all = || {
            let mut statement = self.connection.prepare_cached(statement)?;
            let rows = statement.query_map(parameters, read)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        all().map_err(fault(&self.path, "read"))
    }
}

fn noted(row: &Row<'_>) -> rusqlite::Result<Note> {
    let kind: String = row.get("kind")?;
    Ok(Note {
        at: from_utc_ns(row.get("at_utc_ns")?),
        end: row.get::<_, Option<i64>>("end_utc_ns")?.map(from_utc_ns),
        kind: NoteKind::named(&kind).unwrap_or_default(),
        text: row.get("text")?,
    })
}

/// A measurement, a copy or a backup of iostall's own: it does I/O, which is in the stall of others.
fn of_run(row: &Row<'_>) -> rusqlite::Result<Note> {
    let (kind, name): (String, String) = (row.get("kind")?, row.get("name")?);
    let is_backup = kind.contains("backup") || kind == "restore";
    let mut text = if name == kind { kind } else { format!("{kind} {name}") };
    if row.get("interrupted")? {
        text.push_str(", interrupted");
    }
    let note = Note::new(
        parsed(row, "started_utc", str::parse)?,
        if is_backup { NoteKind::Backup } else { NoteKind::Run },
        text,
    );
    Ok(note.until(parsed(row, "ended_utc", str::parse)?))
}

/// A run of a job that began; one that did not is not at any time.
fn of_job(run: &JobRun) -> Option<Note> {
    let note = Note::new(run.began?, NoteKind::Job, format!("{} {}", run.job, run.outcome.name()));
    Some(Note { end: run.ended, ..note })
}

#[cfg(test)]
mod tests {
    use iostall_model::job::JobOutcome;
    use jiff::SignedDuration;

    use super::*;
    use crate::collector_state::CollectorState;
    use crate::history::History;
    use crate::sqlite::SqliteStore;
    use crate::store::Store as _;

    fn at(minutes: i64) -> Timestamp {
        let start: Timestamp = "2026-03-01T10:00:00Z".parse().unwrap();
        start + SignedDuration::from_mins(minutes)
    }

    fn note(minutes: i64, text: &str) -> Note {
        Note::new(at(minutes), NoteKind::Deploy, text)
    }

    fn store() -> (tempfile::TempDir, SqliteHistory) {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteHistory::open(directory.path().join("store.db")).unwrap();
        (directory, store)
    }

    #[test]
    fn a_note_is_about_its_source_or_about_all_and_there_once() {
        let (_directory, mut store) = store();
        let (one, other) = (store.source("one").unwrap().id, store.source("other").unwrap().id);
        for (source, note) in
            [(None, note(1, "power")), (Some(one), note(0, "deploy")), (None, note(1, "power"))]
        {
            store.add_note(source, &note).unwrap();
        }
        assert_eq!(store.notes(one, at(0), at(2)).unwrap(), [note(0, "deploy"), note(1, "power")]);
        assert_eq!(store.notes(other, at(0), at(2)).unwrap(), [note(1, "power")]);
        assert_eq!(store.notes(other, at(0), at(1)).unwrap(), []);
        store.remove(one).unwrap();
        let again = store.source("one").unwrap().id;
        assert_eq!(store.notes(again, at(0), at(2)).unwrap(), [note(1, "power")], "its own went with it");
    }

    #[test]
    fn what_lasts_is_in_each_window_that_it_reaches_into() {
        let (_directory, mut store) = store();
        let one = store.source("one").unwrap().id;
        let long = note(0, "failover").until(at(10));
        store.add_note(Some(one), &long).unwrap();
        for (from, to, is_in) in
            [(-5, 0, false), (-5, 1, true), (4, 6, true), (10, 20, true), (11, 20, false)]
        {
            assert_eq!(!store.notes(one, at(from), at(to)).unwrap().is_empty(), is_in, "{from} to {to}");
        }
        assert_eq!(store.notes(one, at(4), at(5)).unwrap(), [long]);
    }

    #[test]
    fn a_note_is_removed_by_its_number_which_no_other_gets() {
        let (_directory, mut store) = store();
        let one = store.source("one").unwrap().id;
        store.add_note(Some(one), &note(0, "wrong")).unwrap();
        store.add_note(None, &note(1, "right")).unwrap();
        let all = store.all_notes(at(0), at(9)).unwrap();
        let sources: Vec<_> = all.iter().map(|stored| stored.source.as_deref()).collect();
        assert_eq!(sources, [Some("one"), None]);
        assert!(store.remove_note(all[1].number).unwrap());
        assert!(!store.remove_note(all[1].number).unwrap());
        store.add_note(None, &note(2, "later")).unwrap();
        let left = store.all_notes(at(0), at(9)).unwrap();
        assert_eq!(left.len(), 2);
        assert!(left[1].number > all[1].number, "{left:?}");
    }

    /// A backup at night was seen in the stall, and nobody knew why.
    #[test]
    fn own_runs_and_jobs_are_notes_while_they_last() {
        let (directory, mut store) = store();
        let one = store.source("one").unwrap().id;
        let run = crate::sample::sample_run(1);
        SqliteStore::open(directory.path().join("store.db")).unwrap().add(&run).unwrap();
        let (began, ended) = (run.started_utc, run.ended_utc);
        let job = |outcome, began, ended| JobRun {
            job: format!("{outcome:?}"),
            due: run.started_utc,
            calendar: "* * * * *".into(),
            began,
            ended,
            outcome,
            detail: String::new(),
            output: String::new(),
        };
        store.put_job_run(&job(JobOutcome::Succeeded, Some(began), Some(ended))).unwrap();
        store.put_job_run(&job(JobOutcome::Missed, None, None)).unwrap();
        let second = SignedDuration::from_secs(1);
        let notes = store.notes(one, began + second, ended - second).unwrap();
        let mut said: Vec<_> = notes.iter().map(|note| (note.kind, note.at, note.end)).collect();
        said.sort();
        assert_eq!(said, [(NoteKind::Job, began, Some(ended)), (NoteKind::Run, began, Some(ended))]);
        assert!(notes.iter().any(|note| note.text == "Succeeded succeeded"), "{notes:?}");
        assert_eq!(store.notes(one, ended + second, ended + second + second).unwrap(), []);
    }
}
