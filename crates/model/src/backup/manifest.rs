//! The manifest of a stripe set.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::bytes::{Digest32, SetId, StoredName};
use super::compression::Compression;
use super::entry::FileEntry;
use super::object_lock::ObjectLock;
use super::source::{PostgresRecord, SourceKind, SourceRecord};
use crate::identity::{Identity, key_of};

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
    /// How many of these, the first ones, doubt the content; `None` in sets of versions before this was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_warnings: Option<usize>,
    /// By number.
    pub files: Vec<FileEntry>,
}

impl Manifest {
    /// What it is a backup of, for a reader: two machines may have a database of the same name.
    pub fn source(&self) -> String {
        let named: Vec<&str> = self.sources.iter().map(|source| source.named.as_str()).collect();
        format!("{}: {}", self.host, named.join(", "))
    }

    /// What its sources are; empty in a set of a version before this was noted.
    pub fn identities(&self) -> Vec<Identity> {
        let all = || self.sources.iter().map(SourceRecord::identity);
        if all().any(|identity| identity == Some(Identity::Unnamed)) {
            return vec![Identity::Unnamed];
        }
        all().collect::<Option<_>>().unwrap_or_default()
    }

    /// Those of its warnings that doubt the content, such as files that changed while they were read.
    pub fn content_warnings(&self) -> Vec<String> {
        match self.content_warnings {
            Some(first) => self.warnings.iter().take(first).cloned().collect(),
            None => self.warnings.iter().filter(|warning| is_of_content(warning)).cloned().collect(),
        }
    }

    /// Sets with equal keys are of the same sources; one without a key is like no other. Sets of older versions go by their names, and
    /// are like each other only.
    pub fn source_key(&self) -> Option<String> {
        source_key(&self.source(), &self.identities())
    }

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

/// As versions worded it that did not count them.
fn is_of_content(warning: &str) -> bool {
    let words = ["wrong checksum", "while it was read", "while they were read", "before it was read"];
    words.iter().any(|words| warning.contains(words))
}

/// [`Manifest::source_key`] of what is called `source`.
pub fn source_key(source: &str, identities: &[Identity]) -> Option<String> {
    if identities.is_empty() { Some(format!("named {source:?}")) } else { key_of(identities) }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sources: Vec<SourceRecord>) -> Manifest {
        Manifest {
            set: SetId::default(),
            tool_version: String::new(),
            host: "db1".into(),
            started_utc: Timestamp::UNIX_EPOCH,
            ended_utc: Timestamp::UNIX_EPOCH,
            settings: BackupSettings::default(),
            object_lock: None,
            sources,
            stripes: Vec::new(),
            totals: Totals::default(),
            bases: Vec::new(),
            warnings: Vec::new(),
            content_warnings: None,
            files: Vec::new(),
        }
    }

    fn source(named: &str, identity: Option<Identity>, kind: SourceKind) -> SourceRecord {
        let read_until_utc = Timestamp::UNIX_EPOCH;
        SourceRecord { named: named.into(), identity, prefix: StoredName::default(), kind, read_until_utc }
    }

    /// The story: a cluster was made anew at the address of another one. To prune both were one source, and the only backup of the old
    /// one would have gone for an empty one.
    #[test]
    fn clusters_are_told_apart_by_their_number_and_sets_of_old_versions_by_their_names() {
        let cluster = |number| {
            let record = PostgresRecord { system_identifier: number, ..PostgresRecord::default() };
            of(vec![source("postgres://db1", None, SourceKind::Postgresql(record))]).source_key()
        };
        assert_eq!(cluster(7), cluster(7));
        assert_ne!(cluster(7), cluster(8));
        let directory = |identity| of(vec![source("data", identity, SourceKind::Directory)]).source_key();
        let name = || Some(Identity::Name { name: "data".into() });
        assert_eq!((directory(None), directory(name())), (directory(None), directory(name())));
        assert_ne!(directory(None), directory(name()));
    }

    #[test]
    fn a_set_with_a_stream_without_a_name_is_like_no_other() {
        let data = || source("data", None, SourceKind::File);
        let stream = |identity| source("standard input", identity, SourceKind::Stream);
        assert_eq!(of(vec![data(), stream(None)]).source_key(), None);
        assert_eq!(of(vec![stream(Some(Identity::Unnamed))]).source_key(), None);
        assert!(of(vec![stream(Some(Identity::Name { name: "shop".into() }))]).source_key().is_some());
    }

    #[test]
    fn content_warnings_are_the_first_warnings_and_in_sets_of_old_versions_those_that_say_so() {
        let warnings = ["base/1 block 2 has a wrong checksum", "the cluster has no page checksums"];
        let manifest = |content_warnings| Manifest {
            warnings: warnings.map(str::to_owned).to_vec(),
            content_warnings,
            ..of(Vec::new())
        };
        assert_eq!(manifest(None).content_warnings(), warnings[..1]);
        assert_eq!(manifest(Some(0)).content_warnings(), [""; 0]);
        assert_eq!(manifest(Some(2)).content_warnings(), warnings);
    }
}
