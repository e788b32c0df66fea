//! Gets a file of the log from an archive, for `restore_command`.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::files::write_all_at;
use iostall_transfer::backup::wal_file::{read_content, read_header};

use super::directory::{self, Cluster, NewFile, partial_path, path_of};
use super::error::WalError;
use super::name::WalName;
use super::{partial, place};

#[derive(Clone, Debug)]
pub struct FetchRequest {
    pub name: String,
    /// Where the file is written; nothing has this name.
    pub path: PathBuf,
    pub from: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// It is at its place, whole and checked.
    There,
    /// The archive does not have it. PostgreSQL asks for files that were never made, and takes this for the end of the log.
    NotArchived,
}

/// A damaged file is an error: a recovery must not take it for the end of the log.
pub fn fetch(request: &FetchRequest) -> Result<Fetched, WalError> {
    let FetchRequest { name, path, from } = request;
    let name = WalName::parse(name).ok_or_else(|| WalError::Name { name: name.clone() })?;
    let cluster = directory::existing_cluster(from)?;
    let archived = path_of(from, name);
    let file = match open(&archived)? {
        Some(file) => file,
        None if fetch_partial(request, name, cluster)? == Fetched::There => return Ok(Fetched::There),
        // The receiver may have archived the segment between the two looks.
        None => match open(&archived)? {
            Some(file) => file,
            None => return Ok(Fetched::NotArchived),
        },
    };
    let header = read_header(&file).map_err(WalError::reading(&archived))?;
    if header.name != name.to_string() {
        return Err(WalError::OtherName { path: archived, found: header.name });
    }
    let new = NewFile::begin(path)?;
    let mut at = 0;
    let mut failed = None;
    let read = read_content(&file, &header, &mut |part| {
        let written = write_all_at(&new.file, part, at);
        at += part.len() as u64;
        written.map_err(|error| {
            let kind = error.kind();
            failed = Some(error);
            kind.into()
        })
    });
    if let Some(source) = failed {
        return Err(WalError::System { verb: "write", path: path.clone(), source });
    }
    read.map_err(WalError::reading(&archived))?;
    // Not made durable: PostgreSQL does that with what it keeps, and reads the rest once.
    new.name()?;
    Ok(Fetched::There)
}

fn open(path: &Path) -> Result<Option<File>, WalError> {
    match place::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        file => file.map(Some).map_err(WalError::system("open", path)),
    }
}

/// What was received of a segment that is not full yet, with zeros behind it, as the server has them in its own.
fn fetch_partial(request: &FetchRequest, name: WalName, cluster: Cluster) -> Result<Fetched, WalError> {
    let WalName::Segment(segment) = name else { return Ok(Fetched::NotArchived) };
    let received = partial_path(&request.from, segment);
    let Some(file) = open(&received)? else { return Ok(Fetched::NotArchived) };
    if partial::facts(&file, segment, cluster).map_err(WalError::system("read", &received))?.is_none() {
        return Ok(Fetched::NotArchived);
    }
    let new = NewFile::begin(&request.path)?;
    let (mut at, mut written) = (0, Ok(()));
    let read = partial::read(&file, &mut |part| {
        if written.is_ok() {
            written = write_all_at(&new.file, part, at);
        }
        at += part.len() as u64;
    });
    read.map_err(WalError::system("read", &received))?;
    let written = written.and_then(|()| new.file.set_len(cluster.segment_bytes));
    written.map_err(WalError::system("write", &request.path))?;
    new.name()?;
    Ok(Fetched::There)
}
