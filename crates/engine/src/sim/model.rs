//! Service times of a simulated device: of parallel channels, and of a cloud volume with credits for bursts.

use std::fmt::Debug;

use super::config::{SimConfig, Stall};
use crate::request::{FileIndex, RequestOp};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// On the device's clock.
    pub now_ns: u64,
    pub op: RequestOp,
    /// Files may stand on devices of different speed.
    pub file: FileIndex,
    pub offset: u64,
    pub length: u32,
    /// A draw from the exponential distribution of mean 1, for models with random service times: the same
    /// seed gives the same draws.
    pub exponential: f64,
}

impl Arrival {
    pub fn is_sync(&self) -> bool {
        matches!(self.op, RequestOp::Fdatasync | RequestOp::Fsync | RequestOp::SyncFileRange)
    }
}

pub trait DeviceModel: Debug + Send {
    /// When a request that arrives now ends. Called once for every request, in order of arrival; the model
    /// keeps its own state.
    fn end_ns(&mut self, arrival: &Arrival) -> u64;
}

/// A device of N channels. With a constant service time D it has a closed form: Q requests in flight give
/// min(Q, N) / D a second, and each takes D, or Q / N times D if they queue.
#[derive(Clone, Debug)]
pub struct Channels {
    free_ns: Vec<u64>,
    service_ns_base: u64,
    service_ns_tail_mean: u64,
    ns_per_kib: u64,
    sync_ns: u64,
    stalls: Vec<Stall>,
}

impl Channels {
    /// `channels` (at least 1) that serve every request in `service_ns`.
    pub fn fixed(channels: u32, service_ns: u64) -> Self {
        Self {
            free_ns: vec![0; channels.max(1) as usize],
            service_ns_base: service_ns,
            service_ns_tail_mean: 0,
            ns_per_kib: 0,
            sync_ns: service_ns,
            stalls: Vec::new(),
        }
    }

    #[must_use]
    pub fn with_transfer(self, ns_per_kib: u64) -> Self {
        Self { ns_per_kib, ..self }
    }

    pub(super) fn of(config: &SimConfig) -> Self {
        Self {
            service_ns_tail_mean: config.service_ns_tail_mean,
            sync_ns: config.sync_ns,
            stalls: sorted(config.stalls.clone()),
            ..Self::fixed(config.channels, config.service_ns_base)
        }
    }

    fn service_ns(&self, arrival: &Arrival) -> u64 {
        if arrival.is_sync() {
            return self.sync_ns;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "never negative, casts saturate"
        )]
        let tail_ns = (arrival.exponential * self.service_ns_tail_mean as f64) as u64;
        let transfer_ns = self.ns_per_kib.saturating_mul(u64::from(arrival.length)) / 1024;
        self.service_ns_base.saturating_add(tail_ns).saturating_add(transfer_ns)
    }
}

impl DeviceModel for Channels {
    fn end_ns(&mut self, arrival: &Arrival) -> u64 {
        let service_ns = self.service_ns(arrival);
        // There is always at least one.
        let Some(channel) = self.free_ns.iter_mut().min() else { return u64::MAX };
        *channel = end_of_service(arrival.now_ns.max(*channel), service_ns, &self.stalls);
        *channel
    }
}

fn sorted(mut stalls: Vec<Stall>) -> Vec<Stall> {
    stalls.sort_by_key(|stall| stall.from_ns);
    stalls
}

/// When `service_ns` of work that starts at `start_ns` ends, with no progress during `stalls` (sorted, may
/// overlap).
fn end_of_service(start_ns: u64, service_ns: u64, stalls: &[Stall]) -> u64 {
    let mut end_ns = start_ns.saturating_add(service_ns);
    let mut lost_until_ns = start_ns;
    for stall in stalls {
        if stall.from_ns >= end_ns {
            break;
        }
        let from_ns = stall.from_ns.max(lost_until_ns);
        if stall.to_ns > from_ns {
            end_ns = end_ns.saturating_add(stall.to_ns - from_ns);
            lost_until_ns = stall.to_ns;
        }
    }
    end_ns
}

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

    #[test]
    fn service_pauses_during_stalls_and_only_then() {
        let stalls = [(100, 200), (150, 250), (400, 500)].map(|(from_ns, to_ns)| Stall { from_ns, to_ns });
        let end = |start_ns, service_ns| end_of_service(start_ns, service_ns, &stalls);
        assert_eq!(end(0, 50), 50);
        assert_eq!(end(0, 100), 100);
        assert_eq!(end(0, 101), 251);
        assert_eq!(end(120, 10), 260);
        assert_eq!(end(220, 10), 260);
        assert_eq!(end(260, 200), 560);
        assert_eq!(end(600, 10), 610);
    }

    #[test]
    fn what_finds_every_channel_busy_waits_for_the_first_that_is_free() {
        let mut model = Channels::fixed(2, 100).with_transfer(10);
        let mut end = |now_ns, length| {
            let file = FileIndex(0);
            model.end_ns(&Arrival { now_ns, op: RequestOp::Read, file, offset: 0, length, exponential: 1.0 })
        };
        assert_eq!([end(0, 1024), end(0, 4096), end(0, 0), end(500, 0)], [110, 140, 210, 600]);
    }

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
