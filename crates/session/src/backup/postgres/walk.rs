//! Lists the files of a data directory.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iostall_engine::files::{self, FileKind, FileStamp, path_bytes};
use iostall_model::backup::{StoredName, TablespaceRecord};
use iostall_transfer::backup::create::{Inspect, Item, OnChange, What, metadata_of};
use iostall_transfer::backup::pages::{Fork, RelationFile};

use super::control::{self, is_missing};
use super::error::PostgresBackupError;
use super::{tablespace, wal};

/// What of the log's directory is kept without its content.
const LOG_DIRECTORIES: [&str; 2] = [wal::ARCHIVE_STATUS, "summaries"];

#[derive(Default)]
pub(super) struct Listing {
    pub(super) items: Vec<Item>,
    pub(super) warnings: Vec<String>,
    pub(super) skipped_specials: u64,
    pub(super) tablespaces: Vec<TablespaceRecord>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Top,
    Databases,
    Relations,
    Other,
}

struct Walk<'a> {
    data: &'a Path,
    /// `PG_15_`: the directories of other versions in a tablespace are none of this server's.
    version_prefix: String,
    inspect: Option<&'a Arc<dyn Inspect>>,
    is_cancelled: &'a dyn Fn() -> bool,
    /// Where the tablespaces are: one may be within the data directory.
    tablespaces: BTreeSet<PathBuf>,
    listing: Listing,
}

/// Lists `data`, the data directory of a server of version `version` that is in backup mode. `inspect` sees the pages of
/// relations.
pub(super) fn listing(
    data: &Path,
    version: u32,
    inspect: Option<&Arc<dyn Inspect>>,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<Listing, PostgresBackupError> {
    let mut walk = Walk {
        data,
        version_prefix: format!("PG_{version}_"),
        inspect,
        is_cancelled,
        tablespaces: BTreeSet::new(),
        listing: Listing::default(),
    };
    let links = walk.tablespace_links()?;
    let stamp = files::stamp_of_path(data).map_err(PostgresBackupError::read(data))?;
    walk.directory_item("", &stamp);
    walk.directory(data, "", Place::Top, &mut vec![stamp])?;
    walk.tablespaces(&links)?;
    Ok(walk.listing)
}

impl Walk<'_> {
    fn tablespace_links(&mut self) -> Result<Vec<(String, PathBuf)>, PostgresBackupError> {
        let directory = self.data.join(tablespace::LINKS);
        let mut links = Vec::new();
        for name in names_in(&directory)? {
            let path = directory.join(&name);
            let oid = name.to_str().filter(|name| tablespace::is_oid(name));
            let target = match std::fs::canonicalize(&path) {
                Err(error) if is_missing(&error) => continue,
                found => found.map_err(PostgresBackupError::read(&path))?,
            };
            let Some(oid) = oid else { continue };
            // As the server knows it, which may be a link in turn.
            let location = std::fs::read_link(&path).unwrap_or_else(|_| target.clone());
            let location = StoredName(path_bytes(&location).to_vec());
            self.listing.tablespaces.push(TablespaceRecord { oid: oid.to_owned(), location });
            self.tablespaces.insert(target.clone());
            links.push((oid.to_owned(), target));
        }
        Ok(links)
    }

    fn directory_item(&mut self, name: &str, stamp: &FileStamp) {
        self.listing.items.push(Item::new(name.into(), What::Directory, metadata_of(stamp)));
    }

    /// Everything in the directory `path`, which is called `name` in the backup. `above` are the directories that it is in, and
    /// itself: a link may lead back to one.
    fn directory(
        &mut self,
        path: &Path,
        name: &str,
        place: Place,
        above: &mut Vec<FileStamp>,
    ) -> Result<(), PostgresBackupError> {
        let names = names_in(path)?;
        let unlogged = if place == Place::Relations { unlogged(&names) } else { BTreeSet::new() };
        for entry in names {
            if (self.is_cancelled)() {
                return Err(PostgresBackupError::Cancelled);
            }
            let Some(text) = entry.to_str() else {
                let other = path.join(&entry);
                self.listing.warnings.push(format!("{}: left out, its name is not UTF-8", other.display()));
                continue;
            };
            let is_excluded =
                if place == Place::Top { is_left_out_at_the_top(text) } else { is_left_out(text) };
            let relation = RelationFile::parse(text.as_bytes()).filter(|_| place == Place::Relations);
            let is_of_no_use = relation.is_some_and(|file| {
                file.is_temporary || file.fork != Fork::Init && unlogged.contains(&file.file_node)
            });
            let inside = if name.is_empty() { text.to_owned() } else { format!("{name}/{text}") };
            if is_excluded || is_of_no_use || inside == control::NAME {
                continue;
            }
            self.entry(&path.join(text), &inside, place, relation.is_some(), above)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        path: &Path,
        name: &str,
        place: Place,
        is_relation: bool,
        above: &mut Vec<FileStamp>,
    ) -> Result<(), PostgresBackupError> {
        let Some(own) = stamp_if_there(path, files::stamp_of_link)? else { return Ok(()) };
        let is_link = own.kind == FileKind::Symlink;
        // What a link leads to belongs to the database: a copy elsewhere has nothing there.
        let stamp = if is_link { stamp_if_there(path, files::stamp_of_path)? } else { Some(own) };
        let Some(stamp) = stamp else { return self.dangling(path, name, &own) };
        match stamp.kind {
            FileKind::Directory if place == Place::Top && name == wal::DIRECTORY => {
                self.log(path, name, &stamp)
            }
            FileKind::Directory if place == Place::Top && (is_emptied(name) || name == tablespace::LINKS) => {
                self.directory_item(name, &stamp);
                Ok(())
            }
            FileKind::Directory => {
                let is_loop = above.iter().any(|upper| upper.is_same_file(&stamp));
                let is_tablespace =
                    std::fs::canonicalize(path).is_ok_and(|path| self.tablespaces.contains(&path));
                if is_loop || is_tablespace {
                    return Ok(());
                }
                if is_link {
                    self.note_link(path, name);
                }
                self.directory_item(name, &stamp);
                above.push(stamp);
                let answer = self.directory(path, name, inside(place, name), above);
                above.pop();
                answer
            }
            FileKind::Regular => {
                if is_link {
                    self.note_link(path, name);
                }
                let item = Item::file(name.into(), path.to_owned(), &stamp).on_change(OnChange::Expected);
                let inspect = self.inspect.filter(|_| is_relation);
                self.listing.items.push(match inspect {
                    Some(inspect) => item.inspected_by(Arc::clone(inspect)),
                    None => item,
                });
                Ok(())
            }
            FileKind::Symlink | FileKind::Special => {
                self.listing.skipped_specials += 1;
                Ok(())
            }
        }
    }

    /// A link that leads nowhere stays one.
    fn dangling(&mut self, path: &Path, name: &str, stamp: &FileStamp) -> Result<(), PostgresBackupError> {
        if stamp.kind != FileKind::Symlink {
            return Ok(());
        }
        let to = std::fs::read_link(path).map_err(PostgresBackupError::read(path))?;
        let to = StoredName(path_bytes(&to).to_vec());
        self.listing.items.push(Item::new(name.into(), What::Symlink { to }, metadata_of(stamp)));
        Ok(())
    }

    fn note_link(&mut self, path: &Path, name: &str) {
        let to = std::fs::read_link(path).unwrap_or_default();
        let message = format!(
            "{name} is a link to {}: the backup holds what it leads to, under the name of the link",
            to.display()
        );
        self.listing.warnings.push(message);
    }

    /// The directory of the log: what the backup needs of it is known at the end.
    fn log(&mut self, path: &Path, name: &str, stamp: &FileStamp) -> Result<(), PostgresBackupError> {
        self.directory_item(name, stamp);
        for inner in LOG_DIRECTORIES {
            if let Some(stamp) = stamp_if_there(&path.join(inner), files::stamp_of_path)? {
                self.directory_item(&format!("{name}/{inner}"), &stamp);
            }
        }
        Ok(())
    }

    fn tablespaces(&mut self, links: &[(String, PathBuf)]) -> Result<(), PostgresBackupError> {
        if links.is_empty() {
            return Ok(());
        }
        let stamp = files::stamp_of_path(self.data).map_err(PostgresBackupError::read(self.data))?;
        self.directory_item(tablespace::CONTENT, &stamp);
        for (oid, target) in links {
            let Some(stamp) = stamp_if_there(target, files::stamp_of_path)? else { continue };
            let name = tablespace::content_of(oid);
            self.directory_item(&name, &stamp);
            for version in names_in(target)? {
                let Some(text) = version.to_str().filter(|text| text.starts_with(&self.version_prefix))
                else {
                    continue;
                };
                let (path, name) = (target.join(text), format!("{name}/{text}"));
                let Some(stamp) = stamp_if_there(&path, files::stamp_of_path)? else { continue };
                self.directory_item(&name, &stamp);
                self.directory(&path, &name, Place::Databases, &mut vec![stamp])?;
            }
            let link = StoredName::from(format!("{}/{oid}", tablespace::LINKS).as_str());
            let what = What::Symlink { to: tablespace::target_of(oid) };
            self.listing.items.push(Item::new(link, what, metadata_of(&stamp)));
        }
        Ok(())
    }
}

fn inside(place: Place, name: &str) -> Place {
    match (place, name) {
        (Place::Top, "base") => Place::Databases,
        (Place::Top, "global") | (Place::Databases, _) => Place::Relations,
        _ => Place::Other,
    }
}

/// The file nodes in a directory of relations that have an init fork. After a crash, and so after a restore, the
/// server creates the rest of them from it.
fn unlogged(names: &[std::ffi::OsString]) -> BTreeSet<u32> {
    let relations = names.iter().filter_map(|name| RelationFile::parse(path_bytes(Path::new(name))));
    relations.filter(|file| file.fork == Fork::Init).map(|file| file.file_node).collect()
}

/// The names in a directory, sorted; none if it has vanished.
fn names_in(path: &Path) -> Result<Vec<std::ffi::OsString>, PostgresBackupError> {
    let entries = match std::fs::read_dir(path) {
        Err(error) if is_missing(&error) => return Ok(Vec::new()),
        entries => entries.map_err(PostgresBackupError::read(path))?,
    };
    let names = entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>();
    let mut names = names.map_err(PostgresBackupError::read(path))?;
    names.sort_unstable();
    Ok(names)
}

/// The stamp of `path`; `None` if it has vanished: files of a running database do.
fn stamp_if_there(
    path: &Path,
    stamp: fn(&Path) -> io::Result<FileStamp>,
) -> Result<Option<FileStamp>, PostgresBackupError> {
    match stamp(path) {
        Err(error) if is_missing(&error) => Ok(None),
        found => found.map(Some).map_err(PostgresBackupError::read(path)),
    }
}

#[cfg(test)]
mod tests;

/// Files that are the server's own for as long as it runs, and what it creates when it starts. The label and the map of
/// tablespaces are those of another backup: ours are written at the end. The signals would make the restored copy a standby
/// of the server that it was made of, or start a recovery that nobody has asked for.
const FILES: [&str; 10] = [
    "backup_label",
    "backup_label.old",
    "tablespace_map",
    "tablespace_map.old",
    "backup_manifest",
    "postmaster.pid",
    "postmaster.opts",
    "current_logfiles.tmp",
    "recovery.signal",
    "standby.signal",
];
/// Files and directories that begin like this: temporary files of queries, and caches of the catalogs.
const PREFIXES: [&str; 3] = ["pgsql_tmp", "pg_internal.init", "postgresql.auto.conf.tmp"];
/// Directories of which only the name is kept: what is in them is of no use to another start of the server.
const EMPTIED: [&str; 7] =
    ["pg_dynshmem", "pg_notify", "pg_replslot", "pg_serial", "pg_snapshots", "pg_stat_tmp", "pg_subtrans"];
/// Made by file systems, and readable by root alone.
const FOREIGN: &str = "lost+found";

pub(super) fn is_left_out(name: &str) -> bool {
    name == FOREIGN || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

pub(super) fn is_left_out_at_the_top(name: &str) -> bool {
    is_left_out(name) || FILES.contains(&name)
}

/// Whether only the directory `name` is kept, and nothing that is in it.
pub(super) fn is_emptied(name: &str) -> bool {
    EMPTIED.contains(&name)
}
