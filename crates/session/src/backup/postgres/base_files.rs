//! The files in a base backup that a server sends, as a backup stores them.

use std::io::Read as _;
use std::sync::{Arc, Mutex, PoisonError};

use iostall_connect::postgres::{BaseBackup, BasePart, Lsn};
use iostall_model::backup::{FileKind, FileMetadata, StoredName, TablespaceRecord};
use iostall_transfer::backup::create::Inspect as _;
use iostall_transfer::backup::streamed_files::{Ahead, StreamedEntry, StreamedFiles};
use iostall_transfer::backup::tar::{TarEntry, TarKind, TarReader};
use iostall_transfer::pipeline::StageFailure;

use super::error::PostgresBackupError;
use super::inspect::PageInspector;
use super::walk::is_left_out_at_the_top;
use super::{control, tablespace};

pub(super) const MANIFEST: &str = "backup_manifest";
/// A map of tablespaces, which is not needed where they stand in the backup.
const MAP: &str = "tablespace_map";
const KEPT_BYTES_MAX: u64 = 1 << 20;
const READ_BYTES: usize = 64 << 10;

#[derive(Clone, Debug, Default)]
pub(super) struct Received {
    pub(super) label: Option<Vec<u8>>,
    pub(super) control: Option<Vec<u8>>,
    pub(super) owner: FileMetadata,
    pub(super) stop: Option<Lsn>,
    pub(super) has_wrong_pages: bool,
}

pub(super) struct BaseFiles {
    archive: TarReader<BaseBackup>,
    part: Option<BasePart>,
    tablespaces: Vec<Option<TablespaceRecord>>,
    current: Option<Current>,
    begun: usize,
    estimated_bytes: u64,
    pages: Option<Arc<PageInspector>>,
    /// The bytes of a page of which the rest was not read yet.
    page: Vec<u8>,
    page_bytes: usize,
    received: Arc<Mutex<Received>>,
}

struct Current {
    entry: StreamedEntry,
    offset: u64,
    /// The part of a manifest whose end is not known: what was read ahead.
    ahead: Option<Vec<u8>>,
}

impl BaseFiles {
    /// The files of `backup`, whose pages have so many bytes; `pages` sees those of relations.
    pub(super) fn new(
        backup: BaseBackup,
        page_bytes: usize,
        pages: Option<Arc<PageInspector>>,
        received: Arc<Mutex<Received>>,
    ) -> Self {
        let estimated_bytes = backup.tablespaces().iter().map(|one| one.estimated_bytes).sum();
        let tablespaces = tablespaces_of(&backup);
        Self {
            archive: TarReader::new(backup),
            part: None,
            tablespaces,
            current: None,
            begun: 0,
            estimated_bytes,
            pages,
            page: Vec::new(),
            page_bytes,
            received,
        }
    }

    fn next_entry(&mut self) -> Result<Option<StreamedEntry>, StageFailure> {
        loop {
            if let Some(BasePart::Archive(number)) = self.part {
                while let Some(entry) = self.archive.next_entry()? {
                    if let Some(entry) = self.stored(number, entry)? {
                        return Ok(Some(entry));
                    }
                }
            }
            self.part = self.archive.input().next_part()?;
            match self.part {
                Some(BasePart::Archive(_)) => {}
                Some(BasePart::Manifest) => {
                    let metadata = self.kept(|received| received.owner);
                    let (name, metadata) = (MANIFEST.into(), Some(metadata));
                    return Ok(Some(StreamedEntry { name, kind: FileKind::File, metadata }));
                }
                None => {
                    let backup = self.archive.input();
                    let (stop, has_wrong_pages) = (backup.stop(), backup.has_wrong_pages());
                    self.kept(|received| {
                        received.stop = stop.map(|(lsn, _)| lsn);
                        received.has_wrong_pages = has_wrong_pages;
                    });
                    return Ok(None);
                }
            }
        }
    }

    /// How an entry of an archive is stored; `None` if it is left out, or kept for the end.
    fn stored(&mut self, archive: usize, entry: TarEntry) -> Result<Option<StreamedEntry>, StageFailure> {
        let TarEntry { name, kind, metadata, size_bytes } = entry;
        let tablespace = self.tablespaces.get(archive).and_then(Option::as_ref);
        let is_base = tablespace.is_none();
        let name = match tablespace {
            None => name,
            Some(tablespace) => {
                let directory = tablespace::content_of(&tablespace.oid);
                StoredName([directory.as_bytes(), b"/", name.as_bytes()].concat())
            }
        };
        if is_base && let Some(kept) = self.keep(&name, metadata, size_bytes)? {
            return Ok(kept);
        }
        let link = if is_base { self.oid_of_link(&name) } else { None };
        let kind = match (kind, link) {
            (TarKind::File, _) => FileKind::File,
            // A tablespace may also be a directory where its link should be.
            (_, Some(oid)) => FileKind::Symlink { to: tablespace::target_of(&oid) },
            (TarKind::Directory, None) => FileKind::Directory,
            (TarKind::Symlink { .. }, None) => {
                return Err(format!("the server sends a link that iostall does not know: {name}").into());
            }
        };
        Ok(Some(StreamedEntry { name, kind, metadata: Some(metadata) }))
    }

    /// Whether an entry of the data directory is not stored where it stands: `Some(None)`.
    #[expect(
        clippy::option_option,
        reason = "the outer says whether it is decided, and the inner is the decision"
    )]
    fn keep(
        &mut self,
        name: &StoredName,
        metadata: FileMetadata,
        size_bytes: u64,
    ) -> Result<Option<Option<StreamedEntry>>, StageFailure> {
        let text = String::from_utf8_lossy(name.as_bytes()).into_owned();
        if text == LABEL_NAME || text == control::NAME {
            if size_bytes > KEPT_BYTES_MAX {
                return Err(format!("the server sends a {text} of {size_bytes} bytes").into());
            }
            let mut content = vec![0; usize::try_from(size_bytes)?];
            self.archive.read(&mut content)?;
            self.kept(|received| {
                received.owner = metadata;
                let place = if text == LABEL_NAME { &mut received.label } else { &mut received.control };
                *place = Some(content);
            });
            return Ok(Some(None));
        }
        let is_out = text == MAP || text == MANIFEST || is_left_out_at_the_top(&text);
        Ok(is_out.then_some(None))
    }

    fn oid_of_link(&self, name: &StoredName) -> Option<String> {
        let oid = name.as_bytes().strip_prefix(tablespace::LINKS.as_bytes())?.strip_prefix(b"/")?;
        let is_it = |one: &&TablespaceRecord| one.oid.as_bytes() == oid;
        self.tablespaces.iter().flatten().find(is_it).map(|one| one.oid.clone())
    }

    fn kept<T>(&self, look: impl FnOnce(&mut Received) -> T) -> T {
        look(&mut self.received.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads some of the manifest, whose length nobody knows; `false` at its end.
    fn read_ahead(&mut self) -> Result<bool, StageFailure> {
        let Some(current) = &mut self.current else { return Ok(false) };
        let mut room = vec![0; READ_BYTES];
        let read = self.archive.input().read(&mut room)?;
        room.truncate(read);
        current.ahead = Some(room);
        Ok(read > 0)
    }

    /// Passes whole pages on to whoever checks them.
    fn see(&mut self, name: &StoredName, offset: u64, mut bytes: &[u8]) {
        let Some(pages) = &self.pages else { return };
        let mut at = offset;
        if !self.page.is_empty() {
            let missing = (self.page_bytes - self.page.len()).min(bytes.len());
            self.page.extend_from_slice(&bytes[..missing]);
            if self.page.len() < self.page_bytes {
                return;
            }
            let begins = at + missing as u64 - self.page_bytes as u64;
            pages.inspect(name, begins, &self.page);
            self.page.clear();
            (at, bytes) = (at + missing as u64, &bytes[missing..]);
        }
        let (whole, rest) = bytes.split_at(bytes.len() / self.page_bytes * self.page_bytes);
        pages.inspect(name, at, whole);
        self.page.extend_from_slice(rest);
    }
}

/// The tablespaces of a backup, as their records; the data directory has none.
pub(super) fn tablespaces_of(backup: &BaseBackup) -> Vec<Option<TablespaceRecord>> {
    let record = |oid: u32, location: &[u8]| {
        let location = StoredName(location.to_vec());
        TablespaceRecord { oid: oid.to_string(), location }
    };
    backup.tablespaces().iter().map(|one| one.oid.map(|oid| record(oid, &one.location))).collect()
}

impl StreamedFiles for BaseFiles {
    fn ahead(&mut self) -> Result<Option<Ahead>, StageFailure> {
        let Some(current) = &self.current else {
            let Some(entry) = self.next_entry()? else { return Ok(None) };
            self.current = Some(Current { entry, offset: 0, ahead: None });
            self.begun += 1;
            self.page.clear();
            return Ok(Some(Ahead::Begins));
        };
        let (file, offset) = (self.begun - 1, current.offset);
        let left = if self.part == Some(BasePart::Manifest) {
            let is_empty = current.ahead.as_ref().is_none_or(Vec::is_empty);
            if is_empty && !self.read_ahead()? {
                0
            } else {
                self.current.as_ref().and_then(|current| current.ahead.as_ref()).map_or(0, Vec::len) as u64
            }
        } else {
            self.archive.left()
        };
        if left > 0 {
            return Ok(Some(Ahead::Content { file, offset, left }));
        }
        self.current = None;
        Ok(Some(Ahead::Ends { file, size_bytes: offset }))
    }

    fn read(&mut self, room: &mut [u8]) -> Result<usize, StageFailure> {
        let Some(mut current) = self.current.take() else { return Ok(0) };
        let read = match &mut current.ahead {
            Some(ahead) => {
                let length = ahead.len().min(room.len());
                room[..length].copy_from_slice(&ahead[..length]);
                ahead.drain(..length);
                length
            }
            None => self.archive.read(room)?,
        };
        self.see(&current.entry.name, current.offset, &room[..read]);
        current.offset += read as u64;
        self.current = Some(current);
        Ok(read)
    }

    fn entry(&self, file: usize) -> Option<StreamedEntry> {
        self.current.as_ref().filter(|_| file + 1 == self.begun).map(|current| current.entry.clone())
    }

    fn estimated_bytes(&self) -> u64 {
        self.estimated_bytes
    }
}

pub(super) const LABEL_NAME: &str = "backup_label";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) start: Lsn,
    pub(super) timeline: u32,
    pub(super) is_of_standby: bool,
    /// Of an increment that the server has made: where the backup began that it continues.
    pub(super) increment_from: Option<Lsn>,
}

impl Label {
    pub(super) fn parse(text: &str) -> Result<Self, PostgresBackupError> {
        let missing = |what| move || PostgresBackupError::Label { what, label: text.to_owned() };
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let start =
            field("START WAL LOCATION:").and_then(|value| value.split_whitespace().next()?.parse().ok());
        let timeline = field("START TIMELINE:").and_then(|value| value.parse().ok());
        Ok(Self {
            start: start.ok_or_else(missing("START WAL LOCATION"))?,
            timeline: timeline.ok_or_else(missing("START TIMELINE"))?,
            is_of_standby: field("BACKUP FROM:") == Some("standby"),
            increment_from: field("INCREMENTAL FROM LSN:").and_then(|value| value.parse().ok()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_and_the_timeline_are_read_and_a_label_without_them_is_an_error() {
        let text = "START WAL LOCATION: 16/B3000028 (file 0000000300000016000000B3)\nCHECKPOINT LOCATION: 16/B3000060\n\
                    BACKUP METHOD: streamed\nBACKUP FROM: primary\nSTART TIME: 2026-01-01 00:00:00 UTC\nLABEL: iostall\n\
                    START TIMELINE: 3\n";
        let label = Label::parse(text).unwrap();
        assert_eq!(
            label,
            Label { start: Lsn(0x16_B300_0028), timeline: 3, is_of_standby: false, increment_from: None }
        );
        let error = Label::parse("START TIMELINE: 3\n").unwrap_err().to_string();
        assert!(error.contains("START WAL LOCATION"), "{error}");
    }
}
