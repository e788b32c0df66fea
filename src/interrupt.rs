//! Signals that ask a command to end. This module knows signals; the work knows only that it is to stop.
//!
//! Ctrl-C, a supervisor's SIGTERM and the SIGHUP of a terminal that is gone mean the same. The first asks the work to stop and to
//! keep what it has. A second one, for work that waits for a device which does not answer, removes what is unfinished and ends the
//! process; a third one ends it at once. A signal that was ignored when the process began stays ignored: `nohup` means it.

use std::process::abort;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use anyhow::Context;
use iostall_engine::files::remove_unfinished;
use iostall_host::ignores_signal;
use iostall_measure::{Clock, MonotonicClock};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::printer::Printer;

/// Those that ask for the end.
const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
/// A signal that follows another within this counts as the same: a terminal and a supervisor both send one, `timeout` sends its own
/// to the process and to its group, a key bounces.
const SAME_NS: u64 = 1_000_000_000;
/// How long a second signal may take to remove what is unfinished.
const REMOVING_NS: u64 = 5_000_000_000;

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    /// Stop, and keep what there is.
    Stop,
    /// Nothing that the one before did not.
    Same,
    /// Remove what is unfinished, and end.
    Leave,
    /// End now.
    End,
}

/// The signals so far.
#[derive(Debug, Default)]
struct Wishes {
    counted: u32,
    /// When the last one came that was counted.
    last_ns: u64,
}

impl Wishes {
    fn next(&mut self, now_ns: u64) -> Wish {
        if self.counted > 0 && now_ns.saturating_sub(self.last_ns) < SAME_NS {
            return Wish::Same;
        }
        self.last_ns = now_ns;
        self.counted = self.counted.saturating_add(1);
        match self.counted {
            1 => Wish::Stop,
            2 => Wish::Leave,
            _ => Wish::End,
        }
    }
}

/// Has a write beyond the limit on file sizes (`ulimit -f`) fail, as on a full disk, instead of ending the process.
///
/// The signal is caught and not ignored: programs that we start then have it as it was.
pub(crate) fn fail_at_size_limits() -> anyhow::Result<()> {
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))
        .context("cannot catch the signal of a file that is too large")?;
    Ok(())
}

/// Calls `stop` at the first signal that asks for the end, and says with `printer`, where there is one, that it has done so.
/// Once a process.
pub(crate) fn on_signal(
    printer: Option<&Printer>,
    stop: impl FnOnce() + Send + 'static,
) -> anyhow::Result<()> {
    let wanted = ENDING.into_iter().filter(|signal| !ignores_signal(*signal));
    let mut signals = Signals::new(wanted).context("cannot listen for Ctrl-C")?;
    let (printer, mut stop) = (printer.cloned(), Some(stop));
    let follow = move || {
        let (clock, mut wishes) = (MonotonicClock::new(), Wishes::default());
        for signal in signals.forever() {
            match wishes.next(clock.now_ns()) {
                Wish::Stop => {
                    if let Some(stop) = stop.take() {
                        stop();
                    }
                    say(printer.as_ref(), stopping(signal));
                }
                Wish::Same => {}
                Wish::Leave => {
                    say(printer.as_ref(), "ending: what is unfinished and cannot be resumed is removed");
                    leave(signal, clock.clone());
                }
                Wish::End => end(signal),
            }
        }
    };
    thread::Builder::new()
        .name("iostall-signals".into())
        .spawn(follow)
        .context("cannot start the thread that listens for Ctrl-C")?;
    Ok(())
}

fn stopping(signal: i32) -> &'static str {
    match signal {
        SIGINT => {
            "stopping: what was done until now is kept; press Ctrl-C again to end without waiting for it"
        }
        SIGHUP => "stopping, because the terminal is gone (SIGHUP): what was done until now is kept",
        _ => "stopping: what was done until now is kept; a second signal ends without waiting for it",
    }
}

/// Says it on a thread of its own: a standard error that nobody reads must not keep the next signal from being heard.
fn say(printer: Option<&Printer>, words: &'static str) {
    let Some(printer) = printer.cloned() else { return };
    // Without a thread it is left unsaid.
    let _ = thread::Builder::new().name("iostall-says".into()).spawn(move || printer.note(words));
}

/// Removes what is unfinished and ends, on a thread of its own: a third signal must find somebody who listens.
fn leave(signal: i32, clock: MonotonicClock) {
    let until_ns = clock.now_ns().saturating_add(REMOVING_NS);
    let leaving = move || {
        remove_unfinished(|| clock.now_ns() < until_ns);
        end(signal);
    };
    if thread::Builder::new().name("iostall-leaves".into()).spawn(leaving).is_err() {
        end(signal);
    }
}

/// Ends as a process does that does not catch `signal`, so that whoever waits for it sees why.
fn end(signal: i32) {
    if emulate_default_handler(signal).is_err() {
        abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn wishes(at_ns: &[u64]) -> Vec<Wish> {
        let mut wishes = Wishes::default();
        at_ns.iter().map(|at_ns| wishes.next(*at_ns)).collect()
    }

    /// `timeout` sends SIGTERM to its child and then to its group; the second one once ended a copy before it had cleaned up.
    #[test]
    fn signals_within_a_second_of_one_that_counted_are_that_one() {
        let all = wishes(&[7, 8, SECOND_NS, 7 + SECOND_NS - 1, 7 + SECOND_NS]);
        assert_eq!(all, [Wish::Stop, Wish::Same, Wish::Same, Wish::Same, Wish::Leave]);
    }

    #[test]
    fn the_second_leaves_and_the_third_ends_each_a_second_after_the_one_before() {
        let all = wishes(&[0, 5 * SECOND_NS, 5 * SECOND_NS + 9, 6 * SECOND_NS, 6 * SECOND_NS + 1]);
        assert_eq!(all, [Wish::Stop, Wish::Leave, Wish::Same, Wish::End, Wish::Same]);
    }

    /// A burst that goes on for longer than the second must not become a second wish by its length alone.
    #[test]
    fn a_clock_that_begins_at_nothing_is_no_earlier_signal() {
        assert_eq!(wishes(&[0]), [Wish::Stop]);
        assert_eq!(wishes(&[SECOND_NS / 2]), [Wish::Stop]);
    }
}
