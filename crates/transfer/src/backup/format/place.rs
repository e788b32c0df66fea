//! Where frames stand in a stripe.

use super::bytes::blocks_of;
use super::frame_header::FRAME_HEADER_BYTES;

/// Bytes that a frame takes in a stripe or in a buffer: header, stored bytes and the zeros up to the next block.
pub fn frame_block_bytes(stored: u32, block: u32) -> u64 {
    blocks_of(u64::from(stored) + FRAME_HEADER_BYTES as u64, block)
}
