//! How long a client may keep a connection without a request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Also where all connections are taken, nanoseconds: who is about to ask gets to it.
const NS_MIN: u64 = 250_000_000;

/// Who says nothing keeps others out: the fewer connections are left, the shorter it may. Without that, thousands of servers that send
/// once a minute would hold all of them.
#[derive(Clone, Debug)]
pub(super) struct Patience {
    /// The patience where nobody else is there, nanoseconds.
    pub(super) most_ns: u64,
    pub(super) connections: Arc<AtomicUsize>,
    pub(super) connections_max: usize,
}

impl Patience {
    pub(super) fn ns(&self) -> u64 {
        let free = self.connections_max.saturating_sub(self.connections.load(Ordering::Relaxed));
        let share_ns = self.most_ns / self.connections_max.max(1) as u64 * free as u64;
        share_ns.max(NS_MIN).min(self.most_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_alone_may_be_silent_and_in_a_crowd_nobody_may() {
        let connections = Arc::new(AtomicUsize::new(0));
        let patience =
            Patience { most_ns: 5_000_000_000, connections: Arc::clone(&connections), connections_max: 512 };
        let ns_with = |count| {
            connections.store(count, Ordering::Relaxed);
            patience.ns()
        };
        assert!(ns_with(1) > 4_900_000_000 && ns_with(256) < 2_600_000_000);
        assert_eq!((ns_with(511), ns_with(512), ns_with(600)), (NS_MIN, NS_MIN, NS_MIN));
    }
}
