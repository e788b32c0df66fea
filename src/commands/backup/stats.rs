//! `--stats N`: a line after every N percent, as BACKUP and RESTORE WITH STATS print it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use iostall_report::live::{StripedPart, percent_processed};
use iostall_session::event::{Event, Observer};

use crate::printer::Printer;

/// Prints lines in place of the progress line. Without a known end there are none.
pub(super) struct Stats<'a> {
    printer: &'a Printer,
    every: Option<u64>,
    last: Mutex<Last>,
}

/// The last line, and the percentage of the next one.
struct Last {
    next: u64,
    seen: StripedPart,
}

impl<'a> Stats<'a> {
    pub(super) fn new(every: Option<u8>, printer: &'a Printer) -> Self {
        let every = every.map(u64::from);
        let last = Last { next: every.unwrap_or_default(), seen: StripedPart::default() };
        Self { printer, every, last: Mutex::new(last) }
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints the line that is due at `percent`, with the rates of what was moved since the last one.
    fn reached(&self, every: u64, percent: u64, now: StripedPart) {
        let mut last = self.last();
        // After a pause several are due; the last of them says it all.
        if percent >= last.next {
            let line = percent - percent % every;
            let part = now.since(&last.seen);
            self.printer.note(&percent_processed(line, &part));
            *last = Last { next: line + every, seen: now };
        }
    }

    /// The last line, after something whose end came between two looks.
    pub(super) fn complete(&self) {
        if self.every.is_some() && self.last().next <= 100 {
            self.printer.note(&percent_processed(100, &StripedPart::default()));
        }
    }
}

impl Observer for Stats<'_> {
    fn on(&self, event: &Event<'_>) {
        match (self.every, event) {
            (Some(every), Event::TransferProgress { now, whole, .. }) if now.bytes_total > 0 => {
                let seen = StripedPart {
                    elapsed_ns: whole.elapsed_ns,
                    bytes: now.bytes_done,
                    stripes: now.stripes.clone(),
                };
                let done = now.bytes_done.min(now.bytes_total).saturating_mul(100);
                self.reached(every, done / now.bytes_total, seen);
            }
            (Some(every), Event::StatementProgress { percent_hundredths, .. }) => {
                // A server says how far it is, and not how many bytes that were.
                let percent = u64::from(*percent_hundredths / 100).min(100);
                self.reached(every, percent, StripedPart::default());
            }
            (Some(_), Event::TransferProgress { .. }) => {}
            _ => self.printer.on(event),
        }
    }
}
