//! Resolves the paths that a user gives, and reads such files.

use std::fs;
use std::path::{Path, PathBuf};

use iostall_engine::Input;
use iostall_engine::guard::is_same_place;
use iostall_engine::input::STANDARD_INPUT;
use iostall_measure::ByteCount;

use crate::error::SessionError;

/// Refuses two names of one file or device: the user means two, and would measure one.
pub fn check_named_once<'a>(paths: impl Iterator<Item = &'a Path>) -> Result<(), SessionError> {
    let paths: Vec<&Path> = paths.collect();
    for (index, path) in paths.iter().enumerate() {
        let spelled_alike = |other: &Path| std::path::absolute(other).ok() == std::path::absolute(path).ok();
        let other = paths[..index].iter().find(|other| !spelled_alike(other) && is_same_place(other, path));
        if let Some(other) = other {
            return Err(SessionError::NamedTwice { one: other.to_path_buf(), other: path.to_path_buf() });
        }
    }
    Ok(())
}

pub fn is_named(path: &Path, names: &[PathBuf]) -> bool {
    let real = fs::canonicalize(path).ok();
    real.is_some() && names.iter().any(|name| fs::canonicalize(name).ok() == real)
}

pub fn read_whole(what: &'static str, bytes_max: u64, path: &Path) -> Result<Vec<u8>, SessionError> {
    Ok(Input { what, limit: ByteCount(bytes_max) }.read(path)?)
}

/// The path of an input that a user named: `-` is standard input.
pub fn input_path(named: &Path) -> &Path {
    if named == Path::new("-") { Path::new(STANDARD_INPUT) } else { named }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A user measured a disk and its by-id link as two devices, and compared it with itself.
    #[test]
    fn a_file_and_a_link_to_it_are_one_target() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("data"), directory.path().join("link"));
        fs::write(&file, "x").unwrap();
        std::fs::hard_link(&file, &link).unwrap();
        let refused = check_named_once([file.as_path(), link.as_path()].into_iter()).unwrap_err();
        assert!(refused.to_string().ends_with("are the same file or device") && refused.hint().is_some());
        assert!(check_named_once([file.as_path(), file.as_path()].into_iter()).is_ok());
        assert!(is_named(&file, std::slice::from_ref(&file)) && !is_named(&file, &[link.join("no")]));
    }
}
