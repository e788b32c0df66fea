//! Signals that ask a program to end. This module knows signals; the work knows only that it is to stop.
//!
//! Ctrl-C, a supervisor's SIGTERM and the SIGHUP of a terminal that is gone mean the same. The first asks the work to stop and to
//! keep what it has. A second one, for work that waits for a device which does not answer, removes what is unfinished and ends the
//! process; a third one ends it at once. A signal that was ignored when the process began stays ignored: `nohup` means it.
//! SIGUSR1 asks for a status line, as `dd` prints one.

use std::io;
use std::process::abort;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use iostall_measure::{Clock, MonotonicClock};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::system::System;

/// Those that ask for the end.
const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
/// A signal that follows another within this counts as the same: a terminal and a supervisor both send one, `timeout` sends its own
/// to the process and to its group, a key bounces.
const SAME_NS: u64 = 1_000_000_000;
/// How long a second signal may take to remove what is unfinished.
const REMOVING_NS: u64 = 5_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SignalEffect {
    /// Stop, and keep what there is.
    Stop,
    /// Nothing that the one before did not.
    Same,
    Leave,
    End,
}

#[derive(Debug, Default)]
struct Wishes {
    counted: u32,
    /// When the last one came that was counted.
    last_ns: u64,
}

impl Wishes {
    fn next(&mut self, now_ns: u64) -> SignalEffect {
        if self.counted > 0 && now_ns.saturating_sub(self.last_ns) < SAME_NS {
            return SignalEffect::Same;
        }
        self.last_ns = now_ns;
        self.counted = self.counted.saturating_add(1);
        match self.counted {
            1 => SignalEffect::Stop,
            2 => SignalEffect::Leave,
            _ => SignalEffect::End,
        }
    }
}

pub trait Ending: Send + Sync + 'static {
    /// Asks the work to stop, and to keep what it has. Once.
    fn stop(&self);

    /// Reports what happens now. May block on a slow reader, because nothing waits for it.
    fn say(&self, news: EndingNews);

    /// Removes unfinished files while `continues` returns true.
    fn clean_up(&self, continues: &mut dyn FnMut() -> bool);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndingNews {
    /// The work was asked to stop, at a key.
    StoppingAtKey,
    /// Because the terminal is gone.
    StoppingWithoutTerminal,
    Stopping,
    Leaving,
    /// Nothing ends: somebody asked (SIGUSR1) where the work is.
    StatusWanted,
}

impl EndingNews {
    /// It in words; `None` where the program has to say something itself.
    pub fn words(self) -> Option<&'static str> {
        Some(match self {
            Self::StoppingAtKey => {
                "stopping; results so far are kept. Press Ctrl-C again to exit without waiting"
            }
            Self::StoppingWithoutTerminal => {
                "stopping because the terminal was closed (SIGHUP); results so far are kept"
            }
            Self::Stopping => "stopping; results so far are kept. A second signal exits without waiting",
            Self::Leaving => "exiting: removing unfinished files that cannot be resumed",
            Self::StatusWanted => return None,
        })
    }
}

/// Has a write beyond the limit on file sizes (`ulimit -f`) fail, as on a full disk, instead of ending the process.
///
/// The signal is caught and not ignored: programs that we start then have it as it was.
pub fn fail_at_size_limits() -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map(|_| ())
}

/// Has `ending` hear of the signals that ask for the end. Once a process.
pub fn on_ending_signals(ending: impl Ending) -> io::Result<()> {
    let ignored = System::here().ignored_signals();
    let wanted = ENDING.into_iter().chain([SIGUSR1]).filter(|signal| !ignored.contains(*signal));
    let mut signals = Signals::new(wanted)?;
    let ending = Arc::new(ending);
    let follow = move || {
        let (clock, mut effects) = (MonotonicClock::new(), Wishes::default());
        for signal in signals.forever() {
            if signal == SIGUSR1 {
                say(&ending, EndingNews::StatusWanted);
                continue;
            }
            match effects.next(clock.now_ns()) {
                SignalEffect::Stop => {
                    ending.stop();
                    say(&ending, news(signal));
                }
                SignalEffect::Same => {}
                SignalEffect::Leave => {
                    say(&ending, EndingNews::Leaving);
                    leave(&ending, signal, clock.clone());
                }
                SignalEffect::End => end(signal),
            }
        }
    };
    thread::Builder::new().name("iostall-signals".into()).spawn(follow).map(|_| ())
}

fn news(signal: i32) -> EndingNews {
    match signal {
        SIGINT => EndingNews::StoppingAtKey,
        SIGHUP => EndingNews::StoppingWithoutTerminal,
        _ => EndingNews::Stopping,
    }
}

/// Reports on a separate thread: a blocked standard error must not keep the next signal from being handled.
fn say(ending: &Arc<impl Ending>, news: EndingNews) {
    let ending = Arc::clone(ending);
    // Without a thread it is left unsaid.
    let _ = thread::Builder::new().name("iostall-says".into()).spawn(move || ending.say(news));
}

/// Removes unfinished files and exits, on a separate thread, so that a third signal is still handled.
fn leave(ending: &Arc<impl Ending>, signal: i32, clock: MonotonicClock) {
    let until_ns = clock.now_ns().saturating_add(REMOVING_NS);
    let ending = Arc::clone(ending);
    let leaving = move || {
        ending.clean_up(&mut || clock.now_ns() < until_ns);
        end(signal);
    };
    if thread::Builder::new().name("iostall-leaves".into()).spawn(leaving).is_err() {
        end(signal);
    }
}

/// Ends the way a process without a handler for `signal` does, so that its parent sees the reason.
fn end(signal: i32) {
    if emulate_default_handler(signal).is_err() {
        abort();
    }
}

impl System {
    /// The signals that this process was started with ignored: `nohup` does that with SIGHUP, and a shell
    /// without job control with SIGINT for background commands. None if unknown.
    pub fn ignored_signals(&self) -> SignalSet {
        SignalSet::ignored_in(&self.text("/proc/self/status").unwrap_or_default())
    }
}

/// A set of signals, as a mask whose lowest bit is signal 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignalSet(u128);

impl SignalSet {
    /// From the line `SigIgn:`, a hexadecimal mask.
    fn ignored_in(status: &str) -> Self {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        Self(mask.and_then(|mask| u128::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0))
    }

    pub fn contains(self, number: i32) -> bool {
        let bit = number.checked_sub(1).and_then(|bit| u32::try_from(bit).ok());
        bit.and_then(|bit| self.0.checked_shr(bit)).is_some_and(|mask| mask & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn effects(at_ns: &[u64]) -> Vec<SignalEffect> {
        let mut effects = Wishes::default();
        at_ns.iter().map(|at_ns| effects.next(*at_ns)).collect()
    }

    /// `timeout` sends SIGTERM to its child and then to its group; the second one once ended a copy before it had cleaned up.
    #[test]
    fn signals_within_a_second_of_one_that_counted_are_that_one() {
        let all = effects(&[7, 8, SECOND_NS, 7 + SECOND_NS - 1, 7 + SECOND_NS]);
        assert_eq!(
            all,
            [
                SignalEffect::Stop,
                SignalEffect::Same,
                SignalEffect::Same,
                SignalEffect::Same,
                SignalEffect::Leave
            ]
        );
    }

    #[test]
    fn the_second_leaves_and_the_third_ends_each_a_second_after_the_one_before() {
        let all = effects(&[0, 5 * SECOND_NS, 5 * SECOND_NS + 9, 6 * SECOND_NS, 6 * SECOND_NS + 1]);
        assert_eq!(
            all,
            [
                SignalEffect::Stop,
                SignalEffect::Leave,
                SignalEffect::Same,
                SignalEffect::End,
                SignalEffect::Same
            ]
        );
    }

    /// A burst of signals that lasts longer than a second must not count as a second request.
    #[test]
    fn a_clock_that_begins_at_nothing_is_no_earlier_signal() {
        assert_eq!(effects(&[0]), [SignalEffect::Stop]);
        assert_eq!(effects(&[SECOND_NS / 2]), [SignalEffect::Stop]);
    }

    const STATUS: &str =
        "Name:\tiostall\nSigBlk:\t0000000000000003\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000002\n";

    #[test]
    fn a_signal_is_found_by_its_number_in_the_mask_of_those_that_are_ignored_and_in_no_other() {
        let ignored = SignalSet::ignored_in(STATUS);
        assert!(ignored.contains(1), "SIGHUP under nohup");
        assert!(ignored.contains(13), "SIGPIPE");
        assert!(!ignored.contains(2) && !ignored.contains(15));
    }

    #[test]
    fn what_the_system_does_not_tell_is_not_ignored() {
        for number in [i32::MIN, -1, 0, 200, i32::MAX] {
            assert!(!SignalSet::ignored_in(STATUS).contains(number), "{number}");
        }
        for nothing in ["", "SigIgn:\tnone\n"] {
            assert_eq!(SignalSet::ignored_in(nothing), SignalSet::default());
        }
        assert_eq!(System::at("/no/such/tree").ignored_signals(), SignalSet::default());
    }

    /// Rust's runtime ignores SIGPIPE itself.
    #[test]
    fn the_mask_of_this_process_is_found() {
        let ignored = System::here().ignored_signals();
        assert!(ignored.contains(13) && !ignored.contains(9));
    }
}
