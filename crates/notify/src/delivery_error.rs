//! Why a notice was not delivered.

use thiserror::Error;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DeliveryError {
    #[error("{0}")]
    Secret(String),
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Unreachable(String),
    /// So many waited already; one message will say how many were left out.
    #[error("too many notices wait for it: {so_far} were left out so far")]
    LeftOut { so_far: u64 },
}
