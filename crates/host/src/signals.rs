//! Signals that this process was started with ignored.

use super::System;

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
