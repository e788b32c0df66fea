//! The unfinished destination: beside the final name, recognisable, and one process's at a time.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileKind};
use xxhash_rust::xxh3::xxh3_64;

use super::error::CopyError;

/// Longest name that file systems take, bytes.
const NAME_BYTES_MAX: usize = 255;
/// What the parts around the name take: `.` + `.iostall-XXXXXXXX.journal`.
const AFFIX_BYTES: usize = 26;

/// `.NAME.iostall-XXXXXXXX.SUFFIX` in the directory of `target`. The digits depend on the whole name, so that
/// long names which must be cut stay apart; the same name always gives the same, so that an interrupted copy is found.
fn beside(target: &Path, suffix: &str) -> PathBuf {
    let name = target.file_name().unwrap_or(OsStr::new("unnamed")).as_bytes();
    let [.., a, b, c, d] = xxh3_64(name).to_be_bytes();
    let mut made = vec![b'.'];
    made.extend_from_slice(&name[..name.len().min(NAME_BYTES_MAX - AFFIX_BYTES)]);
    made.extend_from_slice(format!(".iostall-{a:02x}{b:02x}{c:02x}{d:02x}.{suffix}").as_bytes());
    target.with_file_name(OsString::from_vec(made))
}

/// Name of the unfinished destination of `target`.
pub fn part_path(target: &Path) -> PathBuf {
    beside(target, "part")
}

/// Name of the journal of `target`.
pub fn journal_path(target: &Path) -> PathBuf {
    beside(target, "journal")
}

/// Whether a name is one that an unfinished copy uses. Such files are left out when a tree is copied.
pub fn is_part_name(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let Some(stem) = name.strip_suffix(b".part").or_else(|| name.strip_suffix(b".journal")) else {
        return false;
    };
    let Some(at) = stem.len().checked_sub(8 + b".iostall-".len()) else { return false };
    stem.first() == Some(&b'.')
        && stem[at..].starts_with(b".iostall-")
        && stem[stem.len() - 8..].iter().all(u8::is_ascii_hexdigit)
}

/// An unfinished destination that this process has to itself.
pub(super) struct Part {
    path: PathBuf,
    target: PathBuf,
    /// Holds the lock.
    file: File,
    armed: bool,
}

impl Part {
    /// Makes it or takes over one that a dead process left, with what is in it.
    pub(super) fn acquire(target: &Path) -> Result<Self, CopyError> {
        let path = part_path(target);
        loop {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                // In a directory that others may write to, a link planted there must not lead elsewhere.
                .custom_flags(files::NO_FOLLOW)
                .open(&path)
                .map_err(CopyError::system("create", &path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(CopyError::Busy { path }),
                // A file system without locks: two copies to one name at once are then not kept apart.
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
                Err(TryLockError::Error(error)) => return Err(CopyError::system("lock", &path)(error)),
            }
            let ours = files::stamp(&file).map_err(CopyError::system("look at", &path))?;
            // Whoever had the lock may have given the file its final name since we opened it.
            let named = files::stamp_of_link(&path).ok();
            if !named.is_some_and(|named| named.is_same_file(&ours)) {
                continue;
            }
            let what = match () {
                () if ours.kind != FileKind::Regular => Some("it is not a regular file"),
                () if ours.links != 1 => Some("it has other names"),
                () => None,
            };
            if let Some(what) = what {
                return Err(CopyError::PartNotOurs { path, what });
            }
            return Ok(Self { path, target: target.to_owned(), file, armed: true });
        }
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file, open for both.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Gives it its final name and makes the name durable. Before this everything in it must be.
    pub(super) fn publish(mut self, overwrite: bool) -> Result<(), CopyError> {
        let renamed = if overwrite {
            files::rename_over(&self.path, &self.target)
        } else {
            files::rename_new(&self.path, &self.target)
        };
        renamed.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => CopyError::Exists { path: self.target.clone() },
            _ => CopyError::system("name", &self.target)(error),
        })?;
        self.armed = false;
        let directory = directory_of(&self.target);
        files::sync_directory(directory).map_err(CopyError::system("make durable", directory))
    }

    /// Leaves it for another try.
    pub(super) fn keep(mut self) {
        self.armed = false;
    }
}

impl Drop for Part {
    /// What was neither finished nor kept goes.
    fn drop(&mut self) {
        if self.armed {
            // Already failing; a part that stays has a name that says what it is.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The directory that `path` is in.
pub(super) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_destination_is_recognised_by_its_name() {
        let long = "x".repeat(255);
        for name in ["data.mdf", "a", long.as_str()] {
            for made in [part_path(Path::new(name)), journal_path(Path::new(name))] {
                let made = made.file_name().unwrap().to_owned();
                assert!(made.len() <= NAME_BYTES_MAX, "{} bytes", made.len());
                assert!(is_part_name(&made), "{}", made.display());
            }
        }
        for name in ["data.part", ".iostall-0123456.part", ".x.iostall-01234567.parts", ".part"] {
            assert!(!is_part_name(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn long_names_that_begin_alike_have_parts_of_their_own() {
        let (one, two) = ("x".repeat(254) + "1", "x".repeat(254) + "2");
        assert_ne!(part_path(Path::new(&one)), part_path(Path::new(&two)));
    }

    #[test]
    fn two_copies_to_one_name_at_once_are_kept_apart() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("data");
        let first = Part::acquire(&target).unwrap();
        assert!(matches!(Part::acquire(&target), Err(CopyError::Busy { .. })));
        drop(first);
        assert!(!part_path(&target).exists());
        Part::acquire(&target).unwrap().publish(false).unwrap();
        assert!(target.exists());
    }

    #[test]
    fn a_link_in_the_place_of_the_part_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (target, victim) = (dir.path().join("data"), dir.path().join("victim"));
        std::fs::write(&victim, b"precious").unwrap();
        std::os::unix::fs::symlink(&victim, part_path(&target)).unwrap();
        assert!(Part::acquire(&target).is_err());
        std::fs::remove_file(part_path(&target)).unwrap();
        std::fs::hard_link(&victim, part_path(&target)).unwrap();
        assert!(matches!(Part::acquire(&target), Err(CopyError::PartNotOurs { .. })));
        assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
    }
}
