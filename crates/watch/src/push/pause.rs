//! How long to wait for a receiver that fails.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// A receiver that asks for more is asked again all the same: it may have been started again meanwhile.
const ASKED_MAX: Duration = Duration::from_secs(600);

#[derive(Debug, Default)]
pub(super) struct Pauses {
    failures: u32,
}

impl Pauses {
    /// The pause after another failure. `random` moves it by up to a half, so that many senders do not come back at once; what the
    /// receiver asks for is the least.
    pub(super) fn after_failure(&mut self, asked: Option<Duration>, random: u64) -> Duration {
        let usual = FIRST.saturating_mul(1 << self.failures.min(10)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        let share = (random % 1_000) as f64 / 1_000.0;
        let jittered = usual.mul_f64(0.5 + share / 2.0);
        // As many as were told the same time to come back are spread over half of it.
        let asked = asked.map(|asked| asked.min(ASKED_MAX).mul_f64(1.0 + share / 2.0));
        asked.map_or(jittered, |asked| asked.max(jittered))
    }

    pub(super) fn after_success(&mut self) {
        self.failures = 0;
    }
}

/// What `Retry-After` asks for: seconds, or a date.
pub(super) fn asked(header: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(seconds) = header.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = rfc2822::parse(header.trim()).ok()?.timestamp();
    Some(Duration::try_from(at.duration_since(now)).unwrap_or_default())
}

/// Different for every process and call.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_minute_and_start_over_after_a_success() {
        let mut pauses = Pauses::default();
        let all: Vec<u64> = (0..8).map(|_| pauses.after_failure(None, 999).as_secs() + 1).collect();
        assert_eq!(all, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(pauses.after_failure(None, 0), Duration::from_secs(30), "jitter takes half at most");
        pauses.after_success();
        assert!(pauses.after_failure(None, 500) < Duration::from_secs(1));
    }

    #[test]
    fn the_receiver_may_ask_for_a_longer_pause_and_not_for_an_endless_one() {
        let mut pauses = Pauses::default();
        assert_eq!(pauses.after_failure(Some(Duration::from_secs(20)), 0), Duration::from_secs(20));
        assert!(pauses.after_failure(Some(Duration::from_secs(20)), 999) > Duration::from_secs(29));
        assert_eq!(pauses.after_failure(Some(Duration::MAX), 0), ASKED_MAX);
        let now: Timestamp = "2026-11-23T14:00:00Z".parse().unwrap();
        assert_eq!(asked("7", now), Some(Duration::from_secs(7)));
        assert_eq!(asked("Mon, 23 Nov 2026 14:01:30 GMT", now), Some(Duration::from_secs(90)));
        assert_eq!(asked("Mon, 23 Nov 2026 13:00:00 GMT", now), Some(Duration::ZERO));
        for nothing in ["", "soon", "-1"] {
            assert_eq!(asked(nothing, now), None, "{nothing}");
        }
    }
}
