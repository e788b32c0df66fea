//! A cloud volume: a paid base rate, and credits that allow bursts.

use super::model::{Arrival, DeviceModel};

/// Up to this many bytes count as one I/O; a larger request counts as several.
const IO_BYTES: u32 = 16 << 10;

/// A token bucket of I/Os. It has a closed form: under load it gives `iops_burst` for `credits / (iops_burst
/// - iops_base)` seconds, and `iops_base` from then on.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    iops_base: f64,
    iops_burst: f64,
    credits_max: f64,
    latency_ns: u64,
    credits: f64,
    /// When `credits` was last updated, and the earliest time for the next I/O.
    at_ns: f64,
    next_ns: f64,
}

impl TokenBucket {
    /// A volume with a full bucket: `credits` refill at `iops_base`, are spent at `iops_burst` at most, and
    /// each I/O takes `latency_ns` once admitted.
    pub fn new(iops_base: f64, iops_burst: f64, credits: f64, latency_ns: u64) -> Self {
        Self { iops_base, iops_burst, credits_max: credits, latency_ns, credits, at_ns: 0.0, next_ns: 0.0 }
    }

    /// How long a full bucket lasts under load, seconds.
    pub fn burst_s(&self) -> f64 {
        self.credits_max / (self.iops_burst - self.iops_base)
    }
}

impl DeviceModel for TokenBucket {
    fn end_ns(&mut self, arrival: &Arrival) -> u64 {
        if arrival.is_sync() {
            return arrival.now_ns.saturating_add(self.latency_ns);
        }
        let cost = f64::from(arrival.length.div_ceil(IO_BYTES).max(1));
        let mut start_ns = self.next_ns.max(arrival.now_ns as f64);
        let earned = (start_ns - self.at_ns) / 1e9 * self.iops_base;
        self.credits = (self.credits + earned).min(self.credits_max.max(cost));
        if self.credits < cost {
            start_ns += (cost - self.credits) / self.iops_base * 1e9;
            self.credits = cost;
        }
        self.credits -= cost;
        self.at_ns = start_ns;
        self.next_ns = start_ns + cost / self.iops_burst * 1e9;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "never negative, casts saturate"
        )]
        let start_ns = start_ns.ceil() as u64;
        start_ns.saturating_add(self.latency_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{FileIndex, RequestOp};

    fn read(now_ns: u64, length: u32) -> Arrival {
        Arrival { now_ns, op: RequestOp::Read, file: FileIndex(0), offset: 0, length, exponential: 1.0 }
    }

    #[test]
    fn a_full_bucket_lasts_as_long_as_its_credits_and_then_gives_the_base_rate() {
        let mut bucket = TokenBucket::new(100.0, 1000.0, 900.0, 0);
        assert!((bucket.burst_s() - 1.0).abs() < 1e-9);
        let ends: Vec<u64> = (0..2000).map(|_| bucket.end_ns(&read(0, 4096))).collect();
        let within = |from_s: f64, to_s: f64| {
            ends.iter().filter(|end| (from_s * 1e9..to_s * 1e9).contains(&(**end as f64))).count()
        };
        assert!(within(0.0, 1.0).abs_diff(1000) <= 2, "{}", within(0.0, 1.0));
        assert!(within(1.0, 2.0).abs_diff(100) <= 2, "{}", within(1.0, 2.0));
        assert!(within(5.0, 6.0).abs_diff(100) <= 2, "{}", within(5.0, 6.0));
    }

    #[test]
    fn what_is_not_spent_comes_back_and_never_more_than_fits() {
        let mut bucket = TokenBucket::new(100.0, 1000.0, 10.0, 0);
        let hour_ns = 3_600_000_000_000;
        let ends: Vec<u64> = (0..12).map(|_| bucket.end_ns(&read(hour_ns, 4096)) - hour_ns).collect();
        assert!(ends[9] <= 9_000_001, "{ends:?}");
        assert!(ends[11] >= 10_000_000, "{ends:?}");
    }

    #[test]
    fn a_large_request_costs_as_many_as_it_is_made_of() {
        let mut bucket = TokenBucket::new(100.0, 1000.0, 900.0, 5);
        assert_eq!(bucket.end_ns(&read(0, 64 << 10)), 5);
        assert_eq!(bucket.end_ns(&read(0, 1)), 4_000_005);
    }
}
