//! The settings and results of transfers: copies and verifications.

use std::str::FromStr;

use iostall_measure::{Caching, named};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::outcome::EngineUse;

named! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum HashKind {
        /// XXH3, 128 bits: finds corruption at memory speed. Not for adversaries.
        #[default]
        Xxh3 = "xxh3",
        /// BLAKE3: finds tampering too.
        Blake3 = "blake3",
        /// SHA-256, for exchange with other tools.
        Sha256 = "sha256",
        /// MD5, for old lists.
        Md5 = "md5",
        /// CRC-32C (Castagnoli): 32 bits, as used by storage protocols.
        Crc32c = "crc32c",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not a checksum: write xxh3, blake3, sha256, md5 or crc32c")]
pub struct HashKindError(String);

impl HashKind {
    /// Its name in BSD-style lines, `NAME (file) = digest`.
    pub fn tag(self) -> &'static str {
        match self {
            Self::Xxh3 => "XXH128",
            Self::Blake3 => "BLAKE3",
            Self::Sha256 => "SHA256",
            Self::Md5 => "MD5",
            Self::Crc32c => "CRC32C",
        }
    }

    pub fn digest_bytes(self) -> usize {
        match self {
            Self::Xxh3 | Self::Md5 => 16,
            Self::Blake3 | Self::Sha256 => 32,
            Self::Crc32c => 4,
        }
    }
}

impl FromStr for HashKind {
    type Err = HashKindError;

    fn from_str(text: &str) -> Result<Self, HashKindError> {
        match text.to_ascii_lowercase().as_str() {
            "xxh3" | "xxh3-128" | "xxh128" => Ok(Self::Xxh3),
            "blake3" | "b3" => Ok(Self::Blake3),
            "sha256" | "sha-256" => Ok(Self::Sha256),
            "md5" => Ok(Self::Md5),
            "crc32c" | "crc32-c" => Ok(Self::Crc32c),
            _ => Err(HashKindError(text.to_owned())),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerifyMode {
    #[default]
    None,
    /// Hashed while copying, for a manifest; the destination is not read back.
    OnTheFly,
    /// Hashed while copying, then the destination is read back past the page cache and compared.
    ReadBack,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reflink {
    #[default]
    Auto,
    /// Never: every byte is read and written, so that there is a second set of blocks.
    Never,
    /// Required: a file that cannot be shared is an error.
    Always,
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum LimitSide {
        Source = "source",
        Target = "destination",
        Hash = "checksum",
        Rate = "rate limit",
        /// Reads and writes alike, as on one shared device.
        Both = "source and destination alike",
    }
}

/// Where the buffers of a transfer spent their time, in buffer-nanoseconds. The proportions show the
/// bottleneck.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferTime {
    pub reading_ns: u64,
    /// Waiting for or being hashed.
    pub hashing_ns: u64,
    /// Waiting for their write to start, or being written.
    pub writing_ns: u64,
    /// Wall time (not buffer time) in which the rate limit held reads back.
    pub held_ns: u64,
    /// Wall time of the whole, nanoseconds.
    pub elapsed_ns: u64,
}

impl BufferTime {
    pub fn add(&mut self, other: &Self) {
        self.reading_ns += other.reading_ns;
        self.hashing_ns += other.hashing_ns;
        self.writing_ns += other.writing_ns;
        self.held_ns += other.held_ns;
        self.elapsed_ns += other.elapsed_ns;
    }

    /// The bottleneck: where buffers spent more than three fifths of their time, or `Rate` if reads were held
    /// back for more than half of the time. `None` if nothing moved.
    pub fn limit(&self) -> Option<LimitSide> {
        let busy_ns = self.reading_ns + self.hashing_ns + self.writing_ns;
        if busy_ns == 0 {
            return None;
        }
        if self.held_ns > self.elapsed_ns / 2 {
            return Some(LimitSide::Rate);
        }
        let share = |part_ns: u64| part_ns as f64 / busy_ns as f64;
        Some(match self {
            _ if share(self.reading_ns) > 0.6 => LimitSide::Source,
            _ if share(self.writing_ns) > 0.6 => LimitSide::Target,
            _ if share(self.hashing_ns) > 0.6 => LimitSide::Hash,
            _ => LimitSide::Both,
        })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferPoint {
    pub start_ns: u64,
    pub length_ns: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransferShape {
    pub transfer_bytes: u32,
    pub buffer_count: u32,
    pub reads_max: u32,
    pub writes_max: u32,
    pub same_device: bool,
    pub chosen_because: String,
    pub source_caching: Caching,
    pub target_caching: Caching,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caching_reasons: Vec<String>,
    pub engine: EngineUse,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CopySettings {
    pub verify: VerifyMode,
    pub hash: HashKind,
    pub reflink: Reflink,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_bytes_per_second: Option<u64>,
    pub overwrite: bool,
    pub resume: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skips_equal: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyCounts {
    pub files: u64,
    pub small_files: u64,
    pub reflinked_files: u64,
    pub resumed_files: u64,
    pub directories: u64,
    pub symlinks: u64,
    pub hard_links: u64,
    pub specials: u64,
    pub skipped_specials: u64,
    /// Equal at the destination, from an earlier attempt or copy.
    pub already_there: u64,
    /// Of these, files that got a new mode, owner or attributes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub metadata_renewed: u64,
    /// Left as they are, because the destination has newer ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub newer_there: u64,
    /// Left out by name, size, age or list; a directory counts once, whatever is in it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub excluded: u64,
    /// Files, links and directories removed from the destination, because the source does not have them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub deleted: u64,
    /// Sources removed after they were copied and verified, without directories.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub removed_sources: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DryRun {
    /// By action, in the order of [`PlannedAction`]; without those that occur nowhere.
    pub totals: Vec<PlannedTotal>,
    /// In the order in which it would be done.
    pub entries: Vec<PlannedEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTotal {
    pub action: PlannedAction,
    pub entries: u64,
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedEntry {
    pub action: PlannedAction,
    /// The destination, or the source to be removed. Invalid UTF-8 is replaced.
    pub path: String,
    pub bytes: u64,
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum PlannedAction {
        Copy = "copy",
        /// What exists there is replaced.
        Replace = "replace",
        /// A directory, a link, or a special file.
        Create = "create",
        KeepEqual = "keep (equal)",
        KeepNewer = "keep (newer)",
        Delete = "delete",
        RemoveSource = "remove source",
    }
}

impl DryRun {
    pub fn new(entries: Vec<PlannedEntry>) -> Self {
        let total = |action| {
            let of = || entries.iter().filter(move |entry| entry.action == action);
            let (count, bytes) = (of().count() as u64, of().map(|entry| entry.bytes).sum());
            (count > 0).then_some(PlannedTotal { action, entries: count, bytes })
        };
        Self { totals: PlannedAction::ALL.into_iter().filter_map(total).collect(), entries }
    }
}

named! {
    /// What was to be done with a name, and was not.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Undone {
        #[default]
        Copied = "copied",
        /// Deleted at the destination, which has more than the source.
        Deleted = "deleted",
        /// Removed at the source, of which the destination has all.
        Removed = "removed",
    }
}

impl Undone {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
    fn is_copied(&self) -> bool {
        *self == Self::Copied
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotCopied {
    #[serde(default, skip_serializing_if = "Undone::is_copied")]
    pub what: Undone,
    pub path: String,
    pub message: String,
}

/// A block device onto which a file was written from its first byte on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceImage {
    pub device: String,
    pub device_bytes: u64,
    /// Bytes of the file. The rest of the device, after the padding, is unchanged.
    pub image_bytes: u64,
    /// Zeros after the file, up to the end of a sector.
    pub padding_bytes: u64,
    /// What was recognised on it before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    pub path: String,
    /// The first byte that differs, from 0; `None` if only digests could be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_offset: Option<u64>,
    /// What was expected and what was found, in words.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_checksum_reads_back_its_name_and_its_tag() {
        for kind in HashKind::ALL {
            assert_eq!(kind.name().parse::<HashKind>().unwrap(), kind);
            assert_eq!(kind.tag().parse::<HashKind>().unwrap(), kind);
        }
        assert!("sha1".parse::<HashKind>().unwrap_err().to_string().contains("write xxh3"));
    }

    #[test]
    fn a_dry_run_adds_up_what_it_lists() {
        let entry = |action, bytes| PlannedEntry { action, path: "x".into(), bytes };
        let run = DryRun::new(vec![
            entry(PlannedAction::Delete, 5),
            entry(PlannedAction::Copy, 10),
            entry(PlannedAction::Copy, 20),
        ]);
        let totals: Vec<_> =
            run.totals.iter().map(|total| (total.action, total.entries, total.bytes)).collect();
        assert_eq!(totals, [(PlannedAction::Copy, 2, 30), (PlannedAction::Delete, 1, 5)]);
    }

    #[test]
    fn the_limit_is_the_side_that_held_the_buffers() {
        let time = |reading_ns, hashing_ns, writing_ns, held_ns| {
            BufferTime { reading_ns, hashing_ns, writing_ns, held_ns, elapsed_ns: 100 }.limit()
        };
        assert_eq!(time(90, 0, 10, 0), Some(LimitSide::Source));
        assert_eq!(time(10, 0, 90, 0), Some(LimitSide::Target));
        assert_eq!(time(10, 80, 10, 0), Some(LimitSide::Hash));
        assert_eq!(time(50, 0, 50, 0), Some(LimitSide::Both));
        assert_eq!(time(50, 0, 50, 60), Some(LimitSide::Rate));
        assert_eq!(time(0, 0, 0, 0), None);
    }
}
