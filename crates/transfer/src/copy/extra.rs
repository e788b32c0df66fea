//! Removes from the destination what the source does not have.
//!
//! A mirror that removes the wrong file cannot be undone, so everything in doubt stays: names that the source
//! has in any form, names that the filters leave out, unfinished copies, other file systems, and anything that
//! changed since it was found.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileKind, FileStamp, OpenDirectory};
use iostall_engine::guard::Removes;
use iostall_model::transfer::Undone;

use super::beside::{is_changed_name, is_part_name};
use super::context::CopyContext;
use super::error::CopyError;
use super::log::{CopyFailure, CopyLog, Recorded};
use super::options::Symlinks;
use super::target::is_to_be_opened;
use super::walk::Inventory;

#[derive(Clone, Debug)]
pub(super) struct Extra {
    /// Below the roots.
    relative: PathBuf,
    pub(super) target: PathBuf,
    pub(super) stat: FileStamp,
    /// Whether it is in a directory that something of another kind replaces, or in what an earlier copy began to replace one
    /// with: the source cannot have it.
    is_replaced: bool,
}

/// What a mirror removes in the end, the content of a directory before the directory.
#[derive(Debug, Default)]
pub(super) struct Extras {
    source: PathBuf,
    target: PathBuf,
    pub(super) all: Vec<Extra>,
    /// Directories of ours whose modes forbid to remove what is in them.
    pub(super) read_only: HashSet<PathBuf>,
}

/// Where extras are looked for.
struct Looked<'l> {
    directory: &'l OpenDirectory,
    below: &'l Path,
    device: u64,
    is_replaced: bool,
}

impl Extras {
    /// Finds what is to be removed, without changing anything. Names that must not be removed are failures,
    /// and then nothing will be.
    pub(super) fn find(
        context: &CopyContext<'_>,
        (source, target): (&Path, &Path),
        inventory: &mut Inventory,
    ) -> Result<Self, CopyError> {
        let (source, target) = (source.to_owned(), target.to_owned());
        let mut extras = Self { source, target, ..Self::default() };
        let root = match OpenDirectory::open(&extras.target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(extras),
            opened => opened.map_err(CopyError::system("open", &extras.target))?,
        };
        let device = root.stamp().map_err(CopyError::system("look at", &extras.target))?.device;
        let looked = Looked { directory: &root, below: Path::new(""), device, is_replaced: false };
        extras.find_in(context, &looked, inventory)?;
        Ok(extras)
    }

    /// Whether everything in the directory goes.
    fn find_in(
        &mut self,
        context: &CopyContext<'_>,
        looked: &Looked<'_>,
        inventory: &mut Inventory,
    ) -> Result<bool, CopyError> {
        let Looked { directory, below, device, is_replaced } = *looked;
        let shown = self.target.join(below);
        let names = directory.names().map_err(CopyError::system("read the directory", &shown))?;
        let mut is_all = true;
        for name in names {
            let relative = below.join(&name);
            let target = self.target.join(&relative);
            let stat = directory.stamp_of(&name).map_err(CopyError::system("look at", &shown))?;
            let is_directory = stat.kind == FileKind::Directory;
            // Also where a mount shows the source under another path.
            if is_directory
                && files::stamp_of_path(&self.source).is_ok_and(|source| source.is_same_file(&stat))
            {
                let (source, inside) = (self.source.display(), target.display());
                let message = format!("the source {source} lies in the destination, as {inside}");
                return Err(CopyError::Names { message });
            }
            let changed = inventory.changed_kinds.has_target(&target);
            let is_stale = is_changed_name(&name) && !inventory.changed_kinds.makes(&target);
            let is_replaced = is_replaced || changed || is_stale;
            let is_left_out =
                is_part_name(&name) || !context.options.selection.admits_name(&relative, is_directory);
            let is_ours = is_left_out && !is_stale;
            let is_extra = !is_ours && (is_replaced || is_absent(&self.source.join(&relative)));
            let mut goes = is_extra;
            if is_directory && !is_ours && (is_extra || self.is_walked(context, &relative)) {
                goes = if stat.device == device {
                    let inside =
                        directory.below(Path::new(&name)).map_err(CopyError::system("open", &shown))?;
                    let looked = Looked { directory: &inside, below: &relative, device, is_replaced };
                    self.find_in(context, &looked, inventory)? && is_extra
                } else {
                    false
                };
            }
            is_all &= goes;
            let refused = match () {
                () if goes => self.check(context, &shown, &target).err(),
                () if changed => {
                    let how = "something in it is left out by the patterns, or on another file system";
                    Some(CopyError::NotRemoved { path: target.clone(), how })
                }
                () => None,
            };
            match refused {
                Some(error) => {
                    let error = error.stays(Undone::Deleted, &target);
                    inventory.failures.push(CopyFailure {
                        source: self.source.join(&relative),
                        target,
                        error,
                    });
                }
                // What is replaced goes when the new is there.
                None if goes && !changed => self.all.push(Extra { relative, target, stat, is_replaced }),
                None => {}
            }
        }
        Ok(is_all)
    }

    /// Whether `target`, in `directory`, may be removed.
    fn check(&mut self, context: &CopyContext<'_>, directory: &Path, target: &Path) -> Result<(), CopyError> {
        context.destinations.check_removal(target, Removes::Content)?;
        if is_to_be_opened(&context.destinations, directory)? {
            self.read_only.insert(directory.to_owned());
        }
        Ok(())
    }

    /// Whether the copy has looked into this directory of the source. What is in one that it passed by is
    /// unknown.
    fn is_walked(&self, context: &CopyContext<'_>, relative: &Path) -> bool {
        let options = context.options;
        let path = self.source.join(relative);
        let found = match options.symlinks {
            Symlinks::Follow => files::stamp_of_path(&path),
            Symlinks::Keep | Symlinks::Skip => files::stamp_of_link(&path),
        };
        let is_on_root = |found: &FileStamp| {
            files::stamp_of_path(&self.source).is_ok_and(|root| root.device == found.device)
        };
        found.is_ok_and(|found| {
            found.kind == FileKind::Directory && (!options.one_file_system || is_on_root(&found))
        })
    }

    /// Removes them. Each must still be what was found, and still be absent from the source.
    pub(super) fn remove(&self, context: &CopyContext<'_>, log: &mut CopyLog) -> Result<(), CopyError> {
        if self.all.is_empty() {
            return Ok(());
        }
        let root = OpenDirectory::open(&self.target).map_err(CopyError::system("open", &self.target))?;
        for extra in &self.all {
            if context.progress.is_cancelled() {
                return Err(CopyError::cancelled(&self.source, &extra.target, false));
            }
            let removed =
                self.remove_one(&root, extra).map_err(|error| error.stays(Undone::Deleted, &extra.target));
            if removed.is_ok() {
                log.counts.deleted += 1;
                log.record(Recorded::Deleted, &extra.target, extra.stat.size_bytes);
            }
            let paths = || (self.source.join(&extra.relative), extra.target.clone());
            log.note(context.options, paths, removed)?;
        }
        Ok(())
    }

    fn remove_one(&self, root: &OpenDirectory, extra: &Extra) -> Result<(), CopyError> {
        let Extra { relative, target, stat, is_replaced } = extra;
        let name = relative.file_name().unwrap_or(OsStr::new(""));
        let parent = relative.parent().unwrap_or(Path::new(""));
        let failed = |error| CopyError::system("remove", target)(error);
        let directory = root.below(parent).map_err(failed)?;
        let now = directory.stamp_of(name).map_err(failed)?;
        let is_directory = stat.kind == FileKind::Directory;
        // A directory changes as its content goes, and its removal fails unless it is empty.
        let change = if is_directory { None } else { now.content_change_since(stat) };
        let change =
            change.or_else(|| (!now.is_same_file(stat)).then_some("another file has taken its name"));
        if let Some(how) = change {
            return Err(CopyError::NotRemoved { path: target.clone(), how });
        }
        if !is_replaced && !is_absent(&self.source.join(relative)) {
            return Err(CopyError::NotRemoved { path: target.clone(), how: "the source has it by now" });
        }
        let removed =
            if is_directory { directory.remove_directory(name) } else { directory.remove_file(name) };
        removed.map_err(failed)
    }
}

/// Whether a name is certainly not there: an unreadable one may be.
fn is_absent(path: &Path) -> bool {
    matches!(files::stamp_of_link(path), Err(error) if error.kind() == io::ErrorKind::NotFound)
}
