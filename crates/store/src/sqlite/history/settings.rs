//! Settings over time in SQLite.

use std::collections::BTreeMap;

use iostall_model::{Note, Setting, SettingClass, SettingVersion, notes_of_changes};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, named_params};

use super::{SourceNumber, SqliteHistory, from_utc_ns, statements, utc_ns};
use crate::collector_state::SettingsRead;
use crate::error::StoreError;
use crate::sqlite::{begin, fault};

/// Bytes of a row besides its texts, roughly.
const ROW_BYTES: usize = 64;

impl SqliteHistory {
    pub(super) fn put_settings_of(
        &mut self,
        source: SourceNumber,
        at: Timestamp,
        settings: &[Setting],
    ) -> Result<(), StoreError> {
        let size = |setting: &Setting| setting.full_name().len() + setting.value.len() + ROW_BYTES;
        let bytes: usize = settings.iter().map(size).sum();
        let put = || {
            let transaction = begin(&self.connection, &self.path, bytes as u64)?;
            replace(&transaction, source, at, settings)?;
            transaction.commit()
        };
        put().map_err(fault(&self.path, "write to"))
    }

    pub(super) fn settings_of(
        &self,
        source: SourceNumber,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<SettingVersion>, StoreError> {
        versions(&self.connection, source, from, to).map_err(fault(&self.path, "read"))
    }

    pub(super) fn settings_read_of(&self, source: SourceNumber) -> Result<Option<SettingsRead>, StoreError> {
        let found = last_read(&self.connection, source).map_err(fault(&self.path, "read"))?;
        Ok(found.map(|(read, _)| read))
    }

    pub(super) fn setting_notes(
        &self,
        source: SourceNumber,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<Note>, StoreError> {
        let versions = self.settings_of(source, from, to)?;
        Ok(notes_of_changes(&versions, from, to))
    }
}

pub(super) fn last_read(
    connection: &Connection,
    source: SourceNumber,
) -> rusqlite::Result<Option<(SettingsRead, String)>> {
    let read = |row: &Row<'_>| {
        let read = SettingsRead {
            first: from_utc_ns(row.get("first_utc_ns")?),
            last: from_utc_ns(row.get("last_utc_ns")?),
        };
        Ok((read, row.get("tool_version")?))
    };
    let mut statement = connection.prepare_cached(statements::FIND_SETTING_READ)?;
    statement.query_row(named_params! {":source": source.0}, read).optional()
}

pub(super) fn versions(
    connection: &Connection,
    source: SourceNumber,
    from: Timestamp,
    to: Timestamp,
) -> rusqlite::Result<Vec<SettingVersion>> {
    let mut statement = connection.prepare_cached(statements::LIST_SETTINGS)?;
    let parameters = named_params! {":source": source.0, ":from": utc_ns(from), ":to": utc_ns(to)};
    let rows = statement.query_map(parameters, |row| {
        let class: String = row.get("class")?;
        Ok(SettingVersion {
            setting: Setting {
                subject: row.get("subject")?,
                name: row.get("name")?,
                value: row.get("value")?,
                class: SettingClass::named(&class).unwrap_or_default(),
            },
            from: from_utc_ns(row.get("from_utc_ns")?),
            to: row.get::<_, Option<i64>>("to_utc_ns")?.map(from_utc_ns),
            is_change: row.get("is_change")?,
        })
    })?;
    rows.collect()
}

fn replace(
    connection: &Connection,
    source: SourceNumber,
    at: Timestamp,
    settings: &[Setting],
) -> rusqlite::Result<()> {
    let known = last_read(connection, source)?;
    // A clock that was set back must not make a version end before it began.
    let at = known.as_ref().map_or(at, |(read, _)| at.max(read.last));
    let version = env!("CARGO_PKG_VERSION");
    let comes_as_change = known.as_ref().is_some_and(|(_, tool)| tool == version);
    let open = versions(connection, source, Timestamp::MAX, Timestamp::MAX)?;
    let mut left: BTreeMap<(&str, &str), &str> = open
        .iter()
        .filter(|version| version.setting.class == SettingClass::Setting)
        .map(|version| {
            let Setting { subject, name, value, .. } = &version.setting;
            ((subject.as_str(), name.as_str()), value.as_str())
        })
        .collect();
    connection
        .prepare_cached(statements::DELETE_MEASURED_SETTINGS)?
        .execute(named_params! {":source": source.0})?;
    let end = |subject: &str, name: &str| {
        let parameters =
            named_params! {":source": source.0, ":subject": subject, ":name": name, ":at_utc_ns": utc_ns(at)};
        connection.prepare_cached(statements::END_SETTING)?.execute(parameters)
    };
    for setting in settings {
        let key = (setting.subject.as_str(), setting.name.as_str());
        let before = if setting.class == SettingClass::Setting { left.remove(&key) } else { None };
        if before == Some(setting.value.as_str()) {
            continue;
        }
        if before.is_some() {
            end(key.0, key.1)?;
        }
        let parameters = named_params! {
            ":source": source.0,
            ":subject": setting.subject,
            ":name": setting.name,
            ":at_utc_ns": utc_ns(at),
            ":value": setting.value,
            ":class": setting.class.name(),
            ":is_change": before.is_some() || comes_as_change,
        };
        connection.prepare_cached(statements::PUT_SETTING)?.execute(parameters)?;
    }
    let unread: Vec<&Setting> =
        settings.iter().filter(|setting| setting.class == SettingClass::Unread).collect();
    for (subject, name) in left.into_keys() {
        if !unread.iter().any(|unread| unread.hides(subject)) {
            end(subject, name)?;
        }
    }
    let parameters = named_params! {":source": source.0, ":at_utc_ns": utc_ns(at), ":tool_version": version};
    connection.prepare_cached(statements::PUT_SETTING_READ)?.execute(parameters).map(drop)
}

#[cfg(test)]
mod tests {
    use iostall_model::{NoteKind, changes_in};
    use jiff::SignedDuration;

    use super::*;
    use crate::collector_state::CollectorState;
    use crate::history::{History, Retention, SourceId};

    struct Fixture {
        _directory: tempfile::TempDir,
        store: SqliteHistory,
        source: SourceId,
    }

    fn at(hours: i64) -> Timestamp {
        let start: Timestamp = "2026-03-01T00:00:00Z".parse().unwrap();
        start + SignedDuration::from_hours(hours)
    }

    fn fixture() -> Fixture {
        let directory = tempfile::tempdir().unwrap();
        let mut store = SqliteHistory::open(directory.path().join("store.db")).unwrap();
        let source = store.source("db").unwrap().id;
        Fixture { _directory: directory, store, source }
    }

    impl Fixture {
        fn put(&mut self, hours: i64, settings: &[Setting]) {
            self.store.put_settings(self.source, at(hours), settings).unwrap();
        }

        /// Changes from the beginning until the end.
        fn changes(&self) -> Vec<String> {
            let (from, to) = (at(-1), at(9_999));
            let versions = self.store.settings(self.source, from, to).unwrap();
            changes_in(&versions, from, to).iter().map(iostall_model::SettingChange::sentence).collect()
        }

        fn rows(&self) -> usize {
            self.store.settings(self.source, Timestamp::MIN, Timestamp::MAX).unwrap().len()
        }
    }

    fn set(name: &str, value: &str) -> Setting {
        Setting::set("", name, value)
    }

    #[test]
    fn an_unchanged_reading_adds_nothing_and_a_changed_value_is_a_version() {
        let mut here = fixture();
        here.put(0, &[set("fsync", "on"), set("role", "primary")]);
        here.put(1, &[set("fsync", "on"), set("role", "primary")]);
        assert_eq!((here.rows(), here.changes()), (2, vec![]));
        here.put(2, &[set("fsync", "off"), set("role", "primary")]);
        here.put(3, &[set("fsync", "on"), set("role", "primary")]);
        assert_eq!(here.changes(), ["fsync: on → off", "fsync: off → on"]);
        assert_eq!(here.rows(), 4);
        let read = here.store.settings_read(here.source).unwrap().unwrap();
        assert_eq!((read.first, read.last), (at(0), at(3)));
        let notes = here.store.notes(here.source, at(2), at(3)).unwrap();
        let said: Vec<_> = notes.iter().map(|note| (note.kind, note.text.as_str())).collect();
        assert_eq!(said, [(NoteKind::Setting, "fsync: on → off")]);
    }

    #[test]
    fn what_changes_by_itself_has_one_value_and_is_never_a_change() {
        let mut here = fixture();
        for hours in 0..5 {
            here.put(hours, &[Setting::measured("mount /", "free bytes", hours.to_string())]);
        }
        assert_eq!((here.rows(), here.changes()), (1, vec![]));
        let all = here.store.settings(here.source, at(5), at(5)).unwrap();
        assert_eq!((all[0].setting.value.as_str(), all[0].from), ("4", at(4)));
    }

    /// A login that lost a privilege made every file of a server look as if it had been dropped.
    #[test]
    fn what_could_not_be_read_is_not_gone() {
        let mut here = fixture();
        let file = Setting::set("file sales/data", "growth", "10 %");
        here.put(0, &[set("fsync", "on"), file.clone()]);
        here.put(1, &[set("fsync", "on"), Setting::unread("file", "permission denied")]);
        assert_eq!(here.changes(), Vec::<String>::new());
        here.put(2, &[set("fsync", "on"), file]);
        assert_eq!((here.changes(), here.rows()), (vec![], 2));
        here.put(3, &[set("fsync", "on")]);
        assert_eq!(here.changes(), ["file sales/data growth: gone, was 10 %"]);
    }

    #[test]
    fn a_clock_that_was_set_back_turns_no_version_around() {
        let mut here = fixture();
        here.put(5, &[set("fsync", "on")]);
        here.put(1, &[set("fsync", "off")]);
        here.put(1, &[set("fsync", "on")]);
        let all = here.store.settings(here.source, Timestamp::MIN, Timestamp::MAX).unwrap();
        assert!(all.iter().all(|version| version.to.is_none_or(|to| to >= version.from)), "{all:?}");
        let now: Vec<_> = all.iter().filter(|version| version.to.is_none()).collect();
        assert_eq!((now.len(), now[0].setting.value.as_str()), (1, "on"));
    }

    #[test]
    fn old_versions_go_with_the_days_and_a_removed_source_takes_all() {
        let mut here = fixture();
        here.put(0, &[set("fsync", "on")]);
        here.put(1, &[set("fsync", "off")]);
        let retention = Retention { days: Some(SignedDuration::from_hours(24)), ..Retention::default() };
        here.store.forget(&retention, at(20)).unwrap();
        assert_eq!(here.rows(), 2);
        here.store.forget(&retention, at(30)).unwrap();
        assert_eq!(here.rows(), 1, "what holds stays");
        here.store.remove(here.source).unwrap();
        here.source = here.store.source("db").unwrap().id;
        assert_eq!(here.rows(), 0);
        assert!(here.store.settings_read(here.source).unwrap().is_none());
    }
}
