//! Random access: aligned slots in which the block fits, chosen by the role's distribution.

use iostall_measure::Op;
use iostall_model::RoleProfile;
use iostall_model::profile::Distribution;
use iostall_model::slots::{SlotShare, slot_shares};

use super::region::ByteSpan;
use super::rng::{Bernoulli, Choices, StreamRng, mix, scaled};
use super::zipf::{BlockPermutation, Zipf};
use super::{Planned, StreamPlace, read_or_write};

#[derive(Clone, Debug)]
pub(super) struct RandomPath {
    start: u64,
    align: u64,
    /// One per size of the mix, because a larger block fits in fewer slots.
    pickers: Box<[SlotPicker]>,
}

impl RandomPath {
    /// `span` must hold the largest block. Hot spots depend only on `seed` and the number of slots, so that
    /// all workers and roles of a run share them.
    pub(super) fn new(role: &RoleProfile, span: ByteSpan, place: &StreamPlace) -> Self {
        let smallest = u64::from(role.block_size.smallest().bytes());
        let align = role.align.map_or(smallest, |align| align.bytes().max(1));
        let slots_for = |bytes: u64| (span.length() - bytes) / align + 1;
        let pickers = role
            .block_size
            .parts()
            .iter()
            .map(|(size, _)| {
                let slots = slots_for(u64::from(size.bytes()));
                if role.every_block {
                    let seed = place.seed ^ mix(place.stream_number);
                    return SlotPicker::EveryBlock(EveryBlock::new(slots, seed));
                }
                SlotPicker::new(&role.distribution, slots, slots_for(smallest), align, place.seed)
            })
            .collect();
        Self { start: span.start, align, pickers }
    }

    #[inline]
    pub(super) fn next(&mut self, size_index: usize, rng: &mut StreamRng) -> u64 {
        self.start + self.align * self.pickers[size_index].draw(rng)
    }
}

/// How a slot is chosen among those in which a block of one size fits.
#[derive(Clone, Debug)]
enum SlotPicker {
    Uniform(Choices),
    Zipf(Zipf, BlockPermutation),
    Ranges(Box<[SlotRange]>),
    EveryBlock(EveryBlock),
}

/// Each slot once, in an order that is another one in every pass.
#[derive(Clone, Debug)]
struct EveryBlock {
    slots: u64,
    next: u64,
    seed: u64,
    order: BlockPermutation,
}

impl EveryBlock {
    fn new(slots: u64, seed: u64) -> Self {
        Self { slots, next: 0, seed, order: BlockPermutation::new(slots, slots, mix(seed)) }
    }

    #[inline]
    fn draw(&mut self) -> u64 {
        if self.next == self.slots {
            *self = Self::new(self.slots, mix(self.seed));
        }
        self.next += 1;
        self.order.at(self.next - 1)
    }
}

#[derive(Clone, Copy, Debug)]
struct SlotRange {
    /// Upper threshold for 64 random bits; the range before has the lower one.
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
    fn draw(&mut self, rng: &mut StreamRng) -> u64 {
        match self {
            Self::EveryBlock(blocks) => blocks.draw(),
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

/// Random access with sequential runs: each request jumps with some probability, otherwise continues where
/// the last one ended.
#[derive(Clone, Debug)]
pub(super) struct MixedPath {
    random: RandomPath,
    jump: Bernoulli,
    span: ByteSpan,
    /// End and operation of the last request; a sequential run stays with reads or writes, as in DiskSpd.
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
