//! The settings of the PostgreSQL server that a directory belongs to, read from its files: no connection is needed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use iostall_engine::{Input, InputError};
use iostall_measure::ByteCount;
use iostall_model::sync::{ServerSetting, ServerSync};

use super::postgres_config::{ConfigLine, IncludeKind, command_line_settings, config_line};
use crate::error::SessionError;

/// The manual's example has 30 KiB.
const CONFIG: Input = Input { what: "PostgreSQL configuration file", limit: ByteCount(1 << 20) };
/// PostgreSQL allows as many levels of includes (`CONF_FILE_MAX_DEPTH`).
const DEPTH_MAX: u32 = 10;
/// Files read in all, so that files that include each other end.
const FILES_MAX: u32 = 100;

/// What matters for commits, with the default on Linux.
const SETTINGS: [(&str, &str); 3] =
    [("wal_sync_method", "fdatasync"), ("fsync", "on"), ("synchronous_commit", "on")];

/// A server that was found, and which of its files could not be read.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) server: ServerSync,
    pub(super) unread: Vec<InputError>,
}

pub(super) fn server_of(directory: &Path, named: Option<&Path>) -> Result<Option<Found>, SessionError> {
    let data_directory = match named {
        Some(path) if is_data_directory(path) => Some(path.to_owned()),
        Some(path) => return Err(SessionError::NoDataDirectory { path: path.to_owned() }),
        None => data_directory_above(directory),
    };
    Ok(data_directory.map(|path| settings_of(&path)))
}

/// The first of `directory` and its parents that is a data directory, on the path as typed or with links resolved: `pg_wal` is
/// often a link to another file system.
fn data_directory_above(directory: &Path) -> Option<PathBuf> {
    let typed = std::path::absolute(directory).ok();
    let resolved = std::fs::canonicalize(directory).ok();
    let of = |path: &PathBuf| path.ancestors().find(|above| is_data_directory(above)).map(Path::to_owned);
    typed.iter().chain(&resolved).find_map(of)
}

fn is_data_directory(path: &Path) -> bool {
    path.join("PG_VERSION").is_file() && path.join("global").is_dir()
}

fn settings_of(data_directory: &Path) -> Found {
    let mut reader = Reader { values: BTreeMap::new(), unread: Vec::new(), files: 0 };
    let opts = data_directory.join("postmaster.opts");
    let on_command_line =
        if opts.exists() { reader.text(&opts).map(|text| command_line_settings(&text)) } else { None };
    let on_command_line = on_command_line.unwrap_or_default();
    let config_file = on_command_line.iter().rev().find(|(name, _)| name == "config_file");
    let config_file = config_file
        .map_or_else(|| data_directory.join("postgresql.conf"), |(_, path)| data_directory.join(path));
    reader.file(&config_file, 0);
    // ALTER SYSTEM writes it, and it overrides the file of the administrator.
    let auto = data_directory.join("postgresql.auto.conf");
    if auto.exists() {
        reader.file(&auto, 0);
    }
    for (name, value) in on_command_line {
        reader.values.insert(name, (value, opts.display().to_string()));
    }
    let setting = |(name, default): (&str, &str)| {
        let (value, source) =
            reader.values.get(name).cloned().unwrap_or_else(|| (default.to_owned(), "default".to_owned()));
        ServerSetting { name: name.to_owned(), value, source }
    };
    let server = ServerSync {
        data_directory: data_directory.display().to_string(),
        settings: SETTINGS.map(setting).to_vec(),
    };
    Found { server, unread: reader.unread }
}

/// Reads configuration files; later values replace earlier ones.
struct Reader {
    /// By name: the value, and where it is set.
    values: BTreeMap<String, (String, String)>,
    unread: Vec<InputError>,
    files: u32,
}

impl Reader {
    fn text(&mut self, path: &Path) -> Option<String> {
        match CONFIG.read(path) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) => {
                self.unread.push(error);
                None
            }
        }
    }

    fn file(&mut self, path: &Path, depth: u32) {
        self.files += 1;
        if depth > DEPTH_MAX || self.files > FILES_MAX {
            return;
        }
        let Some(text) = self.text(path) else { return };
        for (line, number) in text.lines().zip(1_u32..) {
            match config_line(line) {
                Some(ConfigLine::Setting { name, value }) => {
                    let source = format!("{}:{number}", path.display());
                    self.values.insert(name, (value, source));
                }
                Some(ConfigLine::Include { kind, path: included }) => {
                    let included = path.parent().unwrap_or(Path::new("/")).join(included);
                    self.include(kind, &included, depth + 1);
                }
                None => {}
            }
        }
    }

    fn include(&mut self, kind: IncludeKind, path: &Path, depth: u32) {
        match kind {
            IncludeKind::File => self.file(path, depth),
            IncludeKind::FileIfExists if path.exists() => self.file(path, depth),
            IncludeKind::FileIfExists => {}
            IncludeKind::Directory => {
                let Ok(entries) = std::fs::read_dir(path) else { return };
                let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
                files.retain(|file| is_config(file));
                files.sort();
                for file in &files {
                    self.file(file, depth);
                }
            }
        }
    }
}

fn is_config(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".conf") && !name.starts_with('.')
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A data directory with these files.
    fn data_directory(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for name in ["global", "pg_wal", "conf.d"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        fs::write(directory.path().join("PG_VERSION"), "15\n").unwrap();
        for (name, text) in files {
            fs::write(directory.path().join(name), text).unwrap();
        }
        directory
    }

    fn value(found: &Found, name: &str) -> String {
        found.server.setting(name).unwrap().value.clone()
    }

    #[test]
    fn the_last_value_counts_and_alter_system_and_the_command_line_come_last() {
        let directory = data_directory(&[
            ("postgresql.conf", "wal_sync_method = fsync\ninclude_dir 'conf.d'\nfsync = off\n"),
            ("conf.d/10.conf", "wal_sync_method = open_sync\nsynchronous_commit = local\n"),
            ("conf.d/.hidden.conf", "wal_sync_method = open_datasync\n"),
            ("postgresql.auto.conf", "synchronous_commit = 'off'\n"),
            ("postmaster.opts", "postgres \"-c\" \"fsync=on\"\n"),
        ]);
        let found = server_of(&directory.path().join("pg_wal"), None).unwrap().unwrap();
        assert!(found.unread.is_empty(), "{:?}", found.unread);
        assert_eq!(value(&found, "wal_sync_method"), "open_sync");
        assert_eq!(value(&found, "synchronous_commit"), "off");
        assert_eq!(value(&found, "fsync"), "on");
        let source = &found.server.setting("wal_sync_method").unwrap().source;
        assert!(source.ends_with("conf.d/10.conf:1"), "{source}");
    }

    #[test]
    fn a_server_without_settings_has_the_defaults_and_files_that_cannot_be_read_are_named() {
        let directory = data_directory(&[]);
        let found = server_of(directory.path(), None).unwrap().unwrap();
        assert_eq!(value(&found, "wal_sync_method"), "fdatasync");
        assert_eq!(found.server.setting("fsync").unwrap().source, "default");
        assert_eq!(found.unread.len(), 1, "postgresql.conf is missing");
    }

    #[test]
    fn files_that_include_each_other_end() {
        let directory = data_directory(&[("postgresql.conf", "include 'postgresql.conf'\nfsync = off\n")]);
        let found = server_of(directory.path(), None).unwrap().unwrap();
        assert_eq!(value(&found, "fsync"), "off");
    }

    /// The log of a server is often on another file system, behind a link.
    #[test]
    fn a_log_behind_a_link_belongs_to_its_server_and_other_directories_to_none() {
        let directory = data_directory(&[("postgresql.conf", "")]);
        let elsewhere = tempfile::tempdir().unwrap();
        let link = directory.path().join("pg_wal");
        fs::remove_dir(&link).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), &link).unwrap();
        assert!(server_of(&link, None).unwrap().is_some());
        assert!(server_of(elsewhere.path(), None).unwrap().is_none());
        assert!(server_of(elsewhere.path(), Some(directory.path())).unwrap().is_some());
        let error = server_of(elsewhere.path(), Some(elsewhere.path())).unwrap_err();
        assert!(error.to_string().contains("is no PostgreSQL data directory"), "{error}");
    }
}
