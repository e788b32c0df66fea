//! Runs of jobs and collector state in SQLite.

use iostall_model::job::JobRun;
use iostall_model::{Note, Setting};
use jiff::Timestamp;
use rusqlite::{OptionalExtension, named_params};

use super::columns::utc_ns;
use super::file::SqliteHistory;
use super::statements;
use crate::collector_state::{CollectorState, StoredNote};
use crate::document;
use crate::entry::RunNumber;
use crate::error::StoreError;
use crate::identity::SourceId;
use crate::sqlite::{begin, fault, parsed};
use crate::store::Stored;

const RUNS_MAX: u32 = 1_000;
/// What stands before the name of a document that was set aside.
const ASIDE: &str = "set aside: ";

impl CollectorState for SqliteHistory {
    fn put_job_run(&mut self, run: &JobRun) -> Result<(), StoreError> {
        let document = serde_json::json!(run).to_string();
        let put = || {
            let transaction = begin(&self.connection, &self.path, 0)?;
            transaction.execute(
                statements::PUT_JOB_RUN,
                named_params! {
                    ":job": run.job,
                    ":due_utc_ns": utc_ns(run.due),
                    ":outcome": run.outcome.name(),
                    ":document": document,
                },
            )?;
            transaction
                .execute(statements::DELETE_JOB_RUNS, named_params! {":job": run.job, ":most": RUNS_MAX})?;
            transaction.commit()
        };
        put().map_err(fault(&self.path, "write to"))
    }

    fn job_runs(&self, job: &str, most: u32) -> Result<Vec<JobRun>, StoreError> {
        let list = || {
            let mut statement = self.connection.prepare_cached(statements::LIST_JOB_RUNS)?;
            let runs = statement.query_map(named_params! {":job": job, ":most": most}, |row| {
                parsed(row, "document", |text| serde_json::from_str(text))
            })?;
            runs.collect::<rusqlite::Result<Vec<_>>>()
        };
        list().map_err(fault(&self.path, "read"))
    }

    fn runs_after(&self, kind: &str, after: Option<RunNumber>) -> Result<Vec<Stored>, StoreError> {
        // Numbers begin at 1.
        let after = after.map_or(0, |number| number.0);
        let list = || -> rusqlite::Result<Vec<Option<Stored>>> {
            let mut statement = self.connection.prepare_cached(statements::RUNS_AFTER)?;
            let runs = statement.query_map(named_params! {":kind": kind, ":after": after}, |row| {
                let (encoding, bytes): (String, Vec<u8>) = (row.get("encoding")?, row.get("document")?);
                let number = RunNumber(row.get("number")?);
                let run = document::text(&encoding, &bytes).and_then(|text| document::read(&text));
                Ok(run.ok().map(|run| Stored { number, run }))
            })?;
            runs.collect()
        };
        let all = list().map_err(fault(&self.path, "read"))?;
        Ok(all.into_iter().flatten().collect())
    }

    fn add_note(&mut self, source: Option<SourceId>, note: &Note) -> Result<(), StoreError> {
        let number = source.map(|source| self.number(source)).transpose()?;
        self.add_note_of(number, note)
    }

    fn all_notes(&self, from: Timestamp, to: Timestamp) -> Result<Vec<StoredNote>, StoreError> {
        self.all_notes_of(from, to)
    }

    fn remove_note(&mut self, number: u32) -> Result<bool, StoreError> {
        self.remove_note_of(number)
    }

    fn put_settings(
        &mut self,
        source: SourceId,
        at: Timestamp,
        settings: &[Setting],
    ) -> Result<(), StoreError> {
        self.put_settings_of(self.number(source)?, at, settings)
    }

    fn put_state(&mut self, name: &str, document: &str) -> Result<(), StoreError> {
        let put = || {
            let transaction = begin(&self.connection, &self.path, document.len() as u64)?;
            let parameters = named_params! {":name": name, ":document": document};
            transaction.execute(statements::PUT_STATE, parameters)?;
            transaction.commit()
        };
        put().map_err(fault(&self.path, "write to"))
    }

    fn file_bytes(&self) -> Option<u64> {
        std::fs::metadata(&self.path).ok().map(|metadata| metadata.len())
    }

    fn state(&self, name: &str) -> Result<Option<String>, StoreError> {
        self.connection
            .prepare_cached(statements::FIND_STATE)
            .and_then(|mut statement| {
                statement.query_row(named_params! {":name": name}, |row| row.get("document")).optional()
            })
            .map_err(fault(&self.path, "read"))
    }

    fn state_names(&self) -> Result<Vec<String>, StoreError> {
        let list = || {
            let mut statement = self.connection.prepare_cached(statements::LIST_STATE)?;
            let names = statement.query_map([], |row| row.get("name"))?;
            names.collect::<rusqlite::Result<_>>()
        };
        list().map_err(fault(&self.path, "read"))
    }

    fn set_state_aside(&mut self, name: &str) -> Result<String, StoreError> {
        let later = format!("{ASIDE}{name}");
        let parameters = named_params! {":name": name, ":later": later};
        let set = self.connection.execute(statements::RENAME_STATE, parameters);
        set.map_err(fault(&self.path, "write to"))?;
        Ok(later)
    }

    fn samples_between(&self, source: SourceId, after: u64, until: u64) -> Result<u64, StoreError> {
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let parameters = named_params! {
            ":source": self.number(source)?.0,
            ":after": number(after),
            ":until": number(until),
        };
        let count = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0).map(i64::cast_unsigned);
        let counted = self.connection.query_row(statements::COUNT_SAMPLES_BETWEEN, parameters, count);
        counted.map_err(fault(&self.path, "read"))
    }
}

#[cfg(test)]
mod tests {
    use iostall_model::job::JobOutcome;
    use jiff::SignedDuration;

    use super::*;
    use crate::sqlite::SqliteStore;
    use crate::store::Store as _;

    fn run(minute: i64, outcome: JobOutcome) -> JobRun {
        let due: Timestamp = "2026-11-22T02:30:00Z".parse().unwrap();
        JobRun {
            job: "drill".into(),
            due: due + SignedDuration::from_mins(minute),
            calendar: "* * * * *".into(),
            began: None,
            ended: None,
            outcome,
            detail: "exit status: 3".into(),
            output: "a\nb".into(),
        }
    }

    #[test]
    fn a_run_is_kept_once_with_its_newest_outcome_and_old_ones_go() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = SqliteHistory::open(directory.path().join("s.db")).unwrap();
        store.put_job_run(&run(0, JobOutcome::Running)).unwrap();
        store.put_job_run(&run(0, JobOutcome::Failed)).unwrap();
        assert_eq!(store.job_runs("drill", 9).unwrap(), [run(0, JobOutcome::Failed)]);
        assert_eq!(store.job_runs("other", 9).unwrap(), []);
        for minute in 1..=i64::from(RUNS_MAX) {
            store.put_job_run(&run(minute, JobOutcome::Succeeded)).unwrap();
        }
        let all = store.job_runs("drill", 2 * RUNS_MAX).unwrap();
        assert_eq!(all.len(), RUNS_MAX as usize);
        assert_eq!(
            (all[0].due, all[999].due),
            (run(1_000, JobOutcome::Failed).due, run(1, JobOutcome::Failed).due)
        );
    }

    #[test]
    fn runs_of_a_kind_that_were_stored_since_are_given_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.db");
        let history = SqliteHistory::open(&path).unwrap();
        assert_eq!(history.runs_after("load", None).unwrap(), []);
        let mut store = SqliteStore::open(&path).unwrap();
        let first = store.add(&crate::sample::sample_run(1)).unwrap();
        let second = store.add(&crate::sample::sample_run(2)).unwrap();
        let numbers = |after| -> Vec<RunNumber> {
            history.runs_after("load", after).unwrap().iter().map(|stored| stored.number).collect()
        };
        assert_eq!(numbers(None), [first, second]);
        assert_eq!(numbers(Some(first)), [second]);
        assert_eq!(history.runs_after("backup-drill", None).unwrap(), []);
    }

    #[test]
    fn a_document_is_found_again_by_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.db");
        let mut store = SqliteHistory::open(&path).unwrap();
        assert_eq!(store.state("alerts").unwrap(), None);
        store.put_state("alerts", "[1]").unwrap();
        store.put_state("alerts", "[2]").unwrap();
        drop(store);
        assert_eq!(SqliteHistory::open(&path).unwrap().state("alerts").unwrap().as_deref(), Some("[2]"));
    }
}
