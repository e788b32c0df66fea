//! Where a restore writes, and how it becomes visible there: all at once, at the end.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileKind, OpenDirectory};
use iostall_engine::guard::{Destinations, Refusal, WriteConsent};

use super::error::RestoreError;
use crate::copy::beside::{replaced_path, restore_path};

/// Without it PostgreSQL or MariaDB does not start, so it is the last to get its name.
const LAST: [&str; 2] = ["global", "ibdata1"];

/// The destination of a restore. Until [`Place::finish`], everything lies in a directory of its own.
pub(super) struct Place {
    pub(super) target: PathBuf,
    pub(super) temporary: PathBuf,
    pub(super) root: OpenDirectory,
    ends: Ends,
    consent: WriteConsent,
    pub(super) lock: File,
}

enum Ends {
    IsTarget,
    /// As above, in place of what is there.
    ReplacesTarget,
    /// What is in it moves up into the destination, which was empty.
    MovesUp,
    OneFile(OsString),
}

impl Place {
    pub(super) fn prepare(
        to: &Path,
        file: Option<&OsStr>,
        consent: &WriteConsent,
    ) -> Result<Self, RestoreError> {
        let there = match files::stamp_of_path(to) {
            Ok(stamp) => Some(stamp.kind),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(RestoreError::system("look at", to)(error)),
        };
        let (target, ends) = match (file, there) {
            (Some(file), Some(FileKind::Directory)) => (to.join(file), Ends::OneFile(file.to_owned())),
            (Some(file), _) => (to.to_owned(), Ends::OneFile(file.to_owned())),
            (None, None) => (to.to_owned(), Ends::IsTarget),
            (None, Some(FileKind::Directory)) if is_empty(to)? => (to.to_owned(), Ends::MovesUp),
            (None, Some(FileKind::Directory)) => {
                check_consent(to, consent)?;
                (to.to_owned(), Ends::ReplacesTarget)
            }
            (None, Some(_)) => return Err(Refusal::NoDirectory { path: to.to_owned() }.into()),
        };
        if matches!(ends, Ends::OneFile(_)) {
            check_file(&target, consent)?;
        }
        let temporary = match ends {
            Ends::MovesUp => restore_path(&target.join("unfinished")),
            _ => restore_path(&target),
        };
        let lock = make(&temporary, &target)?;
        let root = OpenDirectory::open(&temporary).map_err(RestoreError::system("open", &temporary))?;
        let made = root.stamp().map_err(RestoreError::system("look at", &temporary))?;
        if !files::is_own(&made, &temporary) {
            let what = "somebody has put another directory in the place of the one that was made";
            return Err(RestoreError::InTheWay { path: temporary, what });
        }
        Ok(Self { target, temporary, root, ends, consent: consent.clone(), lock })
    }

    pub(super) fn check_room(&self, needed_bytes: u64) -> Result<(), RestoreError> {
        let directory = self.temporary.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new("."));
        let free_bytes =
            files::usable_bytes(&self.temporary).map_err(RestoreError::system("look at", directory))?;
        if free_bytes < needed_bytes {
            let directory = directory.to_owned();
            return Err(RestoreError::NoRoom { directory, needed_bytes, free_bytes });
        }
        Ok(())
    }

    /// Gives everything its name. It must be durable before. `set_root` sets the metadata of the restored directory itself.
    pub(super) fn finish(&self, set_root: impl FnOnce(&OpenDirectory)) -> Result<(), RestoreError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => RestoreError::Exists { path: self.target.clone() },
            _ => RestoreError::NotNamed {
                target: self.target.clone(),
                temporary: self.temporary.clone(),
                source,
            },
        };
        match &self.ends {
            Ends::IsTarget => {
                set_root(&self.root);
                self.root.sync().map_err(failed)?;
                files::rename_new(&self.temporary, &self.target).map_err(failed)?;
            }
            Ends::ReplacesTarget => {
                set_root(&self.root);
                self.root.sync().map_err(failed)?;
                let before = self.replace().map_err(failed)?;
                // What was replaced goes when its successor is durable.
                self.sync_parent()?;
                std::fs::remove_dir_all(&before).map_err(RestoreError::system("remove", &before))?;
            }
            Ends::MovesUp => self.move_up(set_root).map_err(failed)?,
            Ends::OneFile(name) => {
                let from = self.temporary.join(name);
                if self.target.symlink_metadata().is_ok() {
                    check_file(&self.target, &self.consent)?;
                    files::rename_over(&from, &self.target).map_err(failed)?;
                } else {
                    files::rename_new(&from, &self.target).map_err(failed)?;
                }
                std::fs::remove_dir(&self.temporary)
                    .map_err(RestoreError::system("remove", &self.temporary))?;
            }
        }
        self.sync_parent()
    }

    fn sync_parent(&self) -> Result<(), RestoreError> {
        let parent = match self.target.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        files::sync_directory(parent).map_err(RestoreError::system("make durable", parent))
    }

    /// Removes what was restored so far; returns whether nothing is left.
    pub(super) fn abandon(&self) -> bool {
        std::fs::remove_dir_all(&self.temporary).is_ok()
    }

    /// Takes the place of what is there; returns where that is now. After both names were exchanged, that is the name of an
    /// interrupted restore, which the next one removes.
    fn replace(&self) -> io::Result<PathBuf> {
        if files::exchange(&self.temporary, &self.target)? {
            return Ok(self.temporary.clone());
        }
        let before = replaced_path(&self.target);
        files::rename_new(&self.target, &before)?;
        files::rename_new(&self.temporary, &self.target)?;
        Ok(before)
    }

    /// The directory of the restore goes last: as long as it is there, the destination is not whole.
    fn move_up(&self, set_root: impl FnOnce(&OpenDirectory)) -> io::Result<()> {
        let target = OpenDirectory::open_following(&self.target)?;
        let mut names = self.root.names()?;
        names.sort_by_key(|name| LAST.iter().any(|last| name == last));
        for name in names {
            self.root.rename_new_into(&name, &target, &name)?;
        }
        target.sync()?;
        std::fs::remove_dir(&self.temporary)?;
        set_root(&target);
        target.sync()
    }
}

/// What an interrupted restore left does not count: it is removed.
fn is_empty(directory: &Path) -> Result<bool, RestoreError> {
    let failed = || RestoreError::system("list", directory);
    let left = restore_path(&directory.join("unfinished"));
    let names = OpenDirectory::open_following(directory).and_then(|open| open.names()).map_err(failed())?;
    Ok(names.iter().all(|name| Some(name.as_os_str()) == left.file_name()))
}

/// Replacing a directory needs a flag that names it; for a database a stronger one.
fn check_consent(directory: &Path, consent: &WriteConsent) -> Result<(), RestoreError> {
    let real = std::fs::canonicalize(directory).map_err(RestoreError::system("look at", directory))?;
    let names = |words: &[PathBuf]| {
        words.iter().any(|word| std::fs::canonicalize(word).is_ok_and(|word| word == real))
    };
    if names(&consent.destroy_database) {
        return Ok(());
    }
    if !names(&consent.overwrite) {
        return Err(RestoreError::NotEmpty { path: directory.to_owned() });
    }
    let destinations = Destinations::new(consent);
    for name in OpenDirectory::open_following(directory)
        .and_then(|open| open.names())
        .map_err(RestoreError::system("list", directory))?
    {
        let path = directory.join(name);
        if files::stamp_of_link(&path).is_ok_and(|stamp| stamp.kind == FileKind::Regular) {
            destinations.check_removal(&path, iostall_engine::guard::Removes::Content)?;
        }
    }
    Ok(())
}

fn check_file(target: &Path, consent: &WriteConsent) -> Result<(), RestoreError> {
    let Ok(there) = files::stamp_of_link(target) else { return Ok(()) };
    let real = std::fs::canonicalize(target).ok();
    let is_named = consent
        .overwrite
        .iter()
        .chain(&consent.destroy_database)
        .any(|word| real.is_some() && std::fs::canonicalize(word).ok() == real);
    if !is_named {
        return Err(RestoreError::Exists { path: target.to_owned() });
    }
    let new = files::FileStamp { kind: FileKind::Regular, ..there };
    Ok(Destinations::new(consent).check_name(target, &new)?)
}

/// Makes the directory and locks it. What an interrupted restore left under its name goes first.
fn make(temporary: &Path, target: &Path) -> Result<File, RestoreError> {
    let failed = |verb| RestoreError::system(verb, temporary);
    let create = || files::create_new_directory_private(temporary);
    match create() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let left = files::stamp_of_link(temporary).map_err(failed("look at"))?;
            if left.kind != FileKind::Directory || left.uid != files::effective_user() {
                let what = "it is no directory that an earlier restore of this user left";
                return Err(RestoreError::InTheWay { path: temporary.to_owned(), what });
            }
            let held = lock(temporary, target)?;
            std::fs::remove_dir_all(temporary).map_err(failed("remove"))?;
            drop(held);
            create().map_err(failed("make"))?;
        }
        other => other.map_err(failed("make"))?,
    }
    lock(temporary, target)
}

fn lock(temporary: &Path, target: &Path) -> Result<File, RestoreError> {
    let directory = File::open(temporary).map_err(RestoreError::system("open", temporary))?;
    match directory.try_lock() {
        Err(TryLockError::WouldBlock) => Err(RestoreError::Busy { path: target.to_owned() }),
        // A file system without locks: two restores to one place at once are not noticed there.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(directory),
    }
}
