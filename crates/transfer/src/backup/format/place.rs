//! Where frames stand in a stripe, and where the id of the set does.

use iostall_model::backup::SetId;

use super::bytes::blocks_of;
use super::frame_header::FRAME_HEADER_BYTES;

/// Bytes that a frame takes in a stripe or in a buffer: header, stored bytes and the zeros up to the next block.
pub fn frame_block_bytes(stored: u32, block: u32) -> u64 {
    blocks_of(u64::from(stored) + FRAME_HEADER_BYTES as u64, block)
}

/// The set of the stripe or manifest that begins with `head`, which may be damaged elsewhere; `None` if it is neither.
pub fn set_in_head(head: &[u8]) -> Option<SetId> {
    let at = match head.get(..8)? {
        b"IOSTRIPE" => 32,
        b"IOSMANIF" => 16,
        _ => return None,
    };
    head.get(at..at + 16)?.try_into().map(SetId).ok()
}
