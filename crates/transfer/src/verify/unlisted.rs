//! Files that a manifest does not list.

use std::collections::HashSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use iostall_engine::files::{self, FileKind};

use crate::copy::CopyError;
use crate::manifest::ManifestFile;

/// Files and links below `root` that are not in the list, sorted. Links are not followed.
pub fn unlisted_files(root: &Path, listed: &[ManifestFile]) -> Result<Vec<PathBuf>, CopyError> {
    let listed: HashSet<PathBuf> = listed.iter().map(|file| plain(&file.path)).collect();
    let mut found = Vec::new();
    walk(root, &listed, &mut found)?;
    Ok(found)
}

fn walk(directory: &Path, listed: &HashSet<PathBuf>, found: &mut Vec<PathBuf>) -> Result<(), CopyError> {
    for path in sorted_entries(directory)? {
        let stat = files::stamp_of_link(&path).map_err(CopyError::system("look at", &path))?;
        if stat.kind == FileKind::Directory {
            walk(&path, listed, found)?;
        } else if !listed.contains(&plain(&path)) {
            found.push(path);
        }
    }
    Ok(())
}

/// The entries of a directory, in the order of their names.
pub(super) fn sorted_entries(directory: &Path) -> Result<Vec<PathBuf>, CopyError> {
    let listed: Result<Vec<_>, _> = fs::read_dir(directory).and_then(Iterator::collect);
    let listed = listed.map_err(CopyError::system("read the directory", directory))?;
    let mut paths: Vec<PathBuf> = listed.into_iter().map(|entry| entry.path()).collect();
    paths.sort_unstable();
    Ok(paths)
}

/// Without `./`, which a list may contain.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|component| *component != Component::CurDir).collect()
}
