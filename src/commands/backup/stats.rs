//! `--stats N`: a line after every N percent, as BACKUP and RESTORE WITH STATS print it.

use std::sync::atomic::{AtomicU64, Ordering};

use iostall_session::event::{Event, Observer};

use crate::printer::Printer;

/// Prints lines in place of the progress line. Without a known end there are none.
pub(super) struct Stats<'a> {
    printer: &'a Printer,
    every: Option<u64>,
    /// The percentage of the next line.
    next: AtomicU64,
}

impl<'a> Stats<'a> {
    pub(super) fn new(every: Option<u8>, printer: &'a Printer) -> Self {
        let every = every.map(u64::from);
        Self { printer, every, next: AtomicU64::new(every.unwrap_or_default()) }
    }

    /// Prints the lines up to `done` of `total`.
    fn reached(&self, every: u64, done: u64, total: u64) {
        let percent = done.min(total).saturating_mul(100).checked_div(total).unwrap_or(0);
        let next = self.next.load(Ordering::Relaxed);
        // After a pause several are due; the last of them says it all.
        if percent >= next {
            let line = percent - percent % every;
            self.printer.note(&format!("{line} percent processed."));
            self.next.store(line + every, Ordering::Relaxed);
        }
    }

    /// The last line, after something whose end came between two looks.
    pub(super) fn complete(&self) {
        if let Some(every) = self.every.filter(|_| self.next.load(Ordering::Relaxed) <= 100) {
            self.reached(every, 100, 100);
        }
    }
}

impl Observer for Stats<'_> {
    fn on(&self, event: &Event<'_>) {
        match (self.every, event) {
            (Some(every), Event::TransferProgress { now, .. }) if now.bytes_total > 0 => {
                self.reached(every, now.bytes_done, now.bytes_total);
            }
            (Some(every), Event::StatementProgress { percent_hundredths, .. }) => {
                self.reached(every, (*percent_hundredths).into(), 10_000);
            }
            (Some(_), Event::TransferProgress { .. }) => {}
            _ => self.printer.on(event),
        }
    }
}
