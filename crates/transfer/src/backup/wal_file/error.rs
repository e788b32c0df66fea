//! What goes wrong with an archived file.

use std::io;

use thiserror::Error;

use crate::backup::format::FormatError;

#[derive(Debug, Error)]
pub enum WalFileError {
    #[error(transparent)]
    System(#[from] io::Error),
    #[error(transparent)]
    Format(#[from] FormatError),
    #[error("it ends after {found} bytes instead of {wanted}")]
    Short { found: u64, wanted: u64 },
    #[error("it goes on after its end")]
    Long,
    #[error("the stored bytes are damaged: their checksum does not match")]
    Stored,
    #[error("the content is damaged: its checksum does not match")]
    Plain,
    #[error("the stored bytes cannot be decompressed: {0}")]
    Compressed(String),
}

impl WalFileError {
    /// Whether the file itself is wrong, not the system that reads it.
    pub fn is_damage(&self) -> bool {
        !matches!(self, Self::System(_))
    }
}
