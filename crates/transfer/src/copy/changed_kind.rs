//! Names that are of another kind at the destination: a link that has become a directory, a directory that is a file now.
//!
//! A mirror that may delete replaces them. The new content is made under a name of its own, so that what is there stays until
//! the new is whole; whoever repeats an interrupted copy finds it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileKind, FileStamp};

use super::beside::changed_path;
use super::options::CopyOptions;

#[derive(Clone, Debug)]
pub(super) struct ChangedKind {
    pub(super) source: PathBuf,
    pub(super) target: PathBuf,
    /// Where the new content is made.
    pub(super) made: PathBuf,
    /// What is replaced.
    pub(super) there: FileStamp,
    pub(super) is_directory: bool,
}

impl ChangedKind {
    /// `None` if the destination has nothing, something of the same kind, or something that no rename replaces without consent
    /// to delete.
    pub(super) fn find(
        options: &CopyOptions,
        source: &Path,
        stat: &FileStamp,
        target: &Path,
    ) -> Option<Self> {
        options.delete.as_ref()?;
        let there = files::stamp_of_link(target).ok()?;
        let is_directory = stat.kind == FileKind::Directory;
        let is_changed = is_directory != (there.kind == FileKind::Directory)
            || there.kind != stat.kind && matches!(there.kind, FileKind::Symlink | FileKind::Special);
        let (source, target, made) = (source.to_owned(), target.to_owned(), changed_path(target));
        is_changed.then_some(Self { source, target, made, there, is_directory })
    }
}

/// All of a mirror: a farm of links may have become files.
#[derive(Debug, Default)]
pub(super) struct ChangedKinds {
    all: Vec<ChangedKind>,
    targets: HashSet<PathBuf>,
    /// The final place of what is made under a name of its own.
    places: HashMap<PathBuf, PathBuf>,
}

impl ChangedKinds {
    pub(super) fn add(&mut self, changed: ChangedKind) {
        self.targets.insert(changed.target.clone());
        self.places.insert(changed.made.clone(), changed.target.clone());
        self.all.push(changed);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ChangedKind> {
        self.all.iter()
    }

    pub(super) fn has_target(&self, path: &Path) -> bool {
        self.targets.contains(path)
    }

    pub(super) fn makes(&self, path: &Path) -> bool {
        self.places.contains_key(path)
    }

    /// What was not put in its place has none.
    pub(super) fn forget(&mut self, changed: &ChangedKind) {
        self.places.remove(&changed.made);
    }

    /// The final place of `path`, if it is new content or in it.
    pub(super) fn final_place(&self, path: &Path) -> Option<PathBuf> {
        if self.places.is_empty() {
            return None;
        }
        path.ancestors().find_map(|above| {
            let place = self.places.get(above)?;
            let below = path.strip_prefix(above).ok().filter(|below| *below != Path::new(""));
            Some(below.map_or_else(|| place.clone(), |below| place.join(below)))
        })
    }
}
