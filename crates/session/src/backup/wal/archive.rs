//! Puts a file of the log into an archive, for `archive_command`.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use iostall_engine::files;
use iostall_model::backup::Compression;
use iostall_transfer::backup::format::{WAL_FRAME_BYTES_MAX, WalFacts, WalHeader};
use iostall_transfer::backup::wal_file::{Sums, WalFileWriter, read_content, read_header, write_header};

use super::directory::{self, Cluster, NewFile, parent, path_of};
use super::error::WalError;
use super::name::{SegmentName, WalName};
use super::place;
use super::records::{LONG_BYTES, Records, SegmentHead};
use crate::backup::postgres::control::ControlFile;

#[derive(Clone, Debug)]
pub struct ArchiveRequest {
    pub path: PathBuf,
    /// The directory of the archive, which exists, or its address in an object store.
    pub to: PathBuf,
    pub compression: Compression,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Archived {
    /// It is in the archive now, durably.
    Now { plain_bytes: u64, stored_bytes: u64 },
    /// It was there, with the same content: PostgreSQL asks again after a crash.
    Before,
}

/// On an error the file is not in the archive, or not durably: the server keeps it then, and asks again.
pub fn archive(request: &ArchiveRequest) -> Result<Archived, WalError> {
    archive_as(request, name(&request.path)?)
}

pub(super) fn archive_as(request: &ArchiveRequest, name: WalName) -> Result<Archived, WalError> {
    let ArchiveRequest { path, to, compression } = request;
    let file = File::open(path).map_err(WalError::system("open", path))?;
    let head = match name {
        WalName::Segment(segment) | WalName::Partial(segment) => Some(segment_head(path, &file, segment)?),
        WalName::History(_) | WalName::BackupLabel(..) => None,
    };
    let cluster = cluster(path, to, head)?;
    put(&Source { path, content: Content::File(file), head }, name, cluster, to, *compression)
}

pub(super) fn archive_history(
    to: &Path,
    timeline: u32,
    history: &[u8],
    compression: Compression,
) -> Result<Archived, WalError> {
    let name = WalName::History(timeline);
    let path = PathBuf::from(name.to_string());
    let source = Source { path: &path, content: Content::Bytes(history), head: None };
    put(&source, name, Some(directory::existing_cluster(to)?), to, compression)
}

fn put(
    source: &Source<'_>,
    name: WalName,
    cluster: Option<Cluster>,
    to: &Path,
    compression: Compression,
) -> Result<Archived, WalError> {
    let target = path_of(to, name);
    if place::is_there(&target).map_err(WalError::system("look at", &target))? {
        return same(source, &target, to);
    }
    let new = NewFile::begin(&target)?;
    let failed = || WalError::system("write", &target);
    let mut writer = WalFileWriter::new(&new.file, compression).map_err(failed())?;
    let facts = source.read(&mut |part| writer.write(part).map_err(failed()))?;
    let Sums { plain_bytes, stored_bytes, plain_hash, stored_hash } = writer.sums();
    let header = WalHeader {
        name: name.to_string(),
        system_identifier: cluster.map_or(0, |cluster| cluster.system_identifier),
        plain_bytes,
        stored_bytes,
        plain_hash,
        stored_hash,
        facts,
    };
    write_header(&new.file, &header).map_err(failed())?;
    match new.finish() {
        Err(WalError::Exists { .. }) => same(source, &target, to),
        other => other.map(|()| Archived::Now { plain_bytes, stored_bytes }),
    }
}

fn name(path: &Path) -> Result<WalName, WalError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    WalName::parse(&name).ok_or_else(|| WalError::Name { name: name.into_owned() })
}

/// What the segment at `path` begins with, which must be what its name says.
fn segment_head(path: &Path, mut file: &File, name: SegmentName) -> Result<SegmentHead, WalError> {
    let no_segment = |reason: String| WalError::NoSegment { path: path.to_owned(), reason };
    let mut bytes = [0; LONG_BYTES];
    let read = file.read_exact(&mut bytes).and_then(|()| file.metadata());
    let found_bytes = match read {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(no_segment("it ends within its first header".into()));
        }
        read => read.map_err(WalError::system("read", path))?.len(),
    };
    let head =
        SegmentHead::parse(&bytes).ok_or_else(|| no_segment("it begins with something else".into()))?;
    if found_bytes != head.segment_bytes {
        return Err(no_segment(format!("it has {found_bytes} bytes instead of {}", head.segment_bytes)));
    }
    let start = name.start(head.segment_bytes).map(|lsn| lsn.0);
    if start != Some(head.start) {
        let there = SegmentName::of(name.timeline, head.start / head.segment_bytes, head.segment_bytes);
        return Err(no_segment(format!("its content is that of {there}")));
    }
    Ok(head)
}

/// Whose archive the directory is. The first segment makes it one.
fn cluster(path: &Path, to: &Path, head: Option<SegmentHead>) -> Result<Option<Cluster>, WalError> {
    let found = head.map(|head| head.system_identifier).or_else(|| of_data_directory(path));
    let archive = match (directory::cluster(to)?, head) {
        (None, Some(head)) => {
            let SegmentHead { system_identifier, segment_bytes, .. } = head;
            Some(directory::make_archive(to, Cluster { system_identifier, segment_bytes })?)
        }
        (archive, _) => archive,
    };
    match (found, archive) {
        (Some(found), Some(archive)) if found != archive.system_identifier => Err(WalError::OtherCluster {
            path: path.to_owned(),
            found,
            directory: to.to_owned(),
            archive: archive.system_identifier,
        }),
        _ => Ok(archive),
    }
}

/// A history does not say which cluster it is of, but the data directory that it is in does.
fn of_data_directory(path: &Path) -> Option<u64> {
    let log = fs::canonicalize(parent(path)).ok()?;
    ControlFile::read(log.parent()?).ok().map(|control| control.system_identifier())
}

struct Source<'a> {
    path: &'a Path,
    content: Content<'a>,
    head: Option<SegmentHead>,
}

enum Content<'a> {
    File(File),
    Bytes(&'a [u8]),
}

impl Content<'_> {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        match self {
            Self::File(file) => files::read_at(file, buffer, at),
            Self::Bytes(bytes) => {
                let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
                let read = rest.len().min(buffer.len());
                buffer[..read].copy_from_slice(&rest[..read]);
                Ok(read)
            }
        }
    }

    fn length(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => file.metadata().map(|metadata| metadata.len()),
            Self::Bytes(bytes) => Ok(bytes.len() as u64),
        }
    }
}

impl Source<'_> {
    fn read(&self, sink: &mut dyn FnMut(&[u8]) -> Result<(), WalError>) -> Result<WalFacts, WalError> {
        let mut records = self.head.map(Records::of);
        let mut buffer = vec![0; usize::try_from(WAL_FRAME_BYTES_MAX).unwrap_or(usize::MAX)];
        let mut at = 0;
        loop {
            let mut filled = 0;
            while filled < buffer.len() {
                let read = self.content.read_at(&mut buffer[filled..], at);
                match read.map_err(WalError::system("read", self.path))? {
                    0 => break,
                    read => (filled, at) = (filled + read, at + read as u64),
                }
            }
            if filled == 0 {
                return Ok(records.map(|records| records.facts()).unwrap_or_default());
            }
            if let Some(records) = &mut records {
                records.read(&buffer[..filled], &mut |_| {});
            }
            sink(&buffer[..filled])?;
        }
    }
}

/// What is archived must be the same. The name may not be durable yet: the server asks again after a crash.
fn same(source: &Source<'_>, target: &Path, directory: &Path) -> Result<Archived, WalError> {
    let archived = place::open(target).map_err(WalError::system("open", target))?;
    let header = read_header(&archived).map_err(WalError::reading(target))?;
    let mut at = 0;
    let mut is_same = true;
    let mut here = Vec::new();
    let compared = read_content(&archived, &header, &mut |part| {
        here.resize(part.len(), 0);
        let mut filled = 0;
        while is_same && filled < part.len() {
            match source.content.read_at(&mut here[filled..], at)? {
                0 => is_same = false,
                read => (filled, at) = (filled + read, at + read as u64),
            }
        }
        is_same &= here == part;
        Ok(())
    });
    compared.map_err(WalError::reading(target))?;
    let length = source.content.length().map_err(WalError::system("look at", source.path))?;
    if !is_same || length != header.plain_bytes {
        return Err(WalError::OtherContent { path: source.path.to_owned(), archived: target.to_owned() });
    }
    archived.sync_all().map_err(WalError::system("make durable", target))?;
    place::sync(directory).map_err(WalError::system("make durable", directory))?;
    Ok(Archived::Before)
}
