//! Ctrl-C: the first one asks the work to end and keep what it has, the second one ends the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::Context;
use iostall_load::window::StopSign;
use iostall_measure::{Clock, MonotonicClock};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// Raises `stop` at the first SIGINT or SIGTERM. A second one ends the process at once, as it would without us.
pub(crate) fn raise_on_signal(stop: &Arc<StopSign>, clock: &MonotonicClock) -> anyhow::Result<()> {
    let (stop, clock) = (Arc::clone(stop), clock.clone());
    listen(move || {
        let is_first = !stop.is_raised();
        stop.raise(clock.now_ns());
        is_first
    })
}

/// Sets `cancel` at the first signal, for work that looks at a flag.
pub(crate) fn cancel_on_signal(cancel: &Arc<AtomicBool>) -> anyhow::Result<()> {
    let cancel = Arc::clone(cancel);
    listen(move || !cancel.swap(true, Ordering::Relaxed))
}

/// Calls `raise` at each signal; where it answers that it was not the first, the process ends.
fn listen(raise: impl Fn() -> bool + Send + 'static) -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot listen for Ctrl-C")?;
    thread::Builder::new()
        .name("iostall-signals".into())
        .spawn(move || {
            for signal in signals.forever() {
                if !raise() {
                    // Nothing is lost by it: the run was already told to end, and what it made is marked as unfinished.
                    drop(emulate_default_handler(signal));
                }
            }
        })
        .context("cannot start the thread that listens for Ctrl-C")?;
    Ok(())
}
