//! Which full block is collected next.

use iostall_model::flash::Collect;

use crate::number::{self, index};
use crate::ordered::OrderedBlocks;
use crate::random::Stream;

/// The blocks that are full, in the order of one way to collect. All memory is allocated at the start.
#[derive(Debug)]
pub(crate) enum Collector {
    Greedy(OrderedBlocks),
    Fifo(Ring),
    Choices { blocks: Vec<u32>, places: Vec<u32>, count: u32 },
}

/// A block that is not full has no place.
const NOWHERE: u32 = u32::MAX;

impl Collector {
    pub(crate) fn new(collect: Collect, blocks: u32, pages_per_block: u32) -> Self {
        match collect {
            Collect::Greedy => Self::Greedy(OrderedBlocks::new(blocks, pages_per_block)),
            Collect::Fifo => Self::Fifo(Ring::new(blocks)),
            Collect::Choices(count) => Self::Choices {
                blocks: Vec::with_capacity(index(blocks)),
                places: vec![NOWHERE; index(blocks)],
                count: count.max(1),
            },
        }
    }

    /// A block is full; `valid` of its pages are.
    pub(crate) fn insert(&mut self, block: u32, valid: u32) {
        match self {
            Self::Greedy(ordered) => ordered.insert(block, valid),
            Self::Fifo(queue) => queue.push(block),
            Self::Choices { blocks, places, .. } => {
                places[index(block)] = number::count(blocks.len());
                blocks.push(block);
            }
        }
    }

    /// A page of `block`, full or not, became invalid: `valid` were before.
    #[inline]
    pub(crate) fn decrement(&mut self, block: u32, valid: u32) {
        if let Self::Greedy(ordered) = self {
            ordered.decrement(block, valid);
        }
    }

    /// Takes the next block to collect; `None` if no block is full. `valid` are the valid pages of each block.
    pub(crate) fn take(&mut self, valid: &[u16], rng: &mut Stream) -> Option<u32> {
        match self {
            Self::Greedy(ordered) => ordered.take_fewest(valid, rng),
            Self::Fifo(queue) => queue.pop(),
            Self::Choices { blocks, count, .. } => {
                let full = number::count(blocks.len());
                let drawn = (0..*count).filter_map(|_| blocks.get(index(rng.below(full))).copied());
                let chosen = drawn.min_by_key(|drawn| valid[index(*drawn)])?;
                self.remove(chosen, valid);
                Some(chosen)
            }
        }
    }

    /// Takes `block`, which is full, out of its turn.
    pub(crate) fn remove(&mut self, block: u32, valid: &[u16]) {
        match self {
            Self::Greedy(ordered) => ordered.remove(block, valid),
            Self::Fifo(queue) => queue.remove(block),
            Self::Choices { blocks, places, .. } => {
                let place = std::mem::replace(&mut places[index(block)], NOWHERE);
                blocks.swap_remove(index(place));
                if let Some(moved) = blocks.get(index(place)) {
                    places[index(*moved)] = place;
                }
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct Ring {
    blocks: Vec<u32>,
    first: usize,
    length: usize,
}

impl Ring {
    pub(crate) fn new(capacity: u32) -> Self {
        Self { blocks: vec![0; index(capacity).max(1)], first: 0, length: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn push(&mut self, block: u32) {
        let place = (self.first + self.length) % self.blocks.len();
        self.blocks[place] = block;
        self.length += 1;
    }

    pub(crate) fn pop(&mut self) -> Option<u32> {
        if self.length == 0 {
            return None;
        }
        let block = self.blocks[self.first];
        self.first = (self.first + 1) % self.blocks.len();
        self.length -= 1;
        Some(block)
    }

    /// Takes a block from anywhere, and keeps the order of the others: slow, and rare.
    fn remove(&mut self, block: u32) {
        let kept: Vec<u32> = std::iter::from_fn(|| self.pop()).filter(|other| *other != block).collect();
        for other in kept {
            self.push(other);
        }
    }

    /// Takes the block with the smallest `key`, of equal ones the first. For short queues.
    pub(crate) fn pop_min_by_key(&mut self, key: impl Fn(u32) -> u32) -> Option<u32> {
        let at = |offset: usize| (self.first + offset) % self.blocks.len();
        let best = (0..self.length).min_by_key(|offset| key(self.blocks[at(*offset)]))?;
        let (place, first) = (at(best), self.first);
        self.blocks.swap(place, first);
        self.pop()
    }
}
