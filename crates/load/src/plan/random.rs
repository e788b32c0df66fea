//! Random access: every aligned slot in which the block fits, by the role's distribution.

use iostall_measure::{Op, Percent};
use iostall_model::RoleProfile;
use iostall_model::profile::{Distribution, RangeShare, SpanShare};

use super::dice::{Chance, Choices, Dice, mix, scaled};
use super::region::ByteSpan;
use super::scatter::Scatter;
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
    pub(super) fn next(&self, size_index: usize, dice: &mut Dice) -> u64 {
        self.start + self.align * self.pickers[size_index].draw(dice)
    }
}

/// How a slot is chosen among those in which a block of one size fits.
#[derive(Clone, Debug)]
enum SlotPicker {
    Uniform(Choices),
    Zipf(Zipf, Scatter),
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
        match distribution {
            Distribution::Uniform => Self::Uniform(Choices::new(slots)),
            Distribution::Zipf { theta } => {
                Self::Zipf(Zipf::new(slots, *theta), Scatter::new(slots, most_slots, mix(seed)))
            }
            Distribution::Hot { access, region } => {
                let rest = |share: Percent| Percent::new(100.0 - share.percent()).unwrap_or(Percent::ZERO);
                let hot = RangeShare { access: *access, region: *region };
                let cold = RangeShare { access: rest(*access), region: rest(*region) };
                Self::Ranges(slot_ranges(&[hot, cold], slots))
            }
            Distribution::Ranges(shares) => Self::Ranges(slot_ranges(shares, slots)),
            Distribution::Spans(spans) => Self::Ranges(slot_spans(spans, slots, align)),
        }
    }

    #[inline]
    fn draw(&self, dice: &mut Dice) -> u64 {
        match self {
            Self::Uniform(slots) => slots.draw(dice),
            Self::Zipf(ranks, scatter) => scatter.at(ranks.draw(dice)),
            Self::Ranges(ranges) => {
                let bits = dice.bits();
                let last = ranges.len() - 1;
                let range = &ranges[ranges[..last].iter().take_while(|range| bits >= range.below).count()];
                range.first + range.slots.draw(dice)
            }
        }
    }
}

/// Cuts `slots` by `shares`. A share without requests is a hole. One too thin for a slot of its own leaves
/// its requests to the next range (the last such one to the range before), as DiskSpd merges degenerate
/// ranges.
fn slot_ranges(shares: &[RangeShare], slots: u64) -> Box<[SlotRange]> {
    let mut ranges: Vec<SlotRange> = Vec::new();
    let (mut access_sum, mut region_sum, mut first) = (0.0, 0.0, 0);
    for share in shares {
        access_sum += share.access.fraction();
        region_sum += share.region.fraction();
        let end = slot_boundary(region_sum, slots).max(first);
        if end > first && share.access > Percent::ZERO {
            ranges.push(SlotRange { below: scaled(access_sum), first, slots: Choices::new(end - first) });
        }
        first = end;
    }
    all_if_none(ranges, slots)
}

/// The same by lengths in bytes. Spans beyond the last slot are cut, and the shares of the others grow in proportion, as
/// DiskSpd does with a target that is smaller than its ranges.
fn slot_spans(spans: &[SpanShare], slots: u64, align: u64) -> Box<[SlotRange]> {
    let (mut cut, mut access_sum, mut end_bytes, mut first) = (Vec::new(), 0.0, 0_u64, 0);
    for span in spans {
        end_bytes = if span.length.0 == 0 { u64::MAX } else { end_bytes.saturating_add(span.length.0) };
        let end = (end_bytes / align).min(slots);
        if end > first && span.access > Percent::ZERO {
            access_sum += span.access.fraction();
            cut.push((access_sum, first, end - first));
        }
        first = end.max(first);
    }
    let range = |(access, first, count)| SlotRange {
        below: scaled(access / access_sum),
        first,
        slots: Choices::new(count),
    };
    all_if_none(cut.into_iter().map(range).collect(), slots)
}

/// Where every range with requests is thinner than a slot, the region is so small that there is nothing to
/// tell apart.
fn all_if_none(mut ranges: Vec<SlotRange>, slots: u64) -> Box<[SlotRange]> {
    if ranges.is_empty() {
        ranges.push(SlotRange { below: u64::MAX, first: 0, slots: Choices::new(slots) });
    }
    ranges.into()
}

/// The slot at which `fraction` of `slots` ends, to the nearest.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a u64 fits a u64")]
fn slot_boundary(fraction: f64, slots: u64) -> u64 {
    ((slots as f64 * fraction).round() as u64).min(slots)
}

/// Random with sequential runs: each request jumps with a chance, else goes on from where the last one ended.
#[derive(Clone, Debug)]
pub(super) struct MixedPath {
    random: RandomPath,
    jump: Chance,
    span: ByteSpan,
    /// End of the last request and what it did; a run keeps to reading or writing as DiskSpd's does.
    run: Option<(u64, Op)>,
}

impl MixedPath {
    pub(super) fn new(random: RandomPath, jump: Chance, span: ByteSpan) -> Self {
        Self { random, jump, span, run: None }
    }

    #[inline]
    pub(super) fn next(
        &mut self,
        size_index: usize,
        length: u32,
        writes: Chance,
        dice: &mut Dice,
    ) -> Planned {
        let (offset, op) = match self.run {
            Some((end, op)) if !self.jump.hits(dice) => {
                let fits = end + u64::from(length) <= self.span.end;
                (if fits { end } else { self.span.start }, op)
            }
            _ => (self.random.next(size_index, dice), read_or_write(writes, dice)),
        };
        self.run = Some((offset + u64::from(length), op));
        Planned { op, offset, length }
    }
}
