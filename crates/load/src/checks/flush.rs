//! Whether a flush can have reached stable media in the time it took.
//!
//! | device | a flush takes at least | because |
//! |---|---|---|
//! | volatile write cache, rotating | 2 ms | the next block of a log has just passed the head: half a turn at 15,000/min, the fastest disks made |
//! | volatile write cache, anything else | 100 µs | flash needs 200 to 900 µs to program a page |
//! | no volatile write cache | nothing | the kernel sends no flush; a cache that survives a power failure answers at once |
//!
//! Hypervisors call their disks rotating whatever they are, so on a virtual machine the second row counts. They also decide
//! whether a volatile cache is declared, and a disk that turns cannot answer at once without one: both are worth a question.

use iostall_measure::platform::{Device, Host};
use iostall_model::{Warning, WarningCode};

/// Half a turn at 15,000 turns a minute.
const DISK_NS: u64 = 2_000_000;
/// Below the time to program a flash page, with a margin for pages programmed ahead.
const FLASH_NS: u64 = 100_000;

/// The warning about flushes of `device` with the median `median_ns`, if no stable media is that fast.
pub fn too_fast(host: &Host, device: Option<&Device>, median_ns: u64) -> Option<Warning> {
    let device = device?;
    let is_virtual = host.hypervisor.is_some();
    let is_disk = !is_virtual && lowest(device).iter().all(|below| below.rotational == Some(true));
    let (least_ns, why) = if is_disk {
        (DISK_NS, "a disk at 15,000/min needs 2 ms for half a turn")
    } else {
        (FLASH_NS, "flash needs 200 µs or more to program a page")
    };
    if median_ns >= least_ns {
        return None;
    }
    let took = format!("half of the flushes took {} µs or less", median_ns / 1000);
    match device.write_cache.as_deref() {
        Some("write back") => Some(
            Warning::new(
                WarningCode::SyncTooFast,
                format!(
                    "{took}, though the device reports a volatile write cache, and {why}: \
                     writes are acknowledged before the data is on stable media"
                ),
            )
            .hint("ask whether that cache survives a power failure before trusting commits to it"),
        ),
        Some(_) if is_virtual || is_disk => Some(
            Warning::new(
                WarningCode::CacheUnverified,
                format!("{took}, and {why}: a cache answered that the device does not call volatile"),
            )
            .hint(if is_virtual {
                "ask whoever runs the hypervisor for the disk's cache mode: `unsafe` and some `writeback` set-ups lose commits"
            } else {
                "check that the controller's cache has a working battery or capacitor"
            }),
        ),
        _ => None,
    }
}

/// The devices at the bottom: the hardware, as far as this machine sees it.
fn lowest(device: &Device) -> Vec<&Device> {
    if device.below.is_empty() { vec![device] } else { device.below.iter().flat_map(lowest).collect() }
}

#[cfg(test)]
mod tests {
    use iostall_measure::platform::CgroupLimits;

    use super::*;

    fn host(hypervisor: Option<&str>) -> Host {
        Host {
            hostname: "db1".into(),
            machine: None,
            boot: None,
            kernel: "Linux".into(),
            cpu_model: None,
            cpu_count: 2,
            core_count: None,
            socket_count: None,
            node_count: None,
            memory_bytes: 1 << 30,
            cpu_governor: None,
            hypervisor: hypervisor.map(str::to_owned),
            cgroup: CgroupLimits::default(),
            processors: Vec::new(),
        }
    }

    fn device(rotational: bool, write_cache: &str) -> Device {
        Device {
            rotational: Some(rotational),
            write_cache: Some(write_cache.to_owned()),
            ..Device::default()
        }
    }

    fn code(hypervisor: Option<&str>, device: &Device, median_ns: u64) -> Option<WarningCode> {
        too_fast(&host(hypervisor), Some(device), median_ns).map(|warning| warning.code)
    }

    /// A consumer disk answered 20,000 flushes a second, and the report said nothing.
    #[test]
    fn a_disk_that_answers_before_half_a_turn_has_not_written() {
        let disk = device(true, "write back");
        assert_eq!(code(None, &disk, 1_999_999), Some(WarningCode::SyncTooFast));
        assert_eq!(code(None, &disk, 2_000_000), None);
        let mirror = Device { below: vec![disk.clone(), device(false, "write back")], ..disk.clone() };
        assert_eq!(code(None, &mirror, 1_000_000), None, "half of it is flash");
        assert_eq!(code(None, &mirror, 50_000), Some(WarningCode::SyncTooFast));
    }

    #[test]
    fn flash_with_a_volatile_cache_must_program_a_page_and_protected_flash_need_not() {
        assert_eq!(code(None, &device(false, "write back"), 99_999), Some(WarningCode::SyncTooFast));
        assert_eq!(code(None, &device(false, "write back"), 100_000), None);
        assert_eq!(code(None, &device(false, "write through"), 10_000), None);
        assert_eq!(code(None, &Device::default(), 10), None, "nothing is known about it");
        assert_eq!(too_fast(&host(None), None, 10), None);
    }

    /// Virtual disks are called rotating whatever they are.
    #[test]
    fn a_virtual_disk_is_held_to_the_time_of_flash_and_its_cache_is_asked_about() {
        let disk = device(true, "write back");
        assert_eq!(code(Some("KVM"), &disk, 500_000), None);
        assert_eq!(code(Some("KVM"), &disk, 50_000), Some(WarningCode::SyncTooFast));
        let through = device(true, "write through");
        assert_eq!(code(Some("KVM"), &through, 50_000), Some(WarningCode::CacheUnverified));
        assert_eq!(code(None, &through, 50_000), Some(WarningCode::CacheUnverified), "a controller's cache");
    }
}
