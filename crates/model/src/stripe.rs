//! How a backup lies on its stripes, and what can be wrong with it there.

use serde::{Deserialize, Serialize};

use crate::transfer::is_zero;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BackupShape {
    /// Alignment of everything in a stripe.
    pub block_bytes: u32,
    /// Unit of checksum, compression and encryption.
    pub frame_bytes: u32,
    pub transfer_bytes: u32,
    pub buffer_count: u32,
    pub worker_count: u32,
    /// As typed: `zstd:1`, `lz4`, `none`.
    pub compression: String,
    /// To whom it is encrypted, in words; `None` if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_bytes_per_second: Option<u64>,
    /// The source was read past the page cache.
    pub reads_directly: bool,
    /// The stripes were written past the page cache.
    pub writes_directly: bool,
    /// Why direct I/O was not used although requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caching_reasons: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StripeUse {
    /// Invalid UTF-8 is replaced; `null:` is a stripe that is not written.
    pub path: String,
    pub bytes: u64,
    pub frames: u64,
    /// Time with at least one request in flight, nanoseconds; zero if it was not measured.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub busy_ns: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupDamage {
    /// Id of the set that it is in, if that is one that the set is based on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Number of the stripe, from 1; `None` for the manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stripe: Option<u16>,
    /// The stripe's path, or the manifest's. Invalid UTF-8 is replaced.
    pub path: String,
    /// Sequence number of the frame; `None` if it is not a frame, or not known which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<u64>,
    /// Where it is in the stripe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The file of the source whose content it holds. Invalid UTF-8 is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_offset: Option<u64>,
    /// How much of the file it is.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub file_bytes: u64,
    /// It is not there, and nothing says that it is damaged: a stripe in another place, and what is in no other stripe.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_missing: bool,
    pub message: String,
}
