//! Notes and settings in SQLite, to be sent to a repository.

use std::collections::BTreeMap;

use iostall_model::SettingVersion;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, Row, named_params};
use sha2::{Digest as _, Sha256};

use super::{SqliteHistory, from_utc_ns, settings, statements, utc_ns};
use crate::collector_state::REMOVED_NOTES;
use crate::error::StoreError;
use crate::history::{History as _, Source, SourceId, StoreId};
use crate::sheet::{SentSheet, SheetContent, SheetKind, SheetMark, SheetNote, SheetSetting, SheetsToSend};
use crate::sqlite::{fault, parsed};

/// So many of them are remembered, the newest.
const REMOVED_MAX: usize = 1_000;
/// Digits of a hash that tells the notes of a month from what they were.
const STATE_DIGITS: usize = 32;

impl SheetsToSend for SqliteHistory {
    fn sheet_marks(&self) -> Result<Vec<SheetMark>, StoreError> {
        let mut marks: Vec<SheetMark> = self
            .months(Timestamp::MIN, Timestamp::MAX)?
            .iter()
            .map(|(month, content)| mark(month, content))
            .collect();
        let list = || {
            let mut statement = self.connection.prepare_cached(statements::LIST_SETTING_READS)?;
            let marks = statement.query_map(named_params! {":store": self.id.to_string()}, read_mark)?;
            marks.collect::<rusqlite::Result<Vec<_>>>()
        };
        marks.extend(list().map_err(fault(&self.path, "read"))?);
        Ok(marks)
    }

    fn sheet_to_send(&self, mark: &SheetMark) -> Result<Option<SentSheet>, StoreError> {
        match mark.kind {
            SheetKind::Notes => self.notes_sheet(&mark.name),
            SheetKind::Settings => match mark.name.parse() {
                Ok(source) => self.settings_sheet(source),
                Err(_) => Ok(None),
            },
        }
    }

    fn sheets_state(&self) -> Result<String, StoreError> {
        self.connection
            .prepare_cached(statements::FIND_SHEETS_STATE)
            .and_then(|mut statement| statement.query_row([], |row| row.get("state")))
            .map_err(fault(&self.path, "read"))
    }
}

impl SqliteHistory {
    fn notes_sheet(&self, month: &str) -> Result<Option<SentSheet>, StoreError> {
        let Some((from, to)) = window(month) else { return Ok(None) };
        let found = self.months(from, to)?.remove(month);
        Ok(found.map(|content| SentSheet { mark: mark(month, &content), content }))
    }

    fn settings_sheet(&self, id: SourceId) -> Result<Option<SentSheet>, StoreError> {
        let number = match self.number(id) {
            Err(StoreError::NoSource { .. }) => return Ok(None),
            number => number?,
        };
        let source = self.described(id)?;
        let read = || {
            // Versions and the time of the reading belong together.
            let _snapshot = self.connection.unchecked_transaction()?;
            let versions = settings::versions(&self.connection, number, Timestamp::MIN, Timestamp::MAX)?;
            Ok(settings::last_read(&self.connection, number)?.map(|read| (read, versions)))
        };
        let Some(((read, tool_version), versions)) = read().map_err(fault(&self.path, "read"))? else {
            return Ok(None);
        };
        let (first, last) = (read.first, read.last);
        let mark = settings_mark(&id.to_string(), utc_ns(first), utc_ns(last), &tool_version);
        let settings = versions.into_iter().map(version).collect();
        Ok(Some(SentSheet {
            mark,
            content: SheetContent::Settings { source, first, last, tool_version, settings },
        }))
    }

    fn months(&self, from: Timestamp, to: Timestamp) -> Result<BTreeMap<String, SheetContent>, StoreError> {
        let read = || {
            let _snapshot = self.connection.unchecked_transaction()?;
            let all = noted(&self.connection, self.id(), (from, to), None)?;
            Ok((all, removed(&self.connection)?))
        };
        let (all, removed) = read().map_err(fault(&self.path, "read"))?;
        let mut months: BTreeMap<String, [Vec<SheetNote>; 2]> = BTreeMap::new();
        for (place, notes) in [all, removed].into_iter().enumerate() {
            for note in notes.into_iter().filter(|note| note.at >= from && note.at < to) {
                months.entry(month_of(note.at)).or_default()[place].push(note);
            }
        }
        let content = |(month, [notes, mut removed]): (String, [Vec<SheetNote>; 2])| {
            // What was noted once more is there.
            removed.retain(|note| !notes.contains(note));
            (month, SheetContent::Notes { notes, removed })
        };
        Ok(months.into_iter().map(content).collect())
    }
}

pub(super) fn remember_removed(connection: &Connection, store: StoreId, number: u32) -> rusqlite::Result<()> {
    let found = noted(connection, store, (Timestamp::MIN, Timestamp::MAX), Some(number))?;
    if found.is_empty() {
        return Ok(());
    }
    let mut all = removed(connection)?;
    all.extend(found);
    let surplus = all.len().saturating_sub(REMOVED_MAX);
    all.drain(..surplus);
    let document = serde_json::json!(all).to_string();
    let parameters = named_params! {":name": REMOVED_NOTES, ":document": document};
    connection.execute(statements::PUT_STATE, parameters).map(drop)
}

fn removed(connection: &Connection) -> rusqlite::Result<Vec<SheetNote>> {
    let mut statement = connection.prepare_cached(statements::FIND_STATE)?;
    let found = statement.query_row(named_params! {":name": REMOVED_NOTES}, |row| {
        parsed(row, "document", |text| serde_json::from_str(text))
    });
    Ok(found.optional()?.unwrap_or_default())
}

/// Notes of the time between the two; only the one of that number, where one is given.
fn noted(
    connection: &Connection,
    store: StoreId,
    (from, to): (Timestamp, Timestamp),
    number: Option<u32>,
) -> rusqlite::Result<Vec<SheetNote>> {
    let mut statement = connection.prepare_cached(statements::LIST_SHEET_NOTES)?;
    let parameters = named_params! {
        ":store": store.to_string(),
        ":from": utc_ns(from),
        ":to": utc_ns(to),
        ":number": number,
    };
    let notes = statement.query_map(parameters, note)?;
    notes.collect()
}

fn note(row: &Row<'_>) -> rusqlite::Result<SheetNote> {
    let source = match row.get::<_, Option<String>>("name")? {
        Some(name) => Some(Source {
            id: parsed(row, "id", str::parse)?,
            store: parsed(row, "store", str::parse)?,
            name,
        }),
        None => None,
    };
    Ok(SheetNote {
        source,
        at: from_utc_ns(row.get("at_utc_ns")?),
        end: row.get::<_, Option<i64>>("end_utc_ns")?.map(from_utc_ns),
        kind: row.get("kind")?,
        text: row.get("text")?,
    })
}

fn version(version: SettingVersion) -> SheetSetting {
    let SettingVersion { setting, from, to, is_change } = version;
    let class = setting.class.name().to_owned();
    SheetSetting {
        subject: setting.subject,
        name: setting.name,
        value: setting.value,
        class,
        from,
        to,
        is_change,
    }
}

fn mark(month: &str, content: &SheetContent) -> SheetMark {
    let text = serde_json::to_vec(content).unwrap_or_default();
    let hash = Sha256::digest(&text);
    let digits = |text: String, byte: &u8| text + &format!("{byte:02x}");
    let mut state = hash.iter().fold(String::new(), digits);
    state.truncate(STATE_DIGITS);
    SheetMark { kind: SheetKind::Notes, name: month.to_owned(), state }
}

fn read_mark(row: &Row<'_>) -> rusqlite::Result<SheetMark> {
    let (id, tool_version): (String, String) = (row.get("id")?, row.get("tool_version")?);
    Ok(settings_mark(&id, row.get("first_utc_ns")?, row.get("last_utc_ns")?, &tool_version))
}

/// Settings are another with each reading: measured values among them are.
fn settings_mark(source: &str, first_ns: i64, last_ns: i64, tool_version: &str) -> SheetMark {
    let state = format!("{first_ns} {last_ns} {tool_version}");
    SheetMark { kind: SheetKind::Settings, name: source.to_owned(), state }
}

/// `2026-03`, by UTC: the same wherever the store is.
fn month_of(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%Y-%m").to_string()
}

/// The time of a month and a day before and after it; `None` if it is none.
fn window(month: &str) -> Option<(Timestamp, Timestamp)> {
    let first: Timestamp = format!("{month}-01T00:00:00Z").parse().ok()?;
    let day = SignedDuration::from_hours(24);
    let from = first.checked_sub(day).unwrap_or(Timestamp::MIN);
    Some((from, first.checked_add(day * 32).unwrap_or(Timestamp::MAX)))
}

#[cfg(test)]
mod tests {
    use iostall_model::{Note, NoteKind, Setting};

    use super::*;
    use crate::collector_state::CollectorState as _;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn store() -> (tempfile::TempDir, SqliteHistory, SourceId) {
        let directory = tempfile::tempdir().unwrap();
        let mut store = SqliteHistory::open(directory.path().join("s.db")).unwrap();
        let source = store.source("db").unwrap().id;
        (directory, store, source)
    }

    fn contents(store: &SqliteHistory) -> Vec<(String, SheetContent)> {
        let sheet = |mark: &SheetMark| {
            let sheet = store.sheet_to_send(mark).unwrap().unwrap();
            assert_eq!(sheet.mark, *mark, "the mark is that of its content");
            (sheet.mark.name, sheet.content)
        };
        store.sheet_marks().unwrap().iter().map(sheet).collect()
    }

    #[test]
    fn notes_are_in_the_sheet_of_their_month_and_removed_ones_are_said_to_be() {
        let (_directory, mut store, source) = store();
        let note = |day: &str, text: &str| Note::new(at(day), NoteKind::Deploy, text);
        let before = store.sheets_state().unwrap();
        store.add_note(Some(source), &note("2026-01-31T23:59:59.999999999Z", "a")).unwrap();
        store.add_note(None, &note("2026-02-01T00:00:00Z", "b")).unwrap();
        let first = contents(&store);
        let names: Vec<&str> = first.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["2026-01", "2026-02"]);
        let SheetContent::Notes { notes, removed } = &first[0].1 else { panic!() };
        assert_eq!((notes.len(), removed.len()), (1, 0));
        assert_eq!(notes[0].source.as_ref().unwrap().id, source);
        let marks = store.sheet_marks().unwrap();
        let added = store.sheets_state().unwrap();
        store.remove_note(2).unwrap();
        let now = store.sheet_marks().unwrap();
        assert_eq!((&now[0], now[1] == marks[1]), (&marks[0], false), "the other month is as it was");
        let SheetContent::Notes { notes, removed } = &contents(&store)[1].1 else { panic!() };
        assert_eq!((notes.len(), removed[0].text.as_str()), (0, "b"));
        let gone = store.sheets_state().unwrap();
        store.add_note(None, &note("2026-02-01T00:00:00Z", "b")).unwrap();
        assert_eq!(contents(&store), first, "what is noted once more is not removed");
        assert!(before != added && added != gone && gone != store.sheets_state().unwrap());
    }

    #[test]
    fn settings_are_another_sheet_with_each_reading() {
        let (_directory, mut store, source) = store();
        store.put_settings(source, at("2026-01-01T00:00:00Z"), &[Setting::set("", "fsync", "on")]).unwrap();
        let (state, marks) = (store.sheets_state().unwrap(), store.sheet_marks().unwrap());
        store.put_settings(source, at("2026-01-01T01:00:00Z"), &[Setting::set("", "fsync", "off")]).unwrap();
        assert!(store.sheets_state().unwrap() != state && store.sheet_marks().unwrap() != marks);
        let SheetContent::Settings { settings, last, .. } = &contents(&store)[0].1 else { panic!() };
        assert_eq!((settings.len(), *last), (2, at("2026-01-01T01:00:00Z")));
        assert_eq!(settings[0].to, Some(at("2026-01-01T01:00:00Z")));
        store.remove(source).unwrap();
        assert_eq!(store.sheet_marks().unwrap(), []);
    }
}
