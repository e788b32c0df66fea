//! Settings of a host over time: the current ones are kept, and each change is a note.

use std::collections::{BTreeMap, BTreeSet};

use iostall_model::{Note, NoteKind};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Settings by name.
pub(crate) type Settings = BTreeMap<String, String>;

/// The version that holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Version {
    /// When it was seen first.
    pub(crate) since: Timestamp,
    pub(crate) values: Settings,
}

/// The name under which the version of a source is kept.
pub(crate) fn state_name(source: &str) -> String {
    format!("settings of {source}")
}

/// What changed from `before` to `now`, one note each.
pub(crate) fn changes(before: &Settings, now: &Settings, at: Timestamp) -> Vec<Note> {
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let change = |name: &String| {
        let text = match (before.get(name), now.get(name)) {
            (Some(before), Some(now)) if before == now => return None,
            (Some(before), Some(now)) => format!("{name}: {before} → {now}"),
            (None, Some(now)) => format!("{name}: now {now}"),
            (Some(before), None) => format!("{name}: gone, was {before}"),
            (None, None) => return None,
        };
        Some(Note::new(at, NoteKind::Setting, text))
    };
    names.into_iter().filter_map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_appeared_or_is_gone_is_said_and_nothing_else() {
        let settings = |all: &[(&str, &str)]| -> Settings {
            all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let before = settings(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let now = settings(&[("a", "1"), ("b", "4"), ("d", "5")]);
        let notes = changes(&before, &now, Timestamp::UNIX_EPOCH);
        let said: Vec<&str> = notes.iter().map(|note| note.text.as_str()).collect();
        assert_eq!(said, ["b: 2 → 4", "c: gone, was 3", "d: now 5"]);
        assert_eq!(changes(&now, &now, Timestamp::UNIX_EPOCH), []);
    }
}
