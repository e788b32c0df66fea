//! Ctrl-C: the first one asks the work to end and keep what it has, the second one ends the program.

use std::sync::Arc;
use std::thread;

use anyhow::Context;
use iostall_load::window::StopSign;
use iostall_measure::{Clock, MonotonicClock};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// Raises `stop` at the first SIGINT or SIGTERM. A second one ends the process at once, as it would without us.
pub(crate) fn raise_on_signal(stop: &Arc<StopSign>, clock: &MonotonicClock) -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot listen for Ctrl-C")?;
    let (stop, clock) = (Arc::clone(stop), clock.clone());
    thread::Builder::new()
        .name("iostall-signals".into())
        .spawn(move || {
            for signal in signals.forever() {
                if stop.is_raised() {
                    // Nothing is lost by it: the run was already told to end, and what it made is marked as unfinished.
                    drop(emulate_default_handler(signal));
                }
                stop.raise(clock.now_ns());
            }
        })
        .context("cannot start the thread that listens for Ctrl-C")?;
    Ok(())
}
