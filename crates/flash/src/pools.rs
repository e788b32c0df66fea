//! The full blocks of each class of data, and which class gives up one next.
//!
//! A single choice among the blocks of all classes would leave each the same share of pages that are not valid, which is no better than
//! one pool. So each class has the part of the spare area with which all together move least, as a drive has that is told its streams.

use iostall_model::flash::{FlashSettings, Separation, WritePattern};

use crate::collector::Collector;
use crate::number::index;
use crate::random::Stream;
use crate::theory::{greedy, separated};

/// A block that is not full is in no pool.
const NOWHERE: u8 = u8::MAX;

#[derive(Debug)]
pub(crate) struct Pools {
    each: Vec<Pool>,
    /// By block.
    of_block: Vec<u8>,
    pages_per_block: u32,
}

#[derive(Debug)]
struct Pool {
    collector: Collector,
    full: u32,
    /// Pages in them that are not valid.
    invalid: u64,
    /// Blocks that it may have.
    part: f64,
}

impl Pools {
    /// Pools for `blocks` blocks, of which `others` are kept free or being filled.
    pub(crate) fn new(settings: &FlashSettings, blocks: u32, others: u32) -> Self {
        let pages_per_block = settings.pages_per_block;
        let pool = |part| {
            let collector = Collector::new(settings.collect, blocks, pages_per_block);
            Pool { collector, full: 0, invalid: 0, part }
        };
        let parts = parts(settings, blocks.saturating_sub(others));
        Self {
            each: parts.into_iter().map(pool).collect(),
            of_block: vec![NOWHERE; index(blocks)],
            pages_per_block,
        }
    }

    /// A block is full, and of the class that `stream` has; `valid` of its pages are.
    pub(crate) fn insert(&mut self, block: u32, valid: u32, stream: usize) {
        let number = stream.min(self.each.len() - 1);
        let pool = &mut self.each[number];
        pool.collector.insert(block, valid);
        pool.full += 1;
        pool.invalid += u64::from(self.pages_per_block - valid);
        self.of_block[index(block)] = u8::try_from(number).unwrap_or(NOWHERE);
    }

    /// A page of `block`, full or not, became invalid: `valid` were before.
    #[inline]
    pub(crate) fn decrement(&mut self, block: u32, valid: u32) {
        if let [only] = self.each.as_mut_slice() {
            only.collector.decrement(block, valid);
        } else if let Some(pool) = self.each.get_mut(usize::from(self.of_block[index(block)])) {
            pool.collector.decrement(block, valid);
            pool.invalid += 1;
        }
    }

    /// Takes the next block to collect; `None` if no block is full. `valid` are the valid pages of each block.
    pub(crate) fn take(&mut self, valid: &[u16], rng: &mut Stream) -> Option<u32> {
        if let [only] = self.each.as_mut_slice() {
            return only.collector.take(valid, rng);
        }
        let over = |pool: &Pool| f64::from(pool.full) - pool.part;
        // One without anything to gain, only if no other has.
        let pool = self.each.iter_mut().filter(|pool| pool.full > 0).max_by(|one, other| {
            (one.invalid > 0).cmp(&(other.invalid > 0)).then(over(one).total_cmp(&over(other)))
        })?;
        let block = pool.collector.take(valid, rng)?;
        self.left(block, valid);
        Some(block)
    }

    /// Takes `block`, which is full, out of its turn.
    pub(crate) fn remove(&mut self, block: u32, valid: &[u16]) {
        let number = if self.each.len() == 1 { 0 } else { usize::from(self.of_block[index(block)]) };
        self.each[number].collector.remove(block, valid);
        self.left(block, valid);
    }

    fn left(&mut self, block: u32, valid: &[u16]) {
        let number = std::mem::replace(&mut self.of_block[index(block)], NOWHERE);
        if let Some(pool) = self.each.get_mut(usize::from(number)) {
            pool.full -= 1;
            let invalid = u64::from(self.pages_per_block) - u64::from(valid[index(block)]);
            pool.invalid = pool.invalid.saturating_sub(invalid);
        }
    }
}

/// How many blocks each pool may have.
fn parts(settings: &FlashSettings, blocks: u32) -> Vec<f64> {
    let WritePattern::Classes(classes) = &settings.pattern else { return vec![0.0] };
    if settings.separation != Separation::Classes {
        return vec![0.0];
    }
    let pages = settings.pages_per_block;
    let of_data = f64::from(settings.user_pages) / f64::from(pages);
    let spare = (f64::from(blocks) - of_data).max(0.0);
    if spare < 1.0 {
        return classes.iter().map(|class| class.data_share * of_data).collect();
    }
    let alpha = 1.0 + spare / of_data;
    let best = separated(alpha, classes, |alpha| greedy(alpha, pages));
    let part = |(class, share): (&iostall_model::flash::WriteClass, &f64)| {
        class.data_share * of_data + share * spare
    };
    classes.iter().zip(&best.spare_shares).map(part).collect()
}
