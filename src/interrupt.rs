//! Signals that ask for the end, in a command: what is to stop, and what a user reads of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use iostall_host::{Ending, EndingNews, on_ending_signals};
use iostall_session::remove_unfinished;

use crate::printer::Printer;

/// Has a signal call `stop` once, and says with `printer`, where there is one, that it has done so. Once a process.
pub(crate) fn on_signal(
    printer: Option<&Printer>,
    stop: impl Fn() + Send + Sync + 'static,
) -> anyhow::Result<()> {
    on_ending_signals(OfCommand { printer: printer.cloned(), stop }).context("cannot listen for Ctrl-C")
}

/// A flag that a signal sets; what it says goes to `printer`, where there is one.
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
        let words = match news {
            EndingNews::StoppingAtKey => {
                "stopping; results so far are kept. Press Ctrl-C again to exit without waiting"
            }
            EndingNews::StoppingWithoutTerminal => {
                "stopping because the terminal was closed (SIGHUP); results so far are kept"
            }
            EndingNews::Stopping => {
                "stopping; results so far are kept. A second signal exits without waiting"
            }
            EndingNews::Leaving => "exiting: removing unfinished files that cannot be resumed",
        };
        if let Some(printer) = &self.printer {
            printer.note(words);
        }
    }

    fn clean_up(&self, goes_on: &mut dyn FnMut() -> bool) {
        remove_unfinished(goes_on);
    }
}
