//! What happens to the bytes of a frame: encryption and decompression, and the keys of a set.

mod age;
mod compress;
mod keys;
mod seal;
mod unlock;

#[cfg(test)]
pub(crate) use age::tests::PAIRS;
pub use compress::{Compressor, Decoder, FrameFault, compressed_bytes_max};
pub use keys::{FileKey, KeyError, Lock, Passphrase, SetKeys, wrap};
pub use seal::{Opener, Sealer};
pub use unlock::{PassphraseSource, Unlock, unwrap};
