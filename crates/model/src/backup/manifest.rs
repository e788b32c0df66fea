//! The manifest of a stripe set.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::bytes::{Digest32, SetId, StoredName};
use super::compression::Compression;
use super::entry::FileEntry;
use super::object_lock::ObjectLock;
use super::source::{PostgresRecord, SourceKind, SourceRecord};

/// What makes stripes a backup: it names every stripe and every file. It is written last, so a set without
/// one was not completed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub set: SetId,
    pub tool_version: String,
    /// Name of the machine that made it; two machines may back up the same path to one place.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    pub started_utc: Timestamp,
    pub ended_utc: Timestamp,
    pub settings: BackupSettings,
    /// Until when the store keeps stripes and manifest from everybody who would delete them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_lock: Option<ObjectLock>,
    pub sources: Vec<SourceRecord>,
    /// By number.
    pub stripes: Vec<StripeRecord>,
    pub totals: Totals,
    /// Of an increment: the set that it was compared with, then what that one is based on. Empty for a whole backup.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bases: Vec<BaseRecord>,
    /// What may be wrong with it, such as files that changed while they were read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// By number.
    pub files: Vec<FileEntry>,
}

impl Manifest {
    pub fn postgres(&self) -> impl Iterator<Item = &PostgresRecord> {
        self.sources.iter().filter_map(|source| match &source.kind {
            SourceKind::Postgresql(record) => Some(record),
            _ => None,
        })
    }

    /// Whether a server has made it as an increment: files of it are put together with those of its base.
    pub fn is_server_increment(&self) -> bool {
        self.postgres().any(|record| record.increment_from.is_some())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StripeRecord {
    /// From 0.
    pub number: u16,
    /// Its file name, without a directory.
    pub name: StoredName,
    /// Where it was written: two stripes may have one name in two directories. A reader looks beside the manifest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<StoredName>,
    pub bytes: u64,
    /// Frames in it before the end frame, those of the index included.
    pub frames: u64,
    /// BLAKE3 of its whole end frame as it lies in the file: header, stored bytes and padding.
    pub end_digest: Digest32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    pub files: u64,
    pub bytes: u64,
    /// Of these, in holes, which are not stored.
    pub hole_bytes: u64,
    pub source_bytes: u64,
    /// Of these, in frames of the sets that it is based on.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub base_bytes: u64,
    /// What these became before they were padded to blocks: compressed and encrypted bytes.
    pub compressed_bytes: u64,
    pub stored_bytes: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A set that an increment cannot be restored without, and how to know it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseRecord {
    pub set: SetId,
    pub started_utc: Timestamp,
    /// Where its manifest was when the increment was made. A reader looks beside the increment first.
    pub manifest: StoredName,
    /// What the ends of its stripes were, by number: another set that claims its id is not taken for it.
    pub end_digests: Vec<Digest32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupSettings {
    /// Number of stripes; 0 for the target `null:`.
    pub stripes: u16,
    /// Alignment of everything in a stripe, bytes.
    pub block_bytes: u32,
    /// Unit of checksum, compression and encryption, bytes of the source.
    pub frame_bytes: u32,
    /// One request to the source, bytes.
    pub transfer_bytes: u32,
    pub buffer_count: u32,
    pub workers: u32,
    pub compression: Compression,
    pub encrypted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_bytes_per_second: Option<u64>,
}
