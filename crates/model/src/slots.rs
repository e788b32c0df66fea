//! Divides requests among ranges of slots.
//!
//! Used both for planning and in DiskSpd's report, so that what is reported is what was done.

use iostall_measure::Percent;

use crate::distribution::{Distribution, RangeShare, SpanShare};

/// Resolution for shares of a region, 10^-7 percent: finer than anyone writes, and whole numbers stay exact.
const WHOLE: u128 = 1_000_000_000;

/// Neighbouring slots of equal probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlotShare {
    /// Share of the requests, above 0; the shares of a list add up to 1.
    pub share: f64,
    /// The share was scaled up because other ranges lie beyond the last slot.
    pub rescaled: bool,
    pub first: u64,
    /// Number of slots; at least 1.
    pub slots: u64,
}

/// The ranges that `distribution` makes of `slots` slots (at least 1), `align` bytes apart; a uniform one if
/// it makes none. Ranges end at the last slot that begins within them. `None`: the distribution has no
/// ranges.
pub fn slot_shares(distribution: &Distribution, slots: u64, align: u64) -> Option<Vec<SlotShare>> {
    let mut shares = match distribution {
        Distribution::Uniform | Distribution::Zipf { .. } => return None,
        Distribution::Hot { access, region } => {
            let rest = |share: Percent| Percent::new(100.0 - share.percent()).unwrap_or(Percent::ZERO);
            let hot = RangeShare { access: *access, region: *region };
            let cold = RangeShare { access: rest(*access), region: rest(*region) };
            by_share(&[hot, cold], slots)
        }
        Distribution::Ranges(ranges) => by_share(ranges, slots),
        Distribution::Spans(spans) => by_length(spans, slots, align),
    };
    // Every range with requests is smaller than a slot: the region is too small to divide.
    if shares.is_empty() {
        shares.push(SlotShare { share: 1.0, rescaled: false, first: 0, slots });
    }
    Some(shares)
}

/// Divides by shares of the region. A share without requests is a hole. The requests of a range smaller than
/// a slot go to the next range, those of the last to the one before: DiskSpd too merges degenerate ranges
/// with a neighbour.
fn by_share(ranges: &[RangeShare], slots: u64) -> Vec<SlotShare> {
    let mut shares: Vec<SlotShare> = Vec::new();
    let (mut region_pct, mut homeless, mut first) = (0.0, 0.0, 0);
    for range in ranges {
        region_pct += range.region.percent();
        homeless += range.access.fraction();
        let end = boundary(region_pct, slots).max(first);
        if end > first && range.access > Percent::ZERO {
            let share = std::mem::take(&mut homeless);
            shares.push(SlotShare { share, rescaled: false, first, slots: end - first });
        }
        first = end;
    }
    if let Some(last) = shares.last_mut() {
        last.share += homeless;
    }
    shares
}

/// The slot at which `pct` percent of `slots` ends; a partial slot goes to the next range, as in DiskSpd.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a percentage is from 0 to 100")]
fn boundary(pct: f64, slots: u64) -> u64 {
    let parts = (pct * (WHOLE as f64 / 100.0)).round() as u128;
    u64::try_from(u128::from(slots) * parts / WHOLE).map_or(slots, |end| end.min(slots))
}

/// Divides by lengths in bytes. Ranges beyond the last slot are cut off and the other shares scaled up, as
/// DiskSpd does with a target that is smaller than its ranges.
fn by_length(spans: &[SpanShare], slots: u64, align: u64) -> Vec<SlotShare> {
    let (mut shares, mut end_bytes, mut first) = (Vec::new(), 0_u64, 0);
    for span in spans {
        end_bytes = if span.length.0 == 0 { u64::MAX } else { end_bytes.saturating_add(span.length.0) };
        let end = (end_bytes / align).min(slots);
        if end > first && span.access > Percent::ZERO {
            shares.push(SlotShare {
                share: span.access.fraction(),
                rescaled: false,
                first,
                slots: end - first,
            });
        }
        first = end.max(first);
    }
    let kept: f64 = shares.iter().map(|range| range.share).sum();
    let rescaled = kept < 1.0 - 1e-9;
    for range in &mut shares {
        range.share /= kept;
        range.rescaled = rescaled;
    }
    shares
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(distribution: &str, slots: u64, align: u64) -> Vec<(f64, u64, u64)> {
        let distribution = distribution.parse().unwrap();
        let shares = slot_shares(&distribution, slots, align).unwrap();
        shares.iter().map(|share| (share.share, share.first, share.slots)).collect()
    }

    #[test]
    fn only_what_is_made_of_ranges_is_cut() {
        assert_eq!(slot_shares(&Distribution::Uniform, 10, 4096), None);
        assert_eq!(slot_shares(&Distribution::Zipf { theta: 0.9 }, 10, 4096), None);
    }

    #[test]
    fn shares_of_the_region_become_stretches_and_one_without_requests_a_hole() {
        assert_eq!(cut("hot:90/10", 100, 4096), [(0.9, 0, 10), (0.1, 10, 90)]);
        assert_eq!(cut("ranges:50/10,0/40,50/50", 100, 4096), [(0.5, 0, 10), (0.5, 50, 50)]);
        // Half a slot goes to the next range.
        assert_eq!(cut("ranges:50/25,50/75", 10, 4096), [(0.5, 0, 2), (0.5, 2, 8)]);
    }

    #[test]
    fn a_range_thinner_than_a_slot_leaves_its_requests_to_a_neighbour() {
        assert_eq!(cut("ranges:30/1,70/99", 10, 4096), [(1.0, 0, 10)]);
        assert_eq!(cut("ranges:100/1,0/99", 10, 4096), [(1.0, 0, 10)]);
    }

    #[test]
    fn lengths_beyond_the_last_slot_are_cut_and_the_other_shares_grow() {
        assert_eq!(cut("spans:50/8K,50/0", 10, 4096), [(0.5, 0, 2), (0.5, 2, 8)]);
        let shares = slot_shares(&"spans:20/8K,60/8K,20/0".parse().unwrap(), 4, 4096).unwrap();
        assert!(shares.iter().all(|share| share.rescaled), "{shares:?}");
        assert!((shares[0].share - 0.25).abs() < 1e-9 && (shares[1].share - 0.75).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn the_stretches_are_in_order_within_the_slots_and_have_all_requests(
            parts in prop::collection::vec((1_u32..50, 1_u32..50), 1..6),
            slots in 1_u64..2000,
        ) {
            let (accesses, regions) = (parts.iter().map(|part| part.0).sum::<u32>(), parts.iter().map(|part| part.1).sum::<u32>());
            let share = |part: u32, whole: u32| Percent::new(f64::from(part) * 100.0 / f64::from(whole)).unwrap();
            let ranges = parts.iter().map(|(access, region)| RangeShare {
                access: share(*access, accesses),
                region: share(*region, regions),
            });
            let shares = slot_shares(&Distribution::Ranges(ranges.collect()), slots, 1).unwrap();
            prop_assert!((shares.iter().map(|share| share.share).sum::<f64>() - 1.0).abs() < 1e-9);
            prop_assert!(shares.iter().all(|share| share.slots > 0 && share.first + share.slots <= slots));
            prop_assert!(shares.windows(2).all(|pair| pair[0].first + pair[0].slots <= pair[1].first));
        }
    }
}
