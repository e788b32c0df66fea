//! Compares first reads of blocks with second ones: a volume that is still being filled from its snapshot fetches a block when it is
//! first asked for it.
//!
//! One read at a time. The second read of a block comes a few others after its first, so that whatever slows the device for a while
//! meets both alike. Where first reads are slow, more than the cache of a disk holds is read elsewhere, and then blocks are compared that
//! were read before with others that were not.

use iostall_engine::content::mix;
use iostall_load::read_places::{Place, PlaceRead, ReadOrder, read_places};
use iostall_measure::{BlockSize, Clock, Nanos};
use iostall_model::limits::{FirstReads, LimitsTask, ReadPair};

use super::search::Search;
use crate::analysis::first_reads::{PAIRS_MIN, is_suspicious};
use crate::error::{SessionError, UseCaseError};
use crate::event::{Event, RunProgress};

const BLOCK_BYTES: u32 = 16 << 10;
/// Each block is in a piece of its own, because volumes are filled in pieces: those of Amazon EBS are as large as this.
const PIECE_BYTES: u64 = 512 << 10;
/// Pairs before and after.
const PAIRS: usize = 64;
/// Other blocks between the first read of a block and its second.
const LAG: usize = 4;
/// Pieces that are read in between, and how many at a time.
const BETWEEN: u64 = 1024;
const BETWEEN_DEPTH: u32 = 8;
/// Part of the time for each of the three steps, before a search and without one.
const SHARE_BEFORE: f64 = 0.1;
const SHARE_ALONE: f64 = 0.33;
/// Part of the bytes for what is read in between.
const BETWEEN_SHARE: f64 = 0.25;

/// A read in order: of which pair, and whether it is the first of a block.
type Turn = (usize, bool);

impl Search<'_> {
    /// Keeps what it saw; nothing of a target that is too small.
    pub(super) fn first_reads(&mut self) -> Result<(), SessionError> {
        let size_bytes = self.targets.used_bytes().first().copied().unwrap_or(0);
        let all =
            pieces(size_bytes / PIECE_BYTES, mix(self.outcome.plan.seed) ^ self.session.clock().now_ns());
        // Of each pair four blocks are read, in two steps.
        let affordable = self.budget.bytes(BETWEEN_SHARE) / u64::from(BLOCK_BYTES) / 4;
        let pairs = PAIRS.min(all.len() / 4).min(usize::try_from(affordable).unwrap_or(usize::MAX));
        let (Ok(block_size), true) = (BlockSize::new(BLOCK_BYTES.into()), pairs >= PAIRS_MIN) else {
            return Ok(());
        };
        let (blocks, rest) = all.split_at(pairs * 2);
        let blocks: Vec<Place> = blocks.iter().map(|piece| block(*piece)).collect();
        let (known, fresh) = blocks.split_at(pairs);
        let soon = self.pairs(known, known, LAG)?;
        let mut found = FirstReads { block_size, soon, between_bytes: 0, late: Vec::new() };
        if is_suspicious(&found.soon) {
            found.between_bytes = self.between(rest)?;
            found.late = self.pairs(fresh, known, 0)?;
        }
        self.session.observer().on(&Event::ProgressEnded);
        self.budget.spend(found.bytes());
        self.outcome.first_reads = Some(found);
        Ok(())
    }

    /// Pairs of a block of `first` and one of `again`, which is read `lag` pairs later.
    fn pairs(&self, first: &[Place], again: &[Place], lag: usize) -> Result<Vec<ReadPair>, SessionError> {
        let turns = turns(first.len(), lag);
        let of = |(pair, is_first): &Turn| if *is_first { first.get(*pair) } else { again.get(*pair) };
        let places: Vec<Place> = turns.iter().filter_map(of).copied().collect();
        let mut times: Vec<(Option<u64>, Option<u64>)> = vec![(None, None); first.len()];
        let mut turn = turns.iter();
        self.read(&places, 1, BLOCK_BYTES, &mut |read| {
            let Some((pair, is_first)) = turn.next() else { return };
            let Some(times) = times.get_mut(*pair).filter(|_| read.failure.is_none()) else { return };
            *(if *is_first { &mut times.0 } else { &mut times.1 }) = Some(read.latency_ns);
        })?;
        let both = |(first, again): (Option<u64>, Option<u64>)| {
            Some(ReadPair { first_ns: first?, again_ns: again? })
        };
        Ok(times.into_iter().filter_map(both).collect())
    }

    /// Returns how much it read, bytes.
    fn between(&self, pieces: &[u64]) -> Result<u64, SessionError> {
        let length = u32::try_from(PIECE_BYTES).unwrap_or(u32::MAX);
        let most = self.budget.bytes(BETWEEN_SHARE) / PIECE_BYTES;
        let count = usize::try_from(most.min(BETWEEN)).unwrap_or(usize::MAX).min(pieces.len());
        let place = |piece: &u64| Place { offset: piece * PIECE_BYTES, length };
        let places: Vec<Place> = pieces.iter().take(count).map(place).collect();
        let mut bytes = 0;
        self.read(&places, BETWEEN_DEPTH, length, &mut |read| bytes += u64::from(read.place.length))?;
        Ok(bytes)
    }

    fn read(
        &self,
        places: &[Place],
        depth: u32,
        length_max: u32,
        taken: &mut dyn FnMut(&PlaceRead),
    ) -> Result<(), SessionError> {
        let (session, targets) = (self.session, self.targets.for_span(0));
        let Some(target) = targets.first() else { return Ok(()) };
        let is_alone = self.outcome.plan.task == LimitsTask::FirstReads;
        let share = if is_alone { SHARE_ALONE } else { SHARE_BEFORE };
        let begun_ns = session.clock().now_ns();
        let end_ns = begun_ns.saturating_add(Nanos::from_seconds(self.budget.whole_s() * share).0);
        let order = ReadOrder {
            path: &target.open_path,
            kind: session.engine(),
            clock: session.clock(),
            stop: session.stop(),
            depth,
            length_max,
            bytes_per_s: None,
        };
        let mut count = 0_usize;
        let read = read_places(&order, &mut places.iter().copied(), &mut |read| {
            taken(read);
            count += 1;
            let now_ns = session.clock().now_ns();
            let whole = RunProgress::new(now_ns - begun_ns, None);
            let done = count as f64 / places.len() as f64;
            let doing = "comparing first reads with second ones";
            session.observer().on(&Event::SimulationProgress { doing, done, whole });
            now_ns < end_ns
        });
        read.map_err(|error| {
            let hint = "nothing was measured; `dmesg` may say more about the device".to_owned();
            SessionError::OfUseCase(UseCaseError::new(error, Some(hint)))
        })
    }
}

/// The order of the reads of `pairs`: the second one of a pair comes after the first ones of `lag` others.
fn turns(pairs: usize, lag: usize) -> Vec<Turn> {
    let steps = (0..pairs + lag).flat_map(|step| {
        let first = (step < pairs).then_some((step, true));
        let again = step.checked_sub(lag).map(|pair| (pair, false));
        first.into_iter().chain(again)
    });
    steps.collect()
}

/// Numbers of pieces in random order, none twice, from all over the `count` that there are.
fn pieces(count: u64, seed: u64) -> Vec<u64> {
    let wanted = ((PAIRS * 2) as u64 + BETWEEN).min(count);
    let draw = |number: u64, end: u64| mix(seed ^ mix(number)) % end.max(1);
    // One from each part of the target.
    let mut found: Vec<u64> = (0..wanted)
        .map(|part| {
            let edge = |part: u64| u64::try_from(u128::from(part) * u128::from(count) / u128::from(wanted));
            let (from, to) = (edge(part).unwrap_or(0), edge(part + 1).unwrap_or(count));
            from + draw(part, to - from)
        })
        .collect();
    for last in (1..found.len()).rev() {
        let other = draw(wanted + last as u64, last as u64 + 1);
        found.swap(last, usize::try_from(other).unwrap_or(last));
    }
    found
}

/// The block of a piece that is read: not always its first one, which may be a place that is often asked for.
fn block(piece: u64) -> Place {
    let blocks = PIECE_BYTES / u64::from(BLOCK_BYTES);
    Place { offset: piece * PIECE_BYTES + mix(piece) % blocks * u64::from(BLOCK_BYTES), length: BLOCK_BYTES }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_piece_comes_twice_and_they_are_all_over_the_target() {
        for count in [0, 1, 63, 64, 1151, 1152, 1153, 5000, 1 << 40] {
            let found = pieces(count, 7);
            assert_eq!(found.len() as u64, count.min((PAIRS * 2) as u64 + BETWEEN));
            assert_eq!(found.iter().collect::<HashSet<_>>().len(), found.len(), "{count}");
            assert!(found.iter().all(|piece| *piece < count), "{count}");
        }
        let found = pieces(1 << 40, 7);
        assert!(found.iter().any(|piece| *piece > (1 << 40) - (1 << 31)));
        assert_ne!(found, pieces(1 << 40, 8));
    }

    #[test]
    fn each_block_is_read_first_and_a_few_others_later_again() {
        let turns = turns(6, 2);
        assert_eq!(turns.len(), 12);
        for pair in 0..6 {
            let at = |is_first| turns.iter().position(|turn| *turn == (pair, is_first)).unwrap();
            assert!(at(false) > at(true));
        }
        assert_eq!(turns[..4], [(0, true), (1, true), (2, true), (0, false)]);
    }
}
