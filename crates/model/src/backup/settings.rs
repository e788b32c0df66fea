//! How a backup was made.

use serde::{Deserialize, Serialize};

use super::compression::Compression;

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
