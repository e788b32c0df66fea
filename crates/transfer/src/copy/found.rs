//! What a walk finds in one directory of the source.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileStamp};

use super::beside::is_part_name;
use super::changed_kind::ChangedKind;
use super::entry::{Action, Entry, Location, locate};
use super::small_plan::SmallNames;

/// What is to be made of a name of the source.
pub(super) struct New {
    pub(super) stat: FileStamp,
    pub(super) action: Action,
    pub(super) changed: Option<ChangedKind>,
}

/// Whether its directory gets a new name, also if only until it replaces what is there.
pub(super) fn makes_a_name(new: &New, copy: &Path) -> bool {
    match new.action {
        _ if new.changed.is_some() => true,
        Action::UpToDate | Action::NewerThere | Action::Compare => false,
        Action::Directory => files::stamp_of_link(copy).is_err(),
        Action::File | Action::HardLink(_) | Action::Symlink | Action::Special => true,
    }
}

#[derive(Default)]
pub(super) struct Found {
    pub(super) small: SmallNames,
    pub(super) directories: Vec<(PathBuf, FileStamp)>,
    /// Those that are made under another name, until they replace what is there.
    pub(super) changed_directories: Vec<(Location, FileStamp)>,
    pub(super) others: Vec<(PathBuf, FileStamp, Action)>,
}

impl Found {
    /// Moves all but small files and directories to the entries of the plan.
    pub(super) fn move_others(&mut self, entries: &mut Vec<Entry>, source: &Path, target: &Path) {
        let mut names = Vec::with_capacity(self.others.len());
        let mut rest = Vec::with_capacity(self.others.len());
        for (name, stat, action) in self.others.drain(..) {
            names.push(name);
            rest.push((stat, action));
        }
        let located = locate(source, target, names).into_iter().zip(rest);
        entries.extend(located.map(|(at, (stat, action))| Entry::new(at, &stat, action)));
    }
}

/// The names in a directory that are not of an unfinished copy, sorted, so that the order of a copy does not
/// depend on the file system.
pub(super) fn names_in(directory: &Path) -> io::Result<Vec<OsString>> {
    let names = fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name()));
    let is_wanted = |name: &io::Result<OsString>| name.as_ref().map_or(true, |name| !is_part_name(name));
    let mut names = names.filter(is_wanted).collect::<io::Result<Vec<OsString>>>()?;
    names.sort_unstable();
    Ok(names)
}
