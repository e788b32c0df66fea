//! Snapshots of Iceberg tables (format version 2): what is added to a table's metadata when files are.

mod manifest;
mod metadata;

pub(crate) use metadata::{Addition, Table, added};

/// The bucket of `text` out of `buckets`, as the transform `bucket[N]` of Iceberg has it.
pub(crate) fn bucket_of(text: &str, buckets: i32) -> i32 {
    let hash = murmur3(text.as_bytes()) & 0x7fff_ffff;
    i32::try_from(hash % buckets.max(1).unsigned_abs()).unwrap_or(0)
}

/// Murmur3, x86, 32 bits, seed 0.
fn murmur3(bytes: &[u8]) -> u32 {
    let mut hash = 0_u32;
    let (words, rest) = bytes.as_chunks::<4>();
    for word in words {
        hash = (hash ^ mixed(u32::from_le_bytes(*word))).rotate_left(13);
        hash = hash.wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    if !rest.is_empty() {
        let mut word = [0; 4];
        word[..rest.len()].copy_from_slice(rest);
        hash ^= mixed(u32::from_le_bytes(word));
    }
    // The length counts modulo 2^32.
    hash ^= u32::try_from(bytes.len() & 0xffff_ffff).unwrap_or(u32::MAX);
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

fn mixed(word: u32) -> u32 {
    word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first is in Iceberg's specification, the others are Murmur3's own examples. Another hash would have readers that look for
    /// one server skip its files.
    #[test]
    fn texts_hash_as_other_readers_of_iceberg_hash_them() {
        assert_eq!(murmur3(b"iceberg"), 1_210_000_089);
        assert_eq!(murmur3(b""), 0);
        assert_eq!(murmur3(b"hello, world"), 0x149b_bb7f);
        assert_eq!(murmur3(b"The quick brown fox jumps over the lazy dog"), 0x2e4f_f723);
        for buckets in [1, 8, 16] {
            assert!((0..buckets).contains(&bucket_of("iceberg", buckets)));
        }
    }
}
