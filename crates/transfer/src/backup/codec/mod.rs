//! What happens to the bytes of a frame: encryption and decompression, and the keys of a set.

mod compress;
mod decode;
mod keys;
mod seal;
mod unlock;

pub use compress::{Compressor, compressed_bytes_max};
pub use decode::{Decoder, FrameFault};
pub use keys::{FileKey, KeyError, Lock, SetKeys, wrap};
pub use seal::{Opener, Sealer};
pub use unlock::{PassphraseSource, Unlock, unwrap};
