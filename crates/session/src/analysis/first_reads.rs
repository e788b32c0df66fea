//! What first reads against second ones tell: whether a volume is still being filled from its snapshot.

use iostall_model::limits::{FirstReads, ReadPair};
use iostall_stats::sign_test::sign_test;

pub const PAIRS_MIN: usize = 16;
/// What must have been read in between, so that the cache of a disk forgets the blocks before, bytes.
pub const BETWEEN_BYTES_MIN: u64 = 256 << 20;

/// A read is slow that takes this many times as long as second reads do, and this much longer, nanoseconds.
const SLOW: f64 = 3.0;
const SLOW_NS: f64 = 500_000.0;
/// Probability that chance alone makes so many first reads slow.
const LEVEL: f64 = 0.001;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Filling {
    /// There were too few blocks, or too little time.
    NotMeasured,
    No,
    /// They are, and so are later ones of the same blocks: a cache answered the second ones.
    Cached(SlowReads),
    /// They were, and whether that is a cache did not show.
    Unclear(SlowReads),
    /// They are, and a block that was read once stays fast.
    Yes(SlowReads),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowReads {
    /// Median of the slow first reads, nanoseconds.
    pub first_ns: f64,
    /// Median of the second reads, nanoseconds.
    pub again_ns: f64,
    /// Part of the first reads that are slow, 0 to 1.
    pub share: f64,
}

impl SlowReads {
    pub fn times(&self) -> f64 {
        self.first_ns / self.again_ns.max(1.0)
    }
}

pub fn is_suspicious(soon: &[ReadPair]) -> bool {
    let limit = slow_ns(soon);
    soon.len() >= PAIRS_MIN && limit.is_some_and(|limit| Contrast::of(soon, limit).is_sure())
}

pub fn filling(reads: &FirstReads) -> Filling {
    let Some(limit) = slow_ns(&reads.soon).filter(|_| reads.soon.len() >= PAIRS_MIN) else {
        return Filling::NotMeasured;
    };
    let soon = Contrast::of(&reads.soon, limit);
    if !soon.is_sure() {
        return Filling::No;
    }
    let late = Contrast::of(&reads.late, limit);
    let all = || reads.soon.iter().chain(&reads.late);
    let again_ns = median(reads.soon.iter().map(|pair| pair.again_ns)).unwrap_or(0.0);
    let slow = all().map(|pair| pair.first_ns).filter(|ns| *ns as f64 > limit);
    let found = SlowReads {
        first_ns: median(slow).unwrap_or(0.0),
        again_ns,
        share: f64::from(soon.first + late.first) / f64::from((soon.pairs + late.pairs).max(1)),
    };
    let is_enough = reads.late.len() >= PAIRS_MIN && reads.between_bytes >= BETWEEN_BYTES_MIN;
    if !is_enough {
        return Filling::Unclear(found);
    }
    if late.is_sure() {
        return Filling::Yes(found);
    }
    // Half of what was slow before: some may have stayed in the cache.
    let is_forgotten = late.again * 2 * soon.pairs >= soon.first * late.pairs;
    if is_forgotten { Filling::Cached(found) } else { Filling::Unclear(found) }
}

/// From when on a read is slow, nanoseconds.
fn slow_ns(soon: &[ReadPair]) -> Option<f64> {
    let again_ns = median(soon.iter().map(|pair| pair.again_ns))?;
    Some((again_ns * SLOW).max(again_ns + SLOW_NS))
}

struct Contrast {
    pairs: u32,
    first: u32,
    /// Others that are slow.
    again: u32,
    /// Pairs of which only the first read is slow, and only the other.
    only: (u32, u32),
}

impl Contrast {
    fn of(pairs: &[ReadPair], limit_ns: f64) -> Self {
        let count = |is_it: &dyn Fn(bool, bool) -> bool| {
            let of =
                |pair: &&ReadPair| is_it(pair.first_ns as f64 > limit_ns, pair.again_ns as f64 > limit_ns);
            u32::try_from(pairs.iter().filter(of).count()).unwrap_or(u32::MAX)
        };
        Self {
            pairs: u32::try_from(pairs.len()).unwrap_or(u32::MAX),
            first: count(&|first, _| first),
            again: count(&|_, again| again),
            only: (count(&|first, again| first && !again), count(&|first, again| again && !first)),
        }
    }

    fn is_sure(&self) -> bool {
        self.only.0 > self.only.1 && sign_test(self.only.0, self.only.1) < LEVEL
    }
}

fn median(values: impl Iterator<Item = u64>) -> Option<f64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    let upper = values.len() / 2;
    let lower = values.len().checked_sub(1)? / 2;
    Some(f64::midpoint(*values.get(lower)? as f64, *values.get(upper)? as f64))
}

#[cfg(test)]
mod tests {
    use iostall_measure::BlockSize;

    use super::*;

    const FAST: u64 = 400_000;
    const SLOW: u64 = 12_000_000;

    fn pairs(count: usize, first_ns: u64, again_ns: u64) -> Vec<ReadPair> {
        vec![ReadPair { first_ns, again_ns }; count]
    }

    fn reads(soon: Vec<ReadPair>, between_bytes: u64, late: Vec<ReadPair>) -> FirstReads {
        FirstReads { block_size: BlockSize::new(16_384).unwrap(), soon, between_bytes, late }
    }

    #[test]
    fn slow_first_reads_of_blocks_that_stay_fast_are_those_of_a_filling_volume() {
        let found = filling(&reads(pairs(64, SLOW, FAST), 512 << 20, pairs(64, SLOW, FAST)));
        let Filling::Yes(slow) = found else { panic!("{found:?}") };
        assert!((slow.times() - 30.0).abs() < 1e-9 && (slow.share - 1.0).abs() < 1e-9, "{slow:?}");
    }

    #[test]
    fn half_a_volume_that_is_there_already_shows_as_half() {
        let half = || [pairs(32, SLOW, FAST), pairs(32, FAST, FAST)].concat();
        let found = filling(&reads(half(), 512 << 20, half()));
        let Filling::Yes(slow) = found else { panic!("{found:?}") };
        assert!((slow.times() - 30.0).abs() < 1e-9 && (slow.share - 0.5).abs() < 1e-9, "{slow:?}");
    }

    #[test]
    fn what_a_cache_forgets_or_nobody_looked_at_again_is_not_called_filling() {
        let soon = || pairs(64, SLOW, FAST);
        assert!(matches!(filling(&reads(soon(), 512 << 20, pairs(64, SLOW, SLOW))), Filling::Cached(_)));
        assert!(matches!(filling(&reads(soon(), 64 << 20, pairs(64, SLOW, FAST))), Filling::Unclear(_)));
        assert!(matches!(filling(&reads(soon(), 512 << 20, Vec::new())), Filling::Unclear(_)));
        // It was full meanwhile.
        assert!(matches!(filling(&reads(soon(), 512 << 20, pairs(64, FAST, FAST))), Filling::Unclear(_)));
        assert_eq!(filling(&reads(pairs(15, SLOW, FAST), 0, Vec::new())), Filling::NotMeasured);
        // A flash drive that answers a block of its cache in a tenth of the time is no volume in the making.
        assert_eq!(filling(&reads(pairs(64, 120_000, 12_000), 0, Vec::new())), Filling::No);
    }
}
