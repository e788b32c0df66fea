//! The entries of a set while it is made, and what happened to files meanwhile.

use iostall_engine::files::FileStamp;
use iostall_model::backup::{FileAttribute, FileEntry, FileKind, FileMetadata, StoredName};

use super::item::{OnChange, metadata_of};

/// How many changed files are named; the rest are counted.
const NAMED_MAX: usize = 20;

struct Line {
    entry: Option<FileEntry>,
    on_change: OnChange,
}

#[derive(Default)]
pub(super) struct Ledger {
    lines: Vec<Line>,
    changes: Vec<String>,
    pub(super) changed: u64,
    /// Files whose extended attributes are not kept, and the first of them.
    attributes_lost: u64,
    attributes_lost_first: Option<StoredName>,
}

impl Ledger {
    pub(super) fn next_number(&self) -> u64 {
        self.lines.len() as u64 + 1
    }

    /// Adds an entry without content so far; returns its number.
    pub(super) fn add(
        &mut self,
        name: StoredName,
        kind: FileKind,
        source: u32,
        metadata: FileMetadata,
        attributes: Option<Vec<FileAttribute>>,
        on_change: OnChange,
    ) -> u64 {
        let number = self.next_number();
        if attributes.is_none() {
            self.attributes_lost += 1;
            self.attributes_lost_first.get_or_insert_with(|| name.clone());
        }
        let attributes = attributes.unwrap_or_default();
        let entry =
            FileEntry { number, name, kind, size_bytes: 0, data_bytes: 0, source, metadata, attributes };
        self.lines.push(Line { entry: Some(entry), on_change });
        number
    }

    fn line(&mut self, number: u64) -> Option<&mut Line> {
        self.lines.get_mut(usize::try_from(number.checked_sub(1)?).ok()?)
    }

    /// A file was stored: what there was of it when it was opened, if that is known.
    pub(super) fn stored(
        &mut self,
        number: u64,
        size_bytes: u64,
        data_bytes: u64,
        stamp: Option<&FileStamp>,
    ) {
        if let Some(entry) = self.line(number).and_then(|line| line.entry.as_mut()) {
            entry.size_bytes = size_bytes;
            entry.data_bytes = data_bytes;
            if let Some(stamp) = stamp {
                entry.metadata = metadata_of(stamp);
            }
        }
    }

    pub(super) fn changed(&mut self, number: u64, how: &str) {
        self.note(number, |name| format!("{name} changed while it was read: {how}"));
    }

    /// A file was gone before it could be read: it is left out.
    pub(super) fn vanished(&mut self, number: u64) {
        self.note(number, |name| format!("{name} vanished before it was read, and is not in the backup"));
        if let Some(line) = self.line(number) {
            line.entry = None;
        }
    }

    fn note(&mut self, number: u64, say: impl FnOnce(&StoredName) -> String) {
        let Some(Line { entry: Some(entry), on_change: OnChange::Warn }) = self.line(number) else { return };
        let said = say(&entry.name);
        self.changed += 1;
        if self.changes.len() < NAMED_MAX {
            self.changes.push(said);
        }
    }

    /// The entries, without further names of files that vanished. What to warn of is added to `said`.
    pub(super) fn finish(self, said: &mut Said) -> Vec<FileEntry> {
        let more = self.changed - self.changes.len() as u64;
        said.content_warnings.extend(self.changes);
        if more > 0 {
            said.content_warnings.push(format!("{more} more files changed or vanished while they were read"));
        }
        if let Some(first) = &self.attributes_lost_first {
            said.warnings.push(format!(
                "the extended attributes and access control lists of {} files are not kept, because they could not be read or \
                 are too long; the first: {first}",
                self.attributes_lost
            ));
        }
        let has_vanished = self.lines.iter().any(|line| line.entry.is_none());
        let mut entries: Vec<_> = self.lines.into_iter().filter_map(|line| line.entry).collect();
        if has_vanished {
            let names: std::collections::HashSet<_> = entries
                .iter()
                .filter(|entry| entry.kind == FileKind::File)
                .map(|entry| entry.name.clone())
                .collect();
            entries.retain(|entry| match &entry.kind {
                FileKind::HardLink { to } => names.contains(to),
                _ => true,
            });
        }
        entries
    }
}

/// What the manifest says to who restores.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) warnings: Vec<String>,
    /// Why the content may not be as it should.
    pub(super) content_warnings: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vanished_file_goes_with_its_further_names_and_a_database_s_is_no_warning() {
        let mut ledger = Ledger::default();
        let mut add = |name: &str, kind, on_change| {
            ledger.add(name.into(), kind, 0, FileMetadata::default(), Some(Vec::new()), on_change)
        };
        let link = |to: &str| FileKind::HardLink { to: to.into() };
        let gone = add("gone", FileKind::File, OnChange::Warn);
        add("gone too", link("gone"), OnChange::Warn);
        add("kept", FileKind::File, OnChange::Warn);
        add("kept too", link("kept"), OnChange::Warn);
        let relation = add("base/1/2", FileKind::File, OnChange::Expected);
        let temporary = add("base/1/3", FileKind::File, OnChange::Expected);
        ledger.vanished(gone);
        ledger.changed(relation, "its size changed");
        ledger.vanished(temporary);
        let mut said = Said::default();
        let entries = ledger.finish(&mut said);
        let names: Vec<_> = entries.iter().map(|entry| entry.name.to_string()).collect();
        assert_eq!(names, ["kept", "kept too", "base/1/2"]);
        assert_eq!(said.content_warnings, ["gone vanished before it was read, and is not in the backup"]);
    }

    #[test]
    fn attributes_that_are_not_kept_are_counted_and_the_first_file_is_named() {
        let mut ledger = Ledger::default();
        for (name, attributes) in [("kept", Some(Vec::new())), ("first", None), ("second", None)] {
            ledger.add(name.into(), FileKind::File, 0, FileMetadata::default(), attributes, OnChange::Warn);
        }
        let mut said = Said::default();
        ledger.finish(&mut said);
        let warnings = said.warnings;
        assert!(
            warnings[0].contains(" of 2 files are not kept") && warnings[0].ends_with("first: first"),
            "{warnings:?}"
        );
    }

    #[test]
    fn of_many_changes_some_are_named_and_all_are_counted() {
        let mut ledger = Ledger::default();
        for number in 1..=30 {
            let attributes = Some(Vec::new());
            ledger.add("x".into(), FileKind::File, 0, FileMetadata::default(), attributes, OnChange::Warn);
            ledger.changed(number, "its content was modified");
        }
        assert_eq!(ledger.changed, 30);
        let mut said = Said::default();
        ledger.finish(&mut said);
        let warnings = said.content_warnings;
        assert_eq!(warnings.len(), 21);
        assert_eq!(warnings[20], "10 more files changed or vanished while they were read");
    }
}
