//! The mark of an unfinished tree: a small file in a directory that a copy created, naming its source.
//!
//! When the same command is repeated, that directory exists, and by the rule of `cp` the copy would go into
//! it, as a second one. The mark shows that it is the same copy.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileKind};
use xxhash_rust::xxh3::xxh3_64;

use super::beside::mark_path;
use super::part::is_open_to_others;
use crate::hash::{from_hex, hex};

const MAGIC: &str = "iostall-tree 1";
/// Longer than the longest path in hexadecimal, bytes.
const MARK_BYTES_MAX: u64 = 16 << 10;

/// Marks the new directory `tree` as a copy of `source`.
pub(super) fn set(tree: &Path, source: &Path) -> io::Result<()> {
    let mut line = format!("{MAGIC} source={}", hex(files::path_bytes(&fs::canonicalize(source)?)));
    let sum = xxh3_64(line.as_bytes());
    // Writing into a String cannot fail.
    let _ = writeln!(line, " {sum:016x}");
    let mut file = files::create_new_private(&mark_path(tree))?;
    file.write_all(line.as_bytes())?;
    file.sync_all()?;
    files::sync_directory(tree)
}

/// Whether `tree` is an unfinished copy of `source`.
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
    let is_ours = stat.uid == files::effective_user() || !is_open_to_others(&path);
    if stat.kind != FileKind::Regular || !is_ours {
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
