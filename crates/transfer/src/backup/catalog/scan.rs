//! Looks through directories for stripes and manifests.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::files::path_bytes;
use iostall_model::backup::SetId;
use iostall_remote::is_object;
use thiserror::Error;

use super::found::{FoundSet, FoundStripe};
use crate::backup::codec::Unlock;
use crate::backup::format::{ManifestHeader, STRIPE_HEADER_BYTES_MIN, StripeHeader};
use crate::backup::manifest_file;
use crate::backup::places::{paths_in, read_part, reader, whole_object};

/// The end of the name of a manifest whose set is being deleted.
pub(super) const REMOVED: &str = ".removed";
/// The end of a name before the file is whole.
const UNFINISHED: &str = ".partial";
/// Longest manifest that is read into memory for a list.
const MANIFEST_BYTES_MAX: u64 = 1 << 30;

/// Why a directory could not be looked through.
#[derive(Debug, Error)]
pub enum ScanError {
    #[error("cannot look through {}", directory.display())]
    Directory { directory: PathBuf, source: io::Error },
    #[error("cannot read {}", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// What a file turned out to be.
pub(super) enum Part {
    Stripe(Box<StripeHeader>),
    Manifest(SetId),
    Other,
}

/// The sets in `directories`, oldest first. Directories below them are not looked through. With `unlock`, encrypted manifests
/// are read too.
pub fn scan(directories: &[PathBuf], unlock: Option<&Unlock>) -> Result<Vec<FoundSet>, ScanError> {
    let mut sets: BTreeMap<SetId, FoundSet> = BTreeMap::new();
    let mut seen = Vec::new();
    for directory in directories {
        let failed = |source| ScanError::Directory { directory: directory.clone(), source };
        if is_object(directory) {
            if !seen.contains(directory) {
                for path in paths_in(directory).map_err(failed)? {
                    look_at(&path, unlock, &mut sets).map_err(|source| ScanError::File { path, source })?;
                }
                seen.push(directory.clone());
            }
            continue;
        }
        let real = directory.canonicalize().map_err(failed)?;
        if seen.contains(&real) {
            continue;
        }
        for entry in fs::read_dir(directory).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            look_at(&path, unlock, &mut sets).map_err(|source| ScanError::File { path, source })?;
        }
        seen.push(real);
    }
    let mut sets: Vec<FoundSet> = sets.into_values().collect();
    for set in &mut sets {
        set.stripes.sort_by(|one, other| (one.number, &one.path).cmp(&(other.number, &other.path)));
        set.manifests.sort();
    }
    sets.sort_by_key(|set| (set.created_unix_ns, set.set));
    Ok(sets)
}

fn look_at(path: &Path, unlock: Option<&Unlock>, sets: &mut BTreeMap<SetId, FoundSet>) -> io::Result<()> {
    let (ends, name) = (|end: &str| ends_with(path, end), path.file_name().unwrap_or_default());
    let is_unfinished = name.as_encoded_bytes().starts_with(b".") && ends(UNFINISHED);
    let (part, bytes) = match part_of(path) {
        Ok(found) => found,
        // It was deleted after the directory was read, or it belongs to somebody else.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    match part {
        Part::Other => {}
        Part::Stripe(header) => {
            let set = sets.entry(header.set).or_insert_with(|| FoundSet::of(header.set));
            set.created_unix_ns = Some(header.created_unix_ns);
            set.is_encrypted |= header.keys.is_some();
            set.stripe_count = Some(header.stripes);
            set.base = set.base.or(header.base);
            let number = header.stripe;
            set.stripes.push(FoundStripe { path: path.to_owned(), number, bytes, is_unfinished });
        }
        Part::Manifest(id) => {
            let set = sets.entry(id).or_insert_with(|| FoundSet::of(id));
            if ends(REMOVED) {
                set.removed.push(path.to_owned());
            } else if !is_unfinished {
                set.manifests.push(path.to_owned());
                read_manifest(path, unlock, set)?;
            }
        }
    }
    Ok(())
}

/// The first manifest of a set that can be read is the one that counts; its copies are equal.
fn read_manifest(path: &Path, unlock: Option<&Unlock>, set: &mut FoundSet) -> io::Result<()> {
    if set.manifest.is_some() {
        return Ok(());
    }
    let bytes = content_of(path)?;
    let is_encrypted = ManifestHeader::decode(&bytes).is_ok_and(|header| header.keys.is_some());
    set.is_encrypted |= is_encrypted;
    if is_encrypted && unlock.is_none() {
        return Ok(());
    }
    match manifest_file::decode(bytes, unlock) {
        Ok(opened) => {
            let started_ns = u64::try_from(opened.manifest.started_utc.as_nanosecond()).ok();
            set.created_unix_ns = set.created_unix_ns.or(started_ns);
            set.base = set.base.or(opened.manifest.bases.first().map(|base| base.set));
            set.manifest = Some(opened.manifest);
        }
        Err(error) => set.unreadable = Some(error.to_string()),
    }
    Ok(())
}

/// A longer one than any manifest is cut off, which its checksum tells.
pub(super) fn content_of(path: &Path) -> io::Result<Vec<u8>> {
    if is_object(path) {
        return Ok(whole_object(path, MANIFEST_BYTES_MAX)?.unwrap_or_default());
    }
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(File::open(path)?, MANIFEST_BYTES_MAX), &mut bytes)?;
    Ok(bytes)
}

/// What the file or object at `path` is, by its content, and its length.
pub(super) fn part_of(path: &Path) -> io::Result<(Part, u64)> {
    if is_object(path) {
        let object = reader(path)?;
        let part = part_by(|length| object.read(0, length as u64))?;
        return Ok((part, object.bytes()));
    }
    let facts = fs::symlink_metadata(path)?;
    // Opening a pipe would wait for its other end.
    if !facts.is_file() {
        return Ok((Part::Other, 0));
    }
    let file = File::open(path)?;
    Ok((part_by(|length| read_part(&file, 0, length))?, facts.len()))
}

/// By its first bytes, of which `start` reads as many as it is asked for.
fn part_by(start: impl Fn(usize) -> io::Result<Vec<u8>>) -> io::Result<Part> {
    let head = start(STRIPE_HEADER_BYTES_MIN)?;
    if let Some(set) = ManifestHeader::set_of(&head) {
        return Ok(Part::Manifest(set));
    }
    let Ok(block) = StripeHeader::block_bytes_of(&head) else { return Ok(Part::Other) };
    let Ok(length) = StripeHeader::bytes_of(&start(block as usize)?) else { return Ok(Part::Other) };
    let header = StripeHeader::decode(&start(usize::try_from(length).unwrap_or(usize::MAX))?);
    Ok(header.map_or(Part::Other, |header| Part::Stripe(Box::new(header))))
}

fn ends_with(path: &Path, end: &str) -> bool {
    path_bytes(Path::new(path.file_name().unwrap_or(OsStr::new("")))).ends_with(end.as_bytes())
}
