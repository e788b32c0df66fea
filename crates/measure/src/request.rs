//! Kinds of I/O requests. They are here, above both `engine` and `model`, because `engine` carries them out,
//! `model` stores them, and neither may use the other.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Op {
    Read,
    Write,
    /// Makes earlier writes durable: `fdatasync` or `fsync`, measured with its own latency.
    Sync,
}

impl Op {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Sync];

    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Sync => "sync",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Caching {
    /// `O_DIRECT`: bypasses the page cache. What database servers do, and the default.
    #[default]
    Direct,
    Buffered,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// Nothing: the data may still be in a volatile cache.
    #[default]
    None,
    /// `O_DSYNC`: each write is on stable media (by FUA or a flush) before it completes. Windows calls it
    /// write-through.
    WriteThrough,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SyncCall {
    /// Data, and the metadata needed to read it back.
    #[default]
    Fdatasync,
    /// Data and all metadata.
    Fsync,
}
