//! Takes inventory of the sources before anything is written.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileKind, FileStamp};
use iostall_engine::guard::Destinations;
use iostall_model::transfer::Reflink;

use super::beside::is_part_name;
use super::error::CopyError;
use super::journal::is_unfinished;
use super::kept_time::TimeSteps;
use super::log::CopyFailure;
use super::options::{CopyOptions, Equality, Resume, Specials, Symlinks};
use super::part::directory_of;
use super::selection::FileList;
use super::target::check_target;
use super::tree_mark;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Created, with its metadata set once everything in it is there.
    Directory,
    File,
    /// A hard link to a file that is copied under this name.
    HardLink(PathBuf),
    Symlink,
    Special,
    /// Equal at the destination, from an earlier attempt or copy.
    UpToDate,
    /// A file of the same size is at the destination, and its content decides whether it is copied.
    Compare,
    /// The destination has a newer one, which stays.
    NewerThere,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) source: PathBuf,
    pub(super) target: PathBuf,
    pub(super) stat: FileStamp,
    pub(super) action: Action,
}

impl CopyFailure {
    pub(super) fn of(entry: &Entry, error: CopyError) -> Self {
        Self { source: entry.source.clone(), target: entry.target.clone(), error }
    }
}

impl Entry {
    pub(super) fn paths(&self) -> (&Path, &Path) {
        (&self.source, &self.target)
    }

    /// Whether a file is copied as a small file. Files with holes, and those that must share blocks, are not.
    pub(super) fn is_small(&self, options: &CopyOptions) -> bool {
        let FileStamp { size_bytes, allocated_bytes, .. } = self.stat;
        // A file of up to one block has no holes, or is stored in its inode.
        let has_holes = size_bytes > 4096 && allocated_bytes + 4096 <= size_bytes;
        size_bytes < options.small_file_bytes && !has_holes && options.reflink != Reflink::Always
    }
}

/// Everything to copy; a directory comes before its content.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    pub(super) entries: Vec<Entry>,
    pub(super) skipped_specials: u64,
    /// Entries left out by the selection; a directory counts once.
    pub(super) excluded: u64,
    /// Files already known to fail.
    pub(super) failures: Vec<CopyFailure>,
    /// Destinations of the directories named as sources.
    pub(super) roots: HashSet<PathBuf>,
    /// Complete files at the destination are left as they are.
    leaves_finished: bool,
    time_steps: TimeSteps,
    /// First names of files with several hard links, by device and inode.
    first_names: HashMap<(u64, u64), PathBuf>,
}

impl Inventory {
    /// Walks all sources. Entries that must fail are recorded and left out: an existing file, a tree into
    /// itself, a loop. An error means that the copy cannot start.
    pub(super) fn take(
        pairs: &[(PathBuf, PathBuf)],
        options: &CopyOptions,
        destinations: &Destinations,
    ) -> Result<Self, CopyError> {
        let leaves_finished = match options.resume {
            _ if options.equality.is_some() => true,
            Resume::Always => true,
            Resume::Matching => pairs.iter().any(|(source, target)| is_begun(source, target)),
            Resume::Never => false,
        };
        let time_steps = TimeSteps::new(!options.dry_run);
        let mut inventory = Self { leaves_finished, time_steps, ..Self::default() };
        for (source, target) in pairs {
            let walk = Walk { options, destinations, root: source, device: None };
            let taken = inventory.take_source(source, target, &walk);
            inventory.noted(source, target, options, taken)?;
        }
        Ok(inventory)
    }

    fn take_source(&mut self, source: &Path, target: &Path, walk: &Walk<'_>) -> Result<(), CopyError> {
        // A link on the command line is followed, as with `cp -H`.
        let stat = files::stamp_of_path(source).map_err(CopyError::system("find", source))?;
        if stat.kind == FileKind::Directory {
            refuse_into_itself(source, &stat, target)?;
            self.roots.insert(target.to_owned());
            let walk = Walk { device: Some(stat.device), ..*walk };
            walk.directory(self, source, target, stat, &mut Vec::new())?;
            return self.note_unlisted(source, target, walk.options);
        }
        let name = source.file_name().map_or(source, Path::new);
        if !walk.options.selection.admits(name, &stat) {
            self.excluded += 1;
            return Ok(());
        }
        // A special file that is skipped inside a tree is an error if named directly.
        if stat.kind == FileKind::Special && walk.options.specials == Specials::Skip {
            return Err(CopyError::Special { path: source.to_owned() });
        }
        self.add(source, target, stat, walk)
    }

    /// Records names of the list that the source does not have.
    fn note_unlisted(
        &mut self,
        source: &Path,
        target: &Path,
        options: &CopyOptions,
    ) -> Result<(), CopyError> {
        for name in options.selection.list.iter().flat_map(FileList::names) {
            let path = source.join(name);
            let found = files::stamp_of_link(&path).map(drop).map_err(CopyError::system("find", &path));
            self.noted(&path, &target.join(name), options, found)?;
        }
        Ok(())
    }

    /// Records the failure of one source; returns an error if it ends the copy.
    fn noted(
        &mut self,
        source: &Path,
        target: &Path,
        options: &CopyOptions,
        taken: Result<(), CopyError>,
    ) -> Result<(), CopyError> {
        let Err(error) = taken else { return Ok(()) };
        let refuses = matches!(error, CopyError::Special { .. }) && options.specials == Specials::Refuse;
        if refuses || !options.continues_after(&error) {
            return Err(error);
        }
        self.failures.push(CopyFailure { source: source.to_owned(), target: target.to_owned(), error });
        Ok(())
    }

    /// Entries that an earlier attempt has finished.
    pub(super) fn up_to_date(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.action == Action::UpToDate)
    }

    pub(super) fn directories(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.action == Action::Directory)
    }

    /// Regular files to copy.
    pub(super) fn files(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.action == Action::File)
    }

    fn add(
        &mut self,
        source: &Path,
        target: &Path,
        stat: FileStamp,
        walk: &Walk<'_>,
    ) -> Result<(), CopyError> {
        let options = walk.options;
        let action = match stat.kind {
            FileKind::Directory => Action::Directory,
            FileKind::Symlink if options.symlinks == Symlinks::Skip => return Ok(()),
            FileKind::Symlink => Action::Symlink,
            FileKind::Special => match options.specials {
                Specials::Skip => {
                    self.skipped_specials += 1;
                    return Ok(());
                }
                Specials::Keep => Action::Special,
                Specials::Refuse => return Err(CopyError::Special { path: source.to_owned() }),
            },
            FileKind::Regular => Action::File,
        };
        let action = match self.existing(&stat, target, options) {
            Existing::Equal => {
                self.file_action(&stat, target);
                Action::UpToDate
            }
            Existing::Newer => Action::NewerThere,
            Existing::SameSize => {
                self.file_action(&stat, target);
                Action::Compare
            }
            Existing::NoneOrOther if action == Action::File => self.file_action(&stat, target),
            Existing::NoneOrOther => action,
        };
        if !matches!(action, Action::UpToDate | Action::NewerThere | Action::Compare | Action::Directory) {
            check_target(source, &stat, target, options.overwrite, walk.destinations)?;
        }
        self.entries.push(Entry { source: source.to_owned(), target: target.to_owned(), stat, action });
        Ok(())
    }

    /// Compares an entry with what the destination has under its name.
    fn existing(&mut self, stat: &FileStamp, target: &Path, options: &CopyOptions) -> Existing {
        let Ok(there) = files::stamp_of_link(target) else { return Existing::NoneOrOther };
        if stat.kind == FileKind::Directory || there.kind != stat.kind {
            return Existing::NoneOrOther;
        }
        let is_same_size = there.size_bytes == stat.size_bytes;
        if options.equality == Some(Equality::Content) && stat.kind == FileKind::Regular {
            if is_same_size {
                return Existing::SameSize;
            }
        } else if self.leaves_finished
            && is_same_size
            // A copy gives a file its times last, once it is complete.
            && self.time_steps.is_kept_as(stat.modified_ns, there.modified_ns, target, there.device)
        {
            return Existing::Equal;
        }
        if options.update && there.modified_ns > stat.modified_ns {
            Existing::Newer
        } else {
            Existing::NoneOrOther
        }
    }

    /// Copies the first name of a file, and links the others to it.
    fn file_action(&mut self, stat: &FileStamp, target: &Path) -> Action {
        if stat.links < 2 || stat.kind != FileKind::Regular {
            return Action::File;
        }
        if let Some(first) = self.first_names.get(&(stat.device, stat.inode)) {
            return Action::HardLink(first.clone());
        }
        self.first_names.insert((stat.device, stat.inode), target.to_owned());
        Action::File
    }
}

/// What the destination has under the name of an entry.
enum Existing {
    /// Nothing, or something else.
    NoneOrOther,
    /// The same, by size and time.
    Equal,
    /// A file of this size, whose content must be compared.
    SameSize,
    Newer,
}

/// Whether an earlier attempt at this copy left a tree with its mark, or a file with its journal.
fn is_begun(source: &Path, target: &Path) -> bool {
    tree_mark::is_of(target, source)
        || files::stamp_of_path(source).is_ok_and(|stat| is_unfinished(target, &stat))
}

/// Refuses a destination inside the source: walks up from it, through any links and mounts.
fn refuse_into_itself(source: &Path, stat: &FileStamp, target: &Path) -> Result<(), CopyError> {
    let mut at = target.to_owned();
    // The part of the path that does not exist yet will be created in the part that does.
    while files::stamp_of_path(&at).is_err() {
        at = directory_of(&at).to_owned();
    }
    let mut at = fs::canonicalize(&at).map_err(CopyError::system("resolve", target))?;
    loop {
        if files::stamp_of_path(&at).is_ok_and(|above| above.is_same_file(stat)) {
            return Err(CopyError::IntoItself { from: source.to_owned(), to: target.to_owned() });
        }
        match at.parent() {
            Some(parent) => at = parent.to_owned(),
            None => return Ok(()),
        }
    }
}

/// Refuses an existing destination that is no directory. A link to one is refused too: what it leads to was
/// not named and may be anywhere.
pub(super) fn refuse_other_kind(source: &Path, target: &Path) -> Result<(), CopyError> {
    let what = match files::stamp_of_link(target).map(|there| there.kind) {
        Err(_) | Ok(FileKind::Directory) => return Ok(()),
        Ok(FileKind::Symlink) => "is a link: name what it leads to, or remove it",
        Ok(FileKind::Regular | FileKind::Special) => "is not",
    };
    let message = format!("{} is a directory, and {} {what}", source.display(), target.display());
    Err(CopyError::Names { message })
}

/// State of a walk through the sources.
#[derive(Clone, Copy)]
struct Walk<'a> {
    options: &'a CopyOptions,
    destinations: &'a Destinations,
    /// The source, from which names are matched.
    root: &'a Path,
    /// File system of the source directory.
    device: Option<u64>,
}

impl Walk<'_> {
    fn directory(
        &self,
        inventory: &mut Inventory,
        source: &Path,
        target: &Path,
        stat: FileStamp,
        above: &mut Vec<(FileStamp, PathBuf)>,
    ) -> Result<(), CopyError> {
        if let Some((_, ancestor)) = above.iter().find(|(over, _)| over.is_same_file(&stat)) {
            return Err(CopyError::Loop { path: source.to_owned(), ancestor: ancestor.clone() });
        }
        refuse_other_kind(source, target)?;
        if files::stamp_of_link(target).is_ok() {
            self.destinations.check_directory(target)?;
        }
        // Before the directory is created at the destination: an unreadable one must not become an empty one.
        let listed: Result<Vec<_>, _> = fs::read_dir(source).and_then(Iterator::collect);
        let listed = listed.map_err(CopyError::system("read the directory", source))?;
        inventory.add(source, target, stat, self)?;
        above.push((stat, source.to_owned()));
        let mut names: Vec<_> = listed.into_iter().map(|entry| entry.file_name()).collect();
        // Sorted, so that the order of a copy does not depend on the file system.
        names.sort_unstable();
        for name in names.iter().filter(|name| !is_part_name(name)) {
            let (path, copy) = (source.join(name), target.join(name));
            let taken = self.entry(inventory, &path, &copy, above);
            inventory.noted(&path, &copy, self.options, taken)?;
        }
        above.pop();
        Ok(())
    }

    fn entry(
        &self,
        inventory: &mut Inventory,
        path: &Path,
        copy: &Path,
        above: &mut Vec<(FileStamp, PathBuf)>,
    ) -> Result<(), CopyError> {
        let stat = match self.options.symlinks {
            Symlinks::Follow => files::stamp_of_path(path),
            Symlinks::Keep | Symlinks::Skip => files::stamp_of_link(path),
        };
        let stat = stat.map_err(CopyError::system("look at", path))?;
        if !self.options.selection.admits(path.strip_prefix(self.root).unwrap_or(path), &stat) {
            inventory.excluded += 1;
            return Ok(());
        }
        if stat.kind != FileKind::Directory {
            return inventory.add(path, copy, stat, self);
        }
        if self.options.one_file_system && self.device.is_some_and(|device| device != stat.device) {
            return Ok(());
        }
        self.directory(inventory, path, copy, stat, above)
    }
}
