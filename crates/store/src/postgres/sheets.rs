//! Notes and settings of servers in a repository, as sheets bring them.

use std::collections::BTreeMap;

use iostall_model::{Note, NoteKind, Setting, SettingClass, SettingVersion};
use jiff::Timestamp;

use super::columns::{SourceNumber, storable};
use super::database::Database;
use super::members::SOURCES_MAX;
use super::session::Values;
use super::{PostgresHistory, statements};
use crate::collector_state::SettingsRead;
use crate::error::StoreError;
use crate::fleet_run::{FleetNote, FleetNoteFilter, ServerNames};
use crate::history::{Source, StoreId, from_utc_ns, utc_ns};
use crate::repository_error::RepositoryError;
use crate::sheet::{SentSheet, SheetContent, SheetMark, SheetNote, SheetPut, SheetSetting};

/// Notes of one server, and versions of settings of one source. Nobody has so many; without a limit, one server could fill the tables.
const NOTES_MAX: i64 = 100_000;
const SETTINGS_MAX: i64 = 200_000;

type VersionKey = (String, String, i64);

impl PostgresHistory {
    /// Which of these sheets of the server of `store` are not there as they are now.
    pub fn lacking_sheets(
        &self,
        store: StoreId,
        marks: &[SheetMark],
    ) -> Result<Vec<SheetMark>, RepositoryError> {
        let server = self.database.put_server(&store.to_string())?;
        let kinds: Vec<&str> = marks.iter().map(|mark| mark.kind.name()).collect();
        let (names, states): (Vec<_>, Vec<_>) =
            marks.iter().map(|mark| (storable(&mark.name), storable(&mark.state))).unzip();
        let (names, states) = (texts(&names), texts(&states));
        let values: Values<'_> = &[&server, &kinds, &names, &states];
        let rows = self.database.session.rows(statements::FIND_LACKING_SHEETS, values)?;
        let mark = |row| {
            let place: i64 = self.database.column(row, 0)?;
            let mark = usize::try_from(place).ok().and_then(|place| marks.get(place)).cloned();
            mark.ok_or_else(|| self.database.session.damaged("a sheet has no place"))
        };
        rows.iter().map(mark).collect()
    }

    /// Stores a sheet of the server of `store`, whose sources become its own. Twice is once.
    pub fn put_sheet(&self, store: StoreId, sheet: &SentSheet) -> Result<SheetPut, StoreError> {
        let database = &self.database;
        let transaction = database.session.begin()?;
        let server = database.put_server(&store.to_string())?;
        if database.mark_sheet(server, &sheet.mark, None)? == 0 {
            return Ok(SheetPut::AlreadyThere);
        }
        let unfit = match &sheet.content {
            SheetContent::Notes { notes, removed } => database.put_notes((server, store), notes, removed)?,
            SheetContent::Settings { source, first, last, tool_version, settings } => {
                let read = (*first, *last, tool_version.as_str());
                database.put_settings((server, store), source, read, settings)?
            }
        };
        if let Some(reason) = unfit {
            return Ok(SheetPut::Unfit { reason: reason.to_owned() });
        }
        transaction.commit()?;
        Ok(SheetPut::Added)
    }

    /// Notes that a sheet of the server of `store` is refused, so that it is not sent again as it is.
    pub fn refuse_sheet(
        &self,
        store: StoreId,
        mark: &SheetMark,
        reason: &str,
    ) -> Result<(), RepositoryError> {
        let server = self.database.put_server(&store.to_string())?;
        self.database.mark_sheet(server, mark, Some(reason)).map(drop)
    }

    pub fn fleet_notes(&self, filter: &FleetNoteFilter) -> Result<Vec<FleetNote>, RepositoryError> {
        let database = &self.database;
        let (from, to) = (utc_ns(filter.from), utc_ns(filter.to));
        let rows = database.session.rows(statements::FLEET_NOTES, &[&filter.server, &from, &to])?;
        let noted = |row| {
            let note = database.note_in(row, 2)?;
            Ok(FleetNote { server: database.column(row, 0)?, source: database.column(row, 1)?, note })
        };
        rows.iter().map(noted).collect()
    }

    pub fn server_names(&self) -> Result<ServerNames, RepositoryError> {
        let database = &self.database;
        let rows = database.session.rows(statements::SERVER_NAMES, &[])?;
        let mut names = ServerNames::default();
        for row in &rows {
            let id: StoreId = database.parsed(row, 0)?;
            let (name, host): (Option<String>, Option<String>) =
                (database.column(row, 1)?, database.column(row, 2)?);
            names.add(id, name, host);
        }
        Ok(names)
    }
}

impl Database {
    fn mark_sheet(
        &self,
        server: i32,
        mark: &SheetMark,
        refused: Option<&str>,
    ) -> Result<u64, RepositoryError> {
        let (name, state) = (storable(&mark.name), storable(&mark.state));
        let refused = refused.map(|reason| storable(reason).into_owned());
        let values: Values<'_> = &[&server, &mark.kind.name(), &name.as_ref(), &state.as_ref(), &refused];
        self.session.execute(statements::PUT_SHEET, values)
    }

    /// The number of a source of a server, which becomes its own if it is not there; `None` if it is another's.
    fn number_for(
        &self,
        (server, store): (i32, StoreId),
        source: &Source,
    ) -> Result<Option<i32>, RepositoryError> {
        if source.store != store {
            return Ok(None);
        }
        let id = source.id.to_string();
        let owner = self.session.rows(statements::FIND_OWNER, &[&id])?;
        match owner.first() {
            Some(row) if self.column::<i32>(row, 0)? != server => return Ok(None),
            Some(_) => {
                let rows = self.session.rows(statements::FIND_SOURCE, &[&id])?;
                return rows.first().map(|row| self.column(row, 0)).transpose();
            }
            None => {}
        }
        let name = storable(&source.name);
        self.session.execute(statements::CLAIM_SOURCE, &[&id, &server, &name.as_ref(), &SOURCES_MAX])?;
        let rows = self.session.rows(statements::FIND_SOURCE, &[&id])?;
        rows.first().map(|row| self.column(row, 0)).transpose()
    }

    /// Why not, or `None` if they are there.
    fn put_notes(
        &self,
        of: (i32, StoreId),
        notes: &[SheetNote],
        removed: &[SheetNote],
    ) -> Result<Option<&'static str>, RepositoryError> {
        let count: i64 = self.column(&self.session.row(statements::COUNT_NOTES, &[&of.0])?, 0)?;
        if count.saturating_add(i64::try_from(notes.len()).unwrap_or(i64::MAX)) > NOTES_MAX {
            return Ok(Some("this server has too many notes at the centre"));
        }
        for (statement, given) in [(statements::REMOVE_NOTES, removed), (statements::PUT_NOTES, notes)] {
            let mut sources = BTreeMap::new();
            let mut number_of = Vec::with_capacity(given.len());
            for note in given {
                let number = match &note.source {
                    None => None,
                    Some(source) if sources.contains_key(&source.id) => sources[&source.id],
                    Some(source) => {
                        let Some(number) = self.number_for(of, source)? else {
                            return Ok(Some(
                                "a note is about a source that is not this server's, or one too many",
                            ));
                        };
                        sources.insert(source.id, Some(number));
                        Some(number)
                    }
                };
                number_of.push(number);
            }
            let at: Vec<i64> = given.iter().map(|note| utc_ns(note.at)).collect();
            let end: Vec<Option<i64>> = given.iter().map(|note| note.end.map(utc_ns)).collect();
            let kinds: Vec<_> = given.iter().map(|note| storable(&note.kind)).collect();
            let words: Vec<_> = given.iter().map(|note| storable(&note.text)).collect();
            let values: Values<'_> = &[&of.0, &number_of, &at, &end, &texts(&kinds), &texts(&words)];
            self.session.execute(statement, values)?;
        }
        Ok(None)
    }

    /// Why not, or `None` if they are there.
    fn put_settings(
        &self,
        of: (i32, StoreId),
        source: &Source,
        (first, last, tool_version): (Timestamp, Timestamp, &str),
        settings: &[SheetSetting],
    ) -> Result<Option<&'static str>, RepositoryError> {
        let Some(number) = self.number_for(of, source)? else {
            return Ok(Some("these settings are of a source that is not this server's, or one too many"));
        };
        let number = SourceNumber(number);
        let read = self.settings_read(number)?;
        let is_newest = read.is_none_or(|read| utc_ns(last) >= utc_ns(read.last));
        let count: i64 = self.column(&self.session.row(statements::COUNT_SETTINGS, &[&number.0])?, 0)?;
        if count > SETTINGS_MAX {
            return Ok(Some("this source has too many settings at the centre"));
        }
        let class = SettingClass::Setting.name();
        let given: BTreeMap<VersionKey, &SheetSetting> = settings
            .iter()
            .filter(|version| is_newest || version.class == class)
            .map(|version| {
                let key = |text: &str| storable(text).into_owned();
                ((key(&version.subject), key(&version.name), utc_ns(version.from)), version)
            })
            .collect();
        if is_newest {
            self.session.execute(statements::DELETE_MEASURED_SETTINGS, &[&number.0])?;
        }
        let subjects: Vec<&str> = given.keys().map(|(subject, ..)| subject.as_str()).collect();
        let names: Vec<&str> = given.keys().map(|(_, name, _)| name.as_str()).collect();
        let from: Vec<i64> = given.keys().map(|(.., from)| *from).collect();
        let to: Vec<Option<i64>> = given.values().map(|version| version.to.map(utc_ns)).collect();
        let contents: Vec<_> = given.values().map(|version| storable(&version.value)).collect();
        let classes: Vec<_> = given.values().map(|version| storable(&version.class)).collect();
        let are_changes: Vec<bool> = given.values().map(|version| version.is_change).collect();
        let values: Values<'_> = &[
            &number.0,
            &subjects,
            &names,
            &from,
            &to,
            &texts(&contents),
            &texts(&classes),
            &are_changes,
            &is_newest,
        ];
        self.session.execute(statements::PUT_SETTINGS, values)?;
        let ended = is_newest.then(|| utc_ns(last));
        self.session.execute(statements::END_SETTINGS, &[&number.0, &subjects, &names, &from, &ended])?;
        let (first, last, version) = (utc_ns(first), utc_ns(last), storable(tool_version));
        let values: Values<'_> = &[&number.0, &first, &last, &version.as_ref()];
        self.session.execute(statements::PUT_SETTING_READ, values)?;
        Ok(None)
    }

    pub(super) fn settings_read(
        &self,
        source: SourceNumber,
    ) -> Result<Option<SettingsRead>, RepositoryError> {
        let rows = self.session.rows(statements::FIND_SETTING_READ, &[&source.0])?;
        let Some(row) = rows.first() else { return Ok(None) };
        let (first, last) = (self.column(row, 0)?, self.column(row, 1)?);
        Ok(Some(SettingsRead { first: from_utc_ns(first), last: from_utc_ns(last) }))
    }

    pub(super) fn settings_between(
        &self,
        source: SourceNumber,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<SettingVersion>, RepositoryError> {
        let values: Values<'_> = &[&source.0, &utc_ns(from), &utc_ns(to)];
        let version = |row| {
            let class: &str = self.column(row, 5)?;
            Ok(SettingVersion {
                setting: Setting {
                    subject: self.column(row, 0)?,
                    name: self.column(row, 1)?,
                    value: self.column(row, 4)?,
                    class: SettingClass::named(class).unwrap_or_default(),
                },
                from: from_utc_ns(self.column(row, 2)?),
                to: self.column::<Option<i64>>(row, 3)?.map(from_utc_ns),
                is_change: self.column(row, 6)?,
            })
        };
        self.session.rows(statements::LIST_SETTINGS, values)?.iter().map(version).collect()
    }

    /// What was noted about a source, and about all sources of its server.
    pub(super) fn notes_between(
        &self,
        source: SourceNumber,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<Note>, RepositoryError> {
        let values: Values<'_> = &[&source.0, &utc_ns(from), &utc_ns(to)];
        self.session.rows(statements::LIST_NOTES, values)?.iter().map(|row| self.note_in(row, 0)).collect()
    }

    fn note_in(&self, row: &tokio_postgres::Row, first: usize) -> Result<Note, RepositoryError> {
        let kind: &str = self.column(row, first + 2)?;
        Ok(Note {
            at: from_utc_ns(self.column(row, first)?),
            end: self.column::<Option<i64>>(row, first + 1)?.map(from_utc_ns),
            kind: NoteKind::named(kind).unwrap_or_default(),
            text: self.column(row, first + 3)?,
        })
    }
}

fn texts<'a>(all: &'a [std::borrow::Cow<'_, str>]) -> Vec<&'a str> {
    all.iter().map(AsRef::as_ref).collect()
}
