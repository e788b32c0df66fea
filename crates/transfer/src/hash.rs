//! Checksums: five algorithms behind one streaming interface.

use std::fmt::Write as _;

use iostall_model::transfer::HashKind;
use md5::Digest as _;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// A checksum value: as many bytes as its kind has, most significant first.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Digest {
    kind: HashKind,
    bytes: Vec<u8>,
}

impl Digest {
    pub fn kind(&self) -> HashKind {
        self.kind
    }

    /// In lower-case hexadecimal, like the `*sum` tools.
    pub fn hex(&self) -> String {
        hex(&self.bytes)
    }

    /// From hexadecimal digits of exactly the right length; `None` for anything else.
    pub fn from_hex(kind: HashKind, hex: &str) -> Option<Self> {
        let bytes = from_hex(hex).filter(|bytes| bytes.len() == kind.digest_bytes())?;
        Some(Self { kind, bytes })
    }
}

pub struct Hasher {
    state: State,
}

enum State {
    Xxh3(Box<Xxh3>),
    Blake3(Box<blake3::Hasher>),
    Sha256(sha2::Sha256),
    Md5(md5::Md5),
    Crc32c(u32),
}

impl Hasher {
    pub fn new(kind: HashKind) -> Self {
        let state = match kind {
            HashKind::Xxh3 => State::Xxh3(Box::default()),
            HashKind::Blake3 => State::Blake3(Box::default()),
            HashKind::Sha256 => State::Sha256(sha2::Sha256::new()),
            HashKind::Md5 => State::Md5(md5::Md5::new()),
            HashKind::Crc32c => State::Crc32c(0),
        };
        Self { state }
    }

    pub fn update(&mut self, data: &[u8]) {
        match &mut self.state {
            State::Xxh3(state) => state.update(data),
            State::Blake3(state) => {
                state.update(data);
            }
            State::Sha256(state) => state.update(data),
            State::Md5(state) => state.update(data),
            State::Crc32c(state) => *state = crc32c::crc32c_append(*state, data),
        }
    }

    pub fn update_zeros(&mut self, length: u64) {
        zeros(length, |part| self.update(part));
    }

    pub fn finish(self) -> Digest {
        match self.state {
            State::Xxh3(state) => {
                Digest { kind: HashKind::Xxh3, bytes: state.digest128().to_be_bytes().to_vec() }
            }
            State::Blake3(state) => {
                Digest { kind: HashKind::Blake3, bytes: state.finalize().as_bytes().to_vec() }
            }
            State::Sha256(state) => Digest { kind: HashKind::Sha256, bytes: state.finalize().to_vec() },
            State::Md5(state) => Digest { kind: HashKind::Md5, bytes: state.finalize().to_vec() },
            State::Crc32c(state) => Digest { kind: HashKind::Crc32c, bytes: state.to_be_bytes().to_vec() },
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing into a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Bytes from hexadecimal digits in either case; `None` for anything else.
pub(crate) fn from_hex(hex: &str) -> Option<Vec<u8>> {
    // `from_str_radix` would accept a sign.
    if !hex.len().is_multiple_of(2) || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok()).collect()
}

/// Passes `length` zero bytes to `take`, in parts.
fn zeros(mut length: u64, mut take: impl FnMut(&[u8])) {
    static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
    while length > 0 {
        let part = usize::try_from(length).unwrap_or(usize::MAX).min(ZEROS.len());
        take(&ZEROS[..part]);
        length -= part as u64;
    }
}

/// 64-bit XXH3 of a piece, for the journal and the block list.
pub fn piece_hash(data: &[u8]) -> u64 {
    xxh3_64(data)
}

/// A checksum for each fixed-size block of a file, fed in file order, to locate the first difference between
/// two files.
pub struct BlockHashes {
    block_bytes: u64,
    filled: u64,
    state: Box<Xxh3>,
    done: Vec<u64>,
}

impl BlockHashes {
    /// For blocks of `block_bytes`, which must not be zero.
    pub fn new(block_bytes: u64) -> Self {
        Self { block_bytes, filled: 0, state: Box::new(Xxh3::new()), done: Vec::new() }
    }

    pub fn update(&mut self, mut data: &[u8]) {
        while !data.is_empty() {
            let room = usize::try_from(self.block_bytes - self.filled).unwrap_or(usize::MAX);
            let (now, later) = data.split_at(room.min(data.len()));
            self.state.update(now);
            self.filled += now.len() as u64;
            if self.filled == self.block_bytes {
                self.close();
            }
            data = later;
        }
    }

    pub fn update_zeros(&mut self, length: u64) {
        zeros(length, |part| self.update(part));
    }

    /// One checksum per block; the last block may be shorter.
    pub fn finish(mut self) -> Vec<u64> {
        if self.filled > 0 {
            self.close();
        }
        self.done
    }

    fn close(&mut self) {
        self.done.push(self.state.digest());
        self.state.reset();
        self.filled = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(kind: HashKind, data: &[u8]) -> String {
        let mut hasher = Hasher::new(kind);
        // Uneven parts expose a hasher that keeps only the last one.
        for part in data.chunks(7) {
            hasher.update(part);
        }
        hasher.finish().hex()
    }

    #[test]
    fn digests_are_those_that_the_standards_print() {
        assert_eq!(digest(HashKind::Md5, b"message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
        assert_eq!(
            digest(HashKind::Sha256, b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(digest(HashKind::Crc32c, b"123456789"), "e3069283");
        assert_eq!(
            digest(HashKind::Blake3, b""),
            "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
        );
        assert_eq!(digest(HashKind::Xxh3, b""), "99aa06d3014798d86001c324468d497f");
    }

    #[test]
    fn zeros_of_a_hole_count_like_zeros_that_were_read() {
        let zeros = vec![0u8; 200_001];
        for kind in HashKind::ALL {
            let mut of_hole = Hasher::new(kind);
            of_hole.update(b"x");
            of_hole.update_zeros(zeros.len() as u64);
            let mut of_data = Hasher::new(kind);
            of_data.update(b"x");
            of_data.update(&zeros);
            assert_eq!(of_hole.finish(), of_data.finish(), "{kind}");
        }
    }

    #[test]
    fn block_hashes_do_not_depend_on_how_the_data_came() {
        let data: Vec<u8> = (0..10_000u32).map(|i| (i % 251) as u8).collect();
        let mut whole = BlockHashes::new(4096);
        whole.update(&data);
        let mut parts = BlockHashes::new(4096);
        for part in data.chunks(999) {
            parts.update(part);
        }
        let whole = whole.finish();
        assert_eq!(whole, parts.finish());
        assert_eq!(whole, data.chunks(4096).map(piece_hash).collect::<Vec<_>>());
    }

    #[test]
    fn a_digest_reads_back_its_hexadecimal_and_refuses_another_length() {
        let digest = Digest::from_hex(HashKind::Crc32c, "e3069283").unwrap();
        assert_eq!(digest.hex(), "e3069283");
        assert_eq!(Digest::from_hex(HashKind::Crc32c, "E3069283"), Some(digest));
        assert!(Digest::from_hex(HashKind::Crc32c, "e306928").is_none());
        assert!(Digest::from_hex(HashKind::Crc32c, "e306+283").is_none());
        assert!(Digest::from_hex(HashKind::Crc32c, "e306928g").is_none());
        assert!(Digest::from_hex(HashKind::Md5, "e3069283").is_none());
    }
}
