//! What a backup consists of.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iostall_engine::files::{self, Attribute, FileStamp};
use iostall_model::backup::{FileAttribute, FileMetadata, SourceKind, SourceRecord, StoredName};

use crate::backup::streamed_files::StreamedFiles;
use crate::pipeline::StageFailure;

/// Attributes of one file that are kept at most, as they are spelled in an entry: with the longest name, which may take 24 KiB,
/// an entry must fit into the smallest frame.
const ATTRIBUTES_BYTES_MAX: usize = 32 << 10;

/// One entry of a backup: a file, a directory, a link, or content without a file.
pub struct Item {
    /// Its name in the set, relative to the place of a restore.
    pub name: StoredName,
    pub what: What,
    pub metadata: FileMetadata,
    /// Extended attributes; `None` if they could not be read, or are too long to be kept.
    pub attributes: Option<Vec<FileAttribute>>,
    pub on_change: OnChange,
    /// Sees the content on its way, as it was read.
    pub inspect: Option<Arc<dyn Inspect>>,
}

pub enum What {
    Directory,
    Symlink {
        to: StoredName,
    },
    /// A further name of a file that is an item before it.
    HardLink {
        to: StoredName,
    },
    /// A regular file. It is opened when its turn comes.
    File {
        path: PathBuf,
        size_bytes: u64,
    },
    BlockDevice {
        path: PathBuf,
        size_bytes: u64,
    },
    Generated(Vec<u8>),
    Stream(Box<dyn Read + Send>),
    /// A stream of files, such as that of mariadb-backup. Each becomes an entry below the item's name.
    Files(Box<dyn StreamedFiles>),
}

/// What it means that a file changes or vanishes while it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnChange {
    /// It is named in a warning, because its content may be of no single point in time.
    #[default]
    Warn,
    /// A database in backup mode repairs it from its log: what is there is stored, and a file that vanished is
    /// left out.
    Expected,
}

/// Looks at the content of files on its way into a backup, for example at the checksums of pages. Called by any worker, in any
/// order, with ranges that begin at a multiple of 4096. Of a stream of files: by one thread, each file from its beginning to its end.
pub trait Inspect: Send + Sync {
    fn inspect(&self, name: &StoredName, offset: u64, bytes: &[u8]);
}

/// A source that must be ended, such as a database in backup mode. If it is dropped without [`Self::end`], it
/// must leave that mode by itself.
pub trait Live: Send {
    /// Called once, after everything else of the source was read.
    fn end(&mut self) -> Result<LiveEnd, StageFailure>;

    /// What the checksums of its pages said, once it has ended; `None` if it has none.
    fn pages(&self) -> Option<PagesSeen> {
        None
    }
}

/// What the checksums of a database's own pages said on their way into a backup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PagesSeen {
    /// Pages whose checksum was compared. Pages that were never used have none.
    pub checked: u64,
    /// Pages whose checksum is wrong, one sentence each, with file and block.
    pub wrong: Vec<String>,
}

impl PagesSeen {
    /// Wrong pages that a manifest names; the others are counted.
    const NAMED_MAX: usize = 20;

    pub(super) fn add(&mut self, other: Self) {
        self.checked += other.checked;
        self.wrong.extend(other.wrong);
    }

    /// What the manifest says of them, so that everyone hears it who relies on the backup.
    pub fn warnings(&self) -> Vec<String> {
        let mut all: Vec<String> = self.wrong.iter().take(Self::NAMED_MAX).cloned().collect();
        if self.wrong.len() > Self::NAMED_MAX {
            all.push(format!("{} more pages have a wrong checksum", self.wrong.len() - Self::NAMED_MAX));
        }
        all
    }
}

pub struct LiveEnd {
    /// What belongs to the backup and exists only now, such as a label file and the log.
    pub items: Vec<Item>,
    pub kind: SourceKind,
    pub warnings: Vec<String>,
    /// Why its content may not be as it should.
    pub content_warnings: Vec<String>,
}

pub struct PreparedSource {
    pub record: SourceRecord,
    /// Parents before what is in them. Large and small files are read in different ways, and so not in this order.
    pub items: Vec<Item>,
    /// Read after all of `items`.
    pub last: Vec<Item>,
    pub live: Option<Box<dyn Live>>,
    /// Bytes of a database page, if it is a database.
    pub page_bytes: Option<u32>,
    pub skipped_specials: u64,
    /// Why its content may not be as it should: the manifest repeats it to who restores.
    pub content_warnings: Vec<String>,
}

impl Item {
    pub fn new(name: StoredName, what: What, metadata: FileMetadata) -> Self {
        let attributes = Some(Vec::new());
        Self { name, what, metadata, attributes, on_change: OnChange::default(), inspect: None }
    }

    pub fn file(name: StoredName, path: PathBuf, stamp: &FileStamp) -> Self {
        Self::new(name, What::File { path, size_bytes: stamp.size_bytes }, metadata_of(stamp))
    }

    /// The same item, with the extended attributes that the file at `path` has.
    pub fn attributes_of(mut self, path: &Path) -> Self {
        let stored =
            |found: Attribute| FileAttribute { name: StoredName(found.name), value: StoredName(found.value) };
        let found = files::attributes_of_link(path).ok().filter(|(_, unread)| unread.is_empty());
        let found = found.map(|(all, _)| all.into_iter().map(stored).collect::<Vec<_>>());
        let fits = |all: &Vec<FileAttribute>| {
            all.is_empty()
                || serde_json::to_vec(all).is_ok_and(|spelled| spelled.len() <= ATTRIBUTES_BYTES_MAX)
        };
        self.attributes = found.filter(fits);
        self
    }

    pub fn on_change(mut self, on_change: OnChange) -> Self {
        self.on_change = on_change;
        self
    }

    pub fn inspected_by(mut self, inspect: Arc<dyn Inspect>) -> Self {
        self.inspect = Some(inspect);
        self
    }

    /// Whether it has content of its own, as a file has and a link has not.
    pub fn has_content(&self) -> bool {
        !matches!(self.what, What::Directory | What::Symlink { .. } | What::HardLink { .. })
    }

    pub fn size_bytes(&self) -> u64 {
        match &self.what {
            What::File { size_bytes, .. } | What::BlockDevice { size_bytes, .. } => *size_bytes,
            What::Generated(bytes) => bytes.len() as u64,
            What::Files(files) => files.estimated_bytes(),
            What::Directory | What::Symlink { .. } | What::HardLink { .. } | What::Stream(_) => 0,
        }
    }
}

pub fn metadata_of(stamp: &FileStamp) -> FileMetadata {
    let modified_ns = i64::try_from(stamp.modified_ns).unwrap_or(0);
    FileMetadata { mode: stamp.mode, uid: stamp.uid, gid: stamp.gid, modified_ns }
}

pub(super) fn join(prefix: &StoredName, name: &StoredName) -> StoredName {
    match (prefix.as_bytes(), name.as_bytes()) {
        ([], _) => name.clone(),
        (_, []) => prefix.clone(),
        (prefix, name) => StoredName([prefix, b"/", name].concat()),
    }
}
