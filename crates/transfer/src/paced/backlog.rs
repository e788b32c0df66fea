//! The buffer that a source needs if it cannot wait.

use iostall_model::paced::Pace;

/// Tracks what has arrived and what has been written.
///
/// The source produces evenly, one burst per period, and hands over the first burst when writing begins. A
/// byte is held until its write has completed, so the backlog peaks just before a write completes.
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    pace: Pace,
    /// What the source will produce in total, bytes; `None` if it does not end.
    total_bytes: Option<u64>,
    largest_bytes: u64,
}

impl Backlog {
    /// For a source at this pace.
    pub fn new(pace: Pace, total_bytes: Option<u64>) -> Self {
        Self { pace, total_bytes, largest_bytes: 0 }
    }

    /// Records a write that completed `since_start_ns` after the first burst; `written_bytes` were written
    /// before it.
    pub fn note(&mut self, since_start_ns: u64, written_bytes: u64) {
        let Some(bytes_per_second) = self.pace.bytes_per_second() else { return };
        let first = self.pace.burst_bytes();
        let since = bytes_per_second * (since_start_ns as f64 / 1e9);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
        let produced = first.saturating_add(since as u64).min(self.total_bytes.unwrap_or(u64::MAX));
        self.largest_bytes = self.largest_bytes.max(produced.saturating_sub(written_bytes));
    }

    /// The largest backlog, bytes; `None` without a pause, when the source can wait.
    pub fn largest_bytes(&self) -> Option<u64> {
        self.pace.bytes_per_second().map(|_| self.largest_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace { packet_bytes: 1000, packets_per_burst: 2, period_ns: 1_000_000, delay_ns: 0 };

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
        // The second write stalls for 10 periods: 20,000 bytes arrive while the earlier ones are held.
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
