//! Why a target may be written.

use super::database::DatabaseFile;
use super::signature::Signature;

/// Why a target may be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantReason {
    /// There was nothing: the file has just been created, empty. It carries no mark yet.
    Created,
    /// An empty file outside of any database. It carries no mark yet.
    Empty,
    /// The file carries iostall's mark.
    MadeByIostall,
    /// The user named this file, or this block device, which carries no known signature.
    Overwrite,
    /// The user named this file knowing that it belongs to a database.
    DestroyDatabase(DatabaseFile),
    /// The user named this device knowing what is on it.
    DestroySignatures(Vec<Signature>),
}
