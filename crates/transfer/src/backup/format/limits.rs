//! The version of the format, and how large its parts may be.

/// Version of stripes and manifests that is written. A reader takes it and those before it, from 1: a set of version 1 has no
/// digests and no base.
pub const VERSION: u16 = 2;
/// Smallest block; also the default.
pub const BLOCK_BYTES_MIN: u32 = 4096;
pub const BLOCK_BYTES_MAX: u32 = 1 << 16;
pub const FRAME_BYTES_MIN: u32 = 1 << 16;
/// Largest frame: what a reader must be ready to hold in memory.
pub const FRAME_BYTES_MAX: u32 = 1 << 26;
pub const STRIPES_MAX: u16 = 64;
/// Most bytes of wrapped keys: some hundred recipients.
pub const KEYS_BYTES_MAX: u32 = 1 << 20;
/// Bytes that encryption adds to a frame or a manifest.
pub const TAG_BYTES: u32 = 16;
