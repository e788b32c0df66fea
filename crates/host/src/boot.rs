//! Identity of this machine and of its current boot, and the clock since boot.

use std::path::Path;

use rustix::time::{ClockId, clock_gettime};

use super::system::System;

/// Nanoseconds since this machine booted, including suspended time. Another process on the same boot reads
/// the same clock.
pub fn since_boot_ns() -> u64 {
    let boot = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(boot.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(boot.tv_nsec).unwrap_or(0);
    seconds * 1_000_000_000 + nanos
}

impl System {
    pub fn boot_id(&self) -> Option<String> {
        self.line("/proc/sys/kernel/random/boot_id")
    }

    /// The machine id, which survives reboots; `None` if the machine has none.
    pub fn machine_id(&self) -> Option<String> {
        self.line("/etc/machine-id")
    }

    /// Whether this is a container, whose name and machine id may be others at each start.
    pub fn is_container(&self) -> bool {
        let marks = ["/.dockerenv", "/run/.containerenv", "/run/systemd/container"];
        marks.iter().any(|mark| self.exists(mark))
            || self.mount_of(Path::new("/")).is_some_and(|mount| mount.kind == "overlay")
    }

    /// Whether `name` is this machine's host name: a server reached through a loopback address may run in a
    /// container.
    pub fn is_called(&self, name: &str) -> bool {
        self.line("/proc/sys/kernel/hostname").is_some_and(|own| own == name)
    }

    /// Whether the process `id` is named `name`: the same pid in a container is a different process here.
    pub fn runs(&self, id: i32, name: &str) -> bool {
        self.line(format!("/proc/{id}/comm")).is_some_and(|own| own == name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::system::made_up;
    use super::*;

    #[test]
    fn machines_and_processes_are_known_by_name() {
        let (_root, system) = made_up(&[
            ("proc/sys/kernel/hostname", "db1\n"),
            ("proc/sys/kernel/random/boot_id", "1-2-3\n"),
            ("proc/77/comm", "postgres\n"),
            ("etc/machine-id", "\n"),
        ]);
        assert!(system.is_called("db1") && !system.is_called("db") && !system.is_called(""));
        assert!(system.runs(77, "postgres") && !system.runs(77, "post") && !system.runs(78, "postgres"));
        assert_eq!((system.boot_id().as_deref(), system.machine_id()), (Some("1-2-3"), None));
    }

    #[test]
    fn the_clock_of_the_boot_goes_on() {
        let first = since_boot_ns();
        assert!(first > 0 && since_boot_ns() >= first);
    }
}
