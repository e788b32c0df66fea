//! The kinds of request that numbers are measured for. Here, above both `engine` and `model`, because
//! the one carries them out and the other stores and shows them, and neighbours share nothing.

use serde::{Deserialize, Serialize};

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Op {
    /// Reads a block.
    Read,
    /// Writes a block.
    Write,
    /// Makes earlier writes durable: `fdatasync` or `fsync`, an operation with a latency of its own.
    Sync,
}

impl Op {
    /// All three, in the order they are shown.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Sync];

    /// Its word in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Sync => "sync",
        }
    }
}

/// Whether requests pass through the operating system's page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Caching {
    /// `O_DIRECT`: past the page cache. What database servers do, and the default.
    #[default]
    Direct,
    /// Through the page cache.
    Buffered,
}

/// What a completed write promises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// Nothing: data may still be in a volatile cache.
    #[default]
    None,
    /// `O_DSYNC`: each write is on stable media (FUA or a flush) before it completes. Windows calls it write-through.
    WriteThrough,
}

/// Which call makes earlier writes durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SyncCall {
    /// Data, and the metadata needed to read it back.
    #[default]
    Fdatasync,
    /// Data and all metadata.
    Fsync,
}
