//! One file, directory or link in a backup.

use serde::{Deserialize, Serialize};

use super::bytes::StoredName;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FileKind {
    File,
    Directory,
    Symlink {
        /// Where it leads to, as it was read.
        to: StoredName,
    },
    HardLink {
        to: StoredName,
    },
    /// The content of a block device; restored as a file or onto a device.
    BlockDevice,
    /// What came from a stream, such as standard input.
    Stream,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMetadata {
    /// Permission bits, including set-id and sticky.
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    /// Last change of the content, nanoseconds since 1970.
    pub modified_ns: i64,
}

/// An extended attribute, such as an access control list (`system.posix_acl_access`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileAttribute {
    pub name: StoredName,
    /// Its bytes, spelled like a name.
    pub value: StoredName,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Its number in the set, from 1; frames refer to it.
    pub number: u64,
    /// Its name relative to the place of a restore. Empty for the directory that was the only source: its
    /// metadata belongs to the place itself.
    pub name: StoredName,
    #[serde(flatten)]
    pub kind: FileKind,
    /// Size of the restored file, bytes. What no frame covers is a hole.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub size_bytes: u64,
    /// Bytes in frames. Extents of one file do not overlap, so a file is whole when it has as many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub data_bytes: u64,
    #[serde(default, skip_serializing_if = "is_zero_u32")]
    pub source: u32,
    pub metadata: FileMetadata,
    /// Of files and directories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<FileAttribute>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero_u32(count: &u32) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_entry_reads_back_as_it_was_stored() {
        let kinds = [
            FileKind::File,
            FileKind::Directory,
            FileKind::Symlink { to: StoredName(b"/srv/\xff".to_vec()) },
            FileKind::HardLink { to: "a/b".into() },
            FileKind::BlockDevice,
            FileKind::Stream,
        ];
        for kind in kinds {
            let entry = FileEntry {
                number: 7,
                name: "pg_wal/x".into(),
                kind,
                size_bytes: 10,
                data_bytes: 0,
                source: 1,
                metadata: FileMetadata { mode: 0o600, uid: 70, gid: 70, modified_ns: -1 },
                attributes: vec![FileAttribute {
                    name: "user.note".into(),
                    value: StoredName(b"\x02\x00\xff".to_vec()),
                }],
            };
            let json = serde_json::to_string(&entry).unwrap();
            assert_eq!(serde_json::from_str::<FileEntry>(&json).unwrap(), entry, "{json}");
        }
    }
}
