//! How long the end of sampling waits for readings.

use std::time::Duration;

use iostall_measure::{Clock, MonotonicClock};

/// A reading ends within its own limit, unless it waits in the kernel for a device or a mount that does not answer: that one may
/// never end, and must not keep what was stored, and who waits for us, from ending.
const GRACE: Duration = Duration::from_secs(60);

pub(super) struct Grace {
    clock: MonotonicClock,
    length: Duration,
    since_ns: Option<u64>,
}

impl Default for Grace {
    fn default() -> Self {
        Self::of(GRACE)
    }
}

impl Grace {
    pub(super) fn of(length: Duration) -> Self {
        Self { clock: MonotonicClock::new(), length, since_ns: None }
    }

    /// Whether sampling has been ending for so long that readings are no longer waited for.
    pub(super) fn is_over(&mut self, is_ending: bool) -> bool {
        if !is_ending {
            self.since_ns = None;
            return false;
        }
        let now_ns = self.clock.now_ns();
        let since_ns = *self.since_ns.get_or_insert(now_ns);
        u128::from(now_ns - since_ns) >= self.length.as_nanos()
    }
}
