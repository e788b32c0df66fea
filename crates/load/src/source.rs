//! The content of a stream's writes.
//!
//! The default is incompressible data with no two equal blocks. DiskSpd's own patterns are available for
//! comparing numbers with it. In every case the block at offset 0 has a header: in a file that iostall
//! created it keeps the mark, without which the next run could not write to it; anywhere else it says that
//! this is no such file.

use std::sync::Arc;

use iostall_engine::guard::{HeaderKind, write_header};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::fill::BlockFiller;

const POOL_STEP: usize = 512;

#[derive(Clone, Debug)]
pub(crate) struct WriteSource {
    data: SourceData,
    first_header: HeaderKind,
}

#[derive(Clone, Debug)]
enum SourceData {
    /// Filled once, with headers updated for each write.
    WithHeaders(BlockFiller),
    /// Filled once, written unchanged.
    Same,
    Fresh(Box<Xoshiro256PlusPlus>),
    Pool {
        data: Arc<[u8]>,
        random: Box<Xoshiro256PlusPlus>,
    },
}

impl WriteSource {
    fn new(data: SourceData) -> Self {
        Self { data, first_header: HeaderKind::Block }
    }

    pub(crate) fn with_headers(filler: BlockFiller) -> Self {
        Self::new(SourceData::WithHeaders(filler))
    }

    pub(crate) fn same() -> Self {
        Self::new(SourceData::Same)
    }

    pub(crate) fn fresh(seed: u64) -> Self {
        Self::new(SourceData::Fresh(Box::new(Xoshiro256PlusPlus::seed_from_u64(seed))))
    }

    /// Parts of `data`, which must be as long as the largest write.
    pub(crate) fn pool(data: Arc<[u8]>, seed: u64) -> Self {
        Self::new(SourceData::Pool { data, random: Box::new(Xoshiro256PlusPlus::seed_from_u64(seed)) })
    }

    pub(crate) fn with_first_header(self, kind: HeaderKind) -> Self {
        Self { first_header: kind, ..self }
    }

    #[inline]
    pub(crate) fn prepare(&mut self, block: &mut [u8], offset: u64, sequence: u64) {
        let has_header = match &mut self.data {
            SourceData::WithHeaders(filler) => {
                filler.prepare(block, offset, sequence);
                true
            }
            SourceData::Same => false,
            SourceData::Fresh(random) => {
                random.fill_bytes(block);
                false
            }
            SourceData::Pool { data, random } => {
                let starts = (data.len() - block.len()) / POOL_STEP + 1;
                let start = usize::try_from(random.next_u64() % starts as u64).unwrap_or(0) * POOL_STEP;
                block.copy_from_slice(&data[start..start + block.len()]);
                false
            }
        };
        if offset == 0 {
            if !has_header {
                write_header(block, offset, sequence, 0);
            }
            self.first_header.put(block);
        }
    }
}

/// The bytes 0 to 255 repeated, DiskSpd's default content.
pub(crate) fn ramp(buffer: &mut [u8]) {
    for (place, byte) in buffer.iter_mut().enumerate() {
        *byte = u8::try_from(place % 256).unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        WriteSource::same().prepare(&mut one, 8192, 0);
        assert_eq!(one, before);
    }

    #[test]
    fn the_first_block_of_a_made_file_keeps_the_mark_and_that_of_a_device_gets_none_whatever_is_written() {
        let pool: Arc<[u8]> = vec![1; 4096].into();
        let filler = BlockFiller::new(1, iostall_measure::Percent::ZERO);
        for source in [
            WriteSource::same(),
            WriteSource::fresh(1),
            WriteSource::pool(pool, 1),
            WriteSource::with_headers(filler),
        ] {
            let mut block = [0; 4096];
            source.clone().prepare(&mut block, 0, 0);
            assert_eq!(block[..8], *b"IOSTALLB");
            source.with_first_header(HeaderKind::MadeFile).prepare(&mut block, 0, 0);
            assert_eq!(block[..8], *b"IOSTALLF");
        }
    }
}
