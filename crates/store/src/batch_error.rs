//! What is wrong with a batch.

use thiserror::Error;

/// What is wrong with a batch that cannot be taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BatchError {
    /// Columns that belong together differ in length.
    #[error("its columns have different lengths")]
    Lengths,
    /// Its number is 0, or larger than stores can tell.
    #[error("its number is not one from 1 to 9223372036854775807")]
    Number,
    /// A row or a sample refers to something that is not in the batch.
    #[error("it refers to a series or an epoch that is not in it")]
    Place,
}
