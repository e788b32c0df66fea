//! The collector's monotonic clock, which survives a restart of the process.

use iostall_host::{System, since_boot_ns};
use iostall_measure::clock::utc_now;
use iostall_model::SampleTime;

/// The current time on the clock since boot, including suspended time. A later process on the same boot reads
/// the same clock, so an interval may span a restart of iostall.
pub(crate) fn now() -> SampleTime {
    let clock_ns = since_boot_ns();
    SampleTime { utc: utc_now(), clock: boot_id(), clock_ns }
}

/// The kernel's random id of this boot, or a random one for this process if `/proc` is unavailable.
pub(crate) fn boot_id() -> String {
    System::here().boot_id().unwrap_or_else(|| format!("process {}", std::process::id()))
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
