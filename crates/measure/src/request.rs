//! Kinds of I/O requests. They are here, above both `engine` and `model`, because `engine` carries them out,
//! `model` stores them, and neither may use the other.

use crate::named;
use serde::{Deserialize, Serialize};

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Op {
        Read = "read",
        Write = "write",
        /// Makes earlier writes durable: `fdatasync` or `fsync`, measured with its own latency.
        Sync = "sync",
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
