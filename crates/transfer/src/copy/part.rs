//! The unfinished destination: beside the final name, recognisable, and one process's at a time.

use std::collections::HashSet;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use iostall_engine::files::{self, FileKind, UnfinishedFile};
use iostall_engine::guard::Destinations;

use super::beside::{journal_path, part_path};
use super::error::CopyError;

/// Files that this copy has given names, by device and inode.
#[derive(Default)]
pub(super) struct Named(Mutex<HashSet<(u64, u64)>>);

/// What becomes of a file that has the name already.
#[derive(Clone, Copy)]
pub(super) enum Replace<'a> {
    /// It stays, and that is an error.
    Never,
    /// It goes, unless it was named by this very copy: then the file system takes two names of the source for one, as
    /// those do that do not tell capitals, and one of two files would be lost.
    Older(&'a Named, &'a Destinations),
}

/// An unfinished destination that this process has to itself.
pub(super) struct Part {
    path: PathBuf,
    target: PathBuf,
    file: File,
    armed: AtomicBool,
    /// For an end of the process that comes before this value's.
    listed: UnfinishedFile,
}

impl Part {
    /// Makes it or takes over one that a dead process left, with what is in it. In a directory that others may write
    /// to, one that belongs neither to this user nor to `owner`, whose the copy will be, is refused: somebody has put
    /// it there, and may have it open.
    pub(super) fn acquire(target: &Path, owner: u32) -> Result<Self, CopyError> {
        let path = part_path(target);
        loop {
            // In a directory that others may write to, a link planted there must not lead elsewhere.
            let file = files::open_or_create_private(&path).map_err(CopyError::system("create", &path))?;
            lock(&file, &path)?;
            // Whoever had the lock may have given the file its final name since we opened it.
            if !is_named(&file, &path)? {
                continue;
            }
            let ours = files::stamp(&file).map_err(CopyError::system("look at", &path))?;
            let what = match () {
                () if ours.kind != FileKind::Regular => Some("it is not a regular file"),
                () if ours.links != 1 => Some("it has other names"),
                () if ![files::effective_user(), owner].contains(&ours.uid) && is_open_to_others(&path) => {
                    Some("it belongs to another user")
                }
                () => None,
            };
            if let Some(what) = what {
                return Err(CopyError::PartNotOurs { path, what });
            }
            // A try that died late has given it the source's mode, and the source may be another by now.
            if ours.mode & 0o077 != 0 {
                files::make_private(&file).map_err(CopyError::system("keep to ourselves", &path))?;
            }
            let listed = UnfinishedFile::at_unless(&path, &journal_path(target));
            let armed = AtomicBool::new(true);
            return Ok(Self { path, target: target.to_owned(), file, armed, listed });
        }
    }

    /// Makes an empty one; what a dead process left there goes first.
    ///
    /// It has its source's permissions from the start: whoever may read the copy may read the source.
    pub(super) fn create(target: &Path, mode: u32) -> Result<Self, CopyError> {
        let path = part_path(target);
        let file = match files::create_new(&path, mode) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                remove_dead(&path)?;
                files::create_new(&path, mode)
            }
            other => other,
        };
        let file = match file {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(CopyError::Busy { path });
            }
            other => other.map_err(CopyError::system("create", &path))?,
        };
        lock(&file, &path)?;
        // Between its making and its lock another process may have taken it for a dead one's.
        if !is_named(&file, &path)? {
            return Err(CopyError::Busy { path });
        }
        let listed = UnfinishedFile::at(&path);
        Ok(Self { path, target: target.to_owned(), file, armed: AtomicBool::new(true), listed })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Gives it its final name. Before this everything in it must be durable; the name itself is not yet. The lock stays
    /// until this value goes: so nobody takes the file under its old name.
    pub(super) fn name(&self, replace: Replace<'_>) -> Result<(), CopyError> {
        let renamed = match replace {
            Replace::Never => files::rename_new(&self.path, &self.target),
            Replace::Older(named, destinations) => self.name_over(named, destinations)?,
        };
        renamed.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => CopyError::Exists { path: self.target.clone() },
            _ => CopyError::system("name", &self.target)(error),
        })?;
        self.armed.store(false, Ordering::Relaxed);
        self.listed.finish();
        Ok(())
    }

    fn name_over(&self, named: &Named, destinations: &Destinations) -> Result<io::Result<()>, CopyError> {
        let ours = files::stamp(&self.file).map_err(CopyError::system("look at", &self.path))?;
        // Again, for hours may have passed: what has the name now need not be what had it then.
        destinations.check_name(&self.target, &ours)?;
        // Held over the renaming, so that of two at once the second sees the first.
        let mut named = named.0.lock().unwrap_or_else(PoisonError::into_inner);
        if files::stamp_of_link(&self.target).is_ok_and(|there| named.contains(&(there.device, there.inode)))
        {
            let message = format!(
                "{} is a file of this copy already: the file system takes two names of the source for one",
                self.target.display()
            );
            return Err(CopyError::Names { message });
        }
        let renamed = files::rename_over(&self.path, &self.target);
        if renamed.is_ok() {
            named.insert((ours.device, ours.inode));
        }
        Ok(renamed)
    }

    /// Gives it its final name and makes the name durable. Where only the name cannot be given, the whole and durable file
    /// stays under its unfinished one: what took hours is not thrown away for a name.
    pub(super) fn publish(self, replace: Replace<'_>) -> Result<(), CopyError> {
        if let Err(cause) = self.name(replace) {
            if !matches!(cause, CopyError::Exists { .. } | CopyError::Refused(_) | CopyError::System { .. }) {
                return Err(cause);
            }
            let (part, target) = (self.path.clone(), self.target.clone());
            self.keep();
            return Err(CopyError::NotNamed { part, target, cause: Box::new(cause) });
        }
        let directory = directory_of(&self.target);
        files::sync_directory(directory).map_err(CopyError::system("make durable", directory))
    }

    /// Leaves it for another try.
    pub(super) fn keep(self) {
        self.armed.store(false, Ordering::Relaxed);
    }
}

impl Drop for Part {
    /// What was neither finished nor kept goes.
    fn drop(&mut self) {
        if *self.armed.get_mut() {
            // Already failing; a part that stays has a name that says what it is.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Whether others may make files in the directory of `path`. (Elsewhere a strange owner is the file system's own doing,
/// as of a share that is mounted for one user.)
pub(super) fn is_open_to_others(path: &Path) -> bool {
    files::stamp_of_path(directory_of(path)).is_ok_and(|directory| directory.mode & 0o022 != 0)
}

/// Locks an unfinished destination, which says that a living process has it.
fn lock(file: &File, path: &Path) -> Result<(), CopyError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(CopyError::Busy { path: path.to_owned() }),
        // A file system without locks: two copies to one name at once are then not kept apart.
        Err(TryLockError::Error(error)) if files::has_no_locks(&error) => Ok(()),
        Err(TryLockError::Error(error)) => Err(CopyError::system("lock", path)(error)),
    }
}

/// Whether `path` still names the open file.
fn is_named(file: &File, path: &Path) -> Result<bool, CopyError> {
    let ours = files::stamp(file).map_err(CopyError::system("look at", path))?;
    Ok(files::stamp_of_link(path).is_ok_and(|named| named.is_same_file(&ours)))
}

/// Removes an unfinished destination that no living process has.
pub(super) fn remove_dead(path: &Path) -> Result<(), CopyError> {
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(CopyError::system("remove", path)(error))
        }
        _ => Ok(()),
    };
    match files::stamp_of_link(path) {
        Ok(there) if there.kind == FileKind::Regular => {}
        // A link or a pipe that was to be renamed over another: nothing is being written to it.
        Ok(_) => return gone(std::fs::remove_file(path)),
        Err(error) => return gone(Err(error)),
    }
    let file = match files::open_to_lock(path) {
        Ok(file) => file,
        Err(error) => return gone(Err(error)),
    };
    lock(&file, path)?;
    // With the lock in hand nobody else may take the name away or give it to another file.
    if is_named(&file, path)? { gone(std::fs::remove_file(path)) } else { Ok(()) }
}

pub(super) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use iostall_engine::guard::WriteConsent;

    use super::*;

    #[test]
    fn two_copies_to_one_name_at_once_are_kept_apart() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("data");
        let us = files::effective_user();
        for small in [false, true] {
            let first =
                if small { Part::create(&target, 0o644) } else { Part::acquire(&target, us) }.unwrap();
            assert!(matches!(Part::acquire(&target, us), Err(CopyError::Busy { .. })));
            assert!(matches!(Part::create(&target, 0o644), Err(CopyError::Busy { .. })));
            assert!(matches!(remove_dead(&part_path(&target)), Err(CopyError::Busy { .. })));
            assert!(first.path().exists());
            drop(first);
            assert!(!part_path(&target).exists());
        }
        Part::acquire(&target, us).unwrap().publish(Replace::Never).unwrap();
        assert!(target.exists());
    }

    #[test]
    fn of_two_names_that_the_file_system_takes_for_one_the_second_is_refused() {
        // As if `Data` and `data` were copied with --overwrite to a place that does not tell capitals.
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("data");
        std::fs::write(&target, b"older").unwrap();
        let named = Named::default();
        let first = Part::create(&target, 0o600).unwrap();
        std::fs::write(first.path(), b"first").unwrap();
        first.publish(Replace::Older(&named, &Destinations::new(&WriteConsent::none()))).unwrap();
        let second = Part::create(&target, 0o600).unwrap();
        let error =
            second.publish(Replace::Older(&named, &Destinations::new(&WriteConsent::none()))).unwrap_err();
        assert!(error.to_string().contains("two names"), "{error}");
        assert_eq!(std::fs::read(&target).unwrap(), b"first");
        assert!(!part_path(&target).exists());
    }

    #[test]
    fn what_a_dead_process_left_is_replaced_or_taken_over_and_nobody_else_reads_it() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("data");
        std::fs::write(part_path(&target), b"left").unwrap();
        std::fs::set_permissions(part_path(&target), Permissions::from_mode(0o666)).unwrap();
        let part = Part::acquire(&target, files::effective_user()).unwrap();
        let stat = files::stamp(part.file()).unwrap();
        assert_eq!((stat.size_bytes, stat.mode), (4, 0o600));
        part.keep();
        let part = Part::create(&target, 0o600).unwrap();
        assert_eq!(files::stamp(part.file()).unwrap().size_bytes, 0);
    }

    #[test]
    fn a_link_in_the_place_of_the_part_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (target, victim) = (dir.path().join("data"), dir.path().join("victim"));
        std::fs::write(&victim, b"precious").unwrap();
        std::os::unix::fs::symlink(&victim, part_path(&target)).unwrap();
        let us = files::effective_user();
        assert!(Part::acquire(&target, us).is_err());
        Part::create(&target, 0o600).unwrap().publish(Replace::Never).unwrap();
        std::fs::hard_link(&victim, part_path(&target)).unwrap();
        assert!(matches!(Part::acquire(&target, us), Err(CopyError::PartNotOurs { .. })));
        Part::create(&target, 0o600)
            .unwrap()
            .publish(Replace::Older(&Named::default(), &Destinations::new(&WriteConsent::none())))
            .unwrap();
        assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
        assert_eq!(std::fs::read(&target).unwrap(), b"");
    }
}
