//! Non-uniform random access (`-rd`): shares of the requests over consecutive parts of the target.

use iostall_measure::{ByteCount, Percent};
use iostall_model::profile as model;
use iostall_model::slots::{SlotShare, slot_shares};
use thiserror::Error;

use super::size::{format_size, parse_size};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    Percent,
    /// Bytes.
    Absolute,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DistributionRange {
    /// Share of the requests, 0 to 100; 0 makes a hole.
    pub io_pct: u32,
    /// Length in percent or bytes. In bytes, 0 means the rest of the target.
    pub span: u64,
}

/// Consecutive parts from the start of the target; the shares add up to 100.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    pub kind: SpanKind,
    pub ranges: Vec<DistributionRange>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DistributionError {
    #[error("a distribution starts with pct or abs, such as -rdpct90/10:10/90")]
    Kind,
    #[error("a distribution is IO%/span pairs joined by colons, such as 90/10:10/90")]
    Malformed,
    #[error("IO% must be from 0 to 100")]
    Io,
    #[error("the IO% add up to {0}, more than 100")]
    IoTotal(u64),
    /// A span outside 1 to 100 percent.
    #[error("a target% must be from 1 to 100")]
    Span,
    /// Percent spans that cover less or more than the target.
    #[error("the target% add up to {0}: they must add up to 100{rest}", rest = rest_of(*.0))]
    SpanTotal(u64),
    #[error("the whole target is used up with {0}% of the IO still to place")]
    NoRoom(u64),
    #[error(
        "a span must be at least one block ({block_bytes} bytes); only the last may be 0, the rest of the target"
    )]
    ShortSpan { block_bytes: u32 },
}

/// How to leave out the part of a target that gets no requests.
fn rest_of(span_total: u64) -> String {
    match 100_u64.checked_sub(span_total) {
        Some(rest) if rest > 0 => format!("; a last part of 0/{rest} is one without requests"),
        _ => String::new(),
    }
}

impl Distribution {
    /// From ranges as written on a command line or in XML. Remaining requests go to the remaining part of the
    /// target. Does not validate; see [`Self::check`].
    pub fn complete(kind: SpanKind, ranges: Vec<DistributionRange>) -> Self {
        let mut distribution = Self { kind, ranges };
        let io_left = 100_u64.saturating_sub(distribution.io_total());
        let span = match kind {
            SpanKind::Percent => 100_u64.saturating_sub(distribution.span_total()),
            SpanKind::Absolute => 0,
        };
        let open_end = distribution.ranges.last().is_some_and(|last| last.span == 0);
        let has_room = if kind == SpanKind::Percent { span > 0 } else { !open_end };
        if let Ok(io_pct @ 1..) = u32::try_from(io_left)
            && has_room
        {
            distribution.ranges.push(DistributionRange { io_pct, span });
        }
        distribution
    }

    /// Parses what follows `-rd`: `pct…` or `abs…`. Anything missing to 100 % goes to the rest of the target.
    pub fn parse(text: &str, block_bytes: u32) -> Result<Self, DistributionError> {
        let (kind, list) = match (text.strip_prefix("pct"), text.strip_prefix("abs")) {
            (Some(list), _) => (SpanKind::Percent, list),
            (_, Some(list)) => (SpanKind::Absolute, list),
            _ => return Err(DistributionError::Kind),
        };
        let mut ranges = Vec::new();
        for part in list.split(':') {
            let (io, span) = part.split_once('/').ok_or(DistributionError::Malformed)?;
            let whole = |text: &str| {
                text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u32>().ok()).flatten()
            };
            let io_pct = whole(io).ok_or(DistributionError::Malformed)?;
            let span = match kind {
                SpanKind::Percent => whole(span).map(u64::from).ok_or(DistributionError::Malformed)?,
                SpanKind::Absolute => {
                    parse_size(span, u64::from(block_bytes)).map_err(|_| DistributionError::Malformed)?
                }
            };
            ranges.push(DistributionRange { io_pct, span });
        }
        let distribution = Self::complete(kind, ranges);
        distribution.check(block_bytes)?;
        Ok(distribution)
    }

    fn io_total(&self) -> u64 {
        self.ranges.iter().map(|range| u64::from(range.io_pct)).sum()
    }

    fn span_total(&self) -> u64 {
        self.ranges.iter().fold(0, |sum, range| sum.saturating_add(range.span))
    }

    pub fn check(&self, block_bytes: u32) -> Result<(), DistributionError> {
        if self.ranges.iter().any(|range| range.io_pct > 100) {
            return Err(DistributionError::Io);
        }
        match self.io_total() {
            100 => {}
            total @ 101.. => return Err(DistributionError::IoTotal(total)),
            total => return Err(DistributionError::NoRoom(100 - total)),
        }
        match self.kind {
            SpanKind::Percent => {
                if self.ranges.iter().any(|range| !(1..=100).contains(&range.span)) {
                    return Err(DistributionError::Span);
                }
                let total = self.span_total();
                if total != 100 {
                    return Err(DistributionError::SpanTotal(total));
                }
            }
            SpanKind::Absolute => {
                let last = self.ranges.len() - 1;
                let short = |(place, range): (usize, &DistributionRange)| {
                    range.span < u64::from(block_bytes) && !(range.span == 0 && place == last)
                };
                if self.ranges.iter().enumerate().any(short) {
                    return Err(DistributionError::ShortSpan { block_bytes });
                }
            }
        }
        Ok(())
    }

    /// The value for `-rd`, which parses to the same distribution.
    pub fn to_argument(&self) -> String {
        let (kind, parts): (_, Vec<String>) = match self.kind {
            SpanKind::Percent => {
                ("pct", self.ranges.iter().map(|range| format!("{}/{}", range.io_pct, range.span)).collect())
            }
            SpanKind::Absolute => (
                "abs",
                self.ranges
                    .iter()
                    .map(|range| format!("{}/{}", range.io_pct, format_size(range.span)))
                    .collect(),
            ),
        };
        format!("{kind}{}", parts.join(":"))
    }

    /// As our engine's distribution; `None` for an invalid share, which a checked distribution does not have.
    pub fn to_model(&self) -> Option<model::Distribution> {
        let share = |pct: u64| u32::try_from(pct).ok().and_then(|pct| Percent::new(f64::from(pct)).ok());
        let access = |range: &DistributionRange| share(u64::from(range.io_pct));
        match self.kind {
            SpanKind::Percent => {
                let map = |range: &DistributionRange| {
                    Some(model::RangeShare { access: access(range)?, region: share(range.span)? })
                };
                self.ranges.iter().map(map).collect::<Option<_>>().map(model::Distribution::Ranges)
            }
            SpanKind::Absolute => {
                let map = |range: &DistributionRange| {
                    Some(model::SpanShare { access: access(range)?, length: ByteCount(range.span) })
                };
                self.ranges.iter().map(map).collect::<Option<_>>().map(model::Distribution::Spans)
            }
        }
    }

    /// Where requests of `block_bytes` really go on `length_bytes` of target with offsets aligned to
    /// `align_bytes`: the ranges that the plan draws from. The last one ends with the target, because its
    /// last block does. Empty if no request fits.
    pub fn effective(&self, length_bytes: u64, block_bytes: u32, align_bytes: u64) -> Vec<EffectiveRange> {
        let align = align_bytes.max(1);
        let Some(room) = length_bytes.checked_sub(u64::from(block_bytes)) else { return Vec::new() };
        let slots = room / align + 1;
        let stretches = self.to_model().and_then(|it| slot_shares(&it, slots, align)).unwrap_or_default();
        let range = |stretch: &SlotShare| {
            let end = stretch.first + stretch.slots;
            EffectiveRange {
                io_pct: stretch.share * 100.0,
                rescaled: stretch.rescaled,
                start: stretch.first * align,
                end: if end == slots { length_bytes } else { end * align },
            }
        };
        stretches.iter().map(range).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EffectiveRange {
    /// Share of the requests, percent.
    pub io_pct: f64,
    /// The share was scaled up because other ranges were cut off.
    pub rescaled: bool,
    /// First byte, relative to the usable range of the target.
    pub start: u64,
    /// Exclusive.
    pub end: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(distribution: &Distribution) -> Vec<(u32, u64)> {
        distribution.ranges.iter().map(|range| (range.io_pct, range.span)).collect()
    }

    #[test]
    fn what_is_missing_goes_to_the_rest_of_the_target() {
        let percent = Distribution::parse("pct10/10:10/10:0/10", 65536).unwrap();
        assert_eq!(pairs(&percent), [(10, 10), (10, 10), (0, 10), (80, 70)]);
        let absolute = Distribution::parse("abs10/1G:10/1G:0/100G", 65536).unwrap();
        assert_eq!(pairs(&absolute), [(10, 1 << 30), (10, 1 << 30), (0, 100 << 30), (80, 0)]);
    }

    #[test]
    fn impossible_distributions_are_refused_with_the_cause() {
        use DistributionError as E;
        let error = |text: &str| Distribution::parse(text, 65536).unwrap_err();
        assert_eq!(error("50/50"), E::Kind);
        assert_eq!(error("pct"), E::Malformed);
        assert_eq!(error("pct50"), E::Malformed);
        assert_eq!(error("pct50/10K"), E::Malformed);
        assert_eq!(error("pct101/10"), E::Io);
        assert_eq!(error("pct60/10:60/10"), E::IoTotal(120));
        assert_eq!(error("pct50/0:50/100"), E::Span);
        assert_eq!(error("pct50/60:50/60"), E::SpanTotal(120));
        assert_eq!(error("pct50/100"), E::NoRoom(50));
        assert_eq!(error("abs50/1G:10/0"), E::NoRoom(40));
        assert_eq!(error("abs50/4K"), E::ShortSpan { block_bytes: 65536 });
        assert_eq!(error("abs50/0:50/1G"), E::ShortSpan { block_bytes: 65536 });
    }

    /// DiskSpd refuses a list that leaves part of the target without requests; we used to leave a hole.
    #[test]
    fn a_part_of_the_target_without_requests_must_be_written_down() {
        let error = Distribution::parse("pct100/10", 65536).unwrap_err();
        assert_eq!(error, DistributionError::SpanTotal(10));
        assert!(error.to_string().ends_with("a last part of 0/90 is one without requests"), "{error}");
        let with_hole = Distribution::parse("pct100/10:0/90", 65536).unwrap();
        assert_eq!(pairs(&with_hole), [(100, 10), (0, 90)]);
        assert!(
            !Distribution::parse("pct100/60:0/60", 4096).unwrap_err().to_string().contains("a last part")
        );
    }

    #[test]
    fn the_effective_ranges_of_a_small_target_are_those_of_diskspd() {
        let distribution = Distribution::parse("pct10/10:10/10:0/10", 4096).unwrap();
        let ranges: Vec<_> = distribution
            .effective(100 << 10, 4096, 4096)
            .iter()
            .map(|range| (range.io_pct.round(), range.start >> 10, range.end >> 10))
            .collect();
        assert_eq!(ranges, [(10.0, 0, 8), (10.0, 8, 20), (80.0, 28, 100)]);
    }

    #[test]
    fn absolute_ranges_beyond_the_end_are_cut_and_the_rest_grows() {
        let distribution = Distribution::parse("abs10/1G:30/1G:60/1G", 4096).unwrap();
        let ranges = distribution.effective(2 << 30, 4096, 4096);
        assert_eq!(ranges.len(), 2);
        assert!((ranges[0].io_pct - 25.0).abs() < 1e-9 && ranges[0].rescaled);
        assert!((ranges[1].io_pct - 75.0).abs() < 1e-9);
        assert_eq!(distribution.effective(8 << 30, 4096, 4096).len(), 3);
    }

    fn percent_distribution() -> impl Strategy<Value = String> {
        prop::collection::vec((0_u32..40, 1_u32..40), 1..6).prop_map(|parts| {
            let parts: Vec<String> = parts.iter().map(|(io, span)| format!("{io}/{span}")).collect();
            format!("pct{}", parts.join(":"))
        })
    }

    proptest! {
        #[test]
        fn a_distribution_reads_back_what_it_spells_and_its_effect_is_whole(
            text in percent_distribution(), blocks in 1_u64..5000,
        ) {
            if let Ok(distribution) = Distribution::parse(&text, 4096) {
                prop_assert_eq!(Distribution::parse(&distribution.to_argument(), 4096).unwrap(), distribution.clone());
                let ranges = distribution.effective(blocks * 4096, 4096, 4096);
                let total: f64 = ranges.iter().map(|range| range.io_pct).sum();
                prop_assert!((total - 100.0).abs() < 1e-6);
                for pair in ranges.windows(2) { prop_assert!(pair[0].end <= pair[1].start); }
                prop_assert!(ranges.iter().all(|range| range.start < range.end && range.end <= blocks * 4096));
            }
        }

        #[test]
        fn no_text_makes_the_distribution_reader_panic(text in "(pct|abs)?[0-9/:KMGTb]{0,40}") {
            let _ = Distribution::parse(&text, 4096);
        }
    }
}
