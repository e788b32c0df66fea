//! Why a target may be written.

use super::database::DatabaseFile;
use super::signature::Signature;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantReason {
    /// The file has just been created and is empty. It has no mark yet.
    Created,
    /// An empty file that belongs to no database. It has no mark yet.
    Empty,
    MadeByIostall,
    /// The user named this file, or this block device without a known signature.
    Overwrite,
    /// The user named this file with the flag for database files.
    DestroyDatabase(DatabaseFile),
    /// The user named this device with the flag for devices that have something on them.
    DestroySignatures(Vec<Signature>),
}
