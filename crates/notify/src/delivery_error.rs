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
}
