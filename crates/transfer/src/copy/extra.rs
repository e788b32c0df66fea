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
use super::part::directory_of;
use super::target::is_to_be_opened;
use super::walk::Inventory;

#[derive(Clone, Debug)]
pub(super) struct Extra {
    /// Below the destination.
    relative: PathBuf,
    source: PathBuf,
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
    /// The same directory below the source: another one in what is made to replace something of another kind.
    as_source: &'l Path,
    device: u64,
    is_replaced: bool,
    /// Whether it is in what an earlier copy began and nobody needs: all of it goes.
    is_stale: bool,
}

/// A name that stays, and why.
struct Staying(PathBuf, &'static str);

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
        let (directory, below) = (&root, Path::new(""));
        let looked =
            Looked { directory, below, as_source: below, device, is_replaced: false, is_stale: false };
        extras.find_in(context, &looked, inventory)?;
        Ok(extras)
    }

    /// What stays in the directory, and why; `None` if everything in it goes.
    fn find_in(
        &mut self,
        context: &CopyContext<'_>,
        looked: &Looked<'_>,
        inventory: &mut Inventory,
    ) -> Result<Option<Staying>, CopyError> {
        let Looked { directory, below, as_source, device, is_replaced, .. } = *looked;
        let shown = self.target.join(below);
        let names = directory.names().map_err(CopyError::system("read the directory", &shown))?;
        let mut staying = None;
        for name in names {
            let (relative, target) = (below.join(&name), shown.join(&name));
            let stat = directory.stamp_of(&name).map_err(CopyError::system("look at", &shown))?;
            let is_directory = stat.kind == FileKind::Directory;
            self.refuse_source(&stat, &target)?;
            let changed = inventory.changed_kinds.has_target(&target);
            let place = inventory.changed_kinds.target_of(&target).and_then(Path::file_name);
            let is_made = place.is_some();
            let relative_source = as_source.join(place.unwrap_or(&name));
            let source = self.source.join(&relative_source);
            let is_stale = looked.is_stale || is_changed_name(&name) && !is_made;
            let is_replaced = is_replaced || changed || is_stale;
            let why_ours = match () {
                () if is_stale || is_made => None,
                () if is_part_name(&name) => Some("is of an unfinished copy"),
                () if !context.options.selection.admits_name(&relative_source, is_directory) => {
                    Some("is left out by the patterns")
                }
                () => None,
            };
            let is_extra = why_ours.is_none() && !is_made && (is_replaced || is_absent(&source));
            let mut stays =
                (!is_extra).then(|| Staying(target.clone(), why_ours.unwrap_or("is in the source")));
            if is_directory && why_ours.is_none() && (is_extra || self.is_walked(context, &source)) {
                let inside = if stat.device == device {
                    let inside =
                        directory.below(Path::new(&name)).map_err(CopyError::system("open", &shown))?;
                    let (directory, as_source) = (&inside, relative_source.as_path());
                    let looked =
                        Looked { directory, below: &relative, as_source, device, is_replaced, is_stale };
                    self.find_in(context, &looked, inventory)?
                } else {
                    Some(Staying(target.clone(), "is on another file system"))
                };
                stays = stays.or(inside);
            }
            let extra = Extra { relative, source, target, stat, is_replaced };
            self.add_or_note(context, inventory, (extra, changed), stays.as_ref());
            staying = staying.or(stays);
        }
        Ok(staying)
    }

    /// Also where a mount shows the source under another path.
    fn refuse_source(&self, stat: &FileStamp, target: &Path) -> Result<(), CopyError> {
        let is_source = stat.kind == FileKind::Directory
            && files::stamp_of_path(&self.source).is_ok_and(|source| source.is_same_file(stat));
        if is_source {
            let (source, inside) = (self.source.display(), target.display());
            let message = format!("the source {source} lies in the destination, as {inside}");
            return Err(CopyError::Names { message });
        }
        Ok(())
    }

    /// Adds what goes. What must go and stays, or must not be removed, is a failure.
    fn add_or_note(
        &mut self,
        context: &CopyContext<'_>,
        inventory: &mut Inventory,
        (extra, changed): (Extra, bool),
        stays: Option<&Staying>,
    ) {
        let refused = match stays {
            None => self.check(context, directory_of(&extra.target), &extra.target).err(),
            Some(Staying(inside, why)) if changed => {
                inventory.leave_as_it_is(&extra.target);
                let (path, inside) = (extra.target.clone(), inside.clone());
                Some(CopyError::InTheWay { path, inside, why })
            }
            Some(_) => None,
        };
        match refused {
            Some(error) => {
                let error = error.stays(Undone::Deleted, &extra.target);
                let Extra { source, target, .. } = extra;
                inventory.failures.push(CopyFailure { source, target, error });
            }
            // What is replaced goes when the new is there.
            None if stays.is_none() && !changed => self.all.push(extra),
            None => {}
        }
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
    fn is_walked(&self, context: &CopyContext<'_>, path: &Path) -> bool {
        let options = context.options;
        let found = match options.symlinks {
            Symlinks::Follow => files::stamp_of_path(path),
            Symlinks::Keep | Symlinks::Skip => files::stamp_of_link(path),
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
                remove_one(&root, extra).map_err(|error| error.stays(Undone::Deleted, &extra.target));
            if removed.is_ok() {
                log.counts.deleted += 1;
                log.record(Recorded::Deleted, &extra.target, extra.stat.size_bytes);
            }
            let paths = || (extra.source.clone(), extra.target.clone());
            log.note(context.options, paths, removed)?;
        }
        Ok(())
    }
}

fn remove_one(root: &OpenDirectory, extra: &Extra) -> Result<(), CopyError> {
    let Extra { relative, source, target, stat, is_replaced } = extra;
    let name = relative.file_name().unwrap_or(OsStr::new(""));
    let parent = relative.parent().unwrap_or(Path::new(""));
    let failed = |error| CopyError::system("remove", target)(error);
    let directory = root.below(parent).map_err(failed)?;
    let now = directory.stamp_of(name).map_err(failed)?;
    let is_directory = stat.kind == FileKind::Directory;
    // A directory changes as its content goes, and its removal fails unless it is empty.
    let change = if is_directory { None } else { now.content_change_since(stat) };
    let change = change.or_else(|| (!now.is_same_file(stat)).then_some("another file has taken its name"));
    if let Some(how) = change {
        return Err(CopyError::NotRemoved { path: target.clone(), how });
    }
    if !is_replaced && !is_absent(source) {
        return Err(CopyError::NotRemoved { path: target.clone(), how: "the source has it by now" });
    }
    let removed = if is_directory { directory.remove_directory(name) } else { directory.remove_file(name) };
    removed.map_err(failed)
}

/// Whether a name is certainly not there: an unreadable one may be.
fn is_absent(path: &Path) -> bool {
    matches!(files::stamp_of_link(path), Err(error) if error.kind() == io::ErrorKind::NotFound)
}
