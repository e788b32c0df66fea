//! Settings of servers and hosts that decide how their storage behaves, and how they were over time.

use iostall_measure::named;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::note::{Note, NoteKind};

/// A longer value is cut: it is to be read, not to be used.
const VALUE_CHARS_MAX: usize = 500;

named! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum SettingClass {
        /// Somebody set it: each value is kept with its time. So is a class that only a newer iostall knows.
        #[default]
        Setting = "setting",
        /// It changes by itself, such as free space: only the newest value is kept.
        Measured = "measured",
        /// It could not be read. The value is the reason, the name is `unread`, and the subject what begins the subjects that are
        /// missing: nothing is known of those, and what was known stays.
        Unread = "unread",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Setting {
    /// What it is of, within its source: `disk sda`, `database sales`; empty for the source itself.
    pub subject: String,
    pub name: String,
    pub value: String,
    pub class: SettingClass,
}

impl Setting {
    pub fn set(subject: impl Into<String>, name: impl Into<String>, value: impl Into<String>) -> Self {
        Self::of(SettingClass::Setting, subject.into(), name.into(), &value.into())
    }

    pub fn measured(subject: impl Into<String>, name: impl Into<String>, value: impl Into<String>) -> Self {
        Self::of(SettingClass::Measured, subject.into(), name.into(), &value.into())
    }

    /// What could not be read: all whose subject is `subject` or begins with it and a space.
    pub fn unread(subject: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::of(SettingClass::Unread, subject.into(), "unread".to_owned(), &reason.into())
    }

    fn of(class: SettingClass, subject: String, name: String, value: &str) -> Self {
        let value = value.trim();
        let value = match value.char_indices().nth(VALUE_CHARS_MAX) {
            Some((end, _)) => format!("{}…", &value[..end]),
            None => value.to_owned(),
        };
        Self { subject, name, value, class }
    }

    /// `disk sda scheduler`, or the name alone.
    pub fn full_name(&self) -> String {
        if self.subject.is_empty() { self.name.clone() } else { format!("{} {}", self.subject, self.name) }
    }

    /// Whether this says that nothing is known of `subject`.
    pub fn hides(&self, subject: &str) -> bool {
        let rest = || subject.strip_prefix(&self.subject);
        self.class == SettingClass::Unread
            && rest().is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingVersion {
    #[serde(flatten)]
    pub setting: Setting,
    pub from: Timestamp,
    /// When it was seen no more; `None`: it holds.
    pub to: Option<Timestamp>,
    /// Whether what it is of had been read before this: then its coming is a change.
    pub is_change: bool,
}

impl SettingVersion {
    pub fn held_at(&self, at: Timestamp) -> bool {
        self.from <= at && self.to.is_none_or(|to| at < to)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingChange {
    /// When that was seen; for the difference of two times, `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    pub subject: String,
    pub name: String,
    /// `None`: it was not there.
    pub before: Option<String>,
    /// `None`: it is gone.
    pub after: Option<String>,
}

impl SettingChange {
    /// `disk sda scheduler: none → mq-deadline`.
    pub fn sentence(&self) -> String {
        let subject = if self.subject.is_empty() { String::new() } else { format!("{} ", self.subject) };
        let name = &self.name;
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => format!("{subject}{name}: {before} → {after}"),
            (None, Some(after)) => format!("{subject}{name}: now {after}"),
            (Some(before), None) => format!("{subject}{name}: gone, was {before}"),
            (None, None) => format!("{subject}{name}"),
        }
    }
}

/// What changed within a window, in order of time. `versions`: all that held at some time in it.
pub fn changes_in(versions: &[SettingVersion], from: Timestamp, to: Timestamp) -> Vec<SettingChange> {
    let settings = || versions.iter().filter(|version| version.setting.class == SettingClass::Setting);
    let is_in = |at: Timestamp| at >= from && at < to;
    let is_same = |one: &SettingVersion, other: &SettingVersion| {
        one.setting.subject == other.setting.subject && one.setting.name == other.setting.name
    };
    let mut changes = Vec::new();
    for version in settings() {
        let change = |at, before: Option<&str>, after: Option<&str>| SettingChange {
            at: Some(at),
            subject: version.setting.subject.clone(),
            name: version.setting.name.clone(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        };
        let value = version.setting.value.as_str();
        if version.is_change && is_in(version.from) {
            let is_before =
                |other: &&SettingVersion| is_same(version, other) && other.to == Some(version.from);
            let before = settings().find(is_before).map(|before| before.setting.value.as_str());
            changes.push(change(version.from, before, Some(value)));
        }
        if let Some(end) = version.to.filter(|end| is_in(*end))
            && !settings().any(|other| is_same(version, other) && other.from == end)
        {
            changes.push(change(end, Some(value), None));
        }
    }
    changes.sort_by(|one, other| {
        (one.at, &one.subject, &one.name).cmp(&(other.at, &other.subject, &other.name))
    });
    changes
}

/// What changed within a window, as notes. `versions`: all that held at some time in it.
pub fn notes_of_changes(versions: &[SettingVersion], from: Timestamp, to: Timestamp) -> Vec<Note> {
    let changes = changes_in(versions, from, to);
    let note = |change: &SettingChange| Some(Note::new(change.at?, NoteKind::Setting, change.sentence()));
    changes.iter().filter_map(note).collect()
}

/// What is another at `after` than at `before`. `versions`: at least all that held at either.
pub fn difference(versions: &[SettingVersion], before: Timestamp, after: Timestamp) -> Vec<SettingChange> {
    let at = |time: Timestamp| -> std::collections::BTreeMap<(&str, &str), &str> {
        let held = versions
            .iter()
            .filter(|version| version.setting.class == SettingClass::Setting && version.held_at(time));
        held.map(|version| {
            let Setting { subject, name, value, .. } = &version.setting;
            ((subject.as_str(), name.as_str()), value.as_str())
        })
        .collect()
    };
    let (old, new) = (at(before), at(after));
    let names: std::collections::BTreeSet<_> = old.keys().chain(new.keys()).copied().collect();
    let changed = names.into_iter().filter(|name| old.get(name) != new.get(name));
    changed
        .map(|key @ (subject, name)| SettingChange {
            at: None,
            subject: subject.to_owned(),
            name: name.to_owned(),
            before: old.get(&key).map(|value| (*value).to_owned()),
            after: new.get(&key).map(|value| (*value).to_owned()),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn version(name: &str, value: &str, from: i64, to: Option<i64>) -> SettingVersion {
        let (to, setting) = (to.map(at), Setting::set("disk sda", name, value));
        SettingVersion { setting, from: at(from), to, is_change: from > 0 }
    }

    fn versions() -> Vec<SettingVersion> {
        vec![
            version("scheduler", "none", 0, Some(10)),
            version("scheduler", "kyber", 10, Some(20)),
            version("scheduler", "none", 20, None),
            version("model", "A", 0, None),
            version("firmware", "1", 0, Some(15)),
            version("discard", "yes", 12, None),
        ]
    }

    #[test]
    fn what_changed_came_and_went_is_said_at_its_time_and_the_first_reading_is_no_change() {
        let said: Vec<(i64, String)> = changes_in(&versions(), at(0), at(100))
            .iter()
            .map(|change| (change.at.unwrap().as_second(), change.sentence()))
            .collect();
        let said: Vec<_> = said.iter().map(|(at, text)| (*at, text.as_str())).collect();
        assert_eq!(
            said,
            [
                (10, "disk sda scheduler: none → kyber"),
                (12, "disk sda discard: now yes"),
                (15, "disk sda firmware: gone, was 1"),
                (20, "disk sda scheduler: kyber → none"),
            ]
        );
        assert_eq!(changes_in(&versions(), at(13), at(20)).len(), 1, "the end belongs to the next window");
    }

    #[test]
    fn what_changed_and_changed_back_is_no_difference() {
        let all = versions();
        let said = |before, after| -> Vec<String> {
            difference(&all, at(before), at(after)).iter().map(SettingChange::sentence).collect()
        };
        assert_eq!(said(5, 30), ["disk sda discard: now yes", "disk sda firmware: gone, was 1"]);
        assert_eq!(said(5, 11), ["disk sda scheduler: none → kyber"]);
        assert!(said(30, 40).is_empty());
    }

    #[test]
    fn what_could_not_be_read_hides_what_begins_with_its_subject_and_nothing_else() {
        let files = Setting::unread("file", "permission denied");
        assert!(files.hides("file sales/data") && files.hides("file"));
        assert!(
            !files.hides("filegroup x") && !files.hides("") && !Setting::set("file", "a", "b").hides("file")
        );
        let long = Setting::set("", "a", "é".repeat(9_999));
        assert_eq!(long.value.chars().count(), VALUE_CHARS_MAX + 1);
    }
}
