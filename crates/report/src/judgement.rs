//! A latency against what storage of each class does.

use iostall_measure::{Histogram, Nanos, Percentile};
use iostall_model::profile::Thresholds;

use crate::format::duration;

/// `3.10 ms p99: a disk, not flash (flash ≤ 1.00 ms)`; `None` if nothing completed or there is no limit.
///
/// Thresholds are those of the 99th percentile. Too few requests for one can still say no: where half of them take longer than
/// the limit, so does the slowest hundredth.
pub(crate) fn of_latency(latency: &Histogram, thresholds: &Thresholds) -> Option<String> {
    let at = if Percentile::P99.is_supported_by(latency.count()) { Percentile::P99 } else { Percentile::P50 };
    let took_ns = latency.value_at(at)?;
    let class = if at == Percentile::P99 { class(took_ns, thresholds) } else { at_best(took_ns, thresholds) };
    Some(format!("{} p{}: {}", duration(took_ns as f64), at.percent(), class?))
}

fn class(p99_ns: u64, thresholds: &Thresholds) -> Option<String> {
    let is_within = |limit: Nanos| p99_ns <= limit.nanos();
    match (thresholds.p99_flash, thresholds.p99_disk) {
        (Some(flash), _) if is_within(flash) => Some(format!("as fast as flash (≤ {})", limit(flash))),
        (Some(flash), Some(disk)) if is_within(disk) => {
            Some(format!("a disk, not flash (flash ≤ {})", limit(flash)))
        }
        (None, Some(disk)) if is_within(disk) => Some(format!("as fast as a disk (≤ {})", limit(disk))),
        (_, Some(disk)) => Some(slower("than a disk should be", disk)),
        (Some(flash), None) => Some(slower("than flash", flash)),
        (None, None) => None,
    }
}

/// What the median alone can say of a limit on the 99th percentile.
fn at_best(p50_ns: u64, thresholds: &Thresholds) -> Option<String> {
    let is_beyond = |limit: &Nanos| p50_ns > limit.nanos();
    let (flash, disk) = (thresholds.p99_flash, thresholds.p99_disk);
    if let Some(disk) = disk.filter(is_beyond) {
        return Some(slower("than a disk should be", disk));
    }
    if let Some(flash) = flash.filter(is_beyond) {
        return Some(format!("not flash (flash ≤ {})", limit(flash)));
    }
    flash.or(disk).map(|_| "too few for a p99, so for a judgement".to_owned())
}

fn slower(than: &str, than_ns: Nanos) -> String {
    format!("slower {than} (≤ {})", limit(than_ns))
}

/// A limit as a person says it: `1 ms`.
fn limit(limit: Nanos) -> String {
    let text = limit.to_string();
    let unit = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    format!("{} {}", &text[..unit], &text[unit..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(took_us: u64, count: u64) -> String {
        let mut latency = Histogram::new();
        (0..count).for_each(|_| latency.record(took_us * 1000));
        let limits = Thresholds {
            p99_flash: Some(Nanos(1_000_000)),
            p99_disk: Some(Nanos(5_000_000)),
            iops_disk: None,
            source: "test".into(),
        };
        of_latency(&latency, &limits).unwrap().split_once(": ").unwrap().1.to_owned()
    }

    #[test]
    fn a_latency_is_compared_with_flash_and_disks() {
        assert_eq!(judged(500, 1000), "as fast as flash (≤ 1 ms)");
        assert_eq!(judged(3_000, 1000), "a disk, not flash (flash ≤ 1 ms)");
        assert_eq!(judged(9_000, 1000), "slower than a disk should be (≤ 5 ms)");
    }

    /// A slow disk completed 370 writes in three seconds, and the answer was that these are too few for a p99.
    #[test]
    fn few_requests_can_say_that_storage_is_slow_but_not_that_it_is_fast() {
        assert_eq!(judged(8_000, 370), "slower than a disk should be (≤ 5 ms)");
        assert_eq!(judged(2_000, 370), "not flash (flash ≤ 1 ms)");
        assert_eq!(judged(100, 370), "too few for a p99, so for a judgement");
    }
}
