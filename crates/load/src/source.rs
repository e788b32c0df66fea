//! What a stream writes.
//!
//! The default is data that no device can shrink and no two blocks of which are alike. What DiskSpd writes
//! instead is here for those who compare with its numbers. Whatever is written, the block at offset 0 keeps the
//! stamp that marks the file as ours: without it the next run would not be allowed to write to it.

use std::sync::Arc;

use iostall_engine::guard::stamp;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::fill::BlockFiller;

/// Pieces of a pool begin at multiples of this.
const POOL_STEP: usize = 512;

/// Fills the buffer of a write.
#[derive(Clone, Debug)]
pub(crate) enum WriteSource {
    /// Filled once, stamped for each write.
    Stamped(BlockFiller),
    /// Filled once, written as it is.
    Same,
    /// New random bytes each time.
    Fresh(Box<Xoshiro256PlusPlus>),
    /// A part of one shared buffer each time.
    Pool { data: Arc<[u8]>, random: Box<Xoshiro256PlusPlus> },
}

impl WriteSource {
    /// New random bytes each time.
    pub(crate) fn fresh(seed: u64) -> Self {
        Self::Fresh(Box::new(Xoshiro256PlusPlus::seed_from_u64(seed)))
    }

    /// Parts of `data`, which must be as long as the largest write.
    pub(crate) fn pool(data: Arc<[u8]>, seed: u64) -> Self {
        Self::Pool { data, random: Box::new(Xoshiro256PlusPlus::seed_from_u64(seed)) }
    }

    /// Makes `block`, to be written at `offset`, what it should be.
    #[inline]
    pub(crate) fn prepare(&mut self, block: &mut [u8], offset: u64, sequence: u64) {
        match self {
            Self::Stamped(filler) => return filler.prepare(block, offset, sequence),
            Self::Same => {}
            Self::Fresh(random) => random.fill_bytes(block),
            Self::Pool { data, random } => {
                let starts = (data.len() - block.len()) / POOL_STEP + 1;
                let start = usize::try_from(random.next_u64() % starts as u64).unwrap_or(0) * POOL_STEP;
                block.copy_from_slice(&data[start..start + block.len()]);
            }
        }
        if offset == 0 {
            stamp(block, offset, sequence, 0);
        }
    }
}

/// The bytes 0 to 255 over and over: what DiskSpd writes when nothing else is asked for.
pub(crate) fn ramp(buffer: &mut [u8]) {
    for (place, byte) in buffer.iter_mut().enumerate() {
        *byte = u8::try_from(place % 256).unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_engine::guard::STAMP_MAGIC;

    #[test]
    fn parts_of_a_pool_are_parts_of_it_and_not_always_the_same_ones() {
        let data: Arc<[u8]> = (0..128_u8).flat_map(|step| [step; 512]).collect();
        let mut source = WriteSource::pool(data, 1);
        let mut firsts = std::collections::HashSet::new();
        for _ in 0..200 {
            let mut block = [0; 1024];
            source.prepare(&mut block, 4096, 0);
            assert_eq!(u32::from(block[1023]), u32::from(block[0]) + 1);
            firsts.insert(block[0]);
        }
        assert!(firsts.len() > 50);
    }

    #[test]
    fn fresh_data_differs_from_write_to_write_and_a_ramp_does_not() {
        let (mut one, mut two) = ([0; 4096], [0; 4096]);
        let mut fresh = WriteSource::fresh(1);
        fresh.prepare(&mut one, 4096, 0);
        fresh.prepare(&mut two, 4096, 1);
        assert_ne!(one, two);
        ramp(&mut one);
        assert_eq!((one[0], one[255], one[256]), (0, 255, 0));
        let before = one;
        WriteSource::Same.prepare(&mut one, 8192, 0);
        assert_eq!(one, before);
    }

    #[test]
    fn the_first_block_keeps_the_mark_whatever_is_written() {
        let pool: Arc<[u8]> = vec![1; 4096].into();
        for mut source in [WriteSource::Same, WriteSource::fresh(1), WriteSource::pool(pool, 1)] {
            let mut block = [0; 4096];
            source.prepare(&mut block, 0, 0);
            assert_eq!(block[..8], STAMP_MAGIC);
        }
    }
}
