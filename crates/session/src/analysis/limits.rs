//! What the probes of a volume tell: a bucket of credits, caps, how requests are counted, and what two volumes share.

use iostall_model::LimitsOutcome;
use iostall_model::limits::{LimitsEnd, LimitsProbe, ProbeStep};
use iostall_stats::burst::{Burst, burst};

/// Block sizes of the probes, bytes: two that a cap on requests treats alike, and two that a cap on bytes does.
pub const SMALL: u32 = 4 << 10;
/// See [`SMALL`].
pub const PAGE: u32 = 16 << 10;
/// See [`SMALL`].
pub const LARGE: u32 = 256 << 10;
/// See [`SMALL`].
pub const LARGEST: u32 = 1 << 20;
/// What is added to a unit, so that a request is one unit and a little more.
pub const BEYOND_UNIT: u32 = 4 << 10;

/// Fewest intervals of a level.
const SIDE_MIN: usize = 5;
/// A rate that falls by less is the same.
const FALL_MIN: f64 = 0.2;
/// Rates this close together are the same limit.
const SAME: f64 = 0.05;
/// After a pause a bucket gives what it had before, give or take this share.
const AGAIN: f64 = 0.25;
/// What was earned in a pause is as expected within this factor.
const EARNED: f64 = 2.0;
/// A rate that varies less from one part of a probe to the next is held there by something.
const FLAT: f64 = 0.02;
/// Requests in each part, so that a whole number of them varies by less than that.
const PART_COUNT: u64 = 200;
/// A device that has no more than this in progress when it is full, and yet answers each request at once, is held back.
const PARALLEL: f64 = 8.0;
/// Units of accounting that are looked for, bytes.
const UNITS: std::ops::RangeInclusive<u64> = (8 << 10)..=(512 << 10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    Requests,
    Bytes,
}

/// Credits that are spent faster than they come back. Amounts are requests or bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    pub counted: Counted,
    /// What it held when the load began.
    pub size: f64,
    /// The rate while it lasts, a second.
    pub burst_per_s: f64,
    /// The rate from then on, at which it fills when nothing is asked of it.
    pub refill_per_s: f64,
    /// How long it lasted under full load, seconds.
    pub lasted_s: f64,
    /// What a pause gave back, a second of pause; `None` if none was tried.
    pub earned_per_s: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Credit {
    /// A pause filled it again as much as its refill rate says.
    Bucket(Bucket),
    /// The rate fell as that of a bucket does, and whether a pause fills it was not tried.
    Unconfirmed(Bucket),
    /// The rate fell, and a pause gave nothing back, or too much: no bucket, but a neighbour, a cache, or heat. Rates a second.
    Fall {
        counted: Counted,
        before: f64,
        after: f64,
    },
    /// The rate did not fall. A bucket, if there is one, holds more than was spent.
    None {
        counted: Counted,
        spent: f64,
    },
    NotMeasured,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceiling {
    /// Requests or bytes a second.
    pub per_s: f64,
    /// Standard deviation of its parts as a share of their mean; `None` for too few requests.
    pub variation: Option<f64>,
    /// It is as flat as only a limit is, the same at two sizes, and the device has little in progress at it.
    pub is_held: bool,
}

/// How requests of different sizes count against a limit on requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accounting {
    /// Each is one, up to this size at least, bytes.
    Each { up_to: u32 },
    /// A request is as many as it has units of this size, the last one however small, bytes.
    Units { unit_bytes: u32 },
    /// Only bytes count.
    Bytes,
    /// The device is not at a limit that shows it.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sharing {
    Own {
        alone_per_s: f64,
        together_per_s: f64,
    },
    /// Together they do less: the limit is that of the machine or the link. Rates a second.
    Shared {
        alone_per_s: f64,
        together_per_s: f64,
    },
    Unclear {
        alone_per_s: f64,
        together_per_s: f64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    pub credit: Credit,
    /// Requests a second that last, of the smallest size.
    pub iops: Option<Ceiling>,
    /// Bytes a second that last, of the size with the most.
    pub bytes: Option<Ceiling>,
    pub accounting: Accounting,
    pub sharing_iops: Option<Sharing>,
    pub sharing_bytes: Option<Sharing>,
}

pub fn found(outcome: &LimitsOutcome) -> Found {
    let probes = match outcome.probes.as_slice() {
        // A probe after a pause that was cut short tells nothing of the pause.
        [probes @ .., last] if last.step == ProbeStep::Again && outcome.ended != LimitsEnd::Complete => {
            probes
        }
        probes => probes,
    };
    let accounting = accounting(probes);
    let only_bytes = accounting == Accounting::Bytes;
    let credit = match credit(probes, SMALL, only_bytes) {
        // A bucket of bytes may be too large for small requests to empty it.
        Credit::None { .. } | Credit::NotMeasured if is_fall(probes, LARGEST) => {
            credit(probes, LARGEST, true)
        }
        of_small => of_small,
    };
    // A rate that falls without a reason of its own is not held at what it fell to.
    let is_fallen = matches!(credit, Credit::Fall { .. });
    let as_far = |ceiling: Ceiling| Ceiling { is_held: ceiling.is_held && !is_fallen, ..ceiling };
    let in_units = matches!(accounting, Accounting::Units { .. });
    Found {
        credit,
        iops: ceiling(probes, SMALL, PAGE, Counted::Requests).filter(|_| !only_bytes).map(as_far),
        bytes: ceiling(probes, LARGEST, LARGE, Counted::Bytes).filter(|_| !in_units).map(as_far),
        accounting,
        sharing_iops: sharing(probes, SMALL, Counted::Requests),
        sharing_bytes: sharing(probes, LARGEST, Counted::Bytes),
    }
}

pub fn fall(probe: &LimitsProbe) -> Option<Burst> {
    fall_of(&probe.counts, probe.interval_s())
}

/// [`fall`] of requests completed in intervals of `interval_s` seconds.
pub(crate) fn fall_of(counts: &[u64], interval_s: f64) -> Option<Burst> {
    burst(counts, interval_s, SIDE_MIN, FALL_MIN).filter(|found| found.beyond > 0.0)
}

/// The size that tells units from bytes, if the rates so far ask for it, bytes.
pub fn telling_size(probes: &[LimitsProbe]) -> Option<u32> {
    let unit = unit(probes)?;
    (UNITS.contains(&u64::from(unit))).then_some(unit + BEYOND_UNIT)
}

/// Requests a second that last with this size on the first target alone.
pub fn lasting_iops(probes: &[LimitsProbe], size: u32) -> Option<f64> {
    lasting(probes, size, &[0]).map(|(_, iops)| iops)
}

fn alone(probe: &LimitsProbe, size: u32, targets: &[u32]) -> bool {
    probe.block_size.bytes() == size && probe.targets == targets && probe.step != ProbeStep::Unloaded
}

fn lasting<'a>(probes: &'a [LimitsProbe], size: u32, targets: &[u32]) -> Option<(&'a LimitsProbe, f64)> {
    let probe = probes.iter().rfind(|probe| alone(probe, size, targets) && probe.count() > 0)?;
    let iops = match fall(probe) {
        Some(found) => found.change.after,
        None => probe.count() as f64 / probe.seconds(),
    };
    (iops > 0.0).then_some((probe, iops))
}

fn of_step(probes: &[LimitsProbe], size: u32, step: ProbeStep) -> Option<(usize, &LimitsProbe)> {
    let is_it = |probe: &LimitsProbe| alone(probe, size, &[0]) && probe.step == step;
    probes.iter().enumerate().find(|(_, probe)| is_it(probe))
}

fn is_fall(probes: &[LimitsProbe], size: u32) -> bool {
    of_step(probes, size, ProbeStep::Load).is_some_and(|(_, probe)| fall(probe).is_some())
}

fn credit(probes: &[LimitsProbe], size: u32, in_bytes: bool) -> Credit {
    let Some((index, load)) = of_step(probes, size, ProbeStep::Load) else { return Credit::NotMeasured };
    let (counted, each) = if in_bytes { (Counted::Bytes, f64::from(size)) } else { (Counted::Requests, 1.0) };
    let Some(first) = fall(load) else { return Credit::None { counted, spent: load.count() as f64 * each } };
    let mut bucket = Bucket {
        counted,
        size: first.beyond * each,
        burst_per_s: first.change.before * each,
        refill_per_s: first.change.after * each,
        lasted_s: first.lasted_s,
        earned_per_s: None,
    };
    let again = of_step(&probes[index..], size, ProbeStep::Again).map(|(_, probe)| probe);
    let Some(again) = again.filter(|probe| probe.pause_ns > 0) else { return Credit::Unconfirmed(bucket) };
    let pause_s = again.pause_ns as f64 / 1e9;
    let expected = (first.change.after * pause_s).min(first.beyond);
    let close = |value: f64, expected: f64| (value / expected - 1.0).abs() <= AGAIN;
    let is_as_before = |second: &Burst| {
        close(second.change.before, first.change.before)
            && close(second.change.after, first.change.after)
            && (expected / EARNED..=expected * EARNED).contains(&second.beyond)
    };
    match fall(again).filter(is_as_before) {
        Some(second) => {
            bucket.earned_per_s = Some(second.beyond * each / pause_s);
            Credit::Bucket(bucket)
        }
        None => Credit::Fall { counted, before: bucket.burst_per_s, after: bucket.refill_per_s },
    }
}

fn same(left: f64, right: f64) -> bool {
    (left / right - 1.0).abs() <= SAME
}

/// Lasting bytes a second at the two large sizes, if they are the same.
fn flat_bytes(probes: &[LimitsProbe]) -> Option<f64> {
    let of = |size: u32| lasting_iops(probes, size).map(|iops| iops * f64::from(size));
    let (large, largest) = (of(LARGE)?, of(LARGEST)?);
    same(large, largest).then_some(f64::midpoint(large, largest))
}

/// Bytes that large requests get for each small one, if that is a power of two, as a unit of accounting is.
fn unit(probes: &[LimitsProbe]) -> Option<u32> {
    let each = flat_bytes(probes)? / lasting_iops(probes, SMALL)?;
    let power = each.log2().round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small power of two")]
    let unit = (10.0..=30.0).contains(&power).then(|| power.exp2() as u32)?;
    same(each, f64::from(unit)).then_some(unit)
}

fn accounting(probes: &[LimitsProbe]) -> Accounting {
    let of = |size: u32| lasting_iops(probes, size);
    let (Some(small), Some(page)) = (of(SMALL), of(PAGE)) else { return Accounting::Unknown };
    let counted = telling_size(probes).zip(unit(probes)).and_then(|(size, unit)| {
        let iops = of(size)?;
        // As units it is two of them; as bytes it is hardly more than one.
        let (as_units, as_bytes) = (small / 2.0, small * f64::from(unit) / f64::from(size));
        ((iops - as_units).abs() < (iops - as_bytes).abs()).then_some(unit)
    });
    if let Some(unit_bytes) = counted {
        return Accounting::Units { unit_bytes };
    }
    if same(page * f64::from(PAGE), small * f64::from(SMALL)) && flat_bytes(probes).is_some() {
        return Accounting::Bytes;
    }
    if !same(small, page) {
        return Accounting::Unknown;
    }
    let up_to = [LARGEST, LARGE].into_iter().find(|size| of(*size).is_some_and(|iops| same(iops, small)));
    Accounting::Each { up_to: up_to.unwrap_or(PAGE) }
}

/// The ceiling at `size`, which `other` must share for a limit.
fn ceiling(probes: &[LimitsProbe], size: u32, other: u32, counted: Counted) -> Option<Ceiling> {
    let (probe, iops) = lasting(probes, size, &[0])?;
    let each = |size: u32| match counted {
        Counted::Requests => 1.0,
        Counted::Bytes => f64::from(size),
    };
    let per_s = iops * each(size);
    let variation = variation(probe);
    let is_same = lasting_iops(probes, other).is_some_and(|iops| same(iops * each(other), per_s));
    let unloaded = probes.iter().find(|probe| {
        probe.step == ProbeStep::Unloaded && (probe.block_size.bytes() >= LARGE) == (size >= LARGE)
    });
    let is_idle = unloaded.and_then(|probe| {
        // Of a large request the time counts for as many bytes.
        let share = each(probe.block_size.bytes()) / each(size);
        Some(iops / share * probe.latency_ns_mean? / 1e9 <= PARALLEL)
    });
    let is_held = is_same && is_idle == Some(true) && variation.is_some_and(|share| share <= FLAT);
    Some(Ceiling { per_s, variation, is_held })
}

fn variation(probe: &LimitsProbe) -> Option<f64> {
    // The first intervals fill the queue.
    let from = fall(probe).map_or(2, |found| found.change.at + 1);
    let counts = probe.counts.get(from..)?;
    let mean = counts.iter().sum::<u64>() / (counts.len() as u64).max(1);
    let each = usize::try_from(PART_COUNT.div_ceil(mean.max(1))).ok()?.max(5);
    let parts: Vec<f64> = counts.chunks_exact(each).map(|part| part.iter().sum::<u64>() as f64).collect();
    let count = parts.len() as f64;
    if parts.len() < 3 {
        return None;
    }
    let mean = parts.iter().sum::<f64>() / count;
    let variance = parts.iter().map(|part| (part - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean > 0.0).then(|| variance.sqrt() / mean)
}

fn sharing(probes: &[LimitsProbe], size: u32, counted: Counted) -> Option<Sharing> {
    let each = if counted == Counted::Bytes { f64::from(size) } else { 1.0 };
    let of = |targets: &[u32]| lasting(probes, size, targets).map(|(_, iops)| iops * each);
    let (alone_per_s, together_per_s) = (of(&[0])? + of(&[1])?, of(&[0, 1])?);
    Some(match together_per_s / alone_per_s {
        share if share >= 0.9 => Sharing::Own { alone_per_s, together_per_s },
        share if share <= 0.75 => Sharing::Shared { alone_per_s, together_per_s },
        _ => Sharing::Unclear { alone_per_s, together_per_s },
    })
}
