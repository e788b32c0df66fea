//! Takes inventory of the sources before anything is written.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iostall_engine::files::{self, FileKind, FileStamp};
use iostall_engine::guard::Destinations;

use super::changed_kind::{ChangedKind, ChangedKinds};
use super::entry::{Action, Entry, Location, is_small, locate};
use super::error::CopyError;
use super::found::{Found, New, makes_a_name, names_in};
use super::kept_time::TimeSteps;
use super::log::CopyFailure;
use super::options::{CopyOptions, Equality, Resume, Specials, Symlinks};
use super::places::Places;
use super::resume::is_begun;
use super::selection::FileList;
use super::small_plan::{SmallNames, SmallPlan};
use super::target::{check_target, is_to_be_opened, refuse_into_itself, refuse_other_kind};

impl CopyFailure {
    pub(super) fn of(entry: &Entry, error: CopyError) -> Self {
        let (source, target) = entry.paths();
        Self { source, target, error }
    }
}

/// As many entries of a directory share what leads to them.
const TOGETHER: usize = 4096;

/// Everything to copy; a directory comes before its content.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    pub(super) entries: Vec<Entry>,
    pub(super) small: SmallPlan,
    pub(super) places: Places,
    pub(super) skipped_specials: u64,
    /// Those of them that a move leaves in the source, with the names that they do not get.
    pub(super) specials: Vec<(PathBuf, PathBuf)>,
    /// Entries left out by the selection; a directory counts once.
    pub(super) excluded: u64,
    pub(super) failures: Vec<CopyFailure>,
    pub(super) roots: HashSet<PathBuf>,
    /// Directories of the destination that are ours, in which names are to be made, and whose modes forbid it.
    pub(super) read_only: HashSet<PathBuf>,
    pub(super) changed_kinds: ChangedKinds,
    /// Of the names in the list, those that the walk came to.
    reached: HashSet<PathBuf>,
    leaves_finished: bool,
    time_steps: TimeSteps,
    /// First names of files with several hard links, by device and inode.
    first_names: HashMap<(u64, u64), Arc<PathBuf>>,
}

impl Inventory {
    /// Nothing is made in the place of `target`, in which something stays. It is no directory, and may be the name that others
    /// are links to: then it is made, and stays beside it.
    pub(super) fn leave_as_it_is(&mut self, target: &Path) {
        let Some(made) = self.changed_kinds.made_for(target) else { return };
        self.entries.retain(|entry| entry.stat().links > 1 || entry.target() != made);
        self.changed_kinds.leave(target);
    }

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
            let taken = inventory.take_source((source, target), &walk);
            inventory.noted(source, target, options, taken)?;
        }
        Ok(inventory)
    }

    fn take_source(&mut self, (source, target): (&Path, &Path), walk: &Walk<'_>) -> Result<(), CopyError> {
        let at = Location::of_root(source, target);
        // A link on the command line is followed, as with `cp -H`.
        let stat = files::stamp_of_path(source).map_err(CopyError::system("find", source))?;
        if stat.kind == FileKind::Directory {
            refuse_into_itself(source, &stat, target)?;
            self.roots.insert(target.to_owned());
            let walk = Walk { device: Some(stat.device), ..*walk };
            walk.directory(self, at, (source, target), stat, &mut Vec::new())?;
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
        if let Some(action) = self.action_of((source, target), &stat, walk)? {
            self.entries.push(Entry::new(at, &stat, action));
        }
        Ok(())
    }

    fn note_unlisted(
        &mut self,
        source: &Path,
        target: &Path,
        options: &CopyOptions,
    ) -> Result<(), CopyError> {
        for name in options.selection.list.iter().flat_map(FileList::names) {
            let path = source.join(name);
            let is_known = |failure: &CopyFailure| path.starts_with(&failure.source);
            if name == Path::new("") || self.reached.contains(name) || self.failures.iter().any(is_known) {
                continue;
            }
            let error = match files::stamp_of_link(&path) {
                Ok(_) => CopyError::NotReached { path: path.clone() },
                Err(error) => CopyError::system("find", &path)(error),
            };
            self.noted(&path, &target.join(name), options, Err(error))?;
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

    pub(super) fn up_to_date(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.action == Action::UpToDate)
    }

    pub(super) fn directories(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.action == Action::Directory)
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.action == Action::File)
    }

    /// What is to be done with an entry; `None` if it is skipped.
    fn action_of(
        &mut self,
        (source, target): (&Path, &Path),
        stat: &FileStamp,
        walk: &Walk<'_>,
    ) -> Result<Option<Action>, CopyError> {
        let options = walk.options;
        let action = match stat.kind {
            FileKind::Directory => return Ok(Some(Action::Directory)),
            FileKind::Symlink if options.symlinks == Symlinks::Skip => return Ok(None),
            FileKind::Symlink => Action::Symlink,
            FileKind::Special => match options.specials {
                Specials::Skip => {
                    self.skipped_specials += 1;
                    let stays = options.remove_sources.then(|| (source.to_owned(), target.to_owned()));
                    self.specials.extend(stays);
                    return Ok(None);
                }
                Specials::Keep => Action::Special,
                Specials::Refuse => return Err(CopyError::Special { path: source.to_owned() }),
            },
            FileKind::Regular => Action::File,
        };
        let action = match self.existing(stat, target, options) {
            Existing::Equal => {
                self.file_action(stat, target);
                Action::UpToDate
            }
            Existing::Newer => Action::NewerThere,
            Existing::SameSize => {
                self.file_action(stat, target);
                Action::Compare
            }
            Existing::NoneOrOther if action == Action::File => self.file_action(stat, target),
            Existing::NoneOrOther => action,
        };
        if !matches!(action, Action::UpToDate | Action::NewerThere | Action::Compare) {
            check_target(source, stat, target, options.overwrite, walk.destinations)?;
        }
        Ok(Some(action))
    }

    /// Adds one name to what was found in its directory, or to the whole.
    fn add(
        &mut self,
        found: &mut Found,
        options: &CopyOptions,
        (name, copy): (&Path, &Path),
        New { stat, action, changed }: New,
    ) {
        if let Some(changed) = changed {
            let at = Location::of_root(&changed.source, &changed.made);
            match action {
                Action::Directory => found.changed_directories.push((at, stat)),
                action => self.entries.push(Entry::new(at, &stat, action)),
            }
            self.changed_kinds.add(changed);
        } else if action == Action::Directory {
            found.directories.push((name.to_owned(), stat));
        } else if !self.is_held_by_name(&mut found.small, (name, copy), &stat, &action, options) {
            found.others.push((name.to_owned(), stat, action));
        }
    }

    /// Adds a file to `small` if its name is all that the plan must hold of it: whoever previews or moves
    /// needs more, and so does a file that others are linked to.
    fn is_held_by_name(
        &mut self,
        small: &mut SmallNames,
        (name, target): (&Path, &Path),
        stat: &FileStamp,
        action: &Action,
        options: &CopyOptions,
    ) -> bool {
        *action == Action::File
            && stat.links < 2
            && !options.dry_run
            && !options.remove_sources
            && is_small((stat.size_bytes, stat.allocated_bytes), options)
            && self.places.add(options, stat, target).is_ok()
            && small.add(name, stat.size_bytes)
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

    fn file_action(&mut self, stat: &FileStamp, target: &Path) -> Action {
        if stat.links < 2 || stat.kind != FileKind::Regular {
            return Action::File;
        }
        if let Some(first) = self.first_names.get(&(stat.device, stat.inode)) {
            return Action::HardLink(Arc::clone(first));
        }
        self.first_names.insert((stat.device, stat.inode), Arc::new(target.to_owned()));
        Action::File
    }
}

enum Existing {
    NoneOrOther,
    /// The same, by size and time.
    Equal,
    /// A file of this size, whose content must be compared.
    SameSize,
    Newer,
}

#[derive(Clone, Copy)]
struct Walk<'a> {
    options: &'a CopyOptions,
    destinations: &'a Destinations,
    /// The source, from which names are matched.
    root: &'a Path,
    device: Option<u64>,
}

impl Walk<'_> {
    fn directory(
        &self,
        inventory: &mut Inventory,
        at: Location,
        (source, target): (&Path, &Path),
        stat: FileStamp,
        above: &mut Vec<(FileStamp, PathBuf)>,
    ) -> Result<(), CopyError> {
        if let Some((_, ancestor)) = above.iter().find(|(over, _)| over.is_same_file(&stat)) {
            return Err(CopyError::Loop { path: source.to_owned(), ancestor: ancestor.clone() });
        }
        refuse_other_kind(source, target)?;
        // Before the directory is created at the destination: an unreadable one must not become an empty one.
        let names = names_in(source).map_err(CopyError::system("read the directory", source))?;
        inventory.entries.push(Entry::new(at, &stat, Action::Directory));
        above.push((stat, source.to_owned()));
        let mut found = Found::default();
        let mut names_can_be_made = files::stamp_of_link(target).is_err().then_some(true);
        for name in names {
            let name = Path::new(&name);
            let (path, copy) = (source.join(name), target.join(name));
            match self.entry(inventory, &path, &copy) {
                Ok(Some(new)) if makes_a_name(&new, &copy) => {
                    let can_be_made = match names_can_be_made {
                        Some(known) => known,
                        None => self.open_for_names(inventory, (source, target))?,
                    };
                    names_can_be_made = Some(can_be_made);
                    if can_be_made {
                        inventory.add(&mut found, self.options, (name, &copy), new);
                    }
                }
                Ok(Some(there)) => inventory.add(&mut found, self.options, (name, &copy), there),
                Ok(None) => {}
                Err(error) => inventory.noted(&path, &copy, self.options, Err(error))?,
            }
            if found.others.len() >= TOGETHER {
                found.move_others(&mut inventory.entries, source, target);
            }
        }
        found.move_others(&mut inventory.entries, source, target);
        inventory.small.add(source, target, found.small);
        let (names, stats): (Vec<PathBuf>, Vec<FileStamp>) = found.directories.into_iter().unzip();
        let directories = locate(source, target, names).into_iter().zip(stats);
        for (at, stat) in directories.chain(found.changed_directories) {
            let (path, copy) = (at.source(), at.target());
            if self.is_elsewhere(&stat) {
                // The mount point is there, and nothing of what is mounted on it.
                inventory.entries.push(Entry::new(at, &stat, Action::Directory));
                continue;
            }
            let taken = self.directory(inventory, at, (&path, &copy), stat, above);
            inventory.noted(&path, &copy, self.options, taken)?;
        }
        above.pop();
        Ok(())
    }

    /// Whether names can be made in the existing directory `target`, perhaps once it is opened for us. If not, that is one
    /// failure, whatever would have been made.
    fn open_for_names(
        &self,
        inventory: &mut Inventory,
        (source, target): (&Path, &Path),
    ) -> Result<bool, CopyError> {
        match is_to_be_opened(self.destinations, target) {
            Ok(is_read_only) => {
                inventory.read_only.extend(is_read_only.then(|| target.to_owned()));
                Ok(true)
            }
            Err(error) => inventory.noted(source, target, self.options, Err(error)).map(|()| false),
        }
    }

    fn is_elsewhere(&self, stat: &FileStamp) -> bool {
        self.options.one_file_system
            && stat.kind == FileKind::Directory
            && self.device.is_some_and(|device| device != stat.device)
    }

    fn entry(&self, inventory: &mut Inventory, path: &Path, copy: &Path) -> Result<Option<New>, CopyError> {
        let stat = match self.options.symlinks {
            Symlinks::Follow => files::stamp_of_path(path),
            Symlinks::Keep | Symlinks::Skip => files::stamp_of_link(path),
        };
        let stat = stat.map_err(CopyError::system("look at", path))?;
        let relative = path.strip_prefix(self.root).unwrap_or(path);
        if self.options.selection.list.as_ref().is_some_and(|list| list.is_named(relative)) {
            inventory.reached.insert(relative.to_owned());
        }
        if !self.options.selection.admits(relative, &stat) {
            inventory.excluded += 1;
            return Ok(None);
        }
        let changed = ChangedKind::find(self.options, path, &stat, copy)?;
        let made = changed.as_ref().map_or(copy, |changed| &changed.made);
        let action = inventory.action_of((path, made), &stat, self)?;
        Ok(action.map(|action| New { stat, action, changed }))
    }
}
