//! Full blocks in the order of their valid pages, for greedy collection in constant time.

use crate::number::index;
use crate::random::Stream;

/// A block that is not full has no slot.
const NOWHERE: u32 = u32::MAX;

/// One array holds all full blocks, those with the fewest valid pages first, and a border in front of each number of valid pages.
/// When a page becomes invalid, its block changes places with the first of its number and the border moves by one. The array is a
/// ring: blocks leave at its head and come at its tail, so nothing is ever shifted.
#[derive(Debug)]
pub(crate) struct OrderedBlocks {
    /// By position, which only grows, modulo the length, a power of two.
    ring: Vec<u32>,
    mask: u64,
    /// The slot in `ring` of each block.
    slots: Vec<u32>,
    /// The position of the first block with at least so many valid pages. Below the head it means the head.
    borders: Vec<u64>,
    head: u64,
    tail: u64,
}

impl OrderedBlocks {
    pub(crate) fn new(blocks: u32, pages_per_block: u32) -> Self {
        let length = index(blocks).max(2).next_power_of_two();
        Self {
            ring: vec![0; length],
            mask: length as u64 - 1,
            slots: vec![NOWHERE; index(blocks)],
            borders: vec![0; index(pages_per_block) + 1],
            head: 0,
            tail: 0,
        }
    }

    pub(crate) fn insert(&mut self, block: u32, valid: u32) {
        let last = position(self.borders.len() - 1);
        self.put(self.tail, block);
        self.tail += 1;
        // It comes as if all its pages were valid, and moves down from there.
        for valid in (valid + 1..=last).rev() {
            self.decrement(block, valid);
        }
    }

    /// A page of `block` became invalid: `valid` were before. Does nothing if the block is not full.
    #[inline]
    pub(crate) fn decrement(&mut self, block: u32, valid: u32) {
        let slot = self.slots[index(block)];
        if slot == NOWHERE {
            return;
        }
        let border = self.borders[index(valid)].max(self.head);
        let first_slot = self.slot(border);
        let first = self.ring[first_slot];
        self.ring[index(slot)] = first;
        self.slots[index(first)] = slot;
        self.ring[first_slot] = block;
        self.slots[index(block)] = position(first_slot);
        self.borders[index(valid)] = border + 1;
    }

    /// Takes one of the blocks with the fewest valid pages, at random.
    pub(crate) fn take_fewest(&mut self, valid: &[u16], rng: &mut Stream) -> Option<u32> {
        if self.head == self.tail {
            return None;
        }
        let fewest = usize::from(valid[index(self.ring[self.slot(self.head)])]);
        let end = self.borders.get(fewest + 1).map_or(self.tail, |border| *border);
        // Fewer than 2^32 blocks.
        let equal = u32::try_from(end - self.head).unwrap_or(u32::MAX);
        let chosen = self.ring[self.slot(self.head + u64::from(rng.below(equal)))];
        self.remove_from_first_group(chosen);
        Some(chosen)
    }

    pub(crate) fn remove(&mut self, block: u32, valid: &[u16]) {
        // It moves down to those with the fewest valid pages, which the groups in between do not notice.
        let fewest = u32::from(valid[index(self.ring[self.slot(self.head)])]);
        for valid in (fewest + 1..=u32::from(valid[index(block)])).rev() {
            self.decrement(block, valid);
        }
        self.remove_from_first_group(block);
    }

    fn remove_from_first_group(&mut self, block: u32) {
        let slot = std::mem::replace(&mut self.slots[index(block)], NOWHERE);
        let head_slot = self.slot(self.head);
        let head = self.ring[head_slot];
        if head != block {
            self.ring[index(slot)] = head;
            self.slots[index(head)] = slot;
        }
        self.head += 1;
    }

    fn put(&mut self, at: u64, block: u32) {
        let slot = self.slot(at);
        self.ring[slot] = block;
        self.slots[index(block)] = position(slot);
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "masked to the length of a vector")]
    fn slot(&self, at: u64) -> usize {
        (at & self.mask) as usize
    }
}

/// A position in an array of at most 2^32 blocks.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "arrays of blocks are shorter than 2^32")]
fn position(slot: usize) -> u32 {
    slot as u32
}
