//! Random access: every aligned slot in which the block fits, by the role's distribution.

use iostall_measure::Op;
use iostall_model::RoleProfile;
use iostall_model::profile::Distribution;
use iostall_model::slots::{SlotShare, slot_shares};

use super::block_permutation::BlockPermutation;
use super::region::ByteSpan;
use super::rng::{Bernoulli, Choices, StreamRng, mix, scaled};
use super::zipf::Zipf;
use super::{Planned, read_or_write};

/// Jumps: each request on a slot of its own choice.
#[derive(Clone, Debug)]
pub(super) struct RandomPath {
    start: u64,
    align: u64,
    /// One a size of the mix, because a larger block fits in fewer slots.
    pickers: Box<[SlotPicker]>,
}

impl RandomPath {
    /// `span` holds the largest block. Hot spots depend on `seed` and the number of slots alone, so
    /// that all workers and all roles of a run find the same blocks hot.
    pub(super) fn new(role: &RoleProfile, span: ByteSpan, seed: u64) -> Self {
        let smallest = u64::from(role.block_size.smallest().bytes());
        let align = role.align.map_or(smallest, |align| align.bytes().max(1));
        let slots_for = |bytes: u64| (span.length() - bytes) / align + 1;
        let pickers = role
            .block_size
            .parts()
            .iter()
            .map(|(size, _)| {
                let slots = slots_for(u64::from(size.bytes()));
                SlotPicker::new(&role.distribution, slots, slots_for(smallest), align, seed)
            })
            .collect();
        Self { start: span.start, align, pickers }
    }

    /// Offset of the next request of the size at `size_index`.
    #[inline]
    pub(super) fn next(&self, size_index: usize, rng: &mut StreamRng) -> u64 {
        self.start + self.align * self.pickers[size_index].draw(rng)
    }
}

/// How a slot is chosen among those in which a block of one size fits.
#[derive(Clone, Debug)]
enum SlotPicker {
    Uniform(Choices),
    Zipf(Zipf, BlockPermutation),
    Ranges(Box<[SlotRange]>),
}

/// Neighbouring slots that are equally likely.
#[derive(Clone, Copy, Debug)]
struct SlotRange {
    /// Chosen when 64 random bits are below this and not below that of the range before.
    below: u64,
    first: u64,
    slots: Choices,
}

impl SlotPicker {
    fn new(distribution: &Distribution, slots: u64, most_slots: u64, align: u64, seed: u64) -> Self {
        if let Some(stretches) = slot_shares(distribution, slots, align) {
            return Self::Ranges(slot_ranges(&stretches));
        }
        match distribution {
            Distribution::Zipf { theta } => {
                Self::Zipf(Zipf::new(slots, *theta), BlockPermutation::new(slots, most_slots, mix(seed)))
            }
            _ => Self::Uniform(Choices::new(slots)),
        }
    }

    #[inline]
    fn draw(&self, rng: &mut StreamRng) -> u64 {
        match self {
            Self::Uniform(slots) => slots.draw(rng),
            Self::Zipf(ranks, permutation) => permutation.at(ranks.draw(rng)),
            Self::Ranges(ranges) => {
                let bits = rng.bits();
                let last = ranges.len() - 1;
                let range = &ranges[ranges[..last].iter().take_while(|range| bits >= range.below).count()];
                range.first + range.slots.draw(rng)
            }
        }
    }
}

/// Thresholds for 64 random bits from the shares of `stretches`.
fn slot_ranges(stretches: &[SlotShare]) -> Box<[SlotRange]> {
    let mut sum = 0.0;
    stretches
        .iter()
        .map(|stretch| {
            sum += stretch.share;
            SlotRange { below: scaled(sum), first: stretch.first, slots: Choices::new(stretch.slots) }
        })
        .collect()
}

/// Random with sequential runs: each request jumps with a chance, else goes on from where the last one ended.
#[derive(Clone, Debug)]
pub(super) struct MixedPath {
    random: RandomPath,
    jump: Bernoulli,
    span: ByteSpan,
    /// End of the last request and what it did; a run keeps to reading or writing as DiskSpd's does.
    run: Option<(u64, Op)>,
}

impl MixedPath {
    pub(super) fn new(random: RandomPath, jump: Bernoulli, span: ByteSpan) -> Self {
        Self { random, jump, span, run: None }
    }

    #[inline]
    pub(super) fn next(
        &mut self,
        size_index: usize,
        length: u32,
        writes: Bernoulli,
        rng: &mut StreamRng,
    ) -> Planned {
        let (offset, op) = match self.run {
            Some((end, op)) if !self.jump.hits(rng) => {
                let fits = end + u64::from(length) <= self.span.end;
                (if fits { end } else { self.span.start }, op)
            }
            _ => (self.random.next(size_index, rng), read_or_write(writes, rng)),
        };
        self.run = Some((offset + u64::from(length), op));
        Planned { op, offset, length }
    }
}
