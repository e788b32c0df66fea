//! The default location of the local store.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::error::StoreError;

/// `$XDG_DATA_HOME/iostall/iostall.db`, else `~/.local/share/iostall/iostall.db`.
///
/// The home is `$HOME`, else the one in the user database: services and `cron` start processes without
/// `HOME`, root's among them.
pub fn default_path() -> Result<PathBuf, StoreError> {
    default_path_in(|name| std::env::var_os(name), std::env::home_dir)
}

/// [`default_path`] with the environment given as a lookup, and the account's home from the user database.
///
/// Empty and relative values are ignored, as the XDG specification requires: a store that moves with the
/// working directory would be lost.
pub fn default_path_in(
    variable: impl Fn(&str) -> Option<OsString>,
    account_home: impl FnOnce() -> Option<PathBuf>,
) -> Result<PathBuf, StoreError> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let named = |name: &str| variable(name).map(PathBuf::from).and_then(absolute);
    let data_home = named("XDG_DATA_HOME").or_else(|| {
        let home = named("HOME").or_else(|| account_home().and_then(absolute))?;
        Some(home.join(".local").join("share"))
    });
    Ok(data_home.ok_or(StoreError::NoHome)?.join("iostall").join("iostall.db"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(pairs: &[(&str, &str)], account_home: Option<&str>) -> Option<PathBuf> {
        let variable =
            |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
        default_path_in(variable, || account_home.map(PathBuf::from)).ok()
    }

    #[test]
    fn the_xdg_directory_goes_before_home() {
        let path = at(&[("XDG_DATA_HOME", "/data"), ("HOME", "/home/ana")], None);
        assert_eq!(path, Some("/data/iostall/iostall.db".into()));
        let path = at(&[("HOME", "/home/ana")], None);
        assert_eq!(path, Some("/home/ana/.local/share/iostall/iostall.db".into()));
    }

    #[test]
    fn relative_and_empty_directories_are_passed_over() {
        let path = at(&[("XDG_DATA_HOME", "data"), ("HOME", "/home/ana")], None);
        assert_eq!(path, Some("/home/ana/.local/share/iostall/iostall.db".into()));
        let path = at(&[("XDG_DATA_HOME", ""), ("HOME", "")], Some("/home/ana"));
        assert_eq!(path, Some("/home/ana/.local/share/iostall/iostall.db".into()));
    }

    #[test]
    fn an_account_without_any_home_is_told_to_name_a_store() {
        assert_eq!(at(&[], None), None);
        let error = default_path_in(|_| None, || None).unwrap_err();
        assert!(error.hint().unwrap().contains("--store"));
    }
}
