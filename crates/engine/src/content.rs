//! Content that storage cannot shrink: made once for a buffer, and made another with every write.

/// SplitMix64's output function (Steele, Lea & Flood 2014) with its increment: one to one on 64 bits, and
/// neighbours come out unrelated.
#[inline]
pub fn mix(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// Turns random content into other content that is as random: no eight bytes of it stay, and no two keys change it alike.
///
/// A counter runs through the block, with a start and a step of the key's own, and is combined with what is there. That costs a
/// load, an addition and a store for each eight bytes, which the compiler makes into vectors: the speed of the cache, where
/// fresh random numbers cost several times as much. What makes content incompressible stays the generator's that filled the
/// buffer once.
#[inline]
pub fn renew(content: &mut [u8], key: u64) {
    let mut counter = mix(key);
    let step = mix(counter) | 1;
    let (words, rest) = content.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_le_bytes(*word) ^ counter).to_le_bytes();
        counter = counter.wrapping_add(step);
    }
    for (byte, mask) in rest.iter_mut().zip(counter.to_le_bytes()) {
        *byte ^= mask;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn renewed_content_shares_no_word_with_what_it_was_and_each_key_gives_other_content() {
        let before: Vec<u8> = (0..512_u64).flat_map(|word| mix(word << 32 | 7).to_le_bytes()).collect();
        let mut content = before.clone();
        let mut words: HashSet<[u8; 8]> = before.as_chunks::<8>().0.iter().copied().collect();
        for key in 0..50 {
            renew(&mut content, key);
            words.extend(content.as_chunks::<8>().0);
        }
        assert_eq!(words.len(), 51 * 512);
    }

    #[test]
    fn a_rest_of_a_word_is_renewed_too() {
        let mut content = [7; 13];
        renew(&mut content, 1);
        assert!(content[8..] != [7; 5]);
        renew(&mut [], 1);
    }
}
