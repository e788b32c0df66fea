//! The lines of `--stats N`: one after every N percent, as BACKUP and RESTORE WITH STATS print them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use iostall_model::figures::per_second;
use iostall_session::event::Event;

use crate::format::number;

/// More stripes than these are shown by the slowest and the fastest.
const STRIPES_LISTED: usize = 8;

/// Lines in place of the progress line. Without a known end there are none.
#[derive(Debug)]
pub struct PercentLines {
    every: u64,
    last: Mutex<Last>,
}

#[derive(Debug, Default)]
struct Last {
    next: u64,
    seen: StripedPart,
}

impl PercentLines {
    pub fn every(percent: u8) -> Self {
        let every = u64::from(percent.max(1));
        Self { every, last: Mutex::new(Last { next: every, ..Last::default() }) }
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether `event` is about progress, and so in these lines instead of where others show it.
    pub fn replaces(event: &Event<'_>) -> bool {
        matches!(event, Event::TransferProgress { .. } | Event::StatementProgress { .. })
    }

    pub fn after(&self, event: &Event<'_>) -> Option<String> {
        match event {
            Event::TransferProgress { now, whole, .. } if now.bytes_total > 0 => {
                let seen = StripedPart {
                    elapsed_ns: whole.elapsed_ns,
                    bytes: now.bytes_done,
                    stripes: now.stripes.clone(),
                };
                let done = now.bytes_done.min(now.bytes_total).saturating_mul(100);
                self.reached(done / now.bytes_total, seen)
            }
            Event::StatementProgress { percent_hundredths, .. } => {
                // A server says how far it is, and not how many bytes that were.
                self.reached(u64::from(*percent_hundredths / 100).min(100), StripedPart::default())
            }
            _ => None,
        }
    }

    /// The line that is due at `percent`, with the rates of what was moved since the last one.
    fn reached(&self, percent: u64, now: StripedPart) -> Option<String> {
        let mut last = self.last();
        if percent < last.next {
            return None;
        }
        // After a pause several are due; the last of them says it all.
        let line = percent - percent % self.every;
        let part = now.since(&last.seen);
        *last = Last { next: line + self.every, seen: now };
        Some(percent_processed(line, &part))
    }

    /// The last line, after something whose end came between two looks.
    pub fn complete(&self) -> Option<String> {
        (self.last().next <= 100).then(|| percent_processed(100, &StripedPart::default()))
    }
}

/// A part of a backup or a restore: from one line of `--stats` to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct StripedPart {
    elapsed_ns: u64,
    /// Of the source.
    bytes: u64,
    /// Of each stripe.
    stripes: Vec<u64>,
}

impl StripedPart {
    fn since(&self, earlier: &Self) -> Self {
        let before = |at: usize| earlier.stripes.get(at).copied().unwrap_or(0);
        Self {
            elapsed_ns: self.elapsed_ns.saturating_sub(earlier.elapsed_ns),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            stripes: (0..).zip(&self.stripes).map(|(at, bytes)| bytes.saturating_sub(before(at))).collect(),
        }
    }
}

/// `10 percent processed. 484 MiB/s; stripes 105, 104 MiB/s`, as `--stats` prints it: how fast this part of the work was.
fn percent_processed(percent: u64, part: &StripedPart) -> String {
    let mut line = format!("{percent} percent processed.");
    let rate = |bytes: u64| per_second(bytes as f64 / 1_048_576.0, part.elapsed_ns);
    let Some(source) = rate(part.bytes) else { return line };
    line.push_str(&format!(" {} MiB/s", number(source)));
    let rates: Vec<f64> = part.stripes.iter().copied().filter_map(rate).collect();
    match &rates[..] {
        [] => {}
        [one] => line.push_str(&format!("; stripe {} MiB/s", number(*one))),
        few if few.len() <= STRIPES_LISTED => {
            let few: Vec<String> = few.iter().copied().map(number).collect();
            line.push_str(&format!("; stripes {} MiB/s", few.join(", ")));
        }
        many => {
            let least = many.iter().copied().fold(f64::INFINITY, f64::min);
            let most = many.iter().copied().fold(0.0, f64::max);
            line.push_str(&format!("; {} stripes {} to {} MiB/s", many.len(), number(least), number(most)));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The story: `--stats 10` printed nothing but percentages, and that one disk of four had become slow was seen in the morning.
    #[test]
    fn a_line_of_stats_has_the_rates_since_the_line_before() {
        let seen = |seconds: u64, bytes: u64, stripes: &[u64]| StripedPart {
            elapsed_ns: seconds * 1_000_000_000,
            bytes: bytes << 20,
            stripes: stripes.iter().map(|bytes| bytes << 20).collect(),
        };
        let part = seen(12, 1500, &[310, 320]).since(&seen(10, 500, &[100, 300]));
        assert_eq!(percent_processed(20, &part), "20 percent processed. 500 MiB/s; stripes 105, 10.0 MiB/s");
        let first = seen(2, 100, &[40]).since(&StripedPart::default());
        assert_eq!(percent_processed(10, &first), "10 percent processed. 50.0 MiB/s; stripe 20.0 MiB/s");
        let many: Vec<u64> = (1..=64).collect();
        assert!(percent_processed(30, &seen(1, 5, &many)).ends_with("; 64 stripes 1.00 to 64.0 MiB/s"));
        assert_eq!(percent_processed(100, &StripedPart::default()), "100 percent processed.");
    }
}
