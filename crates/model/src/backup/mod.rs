//! Backups: what a stripe set is made of, and how it was made.

mod bytes;
mod compression;
mod entry;
mod manifest;
mod object_lock;
mod source;

pub use bytes::{Digest32, SetId, SetIdError, StoredName};
pub use compression::{Compression, CompressionError};
pub use entry::{FileAttribute, FileEntry, FileKind, FileMetadata};
pub use manifest::{BackupSettings, BaseRecord, Manifest, StripeRecord, Totals, source_key};
pub use object_lock::{LockMode, LockModeError, ObjectLock, Protection};
pub use source::{
    MariadbRecord, PostgresRecord, SourceKind, SourceRecord, TablespacePages, TablespaceRecord, Through,
    ThroughError,
};
