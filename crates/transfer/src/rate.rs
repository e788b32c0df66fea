//! A rate limit shared by many workers: a token bucket.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How much may be used at once after a pause, in nanoseconds of the rate.
const BURST_NS: u64 = 20_000_000;
/// The largest request of a transfer that gives way, bytes: a commit waits behind a whole request, and at 150 MB/s this one
/// takes less than 2 ms.
const GIVING_WAY_BYTES: u32 = 256 << 10;

/// A rate in bytes a second, independent of request size: a request larger than the bucket passes when the
/// bucket is full, and the next one waits correspondingly longer.
///
/// The rate may be changed at any time, from any thread; workers never wait for a lock.
#[derive(Debug)]
pub struct RateLimit {
    bytes_per_second: AtomicU64,
    /// The most requests in flight on each side.
    in_flight_max: AtomicU32,
    /// When the bucket would be empty if nothing more were taken (the virtual scheduling form of the leaky
    /// bucket, ITU-T I.371).
    empty_at_ns: AtomicU64,
    taken_bytes: AtomicU64,
    request_bytes_max: u32,
}

impl RateLimit {
    /// A limit of `bytes_per_second`; 0 counts as 1.
    pub fn new(bytes_per_second: u64) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
        let tenth = (bytes_per_second.max(1) as f64 / 10.0) as u32;
        Self::with(bytes_per_second, u32::MAX, (tenth / 4096 * 4096).max(64 << 10))
    }

    /// For a transfer that gives way: it starts at this rate with so many requests in flight on each side, and
    /// its requests are small.
    pub fn adjustable(bytes_per_second: u64, in_flight_max: u32) -> Self {
        Self::with(bytes_per_second, in_flight_max, GIVING_WAY_BYTES)
    }

    fn with(bytes_per_second: u64, in_flight_max: u32, request_bytes_max: u32) -> Self {
        Self {
            bytes_per_second: bytes_per_second.max(1).into(),
            in_flight_max: in_flight_max.max(1).into(),
            empty_at_ns: AtomicU64::new(0),
            taken_bytes: AtomicU64::new(0),
            request_bytes_max,
        }
    }

    /// Changes the rate and the most requests in flight on each side. Requests that are in flight stay there.
    pub fn set(&self, bytes_per_second: u64, in_flight_max: u32) {
        self.bytes_per_second.store(bytes_per_second.max(1), Ordering::Relaxed);
        self.in_flight_max.store(in_flight_max.max(1), Ordering::Relaxed);
    }

    /// The most requests in flight on each side, at least 1.
    pub fn in_flight_max(&self) -> u32 {
        self.in_flight_max.load(Ordering::Relaxed)
    }

    pub fn taken_bytes(&self) -> u64 {
        self.taken_bytes.load(Ordering::Relaxed)
    }

    /// The largest request for a smooth rate, bytes: a tenth of a second's worth, at least 64 KiB. A request
    /// passes as a whole, so one of many seconds' worth would follow no rate at all.
    pub fn request_bytes_max(&self) -> u32 {
        self.request_bytes_max
    }

    /// Takes `bytes` if they may be moved at `now_ns`; otherwise takes nothing and returns when to ask again.
    pub fn take(&self, bytes: u64, now_ns: u64) -> Result<(), u64> {
        let bytes_per_second = self.bytes_per_second.load(Ordering::Relaxed);
        let length_ns = (bytes as f64 / bytes_per_second as f64 * 1e9).round();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
        let length_ns = length_ns as u64;
        let mut empty_at_ns = self.empty_at_ns.load(Ordering::Relaxed);
        loop {
            let may_at_ns = empty_at_ns.saturating_sub(BURST_NS);
            if now_ns < may_at_ns {
                return Err(may_at_ns);
            }
            let next_ns = empty_at_ns.max(now_ns).saturating_add(length_ns);
            let taken = self.empty_at_ns.compare_exchange_weak(
                empty_at_ns,
                next_ns,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match taken {
                Ok(_) => break,
                Err(of_another) => empty_at_ns = of_another,
            }
        }
        self.taken_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// UBCopy made its buffer as large as the requested bytes a second, and kept no rate when a write took no
    /// time. Here the rate holds whatever the size and speed of requests.
    #[test]
    fn the_rate_is_held_whatever_the_size_of_the_requests() {
        for request_bytes in [1_000, 65_536, 1 << 20, 300_000_000] {
            let limit = RateLimit::new(200_000_000);
            let (mut now_ns, mut moved) = (0, 0u64);
            while moved < 3_000_000_000 {
                match limit.take(request_bytes, now_ns) {
                    Ok(()) => moved += request_bytes,
                    Err(due_ns) => now_ns = due_ns,
                }
            }
            let rate = moved as f64 / (now_ns as f64 / 1e9);
            // The last request is not paid for yet, and the bucket starts full.
            let slack = (request_bytes + 4_000_000) as f64 / 3e9;
            assert!((rate / 2e8 - 1.0).abs() <= slack * 1.2 + 1e-3, "{request_bytes}: {rate}");
        }
    }

    #[test]
    fn a_request_is_a_tenth_of_a_second_s_worth_in_whole_pages_and_at_least_64_kib() {
        let bytes = |per_second: u64| RateLimit::new(per_second).request_bytes_max();
        assert_eq!((bytes(0), bytes(655_360), bytes(655_361)), (64 << 10, 64 << 10, 64 << 10));
        assert_eq!(bytes(10_000_000), 1_000_000 / 4096 * 4096);
        assert_eq!(bytes(100 << 20), 10 << 20);
    }

    #[test]
    fn a_pause_gives_no_more_than_the_burst() {
        let limit = RateLimit::new(1_000_000_000);
        let at_ns = 60_000_000_000;
        let mut taken = 0u64;
        while limit.take(1_000_000, at_ns).is_ok() {
            taken += 1_000_000;
        }
        assert!(taken <= 21_000_000, "{taken} bytes at once after a minute's pause");
    }

    /// A limit that is changed while a copy runs holds from the next request on, and what was counted before stays.
    #[test]
    fn a_rate_that_is_changed_holds_from_the_next_request_on() {
        let limit = RateLimit::adjustable(1_000_000, 1);
        let (mut now_ns, second) = (0, 1_000_000_000);
        let moved_until = |end_ns: u64, now_ns: &mut u64| {
            let before = limit.taken_bytes();
            while *now_ns < end_ns {
                match limit.take(10_000, *now_ns) {
                    Ok(()) => {}
                    Err(due_ns) => *now_ns = due_ns,
                }
            }
            limit.taken_bytes() - before
        };
        let slow = moved_until(second, &mut now_ns);
        assert!((1_000_000..1_050_000).contains(&slow), "{slow}");
        limit.set(50_000_000, 8);
        assert_eq!(limit.in_flight_max(), 8);
        let fast = moved_until(2 * second, &mut now_ns);
        assert!((49_000_000..52_000_000).contains(&fast), "{fast}");
        limit.set(0, 0);
        assert_eq!(limit.in_flight_max(), 1, "a transfer without a request in flight would never end");
    }

    #[test]
    fn many_threads_together_keep_one_rate() {
        let limit = RateLimit::adjustable(1_000_000, 4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for now_ns in (0..1_000_000_000).step_by(1_000_000) {
                        while limit.take(1_000, now_ns).is_ok() {}
                    }
                });
            }
        });
        let taken = limit.taken_bytes();
        assert!((1_000_000..=1_025_000).contains(&taken), "{taken}");
    }
}
