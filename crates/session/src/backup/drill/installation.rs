//! The programs of PostgreSQL on this machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::error::DrillError;

const USUAL: [&str; 4] = [
    "/usr/lib/postgresql/{}/bin",
    "/usr/pgsql-{}/bin",
    "/usr/lib/postgresql{}/bin",
    "/usr/libexec/postgresql{}",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Installation {
    pub(super) program: PathBuf,
    pub(super) major: u32,
}

/// The installation for files of `version`, as `server_version` says it: in `named`, or where distributions have it.
pub(super) fn find(named: Option<&Path>, version: &str) -> Result<Installation, DrillError> {
    let major = major_of(version).unwrap_or_default();
    if let Some(directory) = named {
        let program = directory.join("postgres");
        let found =
            version_of(&program).map_err(|source| DrillError::Start { program: program.clone(), source })?;
        return match major_of(&found) {
            Some(found) if found == major => Ok(Installation { program, major }),
            _ => Err(DrillError::OtherEngine {
                directory: directory.to_owned(),
                found: if found.is_empty() { "of no version that it names".to_owned() } else { found },
                major: major.to_string(),
            }),
        };
    }
    let usual = USUAL.iter().map(|pattern| PathBuf::from(pattern.replace("{}", &major.to_string())));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories: Vec<PathBuf> = usual.chain(std::env::split_paths(&path)).collect();
    let programs = directories.iter().map(|directory| directory.join("postgres"));
    let is_it = |program: &PathBuf| {
        program.is_file() && version_of(program).is_ok_and(|found| major_of(&found) == Some(major))
    };
    let found = programs.into_iter().find(is_it);
    found.map(|program| Installation { program, major }).ok_or_else(|| DrillError::NoEngine {
        major: major.to_string(),
        looked: format!("{}, nor in PATH", directories[0].display()),
    })
}

/// `15.8` of what `postgres --version` prints, which is `postgres (PostgreSQL) 15.8 (Debian 15.8-0+deb12u1)`.
fn version_of(program: &Path) -> std::io::Result<String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(said.split_whitespace().nth(2).unwrap_or_default().to_owned())
}

/// 15 of `15.8 (Debian 15.8-0)` and 18 of `18beta1`.
fn major_of(version: &str) -> Option<u32> {
    let digits = version.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(version.len());
    version[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_what_the_files_depend_on() {
        assert_eq!(major_of("15.8 (Debian 15.8-0+deb12u1)"), Some(15));
        assert_eq!(major_of("18beta1"), Some(18));
        assert_eq!(major_of("17"), Some(17));
        assert_eq!(major_of("devel"), None);
    }

    #[test]
    fn programs_that_are_not_there_are_named_with_what_to_do() {
        let error = find(Some(Path::new("/nonexistent/bin")), "15.8").unwrap_err();
        assert!(error.to_string().contains("/nonexistent/bin/postgres"), "{error}");
        let error = find(None, "3.1").unwrap_err();
        assert!(matches!(&error, DrillError::NoEngine { major, .. } if major == "3"), "{error}");
        assert!(error.hint().unwrap().contains("--engine-dir"));
    }
}
