//! Why a notice was not delivered.

use thiserror::Error;

/// Why a notice was not delivered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DeliveryError {
    /// A secret could not be read.
    #[error("{0}")]
    Secret(String),
    /// The other side did not take it.
    #[error("{0}")]
    Refused(String),
    /// It could not be reached, or did not answer in time.
    #[error("{0}")]
    Unreachable(String),
}
