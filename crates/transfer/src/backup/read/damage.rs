//! What is not as it was written.

use std::path::{Path, PathBuf};

use iostall_model::backup::{FileEntry, Manifest, MariadbRecord, SetId, SourceKind, SourceRecord};

use crate::backup::format::{FrameKind, IndexRecord};
use crate::backup::pages::{blocks_in_words, pages_in_words};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    pub base: Option<SetId>,
    /// Number of the stripe, from 0; `None` for the manifest.
    pub stripe: Option<u16>,
    pub path: PathBuf,
    /// Sequence number of the frame; `None` if it is not a frame, or not known which.
    pub frame: Option<u64>,
    pub offset: Option<u64>,
    pub file: Option<String>,
    pub file_offset: Option<u64>,
    pub file_bytes: u64,
    /// It is not there, and nothing says that it is damaged: a stripe in another place, and what is in no other stripe.
    pub is_missing: bool,
    pub message: String,
}

impl Damage {
    /// Of the manifest, or of a whole stripe.
    pub fn of_file(stripe: Option<u16>, path: &Path, message: impl Into<String>) -> Self {
        Self { stripe, path: path.to_owned(), message: message.into(), ..Self::default() }
    }

    pub fn in_base(self, set: SetId) -> Self {
        Self { base: Some(set), ..self }
    }

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
        let blocks = file.and_then(|file| blocks_of(manifest, file, record.offset, length));
        let blocks = blocks.map(|blocks| format!("; lost with it: {blocks}")).unwrap_or_default();
        Self {
            frame: Some(record.sequence),
            file: file.map(|file| file.name.to_string()),
            file_offset: Some(record.offset),
            file_bytes: length,
            message: format!("{}{blocks}", at.message),
            ..at
        }
    }
}

/// The entry with this number. Entries are in the order of their numbers.
pub fn entry_of(manifest: &Manifest, number: u64) -> Option<&FileEntry> {
    let at = manifest.files.binary_search_by_key(&number, |entry| entry.number).ok()?;
    manifest.files.get(at)
}

/// Size of a page of PostgreSQL, and pages in a file of a relation, unless it was built otherwise, which nobody does.
const PAGE_BYTES: u64 = 8192;
const SEGMENT_BLOCKS: u32 = 131_072;

/// In words, which blocks of a relation of PostgreSQL, or pages of a tablespace of InnoDB, a range of a file holds; `None` if it is
/// neither's.
pub(crate) fn blocks_of(manifest: &Manifest, file: &FileEntry, offset: u64, length: u64) -> Option<String> {
    let source = manifest.sources.get(usize::try_from(file.source).ok()?)?;
    let last = (offset + length).checked_sub(1)?;
    match &source.kind {
        SourceKind::Postgresql(_) if length > 0 => {
            let (first, last) = (offset / PAGE_BYTES, last / PAGE_BYTES);
            blocks_in_words(file.name.as_bytes(), first, last, SEGMENT_BLOCKS)
        }
        SourceKind::Mariadb(record) if length > 0 => {
            let page_bytes = page_bytes_of(source, record, file);
            pages_in_words(
                file.name.as_bytes(),
                offset.checked_div(page_bytes)?,
                last.checked_div(page_bytes)?,
            )
        }
        _ => None,
    }
}

fn page_bytes_of(source: &SourceRecord, record: &MariadbRecord, file: &FileEntry) -> u64 {
    let name = file.name.as_bytes();
    let inside = name.strip_prefix(source.prefix.as_bytes()).and_then(|rest| rest.strip_prefix(b"/"));
    let name = inside.unwrap_or(name);
    let other = record.other_pages.iter().find(|other| other.name.as_bytes() == name);
    other.map_or(record.page_bytes, |other| other.page_bytes).into()
}
