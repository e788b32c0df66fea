//! Errors in a batch.

use thiserror::Error;

/// Why a batch cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BatchError {
    #[error("its columns have different lengths")]
    Lengths,
    #[error("its number is not one from 1 to 9223372036854775807")]
    Number,
    #[error("it refers to a series or an epoch that is not in it")]
    Place,
}
