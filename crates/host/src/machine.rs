//! The machine: kernel, CPUs, memory, hypervisor.

use std::collections::BTreeSet;

use iostall_measure::platform::{Host, Processor};

use super::system::{System, keyed, kilobytes, list_length};

pub fn machine_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Tells machines apart without giving away their ids, which are not for others to know (machine-id(5)): FNV-1a, 64 bits.
fn digest(machine_id: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", machine_id.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

impl System {
    pub fn host(&self) -> Host {
        let name = rustix::system::uname();
        let cpuinfo = self.text("/proc/cpuinfo").unwrap_or_default();
        let status = self.text("/proc/self/status").unwrap_or_default();
        let processors = self.processors();
        Host {
            hostname: name.nodename().to_string_lossy().into_owned(),
            machine: self.machine_id().map(|id| digest(&id)),
            boot: self.boot_id(),
            kernel: [name.sysname(), name.release(), name.version()]
                .map(|part| part.to_string_lossy())
                .join(" "),
            cpu_model: cpu_model(&cpuinfo),
            cpu_count: keyed(&status, "Cpus_allowed_list").and_then(list_length).unwrap_or(1),
            core_count: count(&processors, |processor| processor.core),
            socket_count: count(&processors, |processor| processor.socket),
            node_count: self.line("/sys/devices/system/node/online").and_then(|list| list_length(&list)),
            memory_bytes: self
                .text("/proc/meminfo")
                .and_then(|text| kilobytes(&text, "MemTotal"))
                .unwrap_or_default(),
            cpu_governor: self.line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            hypervisor: self.hypervisor(&cpuinfo),
            cgroup: self.cgroup_limits(),
            processors,
        }
    }

    /// The kernel's estimate of what is available without swapping, or a control group's limit if that is
    /// lower.
    pub(super) fn memory_available_bytes(&self) -> Option<u64> {
        let free = self.text("/proc/meminfo").and_then(|text| kilobytes(&text, "MemAvailable"));
        free.into_iter().chain(self.cgroup_limits().memory_bytes).min()
    }

    /// The hypervisor's name: from Xen's own file, or from the firmware (DMI) if the words are known or the
    /// CPU reports a hypervisor. If only the CPU reports one, its name is unknown.
    fn hypervisor(&self, cpuinfo: &str) -> Option<String> {
        if let Some(kind) = self.line("/sys/hypervisor/type") {
            return Some(kind);
        }
        let firmware =
            ["sys_vendor", "product_name"].map(|file| self.line(format!("/sys/class/dmi/id/{file}")));
        let words = firmware.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let flagged =
            keyed(cpuinfo, "flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
        let known = VIRTUAL_FIRMWARE.iter().any(|word| words.contains(word));
        match (words.is_empty(), flagged || known) {
            (_, false) => None,
            (false, true) => Some(words),
            (true, true) => Some("a hypervisor without a name".into()),
        }
    }
}

/// Words in `sys_vendor` or `product_name` that occur only on virtual machines.
const VIRTUAL_FIRMWARE: [&str; 8] =
    ["QEMU", "KVM", "VMware", "Virtual Machine", "VirtualBox", "Google Compute Engine", "OpenStack", "Bochs"];

/// Number of distinct values; `None` if no processor is known.
fn count(processors: &[Processor], pick: fn(&Processor) -> u32) -> Option<u32> {
    let different: BTreeSet<u32> = processors.iter().map(pick).collect();
    u32::try_from(different.len()).ok().filter(|count| *count > 0)
}

/// `model name` on x86 and s390, `cpu` on POWER, `Model` or `Hardware` on ARM boards.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    ["model name", "cpu", "Model", "Hardware"].iter().find_map(|key| keyed(cpuinfo, key)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::system::made_up;
    use super::*;

    #[test]
    fn a_machine_is_read_from_its_files() {
        let (_root, system) = made_up(&[
            ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Xeon Q\nflags\t\t: fpu hypervisor sse\n"),
            ("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3\n"),
            ("proc/meminfo", "MemTotal:       1024 kB\n"),
            ("sys/devices/system/cpu/cpu0/topology/core_cpus_list", "0,2\n"),
            ("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1,3\n"),
            ("sys/devices/system/cpu/cpu1/topology/physical_package_id", "1\n"),
            ("sys/devices/system/cpu/cpu2/topology/core_cpus_list", "0,2\n"),
            ("sys/devices/system/cpu/cpufreq/topology/physical_package_id", "7\n"),
            ("sys/devices/system/node/online", "0-1\n"),
            ("sys/class/dmi/id/sys_vendor", "Maker\n"),
            ("sys/class/dmi/id/product_name", "Cloud m5\n"),
        ]);
        let host = system.host();
        assert_eq!(host.cpu_model.as_deref(), Some("Xeon Q"));
        assert_eq!(
            (host.cpu_count, host.core_count, host.socket_count, host.node_count),
            (4, Some(2), Some(2), Some(2))
        );
        assert_eq!((host.memory_bytes, host.cpu_governor.as_deref()), (1024 * 1024, Some("powersave")));
        assert_eq!(host.hypervisor.as_deref(), Some("Maker Cloud m5"));
        assert!(host.cgroup.is_empty());
        let cores: Vec<(u32, u32)> = host.processors.iter().map(|it| (it.id, it.core)).collect();
        assert_eq!(cores, [(0, 0), (1, 1), (2, 0)]);
    }

    #[test]
    fn an_empty_tree_gives_unknowns_and_never_a_guess() {
        let (_root, system) = made_up(&[]);
        let host = system.host();
        assert_eq!(
            (host.cpu_model, host.core_count, host.socket_count, host.node_count),
            (None, None, None, None)
        );
        assert_eq!((host.cpu_governor, host.hypervisor), (None, None));
    }

    #[test]
    fn the_firmware_of_real_hardware_is_no_hypervisor() {
        let (_root, system) =
            made_up(&[("sys/class/dmi/id/sys_vendor", "Dell Inc.\n"), ("proc/cpuinfo", "flags : fpu sse\n")]);
        assert_eq!(system.host().hypervisor, None);
        let (_root, system) = made_up(&[("sys/class/dmi/id/sys_vendor", "QEMU\n")]);
        assert_eq!(system.host().hypervisor.as_deref(), Some("QEMU"), "ARM processors have no flag for it");
        let (_root, system) = made_up(&[("proc/cpuinfo", "flags : hypervisor\n")]);
        assert_eq!(system.host().hypervisor.as_deref(), Some("a hypervisor without a name"));
    }

    #[test]
    fn this_machine_has_processors_and_memory() {
        let host = System::here().host();
        assert!(host.cpu_count >= 1 && host.memory_bytes > 0 && host.kernel.starts_with("Linux "));
    }
}
