//! When something that happens at intervals is due.

/// Due one interval after the first question, and every interval from then on.
#[derive(Clone, Debug)]
pub struct Every {
    interval_ns: u64,
    due_ns: Option<u64>,
}

impl Every {
    pub fn nanos(interval_ns: u64) -> Self {
        Self { interval_ns, due_ns: None }
    }

    /// Whether it is due at `now_ns`. Asked late, it does not catch up on what it missed.
    pub fn is_due(&mut self, now_ns: u64) -> bool {
        let is_due = self.due_ns.is_some_and(|due_ns| now_ns >= due_ns);
        if is_due || self.due_ns.is_none() {
            self.due_ns = Some(now_ns.saturating_add(self.interval_ns));
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The log of a copy that ran all night had nothing between its first line and its last.
    #[test]
    fn a_line_a_minute_is_due_once_a_minute() {
        let mut every = Every::nanos(60);
        let mut due = |second: u64| every.is_due(second);
        assert!(!due(5) && !due(64));
        assert!(due(65) && !due(66) && !due(124));
        assert!(due(200) && !due(201) && !due(259) && due(260));
    }
}
