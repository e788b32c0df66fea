//! Signals that this process was started with ignored.

use super::System;

impl System {
    /// Whether this process was started with this signal ignored: `nohup` does that with SIGHUP, and a shell
    /// without job control with SIGINT for background commands. `false` if unknown.
    pub fn ignores_signal(&self, number: i32) -> bool {
        self.text("/proc/self/status").is_some_and(|status| ignores(&status, number))
    }
}

/// `SigIgn:` is a hexadecimal mask whose lowest bit is signal 1.
fn ignores(status: &str, number: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u128::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let bit = number.checked_sub(1).and_then(|bit| u32::try_from(bit).ok());
    bit.and_then(|bit| mask.checked_shr(bit)).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str =
        "Name:\tiostall\nSigBlk:\t0000000000000003\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000002\n";

    #[test]
    fn a_signal_is_found_by_its_number_in_the_mask_of_those_that_are_ignored_and_in_no_other() {
        assert!(ignores(STATUS, 1), "SIGHUP under nohup");
        assert!(ignores(STATUS, 13), "SIGPIPE");
        assert!(!ignores(STATUS, 2) && !ignores(STATUS, 15));
    }

    #[test]
    fn what_the_system_does_not_tell_is_not_ignored() {
        for number in [i32::MIN, -1, 0, 200, i32::MAX] {
            assert!(!ignores(STATUS, number), "{number}");
        }
        assert!(!ignores("", 1) && !ignores("SigIgn:\tnone\n", 1));
        assert!(!System::at("/no/such/tree").ignores_signal(1));
    }

    /// Rust's runtime ignores SIGPIPE itself.
    #[test]
    fn the_mask_of_this_process_is_found() {
        assert!(System::here().ignores_signal(13));
        assert!(!System::here().ignores_signal(9));
    }
}
