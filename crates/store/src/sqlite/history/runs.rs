//! Runs in SQLite, to be sent to a repository.

use iostall_model::RunId;
use rusqlite::{OptionalExtension as _, Row, named_params};

use super::file::SqliteHistory;
use super::statements;
use crate::document;
use crate::entry::RunNumber;
use crate::error::StoreError;
use crate::sent_run::{RunMark, RunsToSend, SentRun};
use crate::sqlite::{entry_of_id, fault, parsed};

impl RunsToSend for SqliteHistory {
    fn run_marks(&self, after: RunNumber, most: u32) -> Result<Vec<(RunNumber, RunMark)>, StoreError> {
        let list = || {
            let mut statement = self.connection.prepare_cached(statements::LIST_RUN_MARKS)?;
            let marks = statement.query_map(named_params! {":after": after.0, ":most": most}, mark)?;
            marks.collect::<rusqlite::Result<Vec<_>>>()
        };
        list().map_err(fault(&self.path, "read"))
    }

    fn run_to_send(&self, id: RunId) -> Result<Option<SentRun>, StoreError> {
        let read = || {
            // Entry and document of one time.
            let _snapshot = self.connection.unchecked_transaction()?;
            entry_of_id(&self.connection, id)
        };
        let Some((entry, encoding, bytes)) = read().map_err(fault(&self.path, "read"))? else {
            return Ok(None);
        };
        let document = document::text(&encoding, &bytes)
            .map_err(|source| StoreError::Document { run: entry.number.to_string(), source })?;
        Ok(Some(SentRun { entry, document: Some(document) }))
    }

    fn runs_state(&self) -> Result<String, StoreError> {
        let find = || {
            let mut statement = self.connection.prepare_cached(statements::FIND_RUNS_STATE)?;
            let state: Option<String> = statement.query_row([], |row| row.get("state")).optional()?;
            Ok(state.unwrap_or_default())
        };
        find().map_err(fault(&self.path, "read"))
    }
}

fn mark(row: &Row<'_>) -> rusqlite::Result<(RunNumber, RunMark)> {
    let mark = RunMark {
        id: parsed(row, "id", str::parse)?,
        ended_utc: parsed(row, "ended_utc", str::parse)?,
        interrupted: row.get("interrupted")?,
    };
    Ok((RunNumber(row.get("number")?), mark))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample_run;
    use crate::selector::Selector;
    use crate::sqlite::SqliteStore;
    use crate::store::Store as _;

    #[test]
    fn runs_are_sent_as_they_are_and_one_that_changes_is_told_from_one_that_does_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.db");
        let history = SqliteHistory::open(&path).unwrap();
        let mut store = SqliteStore::open(&path).unwrap();
        let empty = history.runs_state().unwrap();
        assert_eq!(history.run_marks(RunNumber(0), 9).unwrap(), []);
        let mut part = sample_run(1);
        part.interrupted = true;
        let first = store.keep(&part).unwrap();
        let begun = history.runs_state().unwrap();
        let mut whole = sample_run(2);
        whole.interrupted = false;
        let second = store.add(&whole).unwrap();
        let marks = history.run_marks(RunNumber(0), 9).unwrap();
        assert_eq!(marks.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [first, second]);
        assert_eq!(history.run_marks(first, 9).unwrap(), marks[1..]);
        assert_eq!(history.run_marks(RunNumber(0), 1).unwrap(), marks[..1]);
        assert!(marks[0].1.interrupted && !marks[1].1.interrupted);
        let sent = history.run_to_send(part.id).unwrap().unwrap();
        assert_eq!(sent.entry, store.find(&Selector::Number(first.0)).unwrap());
        assert_eq!(sent.document, Some(store.export(&Selector::Number(first.0)).unwrap()));
        let added = history.runs_state().unwrap();
        part.interrupted = false;
        store.keep(&part).unwrap();
        let complete = history.runs_state().unwrap();
        store.delete(&Selector::Id(part.id)).unwrap();
        assert_eq!(history.run_to_send(part.id).unwrap(), None);
        let states = [&empty, &begun, &added, &complete];
        assert!(
            states.iter().all(|one| states.iter().filter(|other| one == *other).count() == 1),
            "{states:?}"
        );
    }
}
