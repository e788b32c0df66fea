//! Small files: planned into bundles, and read by whichever worker encodes the bundle.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use iostall_engine::files::{self, FileKind, FileStamp};
use iostall_model::backup::StoredName;

use super::base::{Before, Compared};
use super::item::Inspect;
use super::options::Shape;
use crate::backup::format::{BundleWriter, Piece, PieceRecord};
use crate::pipeline::StageFailure;

pub(super) struct SmallFile {
    pub(super) number: u64,
    pub(super) name: StoredName,
    pub(super) from: SmallSource,
    /// What it had when it was found, and the most that is read.
    pub(super) size_bytes: u32,
    pub(super) inspect: Option<Arc<dyn Inspect>>,
    pub(super) before: Before,
}

pub(super) enum SmallSource {
    Path(PathBuf),
    Memory(Vec<u8>),
}

#[derive(Debug)]
pub(super) struct SmallResult {
    pub(super) number: u64,
    pub(super) read_bytes: u32,
    /// When it was opened; `None` for what came from memory.
    pub(super) stamp: Option<FileStamp>,
    pub(super) change: Option<Change>,
}

/// What happened to a file between the moment it was found and the moment it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Vanished,
    /// In words.
    Changed(&'static str),
}

pub(super) struct Filled {
    /// Of the frame's plain bytes.
    pub(super) length: usize,
    /// Of these, bytes of files.
    pub(super) source_bytes: u32,
    pub(super) read_bytes: u32,
    pub(super) results: Vec<SmallResult>,
    /// What is in the bundle, without the frame, and what is in the base.
    pub(super) pieces: Vec<PieceRecord>,
}

/// Puts small files together: as many as fit become a bundle, and several bundles travel together.
pub(super) fn plan(files: Vec<SmallFile>, shape: &Shape) -> Vec<Vec<Vec<SmallFile>>> {
    let (mut bundles, mut bundle, mut data_bytes) = (Vec::new(), Vec::new(), 0usize);
    for file in files {
        let size_bytes = file.size_bytes as usize;
        let with = BundleWriter::table_bytes(bundle.len() + 1) + data_bytes + size_bytes;
        if with > shape.bundle_bytes() as usize && !bundle.is_empty() {
            bundles.push(std::mem::take(&mut bundle));
            data_bytes = 0;
        }
        data_bytes += size_bytes;
        bundle.push(file);
    }
    if !bundle.is_empty() {
        bundles.push(bundle);
    }
    let together = shape.bundles_per_transfer(bundles.len());
    let mut transfers = Vec::with_capacity(bundles.len().div_ceil(together));
    let mut bundles = bundles.into_iter().peekable();
    while bundles.peek().is_some() {
        transfers.push(bundles.by_ref().take(together).collect());
    }
    transfers
}

pub(super) fn fill(bundle: &[SmallFile], room: &mut [u8]) -> Result<Filled, StageFailure> {
    let data_at = BundleWriter::table_bytes(bundle.len());
    let (mut pieces, mut results) = (Vec::with_capacity(bundle.len()), Vec::with_capacity(bundle.len()));
    let mut known = Vec::with_capacity(bundle.len());
    let (mut at, mut read_bytes) = (data_at, 0);
    for file in bundle {
        let into = &mut room[at..at + file.size_bytes as usize];
        let result = read(file, into).map_err(|(path, source)| SmallFileError { path, source })?;
        if result.read_bytes > 0 {
            let read = &room[at..at + result.read_bytes as usize];
            if let Some(inspect) = &file.inspect {
                inspect.inspect(&file.name, 0, read);
            }
            read_bytes += result.read_bytes;
            let Compared { same, own } = file.before.compare_whole(file.number, 0, read);
            known.extend(same);
            if let Some((_, digest)) = own {
                let (number, length) = (file.number, result.read_bytes);
                pieces.push(Piece { file: number, offset: 0, length });
                known.push(PieceRecord {
                    file: number,
                    offset: 0,
                    length,
                    set: 0,
                    sequence: 0,
                    held_file: number,
                    digest,
                });
                at += length as usize;
            }
        }
        results.push(result);
    }
    // The table is shorter if files have vanished, or are as they were: then the rest is moved.
    let table_bytes = BundleWriter::table_bytes(pieces.len());
    room.copy_within(data_at..at, table_bytes);
    BundleWriter::put_table(&pieces, room);
    let source_bytes = u32::try_from(at - data_at)?;
    Ok(Filled { length: table_bytes + at - data_at, source_bytes, read_bytes, results, pieces: known })
}

#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {source}", path.display())]
struct SmallFileError {
    path: PathBuf,
    source: io::Error,
}

fn read(file: &SmallFile, into: &mut [u8]) -> Result<SmallResult, (PathBuf, io::Error)> {
    let done = |read: usize, stamp, change| SmallResult {
        number: file.number,
        read_bytes: u32::try_from(read).unwrap_or(u32::MAX),
        stamp,
        change,
    };
    let path = match &file.from {
        SmallSource::Memory(bytes) => {
            into.copy_from_slice(bytes);
            return Ok(done(bytes.len(), None, None));
        }
        SmallSource::Path(path) => path,
    };
    let failed = |error| (path.clone(), error);
    let open = match files::open_in_shared_directory(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(done(0, None, Some(Change::Vanished)));
        }
        // A link has taken its place.
        Err(error) if files::stamp_of_link(path).is_ok_and(|there| there.kind != FileKind::Regular) => {
            drop(error);
            return Ok(done(0, None, Some(Change::Vanished)));
        }
        other => other.map_err(failed)?,
    };
    let before = files::stamp(&open).map_err(failed)?;
    if before.kind != FileKind::Regular {
        return Ok(done(0, None, Some(Change::Vanished)));
    }
    let mut read = 0;
    while read < into.len() {
        match files::read_at(&open, &mut into[read..], read as u64).map_err(failed)? {
            0 => break,
            more => read += more,
        }
    }
    let after = files::stamp(&open).map_err(failed)?;
    let change = match after.content_change_since(&before) {
        Some(how) => Some(Change::Changed(how)),
        None if after.size_bytes != u64::from(file.size_bytes) => Some(Change::Changed("its size changed")),
        None => None,
    };
    Ok(done(read, Some(before), change))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::create::CreateOptions;
    use crate::backup::format::Bundle;

    fn small(number: u64, from: SmallSource, size_bytes: u32) -> SmallFile {
        let (name, before) = (StoredName::default(), Before::default());
        SmallFile { number, name, from, size_bytes, inspect: None, before }
    }

    #[test]
    fn no_bundle_is_larger_than_a_frame_and_none_is_lost() {
        let sizes = [0u32, 1, 16_000, 16_384, 16_384, 16_384, 5, 16_384, 16_384, 1];
        let files = (0..)
            .zip(sizes)
            .map(|(number, size)| small(number, SmallSource::Memory(vec![7; size as usize]), size));
        let options = CreateOptions {
            frame_bytes: Some(65_536),
            transfer_bytes: Some(131_072),
            workers: Some(1),
            ..CreateOptions::default()
        };
        let shape = Shape::of(&options).unwrap();
        let transfers = plan(files.collect(), &shape);
        let bundles: Vec<_> = transfers.iter().flatten().collect();
        assert!(transfers.iter().all(|bundles| (1..=2).contains(&bundles.len())));
        let mut room = vec![0; 65_536];
        let mut seen = Vec::new();
        for bundle in bundles {
            let filled = fill(bundle, &mut room).unwrap();
            let pieces = Bundle::decode(&room[..filled.length]).unwrap();
            seen.extend(pieces.pieces().map(|(piece, bytes)| (piece.file, bytes.len())));
        }
        let expected: Vec<_> = (0..)
            .zip(sizes)
            .map(|(file, size)| (file, size as usize))
            .filter(|(_, size)| *size > 0)
            .collect();
        assert_eq!(seen, expected);
        assert!(plan(Vec::new(), &shape).is_empty());
    }

    /// A server removes and shortens files while they are backed up: the others in the same frame must stay whole.
    #[test]
    fn a_file_that_vanished_or_shrank_leaves_its_neighbours_as_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("a"), b"first").unwrap();
        std::fs::write(path("shrunk"), b"sh").unwrap();
        std::fs::write(path("grown"), b"grown larger").unwrap();
        std::os::unix::fs::symlink("a", path("link")).unwrap();
        std::fs::write(path("z"), b"last").unwrap();
        let names = [("gone", 9), ("a", 5), ("shrunk", 6), ("link", 5), ("grown", 5), ("z", 4)];
        let files: Vec<_> = (1..)
            .zip(names)
            .map(|(number, (name, size))| small(number, SmallSource::Path(path(name)), size))
            .collect();
        let mut room = vec![0xee; 1000];
        let filled = fill(&files, &mut room).unwrap();
        let bundle = Bundle::decode(&room[..filled.length]).unwrap();
        let pieces: Vec<_> = bundle.pieces().map(|(piece, bytes)| (piece.file, bytes)).collect();
        let expected: [(u64, &[u8]); 4] = [(2, b"first"), (3, b"sh"), (5, b"grown"), (6, b"last")];
        assert_eq!(pieces, expected);
        assert_eq!(filled.source_bytes, 16);
        let found: Vec<_> = filled.results.iter().map(|result| result.change).collect();
        let (gone, changed) = (Some(Change::Vanished), Some(Change::Changed("its size changed")));
        assert_eq!(found, [gone, None, changed, gone, changed, None]);
    }

    #[test]
    fn a_file_that_may_not_be_read_is_an_error_with_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let file = small(1, SmallSource::Path(dir.path().join("no/such\0name")), 5);
        let Err(error) = fill(&[file], &mut [0; 100]) else { panic!("it was read") };
        assert!(error.to_string().starts_with("cannot read "), "{error}");
    }
}
