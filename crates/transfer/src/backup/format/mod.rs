//! The bytes of a backup: stripes and manifests. Both directions, no I/O.
//!
//! docs/formats.md draws them. Everything here reads what a stranger may have written: lengths are checked before they are
//! used, and nothing is reserved in memory on the word of a header alone.

mod bundle;
mod bytes;
mod digests;
mod end;
mod entries;
mod error;
mod frame_header;
mod index;
mod limits;
mod manifest_file;
mod place;
mod stripe_header;
mod wal_header;

#[cfg(test)]
mod tests;

pub use bundle::{Bundle, BundleWriter, Piece};
pub use digests::{PieceRecord, pieces_of, put_digests};
pub use end::{END_BYTES, End};
pub use entries::{entry_lines, put_entry_line};
pub use error::FormatError;
pub use frame_header::{FRAME_HEADER_BYTES, FrameHeader, FrameKind, set_stripe, stored_hash};
pub use index::{IndexRecord, index_records, put_index};
pub use limits::{
    BLOCK_BYTES_MAX, BLOCK_BYTES_MIN, FRAME_BYTES_MAX, FRAME_BYTES_MIN, KEYS_BYTES_MAX, STRIPES_MAX,
    TAG_BYTES, VERSION,
};
pub use manifest_file::{MANIFEST_HASH_BYTES, MANIFEST_HEADER_BYTES, ManifestHeader};
pub use place::{frame_block_bytes, set_in_head};
pub use stripe_header::{CodecKind, STRIPE_HEADER_BYTES_MIN, StripeHeader, WrappedKeys};
pub use wal_header::{
    WAL_FRAME_BYTES_MAX, WAL_FRAME_HEADER_BYTES, WAL_HEADER_BYTES, WAL_NAME_BYTES_MAX, WalFacts,
    WalFrameHeader, WalHeader,
};
