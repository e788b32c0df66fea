//! The small files of a plan, of which it holds the names only.
//!
//! Nearly all of a large tree is small files, and all of them are found before the first byte is written. An
//! entry of the plan takes 128 bytes; a name takes a few, because neighbours in a sorted directory begin
//! alike. The rest is looked up again when the file's turn has come.

use std::path::{Path, PathBuf};
use std::slice;
use std::vec;

use iostall_engine::files::{self, FileKind, path_bytes, path_from_bytes};

use super::entry::{Action, Entry, Location, locate};
use super::error::CopyError;
use super::log::CopyFailure;
use super::options::{CopyOptions, Symlinks};

const LOOKED_UP: usize = 1024;

/// Names in ascending order, each as the length of what it shares with the one before it, the length of the
/// rest, and the rest.
#[derive(Debug, Default)]
pub(super) struct SmallNames {
    bytes: Vec<u8>,
    last: Vec<u8>,
    files: u64,
    file_bytes: u64,
}

impl SmallNames {
    /// Adds a file; `false` if its name is longer than any file system allows.
    pub(super) fn add(&mut self, name: &Path, size_bytes: u64) -> bool {
        let name = path_bytes(name);
        let both = name.iter().zip(&self.last).take(usize::from(u8::MAX));
        let shared = both.take_while(|(one, other)| one == other).count();
        let rest = &name[shared..];
        let (Ok(shared), Ok(length)) = (u8::try_from(shared), u8::try_from(rest.len())) else {
            return false;
        };
        self.bytes.extend([shared, length]);
        self.bytes.extend_from_slice(rest);
        self.last.truncate(shared.into());
        self.last.extend_from_slice(rest);
        self.files += 1;
        self.file_bytes += size_bytes;
        true
    }
}

#[derive(Debug, Default)]
struct Unpacked<'n> {
    left: &'n [u8],
    last: Vec<u8>,
}

impl Iterator for Unpacked<'_> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let (&[shared, length], left) = self.left.split_first_chunk()?;
        let (rest, left) = left.split_at_checked(length.into())?;
        self.last.truncate(shared.into());
        self.last.extend_from_slice(rest);
        self.left = left;
        Some(self.last.clone())
    }
}

#[derive(Debug)]
struct SmallFolder {
    source: PathBuf,
    target: PathBuf,
    names: Box<[u8]>,
}

#[derive(Debug, Default)]
pub(super) struct SmallPlan {
    folders: Vec<SmallFolder>,
    pub(super) files: u64,
    pub(super) bytes: u64,
}

impl SmallPlan {
    pub(super) fn is_empty(&self) -> bool {
        self.files == 0
    }

    pub(super) fn add(&mut self, source: &Path, target: &Path, names: SmallNames) {
        if names.files == 0 {
            return;
        }
        self.files += names.files;
        self.bytes += names.file_bytes;
        let (source, target) = (source.to_owned(), target.to_owned());
        self.folders.push(SmallFolder { source, target, names: names.bytes.into_boxed_slice() });
    }

    /// Leaves out the files of the directories that `is_left_out` says so of, by their destination.
    pub(super) fn leave_out(&mut self, is_left_out: impl Fn(&Path) -> bool) {
        self.folders.retain(|folder| !is_left_out(&folder.target));
    }

    pub(super) fn entries<'p>(&'p self, options: &'p CopyOptions) -> SmallEntries<'p> {
        SmallEntries {
            options,
            folders: self.folders.iter(),
            folder: None,
            names: Unpacked::default(),
            located: Vec::new().into_iter(),
            has_ended: false,
            grown: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// What it takes of memory, without the paths of directories.
    #[cfg(test)]
    pub(super) fn names_bytes(&self) -> usize {
        self.folders.iter().map(|folder| folder.names.len()).sum()
    }
}

/// The files of a [`SmallPlan`], looked up again.
pub(super) struct SmallEntries<'p> {
    options: &'p CopyOptions,
    folders: slice::Iter<'p, SmallFolder>,
    folder: Option<&'p SmallFolder>,
    names: Unpacked<'p>,
    located: vec::IntoIter<Location>,
    has_ended: bool,
    grown: Vec<Entry>,
    failures: Vec<CopyFailure>,
}

impl SmallEntries<'_> {
    /// Files that are not small any more, and what failed; once all have been looked up.
    pub(super) fn into_rest(self) -> (Vec<Entry>, Vec<CopyFailure>) {
        (self.grown, self.failures)
    }

    /// The file as it is now, if it is still a small one.
    fn look_up(&mut self, at: Location) -> Option<Entry> {
        let (source, target) = (at.source(), at.target());
        let stat = match self.options.symlinks {
            Symlinks::Follow => files::stamp_of_path(&source),
            Symlinks::Keep | Symlinks::Skip => files::stamp_of_link(&source),
        };
        let error = match stat {
            Ok(stat) if stat.kind == FileKind::Regular => {
                let entry = Entry::new(at, &stat, Action::File);
                if entry.is_small(self.options) {
                    return Some(entry);
                }
                self.grown.push(entry);
                return None;
            }
            Ok(_) => CopyError::SourceChanged {
                path: source.clone(),
                how: "something that is no file has taken its name",
                kept: false,
            },
            Err(error) => CopyError::system("open", &source)(error),
        };
        self.has_ended = !self.options.continues_after(&error);
        self.failures.push(CopyFailure { source, target, error });
        None
    }

    fn locate_more(&mut self) -> bool {
        let Some(folder) = self.folder else { return self.open_next() };
        let names: Vec<Vec<u8>> = self.names.by_ref().take(LOOKED_UP).collect();
        if names.is_empty() {
            return self.open_next();
        }
        let names = names.into_iter().map(path_from_bytes);
        self.located = locate(&folder.source, &folder.target, names).into_iter();
        true
    }

    fn open_next(&mut self) -> bool {
        self.folder = self.folders.next();
        let left = self.folder.map_or(&[][..], |folder| &folder.names);
        self.names = Unpacked { left, last: Vec::new() };
        self.folder.is_some()
    }
}

impl Iterator for SmallEntries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        while !self.has_ended {
            match self.located.next() {
                Some(at) => {
                    let entry = self.look_up(at);
                    if entry.is_some() {
                        return entry;
                    }
                }
                None if !self.locate_more() => return None,
                None => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn packed<'n>(names: impl IntoIterator<Item = &'n [u8]>) -> SmallNames {
        let mut packed = SmallNames::default();
        for name in names {
            assert!(packed.add(&path_from_bytes(name.to_vec()), 1));
        }
        packed
    }

    fn unpacked(names: &SmallNames) -> Vec<Vec<u8>> {
        Unpacked { left: &names.bytes, last: Vec::new() }.collect()
    }

    proptest! {
        #[test]
        fn packed_names_are_the_names(names: BTreeSet<Vec<u8>>) {
            let names: Vec<Vec<u8>> = names.into_iter().filter(|name| name.len() < 256).collect();
            let packed = packed(names.iter().map(Vec::as_slice));
            prop_assert_eq!(unpacked(&packed), names);
        }
    }

    #[test]
    fn the_longest_names_fit_and_longer_ones_are_not_cut() {
        let (long, longer) = ([b'x'; 255], [b'x'; 256]);
        let mut names = packed([&long[..]]);
        assert!(!packed([]).add(&path_from_bytes(longer.to_vec()), 1));
        assert!(names.add(&path_from_bytes(longer.to_vec()), 1), "one letter differs");
        assert_eq!(unpacked(&names), [long.to_vec(), longer.to_vec()]);
    }

    /// rsync takes 9 bytes for a file in a tree of directories of a thousand files, and a plan took 633.
    #[test]
    fn a_name_takes_fewer_bytes_than_rsync_takes_for_a_file() {
        let names: Vec<String> = (0..1000).map(|number| format!("file-{number:07}")).collect();
        let packed = packed(names.iter().map(String::as_bytes));
        assert!(packed.bytes.len() <= 9 * names.len(), "{} bytes", packed.bytes.len());
        assert_eq!(unpacked(&packed).len(), names.len());
    }
}
