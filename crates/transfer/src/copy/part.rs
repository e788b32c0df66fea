//! The unfinished file: next to the final name, recognisable, and owned by one process at a time.

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

/// Files that this copy has renamed, by device and inode.
#[derive(Default)]
pub(super) struct Named(Mutex<HashSet<(u64, u64)>>);

#[derive(Clone, Copy)]
pub(super) enum Replace<'a> {
    /// Keep it and fail.
    Never,
    /// Replace it, unless this copy created it. In that case the file system treats two names of the source
    /// as one (because it ignores case, for example), and one of two files would be lost.
    Older(&'a Named, &'a Destinations),
}

/// An unfinished file owned by this process.
pub(super) struct Part {
    path: PathBuf,
    target: PathBuf,
    file: File,
    armed: AtomicBool,
    /// Removes it if the process exits early.
    listed: UnfinishedFile,
}

impl Part {
    /// Creates it, or takes over one left by a dead process, with its content. Refuses a file that belongs neither to this user nor to
    /// `owner` (the owner of the future copy): someone put it there and may have it open.
    pub(super) fn acquire(target: &Path, owner: u32) -> Result<Self, CopyError> {
        let path = part_path(target);
        let directory = directory_of(target);
        let mut was_removed = false;
        loop {
            // In a directory that others may write to, a planted link must not redirect us.
            let file = files::open_or_create_private(&path).map_err(CopyError::system("create", &path))?;
            lock(&file, &path)?;
            // The previous holder of the lock may have renamed the file since we opened it.
            if !is_named(&file, &path)? {
                continue;
            }
            let ours = files::stamp(&file).map_err(CopyError::system("look at", &path))?;
            let what = match () {
                () if ours.kind != FileKind::Regular => Some("it is not a regular file"),
                () if ours.links != 1 => Some("it has other names"),
                () if ours.uid != owner && !files::is_own(&ours, directory) => {
                    Some("it belongs to another user")
                }
                () => None,
            };
            if let Some(what) = what {
                return Err(CopyError::PartNotOurs { path, what });
            }
            // An attempt that died late has already set the source's mode, and the source may be a different one now. Where others
            // may rename files it need not be such an attempt's: somebody may have opened it while it was something else.
            if ours.mode & 0o077 != 0 {
                if is_open_to_others(directory) && !std::mem::replace(&mut was_removed, true) {
                    std::fs::remove_file(&path).map_err(CopyError::system("remove", &path))?;
                    continue;
                }
                files::make_private(&file).map_err(CopyError::system("keep to ourselves", &path))?;
            }
            let listed = UnfinishedFile::at_unless(&path, &journal_path(target));
            let armed = AtomicBool::new(true);
            return Ok(Self { path, target: target.to_owned(), file, armed, listed });
        }
    }

    /// Creates an empty one; removes one left by a dead process.
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
        // Between creation and lock another process may have taken it for an abandoned one.
        if !is_named(&file, &path)? {
            return Err(CopyError::Busy { path });
        }
        let listed = UnfinishedFile::at(&path);
        Ok(Self { path, target: target.to_owned(), file, armed: AtomicBool::new(true), listed })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    pub(super) fn has_its_name(&self) -> bool {
        !self.armed.load(Ordering::Relaxed)
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Renames it to its final name. Everything in it must be durable by now; the name itself is not yet. The
    /// lock is held until this value is dropped, so that nobody takes over the file under its old name.
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
        // Checked again, because hours may have passed and a different file may have that name now.
        destinations.check_name(&self.target, &ours)?;
        // Held during the rename, so that of two at once the second sees the first.
        let mut named = named.0.lock().unwrap_or_else(PoisonError::into_inner);
        if files::stamp_of_link(&self.target).is_ok_and(|there| named.contains(&(there.device, there.inode)))
        {
            let message = format!(
                "{} was already written by this copy: the file system treats two names of the source as one",
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

    /// Renames it and makes the name durable. If only the rename fails, the complete file stays under its
    /// temporary name, so that hours of copying are not lost.
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

    pub(super) fn keep(self) {
        self.armed.store(false, Ordering::Relaxed);
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if *self.armed.get_mut() {
            // Already failing; a leftover is recognisable by its name, which another process may have taken on a file system
            // without locks.
            let _ = files::remove_own(&self.path, &self.file);
        }
    }
}

/// Whether others may rename files in a directory: its owner, too.
fn is_open_to_others(directory: &Path) -> bool {
    files::stamp_of_path(directory).is_ok_and(|directory| files::is_open_to_others(&directory))
}

/// Locks an unfinished file, which shows that a living process owns it.
fn lock(file: &File, path: &Path) -> Result<(), CopyError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(CopyError::Busy { path: path.to_owned() }),
        // A file system without locks: two simultaneous copies to one name are then not kept apart.
        Err(TryLockError::Error(error)) if files::has_no_locks(&error) => Ok(()),
        Err(TryLockError::Error(error)) => Err(CopyError::system("lock", path)(error)),
    }
}

fn is_named(file: &File, path: &Path) -> Result<bool, CopyError> {
    let ours = files::stamp(file).map_err(CopyError::system("look at", path))?;
    Ok(files::stamp_of_link(path).is_ok_and(|named| named.is_same_file(&ours)))
}

pub(super) fn remove_dead(path: &Path) -> Result<(), CopyError> {
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(CopyError::system("remove", path)(error))
        }
        _ => Ok(()),
    };
    match files::stamp_of_link(path) {
        Ok(there) if there.kind == FileKind::Regular => {}
        // A link or a pipe that was to be renamed: nobody writes to it.
        Ok(_) => return gone(std::fs::remove_file(path)),
        Err(error) => return gone(Err(error)),
    }
    let file = match files::open_to_lock(path) {
        Ok(file) => file,
        Err(error) => return gone(Err(error)),
    };
    lock(&file, path)?;
    // While we hold the lock, nobody else can rename or replace the file.
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
        // As if `Data` and `data` were copied with --overwrite to a file system that ignores case.
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

    /// In a directory of another account, which was not open to anybody else, its owner had a file under the name of the unfinished
    /// copy, and kept it open: he read the copy while it was written, and changed it afterwards.
    #[test]
    fn a_file_of_another_account_is_not_taken_over_whoever_owns_the_directory() {
        const NOBODY: u32 = 65_534;
        let us = files::effective_user();
        if us != 0 {
            return;
        }
        for (owner, mode) in [(NOBODY, 0o755), (us, 0o1777), (us, 0o700)] {
            let dir = tempfile::tempdir().unwrap();
            let target = dir.path().join("data");
            std::fs::write(part_path(&target), b"theirs").unwrap();
            std::os::unix::fs::chown(part_path(&target), Some(NOBODY), None).unwrap();
            std::os::unix::fs::chown(dir.path(), Some(owner), None).unwrap();
            std::fs::set_permissions(dir.path(), Permissions::from_mode(mode)).unwrap();
            assert!(matches!(Part::acquire(&target, us), Err(CopyError::PartNotOurs { .. })), "{mode:o}");
            assert_eq!(std::fs::read(part_path(&target)).unwrap(), b"theirs");
        }
    }

    /// A file of ours that others may read and rename can be anything that one of them has opened before.
    #[test]
    fn where_others_rename_files_one_that_they_may_read_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("data");
        std::fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).unwrap();
        std::fs::write(part_path(&target), b"read by others").unwrap();
        std::fs::set_permissions(part_path(&target), Permissions::from_mode(0o644)).unwrap();
        let theirs = File::open(part_path(&target)).unwrap();
        let part = Part::acquire(&target, files::effective_user()).unwrap();
        let (before, now) = (files::stamp(&theirs).unwrap(), files::stamp(part.file()).unwrap());
        assert!(!now.is_same_file(&before) && (now.size_bytes, now.mode) == (0, 0o600), "{now:?}");
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
