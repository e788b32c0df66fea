//! Looks through directories for stripes and manifests, and says what sets they are of.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::files::path_bytes;
use iostall_model::backup::{Manifest, Protection, SetId};
use iostall_remote::{Object, OpenUpload, is_object};
use jiff::Timestamp;
use thiserror::Error;

use crate::backup::codec::Unlock;
use crate::backup::format::{ManifestHeader, STRIPE_HEADER_BYTES_MIN, StripeHeader};
use crate::backup::manifest_file;
use crate::backup::places::{paths_in, read_part, reader, whole_object};
use crate::backup::upload_note::{NOTE_BYTES_MAX, UploadNote, is_named};

pub(super) const REMOVED: &str = ".removed";
/// The end of a name before the file is whole.
const UNFINISHED: &str = ".partial";
/// Longest manifest that is read into memory for a list.
const MANIFEST_BYTES_MAX: u64 = 1 << 30;

pub(super) struct Seen {
    pub(super) part: Part,
    pub(super) bytes: u64,
    pub(super) protection: Protection,
    /// Of an object.
    changed_utc: Option<Timestamp>,
}

#[derive(Debug, Error)]
pub enum ScanError {
    #[error("cannot look through {}", directory.display())]
    Directory { directory: PathBuf, source: io::Error },
    #[error("cannot read {}", path.display())]
    File { path: PathBuf, source: io::Error },
}

pub(super) enum Part {
    Stripe(Box<StripeHeader>),
    Manifest(SetId),
    Uploads(UploadNote),
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
                find_uploads(directory, &mut sets).map_err(failed)?;
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

/// The uploads that notes name. One belongs to the last note before it: the same line may have been run again.
fn find_uploads(directory: &Path, sets: &mut BTreeMap<SetId, FoundSet>) -> io::Result<()> {
    if sets.values().all(|set| set.notes.is_empty()) {
        return Ok(());
    }
    let uploads = match Object::at(directory)?.open_uploads() {
        // Who cannot see them can say nothing about them, and must not forget where they are.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported) =>
        {
            for set in sets.values_mut() {
                set.noted_utc = None;
            }
            return Ok(());
        }
        uploads => uploads?,
    };
    for upload in uploads {
        // Not all stores say truly when an upload began.
        let is_noted = |set: &&mut FoundSet| is_named(set.set, &set.noted, &upload.path);
        let age = |set: &&mut FoundSet| (set.noted_utc <= Some(upload.begun_utc), set.noted_utc);
        let Some(set) = sets.values_mut().filter(is_noted).max_by_key(age) else { continue };
        let parts = match upload.parts() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            parts => parts?,
        };
        let newest_utc = parts.newest_utc.unwrap_or(upload.begun_utc);
        set.uploads.push(FoundUpload { upload, bytes: parts.bytes, newest_utc });
    }
    Ok(())
}

fn look_at(path: &Path, unlock: Option<&Unlock>, sets: &mut BTreeMap<SetId, FoundSet>) -> io::Result<()> {
    let (ends, name) = (|end: &str| ends_with(path, end), path.file_name().unwrap_or_default());
    let is_unfinished = name.as_encoded_bytes().starts_with(b".") && ends(UNFINISHED);
    let Seen { part, bytes, protection, changed_utc } = match part_of(path) {
        Ok(found) => found,
        // It was deleted after the directory was read, or it belongs to somebody else.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    match part {
        Part::Other => {}
        // Only stores have uploads.
        Part::Uploads(_) if !is_object(path) => {}
        Part::Uploads(note) => {
            let set = sets.entry(note.set).or_insert_with(|| FoundSet::of(note.set));
            set.noted_utc = set.noted_utc.max(changed_utc);
            let noted_ns = changed_utc.and_then(|noted| u64::try_from(noted.as_nanosecond()).ok());
            set.created_unix_ns = set.created_unix_ns.or(noted_ns);
            set.noted.extend(note.objects);
            set.notes.push(path.to_owned());
        }
        Part::Stripe(header) => {
            let set = sets.entry(header.set).or_insert_with(|| FoundSet::of(header.set));
            set.created_unix_ns = Some(header.created_unix_ns);
            set.is_encrypted |= header.keys.is_some();
            set.stripe_count = Some(header.stripes);
            set.base = set.base.or(header.base);
            let number = header.stripe;
            set.protection = set.protection.and(protection);
            set.stripes.push(FoundStripe { path: path.to_owned(), number, bytes, is_unfinished });
        }
        Part::Manifest(id) => {
            let set = sets.entry(id).or_insert_with(|| FoundSet::of(id));
            set.protection = set.protection.and(protection);
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

pub(super) fn part_of(path: &Path) -> io::Result<Seen> {
    if is_object(path) {
        let object = reader(path)?;
        let part = part_by(|length| object.read(0, length as u64))?;
        let changed_utc = Some(object.changed_utc());
        return Ok(Seen { part, bytes: object.bytes(), protection: object.protection(), changed_utc });
    }
    let protection = Protection::default();
    let facts = fs::symlink_metadata(path)?;
    // Opening a pipe would wait for its other end.
    if !facts.is_file() {
        return Ok(Seen { part: Part::Other, bytes: 0, protection, changed_utc: None });
    }
    let file = File::open(path)?;
    let part = part_by(|length| read_part(&file, 0, length))?;
    Ok(Seen { part, bytes: facts.len(), protection, changed_utc: None })
}

/// By its first bytes, of which `start` reads as many as it is asked for.
fn part_by(start: impl Fn(usize) -> io::Result<Vec<u8>>) -> io::Result<Part> {
    let head = start(STRIPE_HEADER_BYTES_MIN)?;
    if let Some(set) = ManifestHeader::set_of(&head) {
        return Ok(Part::Manifest(set));
    }
    if UploadNote::is_begun_by(&head) {
        return Ok(UploadNote::decode(&start(NOTE_BYTES_MAX)?).map_or(Part::Other, Part::Uploads));
    }
    let Ok(block) = StripeHeader::block_bytes_of(&head) else { return Ok(Part::Other) };
    let Ok(length) = StripeHeader::bytes_of(&start(block as usize)?) else { return Ok(Part::Other) };
    let header = StripeHeader::decode(&start(usize::try_from(length).unwrap_or(usize::MAX))?);
    Ok(header.map_or(Part::Other, |header| Part::Stripe(Box::new(header))))
}

fn ends_with(path: &Path, end: &str) -> bool {
    path_bytes(Path::new(path.file_name().unwrap_or(OsStr::new("")))).ends_with(end.as_bytes())
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundStripe {
    pub path: PathBuf,
    /// From 0.
    pub number: u16,
    pub bytes: u64,
    pub is_unfinished: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundUpload {
    pub(super) upload: OpenUpload,
    pub bytes: u64,
    pub newest_utc: Timestamp,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundSet {
    pub set: SetId,
    pub created_unix_ns: Option<u64>,
    pub is_encrypted: bool,
    pub base: Option<SetId>,
    /// How many stripes it has, by their headers.
    pub stripe_count: Option<u16>,
    /// By number, then by path. More than one of a number: somebody copied the set.
    pub stripes: Vec<FoundStripe>,
    pub manifests: Vec<PathBuf>,
    pub manifest: Option<Manifest>,
    pub unreadable: Option<String>,
    pub protection: Protection,
    pub notes: Vec<PathBuf>,
    pub noted_utc: Option<Timestamp>,
    pub(super) noted: Vec<PathBuf>,
    pub uploads: Vec<FoundUpload>,
    pub removed: Vec<PathBuf>,
}

/// Whether a set can be restored, as far as headers and lengths tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetState {
    /// A manifest, and every stripe with the length that it names.
    Whole,
    NotCompleted,
    BeingDeleted,
    Damaged(String),
    /// Some stripes are in directories that were not looked through.
    Elsewhere(Vec<u16>),
}

impl FoundSet {
    pub(super) fn of(set: SetId) -> Self {
        Self { set, ..Self::default() }
    }

    pub fn state(&self) -> SetState {
        if !self.removed.is_empty() {
            return SetState::BeingDeleted;
        }
        if self.manifests.is_empty() {
            return SetState::NotCompleted;
        }
        if let Some(why) = self.unreadable.as_ref().filter(|_| self.manifest.is_none()) {
            return SetState::Damaged(why.clone());
        }
        let missing = self.missing();
        if !missing.is_empty() {
            return SetState::Elsewhere(missing);
        }
        self.wrong_length().map_or(SetState::Whole, SetState::Damaged)
    }

    /// When something was added last to what is uploaded; `None` if there is no note of any upload.
    pub fn uploaded_utc(&self) -> Option<Timestamp> {
        self.uploads.iter().map(|upload| upload.newest_utc).chain(self.noted_utc).max()
    }

    /// What protects it. A store that shows no lock to this account may still have the one that the manifest names.
    pub fn protection(&self) -> Protection {
        let lock = self.protection.lock.or(self.manifest.as_ref().and_then(|manifest| manifest.object_lock));
        Protection { lock, ..self.protection }
    }

    fn missing(&self) -> Vec<u16> {
        let of_manifest = self.manifest.as_ref().map(|manifest| manifest.stripes.len());
        let count =
            of_manifest.and_then(|count| u16::try_from(count).ok()).or(self.stripe_count).unwrap_or(1);
        let whole = self.stripes.iter().filter(|stripe| !stripe.is_unfinished);
        let there: BTreeSet<u16> = whole.map(|stripe| stripe.number).collect();
        (0..count).filter(|number| !there.contains(number)).collect()
    }

    fn wrong_length(&self) -> Option<String> {
        let manifest = self.manifest.as_ref()?;
        manifest.stripes.iter().find_map(|record| {
            let is_it = |stripe: &&FoundStripe| stripe.number == record.number && !stripe.is_unfinished;
            let lengths: Vec<u64> = self.stripes.iter().filter(is_it).map(|stripe| stripe.bytes).collect();
            let is_there = lengths.is_empty() || lengths.contains(&record.bytes);
            let number = record.number + 1;
            (!is_there)
                .then(|| format!("stripe {number} has {} bytes instead of {}", lengths[0], record.bytes))
        })
    }
}
