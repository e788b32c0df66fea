//! Why a manifest cannot be used.

use iostall_model::transfer::HashKind;
use thiserror::Error;

/// Longest line: a digest, and the longest Linux path with every byte escaped.
pub(super) const LINE_BYTES_MAX: u64 = 16 << 10;
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ManifestError {
    #[error("line {line} is not a checksum and a name: {text:?}")]
    Line {
        /// Counted from 1.
        line: usize,
        text: String,
    },
    #[error("line {line} is longer than {LINE_BYTES_MAX} bytes")]
    LongLine {
        /// Counted from 1.
        line: usize,
    },
    #[error("it cannot be read: {0}")]
    Read(String),
    #[error("line {line} has {digits} hexadecimal digits, which could be {could_be}")]
    Ambiguous {
        /// Counted from 1.
        line: usize,
        digits: usize,
        could_be: String,
    },
    #[error("not a manifest of iostall: {0}")]
    Json(String),
    #[error("its name says {named}, and --hash says {asked}")]
    Contradiction { named: HashKind, asked: HashKind },
    #[error("its name says {0}, which is not supported; supported are xxh3, blake3, sha256, md5 and crc32c")]
    OtherHash(String),
    #[error("it lists no file")]
    Empty,
}
