//! How much a source that cannot wait must be able to hold.

use iostall_model::paced::Pace;

/// Follows what has arrived and what has been written.
///
/// The source produces evenly, a burst's worth each period, and hands over the first burst when writing
/// begins. A byte is held until the write that it is part of has completed: so what is held is largest
/// just before a write completes.
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    pace: Pace,
    /// What the source will produce in all, bytes; `None` while it goes on.
    total_bytes: Option<u64>,
    largest_bytes: u64,
}

impl Backlog {
    /// For a source of this pace.
    pub fn new(pace: Pace, total_bytes: Option<u64>) -> Self {
        Self { pace, total_bytes, largest_bytes: 0 }
    }

    /// A write completed `since_start_ns` after the first burst; before it, `written_bytes` were written.
    pub fn note(&mut self, since_start_ns: u64, written_bytes: u64) {
        let Some(bytes_per_second) = self.pace.bytes_per_second() else { return };
        let first = u64::from(self.pace.packet_bytes) * u64::from(self.pace.packets_per_burst);
        let since = bytes_per_second * (since_start_ns as f64 / 1e9);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
        let produced = first.saturating_add(since as u64).min(self.total_bytes.unwrap_or(u64::MAX));
        self.largest_bytes = self.largest_bytes.max(produced.saturating_sub(written_bytes));
    }

    /// The most that was held at one moment, bytes; `None` without a pause, when the source waits.
    pub fn largest_bytes(&self) -> Option<u64> {
        self.pace.bytes_per_second().map(|_| self.largest_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace { packet_bytes: 1000, packets_per_burst: 2, period_ns: 1_000_000 };

    #[test]
    fn instant_writes_need_room_for_one_burst() {
        let mut backlog = Backlog::new(PACE, None);
        for packet in 0..10u64 {
            backlog.note(packet / 2 * 1_000_000, packet * 1000);
        }
        assert_eq!(backlog.largest_bytes(), Some(2000));
    }

    #[test]
    fn a_stall_adds_what_arrives_during_it() {
        let mut backlog = Backlog::new(PACE, None);
        backlog.note(0, 0);
        // The second write stalls for 10 periods: 20,000 bytes arrive, and it holds what was there.
        backlog.note(10_000_000, 1000);
        assert_eq!(backlog.largest_bytes(), Some(2000 + 20_000 - 1000));
    }

    #[test]
    fn a_source_that_has_ended_produces_no_more() {
        let mut backlog = Backlog::new(PACE, Some(5000));
        backlog.note(1_000_000_000, 1000);
        assert_eq!(backlog.largest_bytes(), Some(4000));
    }
}
