//! What is wrong with the bytes of a backup.

use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FormatError {
    #[error("{part} ends after {found} bytes instead of {wanted}")]
    Short { part: &'static str, found: u64, wanted: u64 },
    #[error("this is no {part}: it does not begin with its mark")]
    Mark { part: &'static str },
    #[error("{part} has version {found}; this program reads versions 1 to {known}")]
    Version { part: &'static str, found: u16, known: u16 },
    #[error("{part} is damaged: its checksum does not match")]
    Checksum { part: &'static str },
    #[error("{part} is damaged: {field} cannot be {value}")]
    Value { part: &'static str, field: &'static str, value: u64 },
    #[error("{part} is damaged: bytes that must be zero are not")]
    NotZero { part: &'static str },
    #[error("{part} is damaged: {cause}")]
    Text { part: &'static str, cause: String },
}
