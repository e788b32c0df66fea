//! What happens to the bytes of a frame: encryption and decompression, and the keys of a set.

mod age;
mod compress;
mod decode;
mod keys;
mod seal;
mod unlock;

#[cfg(test)]
pub(crate) use age::tests::PAIRS;
pub use compress::{Compressor, compressed_bytes_max};
pub use decode::{Decoder, FrameFault};
pub use keys::{FileKey, KeyError, Lock, Passphrase, SetKeys, wrap};
pub use seal::{Opener, Sealer};
pub use unlock::{PassphraseSource, Unlock, unwrap};
