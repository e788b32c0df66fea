//! How fast data may be moved: a token bucket that many workers share.

use std::sync::Mutex;

/// How much of the rate may be used at once after a pause, nanoseconds' worth.
const BURST_NS: u64 = 20_000_000;

/// A rate in bytes a second. Independent of the size of the requests: one larger than the bucket passes when
/// the bucket is full, and what follows waits the longer.
#[derive(Debug)]
pub struct RateLimit {
    bytes_per_second: f64,
    /// When the bucket would be empty again if nothing more were taken (the virtual scheduling form of the
    /// leaky bucket, ITU-T I.371).
    empty_at_ns: Mutex<u64>,
}

impl RateLimit {
    /// `bytes_per_second`; 0 is taken as 1.
    pub fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second: bytes_per_second.max(1) as f64, empty_at_ns: Mutex::new(0) }
    }

    /// Takes `bytes` if they may be moved at `now_ns`; otherwise takes nothing and answers when to ask again.
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

    /// UBCopy made its buffer as large as the bytes a second asked for, and held no rate when a write took no
    /// time. Here the rate is held whatever the size of a request and however fast it completes.
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
            // The last request is still being paid for, and the bucket begins full.
            let slack = (request_bytes + 4_000_000) as f64 / 3e9;
            assert!((rate / 2e8 - 1.0).abs() <= slack * 1.2 + 1e-3, "{request_bytes}: {rate}");
        }
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
