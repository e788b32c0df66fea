//! Compression of frames.

use std::io;

use iostall_model::backup::Compression;

use crate::backup::format::CodecKind;

/// Compresses frames one by one. Each worker has its own, with the tables that zstd needs.
pub struct Compressor(Kind);

enum Kind {
    None,
    Zstd(zstd::bulk::Compressor<'static>),
    Lz4,
}

/// Room that LZ4 wants for `plain_bytes`, whatever it then uses; the others need no more than the plain bytes.
pub fn compressed_bytes_max(compression: Compression, plain_bytes: u32) -> u32 {
    match compression {
        Compression::None | Compression::Zstd(_) => plain_bytes,
        Compression::Lz4 => {
            let bytes = lz4_flex::block::get_maximum_output_size(plain_bytes as usize);
            u32::try_from(bytes).unwrap_or(u32::MAX)
        }
    }
}

impl Compressor {
    /// With the tables of `compression`.
    pub fn new(compression: Compression) -> io::Result<Self> {
        Ok(Self(match compression {
            Compression::None => Kind::None,
            Compression::Zstd(level) => Kind::Zstd(zstd::bulk::Compressor::new(level)?),
            Compression::Lz4 => Kind::Lz4,
        }))
    }

    /// Puts `plain` at the beginning of `into`, compressed if that makes it smaller; returns how, and the length.
    ///
    /// # Panics
    /// If `into` is shorter than `plain`.
    pub fn compress(&mut self, plain: &[u8], into: &mut [u8]) -> (CodecKind, usize) {
        let compressed = match &mut self.0 {
            Kind::None => None,
            // One byte less than the plain bytes: what does not fit there is not worth it, and zstd says so by an error.
            Kind::Zstd(zstd) => zstd
                .compress_to_buffer(plain, &mut into[..plain.len().saturating_sub(1)])
                .ok()
                .map(|length| (CodecKind::Zstd, length)),
            Kind::Lz4 => {
                lz4_flex::block::compress_into(plain, into).ok().map(|length| (CodecKind::Lz4, length))
            }
        };
        compressed
            .filter(|(_, length)| (1..plain.len()).contains(length))
            .unwrap_or_else(|| Self::store(plain, into))
    }

    /// Puts `plain` at the beginning of `into` as it is.
    ///
    /// # Panics
    /// If `into` is shorter than `plain`.
    pub fn store(plain: &[u8], into: &mut [u8]) -> (CodecKind, usize) {
        into[..plain.len()].copy_from_slice(plain);
        (CodecKind::None, plain.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(size: usize) -> Vec<u8> {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        };
        (0..size).map(|_| next()).collect()
    }

    #[test]
    fn what_does_not_become_smaller_is_stored_as_it_is() {
        for compression in [Compression::None, Compression::Zstd(1), Compression::Zstd(9), Compression::Lz4] {
            let mut compressor = Compressor::new(compression).unwrap();
            for plain in [noise(1), noise(4095), noise(100_000), b"ab".to_vec()] {
                let room = compressed_bytes_max(compression, u32::try_from(plain.len()).unwrap());
                let mut into = vec![7; room as usize];
                assert_eq!(compressor.compress(&plain, &mut into), (CodecKind::None, plain.len()));
                assert_eq!(into[..plain.len()], plain);
            }
        }
    }

    #[test]
    fn what_is_compressed_is_smaller_and_reads_back() {
        let plain = b"the same again and again; ".repeat(2000);
        let mut into = vec![0; plain.len() * 2];
        let (codec, length) = Compressor::new(Compression::Zstd(1)).unwrap().compress(&plain, &mut into);
        assert_eq!(codec, CodecKind::Zstd);
        assert_eq!(zstd::bulk::decompress(&into[..length], plain.len()).unwrap(), plain);
        let (codec, length) = Compressor::new(Compression::Lz4).unwrap().compress(&plain, &mut into);
        assert_eq!(codec, CodecKind::Lz4);
        assert_eq!(lz4_flex::block::decompress(&into[..length], plain.len()).unwrap(), plain);
        // A second frame does not depend on the first.
        let mut zstd = Compressor::new(Compression::Zstd(3)).unwrap();
        let (_, first) = zstd.compress(&plain, &mut into);
        let copy = into[..first].to_vec();
        let (_, second) = zstd.compress(&plain, &mut into);
        assert_eq!(copy, into[..second]);
    }
}
