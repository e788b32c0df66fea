//! The mark of an unfinished tree: a small file in a directory that a copy created, naming its source.
//!
//! When the same command is repeated, that directory exists, and by the rule of `cp` the copy would go into
//! it, as a second one. The mark shows that it is the same copy.

use std::fmt::Write as _;
use std::fs::{self, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileKind};
use xxhash_rust::xxh3::xxh3_64;

use super::beside::{mark_path, unmarked_path};
use super::error::CopyError;
use super::target::refuse_other_kind;
use crate::hash::{from_hex, hex};

const MAGIC: &str = "iostall-tree 1";
/// Longer than the longest path in hexadecimal, bytes.
const MARK_BYTES_MAX: u64 = 16 << 10;

/// Makes the directory `tree`, with its mark from the start: the same command would go into one without. An existing directory is
/// left as it is.
pub(super) fn make(tree: &Path, source: &Path) -> Result<(), CopyError> {
    if files::stamp_of_link(tree).is_ok() {
        // A link may have taken its place since the inventory.
        return refuse_other_kind(source, tree);
    }
    let new = unmarked_path(tree);
    let _held = make_held(&new, tree)?;
    let named =
        set(&new, source).map_err(busy_or("put a mark into", tree)).and_then(|()| name(&new, tree, source));
    if named.is_err() {
        // Already failing; the same command removes it.
        let _ = discard(&new);
    }
    named
}

/// Makes the directory `new`, which is to become `tree`, in place of one that a killed copy left there, and locks it: of
/// several copies that start at once, one goes on.
fn make_held(new: &Path, tree: &Path) -> Result<fs::File, CopyError> {
    if files::stamp_of_link(new).is_ok() {
        let _held = hold(new, tree)?;
        // It has nothing in it but its mark.
        discard(new).map_err(busy_or("remove", new))?;
    }
    files::create_new_directory_private(new).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => CopyError::Busy { path: tree.to_owned() },
        _ => CopyError::system("create", tree)(error),
    })?;
    hold(new, tree)
}

fn hold(new: &Path, tree: &Path) -> Result<fs::File, CopyError> {
    let busy = || CopyError::Busy { path: tree.to_owned() };
    let held = files::open_in_shared_directory(new).map_err(busy_or("open", tree))?;
    // Network file systems lock no directories: two copies may then refuse each other.
    if matches!(held.try_lock(), Err(TryLockError::WouldBlock)) {
        return Err(busy());
    }
    let ours = files::stamp(&held).map_err(CopyError::system("look at", tree))?;
    // It may have been renamed or removed before it was locked.
    let is_named = files::stamp_of_link(new).is_ok_and(|named| named.is_same_file(&ours));
    is_named.then_some(held).ok_or_else(busy)
}

fn name(new: &Path, tree: &Path, source: &Path) -> Result<(), CopyError> {
    match files::rename_new(new, tree) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let _ = discard(new);
            refuse_other_kind(source, tree)
        }
        // A file system that cannot rename without replacing: in the way could only be an empty directory.
        Err(_) => fs::rename(new, tree).map_err(busy_or("create", tree)),
    }
}

fn discard(new: &Path) -> io::Result<()> {
    remove(new)?;
    fs::remove_dir(new)
}

/// Another copy to the same place, at the same time, has removed the directory or put its mark into it.
fn busy_or<'a>(action: &'static str, path: &'a Path) -> impl Fn(io::Error) -> CopyError + 'a {
    move |error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty => {
            CopyError::Busy { path: path.to_owned() }
        }
        _ => CopyError::system(action, path)(error),
    }
}

fn set(tree: &Path, source: &Path) -> io::Result<()> {
    let mut line = format!("{MAGIC} source={}", hex(files::path_bytes(&fs::canonicalize(source)?)));
    let sum = xxh3_64(line.as_bytes());
    // Writing into a String cannot fail.
    let _ = writeln!(line, " {sum:016x}");
    let mut file = files::create_new_private(&mark_path(tree))?;
    file.write_all(line.as_bytes())?;
    file.sync_all()?;
    files::sync_directory(tree)
}

pub(super) fn is_of(tree: &Path, source: &Path) -> bool {
    fs::canonicalize(source).is_ok_and(|source| read(tree).is_ok_and(|found| found == Some(source)))
}

pub(super) fn remove(tree: &Path) -> io::Result<()> {
    match fs::remove_file(mark_path(tree)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The source named by the mark in `tree`; `None` if it is damaged, or belongs to another user.
fn read(tree: &Path) -> io::Result<Option<PathBuf>> {
    let path = mark_path(tree);
    let file = files::open_in_shared_directory(&path)?;
    let stat = files::stamp(&file)?;
    if stat.kind != FileKind::Regular || !files::is_own(&stat, tree) {
        return Ok(None);
    }
    let mut line = String::new();
    file.take(MARK_BYTES_MAX).read_to_string(&mut line)?;
    Ok(parse(&line))
}

fn parse(line: &str) -> Option<PathBuf> {
    let (words, sum) = line.strip_suffix('\n')?.rsplit_once(' ')?;
    if u64::from_str_radix(sum, 16).ok()? != xxh3_64(words.as_bytes()) {
        return None;
    }
    let path = from_hex(words.strip_prefix(MAGIC)?.strip_prefix(" source=")?)?;
    Some(files::path_from_bytes(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_names_its_source_and_no_other_and_one_that_is_damaged_names_none() {
        let dir = tempfile::tempdir().unwrap();
        let odd = dir.path().join(files::path_from_bytes(b"so\nurce \xff".to_vec()));
        let (other, tree) = (dir.path().join("other"), dir.path().join("tree"));
        for path in [&odd, &other, &tree] {
            fs::create_dir(path).unwrap();
        }
        assert!(!is_of(&tree, &odd));
        set(&tree, &odd).unwrap();
        assert!(is_of(&tree, &odd) && !is_of(&tree, &other));
        // Also under another name of the same directory.
        std::os::unix::fs::symlink(&odd, dir.path().join("link")).unwrap();
        assert!(is_of(&tree, &dir.path().join("link")));
        let whole = fs::read(mark_path(&tree)).unwrap();
        for at in 0..whole.len() {
            fs::write(mark_path(&tree), &whole[..at]).unwrap();
            assert!(!is_of(&tree, &odd), "cut at {at}");
            let mut damaged = whole.clone();
            damaged[at] ^= 2;
            fs::write(mark_path(&tree), &damaged).unwrap();
            assert!(!is_of(&tree, &odd), "damaged at {at}");
        }
        remove(&tree).unwrap();
        remove(&tree).unwrap();
        assert_eq!(fs::read_dir(&tree).unwrap().count(), 0);
    }

    /// Killed between making the directory and marking it, a copy left one into which the same command copied the tree.
    #[test]
    fn a_tree_has_its_mark_when_it_has_its_name_and_what_a_killed_copy_left_is_no_obstacle() {
        let dir = tempfile::tempdir().unwrap();
        let (source, tree) = (dir.path().join("source"), dir.path().join("tree"));
        fs::create_dir(&source).unwrap();
        for is_marked in [false, true] {
            fs::create_dir(unmarked_path(&tree)).unwrap();
            if is_marked {
                set(&unmarked_path(&tree), &source).unwrap();
            }
            make(&tree, &source).unwrap();
            assert!(is_of(&tree, &source) && !unmarked_path(&tree).exists());
            // It is there now.
            make(&tree, &source).unwrap();
            fs::remove_dir_all(&tree).unwrap();
        }
        fs::create_dir(unmarked_path(&tree)).unwrap();
        fs::write(unmarked_path(&tree).join("of somebody"), b"else").unwrap();
        assert!(matches!(make(&tree, &source), Err(CopyError::Busy { .. })));
        assert!(unmarked_path(&tree).join("of somebody").exists());
    }

    /// Two copies that started at the same moment removed each other's directory, and neither made the tree.
    #[test]
    fn of_copies_that_make_one_tree_at_once_one_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let (source, tree) = (dir.path().join("source"), dir.path().join("tree"));
        fs::create_dir(&source).unwrap();
        for round in 0..200 {
            let all = std::sync::Barrier::new(4);
            let made: Vec<_> = std::thread::scope(|scope| {
                let one = || {
                    all.wait();
                    make(&tree, &source)
                };
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(made.iter().any(Result::is_ok), "round {round}: {made:?}");
            let refused = made.iter().filter_map(|made| made.as_ref().err());
            assert!(refused.into_iter().all(|error| matches!(error, CopyError::Busy { .. })), "{made:?}");
            assert!(is_of(&tree, &source) && !unmarked_path(&tree).exists(), "round {round}");
            fs::remove_dir_all(&tree).unwrap();
        }
    }

    #[test]
    fn a_link_or_a_pipe_in_the_place_of_the_mark_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let (source, tree) = (dir.path().join("source"), dir.path().join("tree"));
        fs::create_dir(&source).unwrap();
        fs::create_dir(&tree).unwrap();
        set(&tree, &source).unwrap();
        fs::rename(mark_path(&tree), dir.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), mark_path(&tree)).unwrap();
        assert!(!is_of(&tree, &source));
        assert!(set(&tree, &source).is_err());
    }
}
