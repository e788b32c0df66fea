//! Processors and their sockets, cores and nodes.

use std::collections::BTreeSet;
use std::path::PathBuf;

use iostall_measure::platform::Processor;

use super::system::{System, list_numbers};

const PROCESSORS: &str = "/sys/devices/system/cpu";

struct Place {
    id: u32,
    /// Processors of the same core, including this one.
    core: Vec<u32>,
    package: i64,
    node: u32,
    speed: u32,
}

impl System {
    /// All online processors, by number; empty if the kernel does not report their places. Cores and sockets
    /// are numbered from 0 without gaps, whatever the firmware's numbers.
    pub fn processors(&self) -> Vec<Processor> {
        let names = self.names_in(PROCESSORS);
        let ids = names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse::<u32>().ok());
        let slow = self.line("/sys/devices/cpu_atom/cpus").and_then(|list| list_numbers(&list));
        let mut places: Vec<Place> =
            ids.filter_map(|id| self.place_of(id, slow.as_deref().unwrap_or_default())).collect();
        places.sort_unstable_by_key(|place| place.id);
        let first_of_core = |place: &Place| place.core.iter().copied().min().unwrap_or(place.id);
        let cores: BTreeSet<u32> = places.iter().map(first_of_core).collect();
        let packages: BTreeSet<i64> = places.iter().map(|place| place.package).collect();
        let speeds: BTreeSet<u32> = places.iter().map(|place| place.speed).collect();
        let processor = |place: &Place| Processor {
            id: place.id,
            socket: rank(&packages, &place.package),
            node: place.node,
            core: rank(&cores, &first_of_core(place)),
            class: rank(&speeds, &place.speed),
        };
        places.iter().map(processor).collect()
    }

    /// `None` if the processor is offline. `slow` are Intel's efficiency cores.
    fn place_of(&self, id: u32, slow: &[u32]) -> Option<Place> {
        let directory = PathBuf::from(format!("{PROCESSORS}/cpu{id}"));
        let fact = |file: &str| self.line(directory.join("topology").join(file));
        let core = fact("core_cpus_list").or_else(|| fact("thread_siblings_list"))?;
        let names = self.names_in(&directory);
        let node = names.iter().find_map(|name| name.strip_prefix("node")?.parse().ok());
        // Relative speed; ARM reports it in a file.
        let speed = self.number(directory.join("cpu_capacity")).unwrap_or(u32::from(!slow.contains(&id)));
        Some(Place {
            id,
            core: list_numbers(&core)?,
            package: fact("physical_package_id").and_then(|text| text.parse().ok()).unwrap_or(0),
            node: node.unwrap_or(0),
            speed,
        })
    }
}

fn rank<T: Ord>(all: &BTreeSet<T>, one: &T) -> u32 {
    u32::try_from(all.range(..one).count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::system::made_up;
    use super::*;

    fn places(processors: &[Processor]) -> Vec<(u32, u32, u32, u32, u32)> {
        processors.iter().map(|it| (it.id, it.socket, it.node, it.core, it.class)).collect()
    }

    /// Reports had the number of sockets, cores and nodes, but not the processors in each.
    #[test]
    fn two_sockets_with_two_threads_a_core_are_told_apart() {
        let core = |id: u32, siblings: &'static str, package: &'static str, node: u32| {
            let base = format!("sys/devices/system/cpu/cpu{id}");
            vec![
                (format!("{base}/topology/core_cpus_list"), siblings),
                (format!("{base}/topology/physical_package_id"), package),
                (format!("{base}/node{node}/x"), ""),
            ]
        };
        let mut files = Vec::new();
        // Numbered as by Linux: first one thread of each core, then the other. On some boards the packages
        // are 0 and 36.
        for (id, siblings, package, node) in
            [(0, "0,2", "0", 0), (1, "1,3", "36", 1), (2, "0,2", "0", 0), (3, "1,3", "36", 1)]
        {
            files.extend(core(id, siblings, package, node));
        }
        files.push(("sys/devices/system/cpu/cpu10/online".into(), "0"));
        files.push(("sys/devices/system/cpu/cpufreq/topology/physical_package_id".into(), "7"));
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let (_root, system) = made_up(&files);
        let expected = [(0, 0, 0, 0, 0), (1, 1, 1, 1, 0), (2, 0, 0, 0, 0), (3, 1, 1, 1, 0)];
        assert_eq!(places(&system.processors()), expected);
    }

    #[test]
    fn cores_of_two_speeds_are_of_two_classes() {
        let base = "sys/devices/system/cpu";
        let hybrid = [
            (format!("{base}/cpu0/topology/core_cpus_list"), "0-1"),
            (format!("{base}/cpu1/topology/core_cpus_list"), "0-1"),
            (format!("{base}/cpu2/topology/core_cpus_list"), "2"),
            ("sys/devices/cpu_atom/cpus".to_owned(), "2"),
        ];
        let files: Vec<(&str, &str)> = hybrid.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let (_root, system) = made_up(&files);
        assert_eq!(places(&system.processors()), [(0, 0, 0, 0, 1), (1, 0, 0, 0, 1), (2, 0, 0, 1, 0)]);
        let arm = [
            (format!("{base}/cpu0/topology/thread_siblings_list"), "0"),
            (format!("{base}/cpu0/cpu_capacity"), "1024"),
            (format!("{base}/cpu1/topology/thread_siblings_list"), "1"),
            (format!("{base}/cpu1/cpu_capacity"), "446"),
        ];
        let files: Vec<(&str, &str)> = arm.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let (_root, system) = made_up(&files);
        assert_eq!(places(&system.processors()), [(0, 0, 0, 0, 1), (1, 0, 0, 1, 0)]);
    }

    #[test]
    fn a_kernel_that_says_nothing_is_not_guessed_at() {
        let (_root, system) = made_up(&[("sys/devices/system/cpu/cpu0/online", "1")]);
        assert!(system.processors().is_empty());
    }
}
