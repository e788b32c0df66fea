//! Where the tablespaces of a backup of PostgreSQL are restored to.

use std::path::{Path, PathBuf};

use iostall_engine::files::path_from_bytes;
use iostall_model::RestoredTablespace;
use iostall_model::backup::{Manifest, SourceKind, SourceRecord, TablespaceRecord};
use iostall_transfer::backup::restore::Elsewhere;

use super::postgres::tablespace::{LINKS, content_of};
use crate::error::SessionError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TablespaceMove {
    /// Where it was on the server, or its oid.
    pub from: PathBuf,
    /// A new name, or an empty directory.
    pub to: PathBuf,
}

/// All tablespaces of a set, each with the source that it belongs to.
fn all(manifest: &Manifest) -> impl Iterator<Item = (&SourceRecord, &TablespaceRecord)> {
    manifest.sources.iter().flat_map(|source| {
        let tablespaces = match &source.kind {
            SourceKind::Postgresql(record) => &record.tablespaces[..],
            SourceKind::File
            | SourceKind::Directory
            | SourceKind::BlockDevice
            | SourceKind::Stream
            | SourceKind::Mariadb(_)
            | SourceKind::Sqlite { .. } => &[],
        };
        tablespaces.iter().map(move |tablespace| (source, tablespace))
    })
}

fn location(tablespace: &TablespaceRecord) -> PathBuf {
    path_from_bytes(tablespace.location.as_bytes().to_vec())
}

/// The name in the set of what is called `name` in its source.
fn in_set(source: &SourceRecord, name: &str) -> PathBuf {
    path_from_bytes(source.prefix.as_bytes().to_vec()).join(name)
}

pub(super) fn elsewhere(
    manifest: &Manifest,
    moves: &[TablespaceMove],
) -> Result<Vec<Elsewhere>, SessionError> {
    let one = |wanted: &TablespaceMove| {
        let is_meant = |tablespace: &TablespaceRecord| {
            location(tablespace) == wanted.from || Path::new(&tablespace.oid) == wanted.from
        };
        let found = all(manifest).find(|(_, tablespace)| is_meant(tablespace));
        let (source, tablespace) = found.ok_or_else(|| SessionError::NoTablespace {
            wanted: wanted.from.clone(),
            known: all(manifest).map(|(_, known)| location(known).display().to_string()).collect(),
        })?;
        Ok(Elsewhere {
            name: in_set(source, &content_of(&tablespace.oid)),
            to: wanted.to.clone(),
            link: in_set(source, &format!("{LINKS}/{}", tablespace.oid)),
        })
    };
    moves.iter().map(one).collect()
}

/// Where each tablespace was, and where it is in a restore to `to`.
pub(super) fn restored(manifest: &Manifest, to: &Path, elsewhere: &[Elsewhere]) -> Vec<RestoredTablespace> {
    let one = |(source, tablespace): (&SourceRecord, &TablespaceRecord)| {
        let name = in_set(source, &content_of(&tablespace.oid));
        let moved = elsewhere.iter().find(|moved| moved.name == name);
        let is = moved.map_or_else(|| to.join(&name), |moved| moved.to.clone());
        RestoredTablespace {
            oid: tablespace.oid.clone(),
            was: location(tablespace).display().to_string(),
            is: is.display().to_string(),
        }
    };
    all(manifest).map(one).collect()
}
