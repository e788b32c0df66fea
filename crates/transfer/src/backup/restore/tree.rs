//! The files of a restore while they are written.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use iostall_engine::files::{self, Attribute, Loss, NewMetadata, OpenDirectory, path_from_bytes};
use iostall_model::backup::{FileEntry, FileKind, StoredName};

use super::error::RestoreError;
use super::plan::{Make, Plan, Planned};
use super::roots::Onto;

pub type FileLoss = (PathBuf, Loss);

#[derive(Clone, Copy, Debug)]
struct State {
    is_made: bool,
    is_finished: bool,
    missing_bytes: u64,
}

pub(super) struct Tree<'p> {
    pub(super) plan: &'p Plan<'p>,
    onto: Onto<'p>,
    states: Vec<Mutex<State>>,
    losses: Mutex<Vec<FileLoss>>,
}

/// Opens files of a tree, and remembers the directory of the last one: files of a bundle mostly share it.
pub(super) struct Opening<'p> {
    tree: &'p Tree<'p>,
    directory: Option<(PathBuf, OpenDirectory)>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A worker that panicked ends the restore anyway.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn metadata_of(entry: &FileEntry) -> NewMetadata {
    let kept = &entry.metadata;
    NewMetadata { mode: kept.mode, uid: kept.uid, gid: kept.gid, modified_ns: kept.modified_ns.into() }
}

fn attributes_of(entry: &FileEntry) -> Vec<Attribute> {
    let kept = entry.attributes.iter();
    kept.map(|one| Attribute { name: one.name.0.clone(), value: one.value.0.clone() }).collect()
}

impl<'p> Tree<'p> {
    pub(super) fn new(plan: &'p Plan<'p>, onto: Onto<'p>) -> Self {
        let state = |planned: &Planned<'_>| {
            Mutex::new(State { is_made: false, is_finished: false, missing_bytes: planned.entry.data_bytes })
        };
        Self { plan, onto, states: plan.all.iter().map(state).collect(), losses: Mutex::default() }
    }

    /// Whether files have the length that they are given; that of a device is what it is.
    pub(super) fn has_lengths(&self) -> bool {
        matches!(self.onto, Onto::Directories(_))
    }

    pub(super) fn losses(&self) -> Vec<FileLoss> {
        std::mem::take(&mut held(&self.losses))
    }

    fn lose(&self, planned: &Planned<'_>, losses: Vec<Loss>) {
        if !losses.is_empty() {
            held(&self.losses).extend(losses.into_iter().map(|loss| (planned.path.clone(), loss)));
        }
    }

    /// The first file of which not all was in the set, and how many bytes were not.
    pub(super) fn incomplete(&self) -> Option<(&StoredName, u64)> {
        let missing = |index: &usize| held(&self.states[*index]).missing_bytes;
        let first = self.plan.files.values().filter(|index| missing(index) > 0).min()?;
        Some((&self.plan.all[*first].entry.name, missing(first)))
    }

    /// Bytes of a file were written. `false` if there are more than the file has.
    pub(super) fn note_written(&self, index: usize, bytes: u64) -> bool {
        let mut state = held(&self.states[index]);
        let left = state.missing_bytes.checked_sub(bytes);
        state.missing_bytes = left.unwrap_or(0);
        left.is_some()
    }

    pub(super) fn make_directories(&self) -> Result<(), RestoreError> {
        for path in self.plan.directories().into_iter().filter(|path| !self.onto.is_root(path)) {
            let (parent, name) = split(path);
            let made = self.onto.below(parent).and_then(|parent| parent.make_directory(name));
            made.map_err(|source| RestoreError::System { verb: "make", path: path.to_owned(), source })?;
        }
        Ok(())
    }

    pub(super) fn make_empty_files(&self) -> Result<(), RestoreError> {
        let mut opening = Opening::new(self);
        let mut indexes: Vec<_> = self.plan.files.values().copied().collect();
        indexes.sort_unstable();
        for index in indexes {
            if self.plan.all[index].entry.data_bytes == 0 {
                let file = opening.open(index)?;
                self.finish_file(index, &file)?;
            }
        }
        Ok(())
    }

    /// Gives a file that is complete its size and metadata; once.
    pub(super) fn finish_file(&self, index: usize, file: &File) -> Result<(), RestoreError> {
        let planned = &self.plan.all[index];
        {
            let mut state = held(&self.states[index]);
            if state.missing_bytes > 0 || std::mem::replace(&mut state.is_finished, true) {
                return Ok(());
            }
        }
        if !self.has_lengths() {
            return Ok(());
        }
        let set = || -> io::Result<()> {
            if file.metadata()?.len() != planned.entry.size_bytes {
                file.set_len(planned.entry.size_bytes)?;
            }
            Ok(())
        };
        set().map_err(RestoreError::writing(&planned.entry.name))?;
        self.lose(
            planned,
            files::set_metadata(file, &metadata_of(planned.entry), &attributes_of(planned.entry)),
        );
        Ok(())
    }

    /// Links, when all files are there. Symbolic ones last: nothing is written any more that could follow one.
    pub(super) fn make_links(&self) -> Result<(), RestoreError> {
        for planned in &self.plan.all {
            let Make::HardLink(to) = &planned.make else { continue };
            let (parent, name) = split(&planned.path);
            let (from, original) = split(to);
            let linked = self
                .onto
                .below(parent)
                .and_then(|parent| parent.make_hard_link(name, &self.onto.below(from)?, original));
            linked.map_err(RestoreError::writing(&planned.entry.name))?;
        }
        for planned in &self.plan.all {
            let FileKind::Symlink { to } = &planned.entry.kind else { continue };
            let (parent, name) = split(&planned.path);
            let failed = || RestoreError::writing(&planned.entry.name);
            let parent = self.onto.below(parent).map_err(failed())?;
            let stored = path_from_bytes(to.as_bytes().to_vec());
            let to = self.onto.leads_to(&planned.path).unwrap_or(&stored);
            parent.make_symlink(name, to.as_os_str()).map_err(failed())?;
            self.lose(planned, parent.set_link_metadata(name, &metadata_of(planned.entry)));
        }
        Ok(())
    }

    /// Metadata of directories, the deepest first: making something in one changes its times.
    pub(super) fn finish_directories(&self) -> Result<(), RestoreError> {
        let is_directory =
            |planned: &&Planned<'_>| planned.make == Make::Directory && !self.onto.is_root(&planned.path);
        let mut all: Vec<_> = self.plan.all.iter().filter(is_directory).collect();
        all.sort_by(|one, other| other.path.cmp(&one.path));
        for planned in all {
            let directory = self.onto.below(&planned.path);
            let directory = directory.map_err(RestoreError::writing(&planned.entry.name))?;
            self.lose(
                planned,
                directory.set_metadata(&metadata_of(planned.entry), &attributes_of(planned.entry)),
            );
        }
        Ok(())
    }

    /// Metadata of a root that was `path` in the set: of the directory that was backed up, for the destination itself.
    pub(super) fn finish_root(&self, path: &Path, directory: &OpenDirectory) {
        let root =
            self.plan.all.iter().find(|planned| planned.path == path && planned.make == Make::Directory);
        if let Some(planned) = root {
            self.lose(
                planned,
                directory.set_metadata(&metadata_of(planned.entry), &attributes_of(planned.entry)),
            );
        }
    }
}

impl<'p> Opening<'p> {
    pub(super) fn new(tree: &'p Tree<'p>) -> Self {
        Self { tree, directory: None }
    }

    /// Whether writes may end behind the end of a file, which is cut to its length afterwards.
    pub(super) fn may_end_past(&self) -> bool {
        self.tree.has_lengths()
    }

    /// The size of the file with this number; 0 if it is not restored.
    pub(super) fn size_bytes(&self, number: u64) -> u64 {
        let index = self.tree.plan.files.get(&number);
        index.map_or(0, |index| self.tree.plan.all[*index].entry.size_bytes)
    }

    /// Opens a file for writing, and makes it the first time.
    pub(super) fn open(&mut self, index: usize) -> Result<File, RestoreError> {
        let planned = &self.tree.plan.all[index];
        let failed = || RestoreError::writing(&planned.entry.name);
        if let Onto::Device(device) = self.tree.onto {
            return device.try_clone().map_err(failed());
        }
        let (parent, name) = split(&planned.path);
        if self.directory.as_ref().is_none_or(|(path, _)| path != parent) {
            let open = self.tree.onto.below(parent).map_err(failed())?;
            self.directory = Some((parent.to_owned(), open));
        }
        let Some((_, directory)) = &self.directory else {
            return Err(failed()(io::ErrorKind::NotFound.into()));
        };
        let mut state = held(&self.tree.states[index]);
        let opened = if state.is_made { directory.open_file(name) } else { directory.make_file(name) };
        state.is_made |= opened.is_ok();
        opened.map_err(failed())
    }

    /// Writes a part of a file with an ordinary write, and finishes the file if it was the last one. Files that are not
    /// restored are passed over. `Ok(false)` if the part is not one of the file's.
    pub(super) fn write(&mut self, number: u64, offset: u64, bytes: &[u8]) -> Result<bool, RestoreError> {
        let Some(index) = self.tree.plan.files.get(&number).copied() else { return Ok(true) };
        let entry = self.tree.plan.all[index].entry;
        let length = bytes.len() as u64;
        if offset.checked_add(length).is_none_or(|end| end > entry.size_bytes) {
            return Ok(false);
        }
        let file = self.open(index)?;
        files::write_all_at(&file, bytes, offset).map_err(RestoreError::writing(&entry.name))?;
        if !self.tree.note_written(index, length) {
            return Ok(false);
        }
        self.tree.finish_file(index, &file)?;
        Ok(true)
    }
}

fn split(path: &Path) -> (&Path, &std::ffi::OsStr) {
    (path.parent().unwrap_or(Path::new("")), path.file_name().unwrap_or_default())
}
