//! What is not as it was written.

use std::path::{Path, PathBuf};

use iostall_model::backup::{FileEntry, Manifest, SourceKind};

use crate::backup::format::{FrameKind, IndexRecord};

/// Something in a backup that is not as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Number of the stripe, from 0; `None` for the manifest.
    pub stripe: Option<u16>,
    /// The stripe's path, or the manifest's.
    pub path: PathBuf,
    /// Sequence number of the frame; `None` if it is not a frame, or not known which.
    pub frame: Option<u64>,
    /// Where it is in the stripe.
    pub offset: Option<u64>,
    /// The file of the source whose content it holds.
    pub file: Option<String>,
    /// Where the content is in that file.
    pub file_offset: Option<u64>,
    /// How much of the file it is.
    pub file_bytes: u64,
    pub message: String,
}

impl Damage {
    /// Of the manifest, or of a whole stripe.
    pub fn of_file(stripe: Option<u16>, path: &Path, message: impl Into<String>) -> Self {
        Self { stripe, path: path.to_owned(), message: message.into(), ..Self::default() }
    }

    /// At `offset` of a stripe.
    pub fn at(stripe: u16, path: &Path, offset: u64, message: impl Into<String>) -> Self {
        Self { offset: Some(offset), ..Self::of_file(Some(stripe), path, message) }
    }

    /// Of one frame. The manifest gives names to the numbers of files.
    pub fn of_frame(
        stripe: u16,
        path: &Path,
        record: &IndexRecord,
        manifest: &Manifest,
        message: impl Into<String>,
    ) -> Self {
        let at = Self::at(stripe, path, record.position, message);
        if record.kind != FrameKind::Data {
            return Self { frame: Some(record.sequence), ..at };
        }
        let file = entry_of(manifest, record.file);
        let length = u64::from(record.plain_length);
        let pages = file.and_then(|file| pages_of(manifest, file, record.offset, length)).unwrap_or_default();
        Self {
            frame: Some(record.sequence),
            file: file.map(|file| file.name.to_string()),
            file_offset: Some(record.offset),
            file_bytes: length,
            message: format!("{}{pages}", at.message),
            ..at
        }
    }
}

/// The entry with this number. Entries are in the order of their numbers.
pub fn entry_of(manifest: &Manifest, number: u64) -> Option<&FileEntry> {
    let at = manifest.files.binary_search_by_key(&number, |entry| entry.number).ok()?;
    manifest.files.get(at)
}

/// Size of a page of PostgreSQL, and pages in a segment of a relation, unless it was built otherwise.
const PAGE_BYTES: u64 = 8192;
const SEGMENT_PAGES: u64 = 131_072;

/// In words, which pages of a relation of PostgreSQL a range of a file holds.
fn pages_of(manifest: &Manifest, file: &FileEntry, offset: u64, length: u64) -> Option<String> {
    let source = manifest.sources.get(usize::try_from(file.source).ok()?)?;
    if !matches!(source.kind, SourceKind::Postgresql(_)) || length == 0 {
        return None;
    }
    let name = std::str::from_utf8(file.name.as_bytes()).ok()?;
    let relation = name.rsplit('/').next()?;
    let (number, segment) = relation.split_once('.').unwrap_or((relation, "0"));
    let (number, fork) = number.split_once('_').unwrap_or((number, "main"));
    let is_relation = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    let first = segment.parse::<u64>().ok()?.checked_mul(SEGMENT_PAGES)?.checked_add(offset / PAGE_BYTES)?;
    let last = first.checked_add((offset % PAGE_BYTES + length - 1) / PAGE_BYTES)?;
    is_relation.then(|| format!("; pages {first} to {last} of the {fork} fork of relation {number}"))
}
