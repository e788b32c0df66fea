//! The programs of MariaDB on this machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::error::MariadbBackupError;

/// The program that reads a server's files, under its names since 10.4 and before.
const BACKUP: [&str; 2] = ["mariadb-backup", "mariabackup"];
/// The server itself, under its names since 10.4 and before.
const SERVER: [&str; 2] = ["mariadbd", "mysqld"];
/// Where distributions put programs, and other packages.
const USUAL: [&str; 5] = ["/usr/bin", "/usr/sbin", "/usr/libexec", "/usr/local/mysql/bin", "/usr/local/bin"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::backup) struct Tool {
    pub(in crate::backup) path: PathBuf,
    /// As it says itself, such as `10.11.6-MariaDB`.
    pub(in crate::backup) version: String,
}

/// mariadb-backup for files of a server of `version`: in `directory`, or where distributions have it. Another version may take
/// them for something else.
pub(in crate::backup) fn backup_tool(
    directory: Option<&Path>,
    version: &str,
) -> Result<Tool, MariadbBackupError> {
    of_series(find(directory, &BACKUP)?, version)
}

pub(in crate::backup) fn server_tool(
    directory: Option<&Path>,
    version: &str,
) -> Result<Tool, MariadbBackupError> {
    of_series(find(directory, &SERVER)?, version)
}

fn of_series(tool: Tool, version: &str) -> Result<Tool, MariadbBackupError> {
    let is_it = series(&tool.version).is_some() && series(&tool.version) == series(version);
    if is_it {
        return Ok(tool);
    }
    let server = version.to_owned();
    Err(MariadbBackupError::OtherTool { program: tool.path, version: tool.version, server })
}

fn find(directory: Option<&Path>, names: &'static [&'static str]) -> Result<Tool, MariadbBackupError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories: Vec<PathBuf> = match directory {
        Some(directory) => vec![directory.to_owned()],
        None => std::env::split_paths(&path).chain(USUAL.map(PathBuf::from)).collect(),
    };
    let programs = directories.iter().flat_map(|directory| names.iter().map(|name| directory.join(name)));
    let Some(path) = programs.into_iter().find(|program| program.is_file()) else {
        let looked = directory.map_or_else(|| "PATH".to_owned(), |named| named.display().to_string());
        return Err(MariadbBackupError::NoTool { name: names[0], looked });
    };
    let output = Command::new(&path).arg("--version").stdin(Stdio::null()).output();
    let output = output.map_err(|source| MariadbBackupError::Start { program: path.clone(), source })?;
    let said = [output.stdout, output.stderr].concat();
    Ok(Tool { path, version: version_in(&String::from_utf8_lossy(&said)) })
}

/// The version in what a program says of itself: `… based on MariaDB server 10.11.6-MariaDB debian-linux-gnu (x86_64)`, or
/// `mariadbd  Ver 10.11.6-MariaDB-0+deb12u1 for debian-linux-gnu …`.
fn version_in(said: &str) -> String {
    let is_version = |word: &&str| {
        let digits = word.split('.').next().unwrap_or_default();
        word.contains('.') && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    said.split_whitespace().find(is_version).unwrap_or_default().to_owned()
}

/// The release series, in which files have one format: `10.11` and `11.4`.
fn series(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split(|letter: char| !letter.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say_and_compared_by_their_series() {
        let said = "mariadb-backup based on MariaDB server 10.11.19-MariaDB debian-linux-gnu (x86_64)\n";
        assert_eq!(version_in(said), "10.11.19-MariaDB");
        let said =
            "/usr/sbin/mariadbd  Ver 11.4.2-MariaDB-deb12 for debian-linux-gnu on x86_64 (mariadb.org)";
        assert_eq!(version_in(said), "11.4.2-MariaDB-deb12");
        assert_eq!(version_in("no such thing"), "");
        assert_eq!(series("10.11.19-MariaDB-0+deb12u1"), Some((10, 11)));
        assert_ne!(series("11.4.2"), series("11.8.1"));
        assert_eq!(series(""), None);
    }

    #[test]
    fn a_program_that_is_not_there_is_named_with_where_it_was_looked_for() {
        let error = backup_tool(Some(Path::new("/nonexistent/bin")), "10.11.2").unwrap_err();
        let said = error.to_string();
        assert!(said.contains("mariadb-backup") && said.contains("/nonexistent/bin"), "{said}");
        assert!(error.hint().unwrap().contains("--engine-dir"), "{error}");
    }

    /// A newer server's redo log was copied by an older program, and nobody could prepare it.
    #[test]
    fn a_program_of_another_series_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mariadb-backup");
        std::fs::write(&path, "#!/bin/sh\necho 'based on MariaDB server 10.6.2-MariaDB Linux'\n").unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(backup_tool(Some(directory.path()), "10.6.20-MariaDB").unwrap().path, path);
        let error = backup_tool(Some(directory.path()), "10.11.2-MariaDB").unwrap_err();
        assert!(
            error.to_string().contains("10.6.2-MariaDB") && error.to_string().contains("10.11.2"),
            "{error}"
        );
    }
}
