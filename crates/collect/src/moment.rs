//! The collector's own monotonic clock, which outlives the process.

use iostall_measure::clock::utc_now;
use iostall_model::Moment;
use rustix::time::{ClockId, clock_gettime};

/// Now, on the clock that counts since this machine booted, suspended time included. A later process on the same
/// boot reads the same clock, so an interval may span a restart of iostall.
pub(crate) fn now() -> Moment {
    let boot = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(boot.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(boot.tv_nsec).unwrap_or(0);
    Moment { utc: utc_now(), clock: boot_id(), clock_ns: seconds * 1_000_000_000 + nanos }
}

/// The kernel's random name of this boot; a process-wide stand-in where `/proc` does not tell.
pub(crate) fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map_or_else(|_| format!("process {}", std::process::id()), |text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_readings_share_a_clock_and_the_second_is_later() {
        let (first, second) = (super::now(), super::now());
        assert_eq!(first.clock, second.clock);
        assert!(second.clock_ns >= first.clock_ns);
    }
}
