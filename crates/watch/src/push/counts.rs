//! What does not arrive at a receiver, counted since the start: whoever sends reads and adds, and anybody may ask.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::figure::Figure;

#[derive(Debug)]
pub(crate) struct PushCounts {
    receiver: String,
    refused: AtomicU64,
    too_old: AtomicU64,
    backlog_s: AtomicU64,
}

/// The state of a receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushNow {
    pub receiver: String,
    /// Samples that it did not want.
    pub refused: u64,
    /// Samples that had waited for longer than they are kept for it.
    pub too_old: u64,
    /// How long the oldest sample that it is still to get has waited, seconds.
    pub backlog_s: u64,
}

impl PushNow {
    pub(crate) fn figures(&self) -> Vec<Figure> {
        let figure = |name, help, is_counter, value| {
            let label = Some(("receiver", self.receiver.clone()));
            Figure { name, help, is_counter, label, value }
        };
        let dropped = self.refused + self.too_old;
        let help = "Samples that were not sent, because the receiver refused them or they had waited too long, since the start.";
        let waited = "How long the oldest sample that is still to be sent has waited.";
        vec![
            figure("iostall_push_dropped_total", help, true, dropped),
            figure("iostall_push_backlog_seconds", waited, false, self.backlog_s),
        ]
    }
}

impl PushCounts {
    pub(super) fn of(receiver: String) -> Self {
        let (refused, too_old, backlog_s) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        Self { receiver, refused, too_old, backlog_s }
    }

    pub(super) fn add_refused(&self, samples: usize) -> u64 {
        self.refused.fetch_add(samples as u64, Ordering::Relaxed) + samples as u64
    }

    pub(super) fn add_too_old(&self, samples: u64) -> u64 {
        self.too_old.fetch_add(samples, Ordering::Relaxed) + samples
    }

    pub(super) fn put_backlog(&self, seconds: u64) {
        self.backlog_s.store(seconds, Ordering::Relaxed);
    }

    pub(crate) fn now(&self) -> PushNow {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        PushNow {
            receiver: self.receiver.clone(),
            refused: read(&self.refused),
            too_old: read(&self.too_old),
            backlog_s: read(&self.backlog_s),
        }
    }
}
