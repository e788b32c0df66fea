//! Notes in SQLite.

use iostall_model::Note;
use jiff::Timestamp;
use rusqlite::named_params;

use super::{SourceNumber, SqliteHistory, from_utc_ns, statements, utc_ns};
use crate::error::StoreError;
use crate::sqlite::{begin, fault};

impl SqliteHistory {
    /// See [`CollectorState::add_note`](crate::CollectorState::add_note).
    pub(super) fn add_note_of(
        &mut self,
        source: Option<SourceNumber>,
        note: &Note,
    ) -> Result<(), StoreError> {
        let add = || {
            let transaction = begin(&self.connection, &self.path, note.text.len() as u64)?;
            let source = source.map(|source| source.0);
            let parameters =
                named_params! {":source": source, ":at_utc_ns": utc_ns(note.at), ":text": note.text};
            transaction.execute(statements::ADD_NOTE, parameters)?;
            transaction.commit()
        };
        add().map_err(fault(&self.path, "write to"))
    }

    /// See [`History::notes`](crate::History::notes).
    pub(super) fn notes_of(
        &self,
        source: SourceNumber,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<Note>, StoreError> {
        let all = || {
            let mut statement = self.connection.prepare_cached(statements::LIST_NOTES)?;
            let parameters = named_params! {":source": source.0, ":from": utc_ns(from), ":to": utc_ns(to)};
            let rows = statement
                .query_map(parameters, |row| Ok(Note { at: from_utc_ns(row.get(0)?), text: row.get(1)? }))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        all().map_err(fault(&self.path, "read"))
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::collector_state::CollectorState;
    use crate::history::History;

    #[test]
    fn a_note_is_about_its_source_or_about_all_and_there_once() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = SqliteHistory::open(directory.path().join("store.db")).unwrap();
        let (one, other) = (store.source("one").unwrap().id, store.source("other").unwrap().id);
        let at: Timestamp = "2026-03-01T10:00:00Z".parse().unwrap();
        let note =
            |minutes, text: &str| Note { at: at + SignedDuration::from_mins(minutes), text: text.into() };
        for (source, note) in
            [(None, note(1, "power")), (Some(one), note(0, "deploy")), (None, note(1, "power"))]
        {
            store.add_note(source, &note).unwrap();
        }
        let end = at + SignedDuration::from_mins(2);
        assert_eq!(store.notes(one, at, end).unwrap(), [note(0, "deploy"), note(1, "power")]);
        assert_eq!(store.notes(other, at, end).unwrap(), [note(1, "power")]);
        assert_eq!(store.notes(other, at, at + SignedDuration::from_mins(1)).unwrap(), []);
        store.remove(one).unwrap();
        let again = store.source("one").unwrap().id;
        assert_eq!(store.notes(again, at, end).unwrap(), [note(1, "power")], "its own went with it");
    }
}
