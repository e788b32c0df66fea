//! Why a manifest cannot be used.

use iostall_model::transfer::HashKind;
use thiserror::Error;

/// The longest line that is read: a digest, and a name of the longest that Linux knows with every byte escaped.
pub(super) const LINE_BYTES_MAX: u64 = 16 << 10;
/// Why a manifest cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum ManifestError {
    /// A line is not one.
    #[error("line {line} is not a checksum and a name: {text:?}")]
    Line {
        /// Counted from 1.
        line: usize,
        text: String,
    },
    /// A line without an end.
    #[error("line {line} is longer than {LINE_BYTES_MAX} bytes")]
    LongLine {
        /// Counted from 1.
        line: usize,
    },
    /// It could not be read to its end.
    #[error("it cannot be read: {0}")]
    Read(String),
    /// The kind of checksum cannot be told.
    #[error("line {line} has {digits} hexadecimal digits, which could be {could_be}")]
    Ambiguous {
        /// Counted from 1.
        line: usize,
        digits: usize,
        could_be: String,
    },
    /// The JSON form is not what it should be.
    #[error("not a manifest of iostall: {0}")]
    Json(String),
    /// The name of a list says another checksum than what was asked for.
    #[error("its name says {named}, and --hash says {asked}")]
    Contradiction { named: HashKind, asked: HashKind },
    /// The name of a list says a checksum that is not made here.
    #[error("its name says {0}, which is not made here: xxh3, blake3, sha256, md5 and crc32c are")]
    OtherHash(String),
    /// Nothing is listed.
    #[error("it lists no file")]
    Empty,
}
