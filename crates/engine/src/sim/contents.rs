//! Contents of the simulated files: *live* bytes, as reads see them, apart from *durable* ones, which survive
//! a crash.

use std::collections::BTreeMap;

use iostall_measure::Durability;
use rand_core::Rng;

/// The unit that a device writes atomically.
pub const SECTOR_BYTES: usize = 512;

const BLOCK_BYTES: usize = 4096;

/// Bytes of a file. Only written blocks take memory; the rest reads as zeroes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    blocks: BTreeMap<u64, Box<[u8; BLOCK_BYTES]>>,
    size_bytes: u64,
}

impl Image {
    pub(super) fn of_size(size_bytes: u64) -> Self {
        Self { blocks: BTreeMap::new(), size_bytes }
    }

    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Fills `data` from `offset` up to the end of the file, and returns how many bytes there were.
    pub fn read(&self, offset: u64, data: &mut [u8]) -> usize {
        let left = usize::try_from(self.size_bytes.saturating_sub(offset)).unwrap_or(usize::MAX);
        let bytes = data.len().min(left);
        for (block, within, range) in pieces(offset, bytes, BLOCK_BYTES) {
            let piece = &mut data[range.clone()];
            match self.blocks.get(&block) {
                Some(content) => piece.copy_from_slice(&content[within..within + range.len()]),
                None => piece.fill(0),
            }
        }
        bytes
    }

    pub(super) fn write(&mut self, offset: u64, data: &[u8]) {
        for (block, within, range) in pieces(offset, data.len(), BLOCK_BYTES) {
            let content = self.blocks.entry(block).or_insert_with(|| Box::new([0; BLOCK_BYTES]));
            content[within..within + range.len()].copy_from_slice(&data[range]);
        }
        if !data.is_empty() {
            self.size_bytes = self.size_bytes.max(offset + data.len() as u64);
        }
    }

    fn write_torn(&mut self, offset: u64, data: &[u8], coin: &mut impl Rng) {
        for (sector, within, range) in pieces(offset, data.len(), SECTOR_BYTES) {
            if coin.next_u64() >> 63 == 1 {
                self.write(sector * SECTOR_BYTES as u64 + within as u64, &data[range]);
            }
        }
    }
}

/// Cuts `bytes` from `offset` at multiples of `unit`: the number of the unit, where the piece begins in it,
/// and which part of the bytes it is.
fn pieces(
    offset: u64,
    bytes: usize,
    unit: usize,
) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == bytes {
            return None;
        }
        let position = offset + done as u64;
        // A remainder of `unit`, which is a `usize`.
        let within = usize::try_from(position % unit as u64).unwrap_or(0);
        let length = (unit - within).min(bytes - done);
        let range = done..done + length;
        done += length;
        Some((position / unit as u64, within, range))
    })
}

/// One file: what reads see, what certainly survives a crash, and the writes in between.
#[derive(Debug)]
pub(super) struct Contents {
    live: Image,
    durable: Image,
    /// Completed writes that no sync call has made durable, oldest first. They accumulate in memory.
    unsynced: Vec<Unsynced>,
    written: u64,
}

#[derive(Debug)]
struct Unsynced {
    number: u64,
    offset: u64,
    data: Vec<u8>,
    /// A write-through write after unsynced ones: it survives a crash, but must be applied in order.
    certain: bool,
}

impl Contents {
    pub(super) fn of_size(size_bytes: u64) -> Self {
        Self {
            live: Image::of_size(size_bytes),
            durable: Image::of_size(size_bytes),
            unsynced: Vec::new(),
            written: 0,
        }
    }

    pub(super) fn live(&self) -> &Image {
        &self.live
    }

    /// Writes completed so far; a sync call that begins now makes exactly these durable.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    pub(super) fn write(&mut self, offset: u64, data: &[u8], durability: Durability) {
        self.live.write(offset, data);
        let certain = durability == Durability::WriteThrough;
        if certain && self.unsynced.is_empty() {
            self.durable.write(offset, data);
        } else {
            self.unsynced.push(Unsynced { number: self.written, offset, data: data.to_vec(), certain });
        }
        self.written += 1;
    }

    pub(super) fn sync(&mut self, count: u64) {
        let covered = self.unsynced.partition_point(|write| write.number < count);
        for write in self.unsynced.drain(..covered) {
            self.durable.write(write.offset, &write.data);
        }
    }

    /// What remains if power fails now: everything durable, plus a random subset of the sectors of each later
    /// write and of each write `in_flight`.
    pub(super) fn crash<'a>(
        &self,
        in_flight: impl Iterator<Item = (u64, &'a [u8])>,
        coin: &mut impl Rng,
    ) -> Image {
        let mut left = self.durable.clone();
        for write in &self.unsynced {
            if write.certain {
                left.write(write.offset, &write.data);
            } else {
                left.write_torn(write.offset, &write.data, coin);
            }
        }
        for (offset, data) in in_flight {
            left.write_torn(offset, data, coin);
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    const FILE_BYTES: usize = 20_000;

    #[derive(Clone, Debug)]
    enum Step {
        Write { offset: usize, length: usize, durability: Durability },
        Sync,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let durability = prop_oneof![3 => Just(Durability::None), 1 => Just(Durability::WriteThrough)];
        let write = (0..FILE_BYTES, 0usize..9000, durability)
            .prop_map(|(offset, length, durability)| Step::Write { offset, length, durability });
        prop::collection::vec(prop_oneof![5 => write, 1 => Just(Step::Sync)], 0..40)
    }

    proptest! {
        /// The oracle keeps full copies of the file: the live one, and for each byte every value that a crash
        /// may leave there.
        #[test]
        fn reads_see_every_write_and_a_crash_leaves_only_what_may_be_there(steps in steps(), seed: u64) {
            let mut contents = Contents::of_size(FILE_BYTES as u64);
            let mut live = vec![0u8; FILE_BYTES];
            let mut possible: Vec<Vec<u8>> = vec![vec![0]; FILE_BYTES];
            for (value, step) in (1u8..).zip(steps) {
                match step {
                    Step::Sync => {
                        contents.sync(contents.written());
                        for (values, now) in possible.iter_mut().zip(&live) {
                            *values = vec![*now];
                        }
                    }
                    Step::Write { offset, length, durability } => {
                        contents.write(offset as u64, &vec![value; length], durability);
                        let end = offset + length;
                        if end > live.len() {
                            live.resize(end, 0);
                            possible.resize(end, vec![0]);
                        }
                        live[offset..end].fill(value);
                        for values in &mut possible[offset..end] {
                            if durability == Durability::WriteThrough {
                                values.clear();
                            }
                            values.push(value);
                        }
                    }
                }
            }
            let mut seen = vec![0xff; live.len() + 100];
            prop_assert_eq!(contents.live().read(0, &mut seen), live.len());
            prop_assert_eq!(&seen[..live.len()], &live[..]);

            let left = contents.crash(std::iter::empty(), &mut Xoshiro256PlusPlus::seed_from_u64(seed));
            let mut bytes = vec![0u8; live.len()];
            left.read(0, &mut bytes);
            for (at, (byte, values)) in bytes.iter().zip(&possible).enumerate() {
                prop_assert!(values.contains(byte), "byte {}: {} is none of {:?}", at, byte, values);
            }
        }
    }

    #[test]
    fn a_crash_tears_a_write_between_sectors_and_never_within_one() {
        let mut contents = Contents::of_size(65_536);
        contents.write(0, &vec![1; 65_536], Durability::None);
        let left = contents.crash(std::iter::empty(), &mut Xoshiro256PlusPlus::seed_from_u64(5));
        let mut bytes = vec![9; 65_536];
        left.read(0, &mut bytes);
        let sectors: Vec<u8> = bytes
            .chunks(SECTOR_BYTES)
            .map(|sector| {
                assert!(sector.iter().all(|byte| *byte == sector[0]));
                sector[0]
            })
            .collect();
        let landed: u32 = sectors.iter().map(|value| u32::from(*value)).sum();
        assert!((30..=98).contains(&landed), "{landed} of 128 sectors landed");
    }

    #[test]
    fn a_sync_call_covers_only_what_was_written_before_it_began() {
        let mut contents = Contents::of_size(8192);
        contents.write(0, &[1; 4096], Durability::None);
        let begun = contents.written();
        contents.write(4096, &[2; 4096], Durability::None);
        contents.sync(begun);
        assert_eq!(contents.unsynced.len(), 1);
        let mut byte = [0];
        contents.durable.read(0, &mut byte);
        assert_eq!(byte, [1]);
        contents.durable.read(4096, &mut byte);
        assert_eq!(byte, [0]);
    }
}
