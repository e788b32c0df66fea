//! Handles signals that end a command.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use iostall_host::{Ending, EndingNews, on_ending_signals};
use iostall_session::remove_unfinished;

use crate::printer::Printer;

/// Calls `stop` once on the first signal and reports it with `printer`, if given. Call once per process.
pub(crate) fn on_signal(
    printer: Option<&Printer>,
    stop: impl Fn() + Send + Sync + 'static,
) -> anyhow::Result<()> {
    on_ending_signals(OfCommand { printer: printer.cloned(), stop }).context("cannot listen for Ctrl-C")
}

/// A flag set by a signal, which is reported to `printer`, if given.
pub(crate) fn stop_flag(printer: Option<&Printer>) -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let to_stop = Arc::clone(&stop);
    on_signal(printer, move || to_stop.store(true, Ordering::Relaxed))?;
    Ok(stop)
}

struct OfCommand<S> {
    printer: Option<Printer>,
    stop: S,
}

impl<S: Fn() + Send + Sync + 'static> Ending for OfCommand<S> {
    fn stop(&self) {
        (self.stop)();
    }

    fn say(&self, news: EndingNews) {
        match (&self.printer, news.words()) {
            (Some(printer), Some(words)) => printer.note(words),
            (Some(printer), None) => printer.status(),
            (None, _) => {}
        }
    }

    fn clean_up(&self, continues: &mut dyn FnMut() -> bool) {
        remove_unfinished(continues);
    }
}
