//! What the names that a user gives lead to.

use std::fs;
use std::path::{Path, PathBuf};

use iostall_engine::guard::is_same_place;

use crate::failure::hinted;

/// Refuses two names of one file or device: whoever gives them means two, and would measure one.
pub(crate) fn check_named_once<'a>(paths: impl Iterator<Item = &'a Path>) -> anyhow::Result<()> {
    let paths: Vec<&Path> = paths.collect();
    for (index, path) in paths.iter().enumerate() {
        let spelled_alike = |other: &Path| std::path::absolute(other).ok() == std::path::absolute(path).ok();
        let other = paths[..index].iter().find(|other| !spelled_alike(other) && is_same_place(other, path));
        if let Some(other) = other {
            let error = anyhow::anyhow!("{} and {} are one and the same", other.display(), path.display());
            return Err(hinted(error, "name it once, by one of its names (`stat` shows what both lead to)"));
        }
    }
    Ok(())
}

/// Whether one of `names` is the file at `path`.
pub(crate) fn is_named(path: &Path, names: &[PathBuf]) -> bool {
    let real = fs::canonicalize(path).ok();
    real.is_some() && names.iter().any(|name| fs::canonicalize(name).ok() == real)
}
