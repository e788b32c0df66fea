//! A rate limit shared by many workers: a token bucket.

use std::sync::Mutex;

/// How much may be used at once after a pause, in nanoseconds of the rate.
const BURST_NS: u64 = 20_000_000;

/// A rate in bytes a second, independent of request size: a request larger than the bucket passes when the
/// bucket is full, and the next one waits correspondingly longer.
#[derive(Debug)]
pub struct RateLimit {
    bytes_per_second: f64,
    /// When the bucket would be empty if nothing more were taken (the virtual scheduling form of the leaky
    /// bucket, ITU-T I.371).
    empty_at_ns: Mutex<u64>,
}

impl RateLimit {
    /// A limit of `bytes_per_second`; 0 counts as 1.
    pub fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second: bytes_per_second.max(1) as f64, empty_at_ns: Mutex::new(0) }
    }

    /// The largest request for a smooth rate, bytes: a tenth of a second's worth, at least 64 KiB. A request
    /// passes as a whole, so one of many seconds' worth would follow no rate at all.
    pub fn request_bytes_max(&self) -> u32 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
        let tenth = (self.bytes_per_second / 10.0) as u32;
        (tenth / 4096 * 4096).max(64 << 10)
    }

    /// Takes `bytes` if they may be moved at `now_ns`; otherwise takes nothing and returns when to ask again.
    pub fn take(&self, bytes: u64, now_ns: u64) -> Result<(), u64> {
        let mut empty_at_ns = self.empty_at_ns.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let may_at_ns = empty_at_ns.saturating_sub(BURST_NS);
        if now_ns < may_at_ns {
            return Err(may_at_ns);
        }
        let length_ns = (bytes as f64 / self.bytes_per_second * 1e9).round();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
        let length_ns = length_ns as u64;
        *empty_at_ns = (*empty_at_ns).max(now_ns).saturating_add(length_ns);
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
}
