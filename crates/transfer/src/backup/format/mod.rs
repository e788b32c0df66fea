//! The bytes of a backup: stripes and manifests. Both directions, no I/O.
//!
//! docs/formats.md draws them. Everything here reads what a stranger may have written: lengths are checked before they are
//! used, and nothing is reserved in memory on the word of a header alone.

mod bundle;
mod bytes;
mod digests;
mod frame_header;
mod index;
mod manifest_file;
mod stripe_header;
mod wal_header;

#[cfg(test)]
mod tests;

pub use bundle::{Bundle, BundleWriter, Piece};
pub use bytes::{
    BLOCK_BYTES_MAX, BLOCK_BYTES_MIN, FRAME_BYTES_MAX, FRAME_BYTES_MIN, FormatError, KEYS_BYTES_MAX,
    STRIPES_MAX, TAG_BYTES, VERSION,
};
pub use digests::{PieceRecord, entry_lines, pieces_of, put_digests, put_entry_line};
pub use frame_header::{
    FRAME_HEADER_BYTES, FrameHeader, FrameKind, frame_block_bytes, set_in_head, set_stripe, stored_hash,
};
pub use index::{END_BYTES, End, IndexRecord, index_records, put_index};
pub use manifest_file::{MANIFEST_HASH_BYTES, MANIFEST_HEADER_BYTES, ManifestHeader};
pub use stripe_header::{CodecKind, STRIPE_HEADER_BYTES_MIN, StripeHeader, WrappedKeys};
pub use wal_header::{
    WAL_FRAME_BYTES_MAX, WAL_FRAME_HEADER_BYTES, WAL_HEADER_BYTES, WAL_NAME_BYTES_MAX, WalFacts,
    WalFrameHeader, WalHeader,
};
