//! Backups: what a stripe set is made of, and how it was made.

mod base;
mod bytes;
mod compression;
mod entry;
mod manifest;
mod object_lock;
mod set_id;
mod settings;
mod source;

pub use base::BaseRecord;
pub use bytes::{Digest32, StoredName};
pub use compression::{Compression, CompressionError};
pub use entry::{FileAttribute, FileEntry, FileKind, FileMetadata};
pub use manifest::{Manifest, StripeRecord, Totals};
pub use object_lock::{LockMode, LockModeError, ObjectLock, Protection};
pub use set_id::{SetId, SetIdError};
pub use settings::BackupSettings;
pub use source::{
    MariadbRecord, PostgresRecord, SourceKind, SourceRecord, TablespacePages, TablespaceRecord, Through,
    ThroughError,
};
