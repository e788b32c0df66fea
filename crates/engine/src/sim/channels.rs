//! A device model with a fixed number of parallel channels and a queue.

use super::config::{SimConfig, Stall};
use super::model::{Arrival, DeviceModel};

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

    /// Adds `ns_per_kib` for each KiB that a request moves.
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
}
