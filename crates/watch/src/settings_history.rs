//! What the store knows of the settings of sources: as they were at a time, and what changed.

use iostall_model::{SettingChange, SettingVersion, changes_in, difference};
use iostall_store::{History, ServerNames, SettingsRead, Source, SourceId};
use jiff::Timestamp;
use serde::Serialize;

use crate::error::WatchError;

#[derive(Clone, Copy, Debug, Default)]
pub struct SourceChoice<'a> {
    pub part: Option<&'a str>,
    /// In a repository, what its servers are called: sources are shown with their server.
    pub names: Option<&'a ServerNames>,
    /// There, those of the server with this name, on this host, or with this id.
    pub server: Option<&'a str>,
}

impl<'a> SourceChoice<'a> {
    pub fn of_store(part: Option<&'a str>) -> Self {
        Self { part, ..Self::default() }
    }

    fn contains(&self, source: &Source) -> bool {
        let is_called =
            |names: &ServerNames| self.server.is_none_or(|name| names.is_called(source.store, name));
        self.part.is_none_or(|part| source.name.contains(part)) && self.names.is_none_or(is_called)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    pub source: String,
    pub first_read: Timestamp,
    /// When they were read for the last time: what is measured is of then.
    pub last_read: Timestamp,
    pub settings: Vec<SettingVersion>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceChanges {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    pub source: String,
    /// When its settings were read for the first time: before that nothing is known.
    pub first_read: Timestamp,
    pub changes: Vec<SettingChange>,
}

/// The settings that held at `at` of every source that is meant. An error if none was ever read.
pub fn settings_at(
    history: &impl History,
    choice: &SourceChoice<'_>,
    at: Timestamp,
) -> Result<Vec<SourceSettings>, WatchError> {
    each(history, choice, |(server, source), id, read| {
        let mut settings = history.settings(id, at, at)?;
        settings.retain(|version| version.held_at(at));
        Ok(SourceSettings { server, source, first_read: read.first, last_read: read.last, settings })
    })
}

/// What changed from `from` until `to`, in order of time.
pub fn setting_changes(
    history: &impl History,
    choice: &SourceChoice<'_>,
    (from, to): (Timestamp, Timestamp),
) -> Result<Vec<SourceChanges>, WatchError> {
    each(history, choice, |(server, source), id, read| {
        let changes = changes_in(&history.settings(id, from, to)?, from, to);
        Ok(SourceChanges { server, source, first_read: read.first, changes })
    })
}

pub fn setting_difference(
    history: &impl History,
    choice: &SourceChoice<'_>,
    (before, after): (Timestamp, Timestamp),
) -> Result<Vec<SourceChanges>, WatchError> {
    each(history, choice, |(server, source), id, read| {
        // Before the first reading nothing is known, and what was there then is no change.
        let before = before.max(read.first);
        let changes = difference(&history.settings(id, before, after)?, before, after);
        Ok(SourceChanges { server, source, first_read: read.first, changes })
    })
}

fn each<T>(
    history: &impl History,
    choice: &SourceChoice<'_>,
    mut of: impl FnMut((Option<String>, String), SourceId, SettingsRead) -> Result<T, WatchError>,
) -> Result<Vec<T>, WatchError> {
    let (mut all, mut known) = (Vec::new(), Vec::new());
    for watched in history.sources()? {
        let source = watched.source;
        let Some(read) = history.settings_read(source.id)? else { continue };
        if choice.contains(&source) {
            let server = choice.names.map(|names| names.of(source.store));
            all.push(of((server, source.name), source.id, read)?);
        } else {
            known.push(source.name);
        }
    }
    if all.is_empty() { Err(WatchError::NoSettings { known }) } else { Ok(all) }
}

#[cfg(test)]
mod tests {
    use iostall_model::Setting;
    use iostall_store::{CollectorState as _, SqliteHistory};

    use super::*;

    #[test]
    fn the_settings_of_a_time_their_changes_and_the_difference_of_two_times_agree() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = SqliteHistory::open(directory.path().join("store.db")).unwrap();
        let hour = |hour: i64| Timestamp::from_second(hour * 3_600).unwrap();
        let all = SourceChoice::default();
        assert!(matches!(settings_at(&store, &all, hour(1)), Err(WatchError::NoSettings { .. })));
        let id = store.source("postgres://db1").unwrap().id;
        store.source("linux:").unwrap();
        for (at, value) in [(10, "on"), (20, "off"), (30, "on")] {
            store.put_settings(id, hour(at), &[Setting::set("", "fsync", value)]).unwrap();
        }
        let value = |at| {
            settings_at(&store, &SourceChoice::of_store(Some("db1")), hour(at)).unwrap()[0].settings[0]
                .setting
                .value
                .clone()
        };
        assert_eq!([value(10), value(19), value(20), value(99)], ["on", "on", "off", "on"]);
        assert!(settings_at(&store, &all, hour(9)).unwrap()[0].settings.is_empty(), "not read then");
        let changes = setting_changes(&store, &all, (hour(0), hour(99))).unwrap();
        assert_eq!((changes.len(), changes[0].changes.len()), (1, 2));
        assert!(setting_difference(&store, &all, (hour(0), hour(99))).unwrap()[0].changes.is_empty());
        let differs = setting_difference(&store, &all, (hour(0), hour(25))).unwrap();
        assert_eq!(differs[0].changes[0].sentence(), "fsync: on → off");
        let nobody = settings_at(&store, &SourceChoice::of_store(Some("db2")), hour(1)).unwrap_err();
        assert!(nobody.hint().unwrap().contains("postgres://db1"), "{nobody:?}");
    }
}
