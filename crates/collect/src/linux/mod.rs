//! The Linux host: block devices, control groups and pressure, from `/proc` and `/sys`.

mod cgroup;
mod diskstats;
mod pressure;

use iostall_connect::SourceError;
use iostall_host::{System, Topology};
use iostall_model::{Epoch, Kind, Row, Sample, Setting, Warning};

use crate::sample_time;
use crate::settings::checked;
use crate::source::{Filter, Source};

pub(crate) struct LinuxSource {
    system: System,
    topology: Topology,
    wanted: Filter,
}

impl LinuxSource {
    pub(crate) fn new() -> Self {
        Self::of(System::here())
    }

    fn of(system: System) -> Self {
        Self { system, topology: Topology::default(), wanted: Filter::default() }
    }
}

impl Source for LinuxSource {
    fn read(&mut self) -> Result<Sample, SourceError> {
        let taken = sample_time::now();
        let devices = self.system.disk_stats()?;
        let mounts = self.system.read_mounts()?;
        self.system.update_topology(&mut self.topology);
        let mut rows: Vec<Row> =
            devices.iter().filter_map(|stats| diskstats::row(stats, &mounts, &self.topology)).collect();
        let mut warnings: Vec<Warning> = Vec::new();
        if self.wanted.has_kind(Kind::LinuxPressure) {
            match self.system.io_pressure() {
                Ok(pressure) => rows.extend(pressure.and_then(|pressure| pressure::row(pressure, "host"))),
                Err(_) => warnings.push(pressure::not_counted()),
            }
        }
        if self.wanted.has_kind(Kind::LinuxCgroup) {
            rows.extend(self.system.group_io().iter().flat_map(cgroup::rows));
        }
        let instance = sample_time::boot_id();
        let epoch = Epoch {
            version: 1,
            process_start: instance.clone(),
            counters_since: vec![instance],
            // The machine id survives a reboot, which is a restart and not another machine.
            instance: self.system.machine_id().unwrap_or_default(),
            uptime_s: None,
        };
        Ok(Sample { taken, epoch, rows, warnings })
    }

    fn settings(&mut self) -> Result<Vec<Setting>, SourceError> {
        let mut all = vec![Setting::set("", "engine", "linux")];
        all.extend(self.system.io_settings());
        Ok(checked(all))
    }

    fn narrow(&mut self, filter: &Filter) {
        self.wanted = filter.clone();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use iostall_model::{Counter, Scope};

    #[test]
    fn this_host_can_be_read_and_its_devices_have_identities() {
        let sample = LinuxSource::new().read().unwrap();
        assert!(!sample.epoch.process_start.is_empty());
        for row in &sample.rows {
            assert!(!row.subject.identity.is_empty(), "{row:?}");
        }
    }

    #[test]
    fn a_captured_host_gives_devices_pressure_and_groups() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/host");
        let sample = LinuxSource::of(System::at(root)).read().unwrap();
        let device = |name: &str| sample.rows.iter().find(|row| row.subject.name == name).unwrap();
        let nvme = device("nvme0n1");
        assert_eq!(nvme.subject.kind, Kind::LinuxDevice);
        assert_eq!(nvme.counters.get(Counter::Reads), Some(1_000));
        assert_eq!(nvme.counters.get(Counter::Syncs), Some(77));
        assert_eq!(device("dm-0").subject.volume.as_deref(), Some("/var/lib/data"));
        assert!(sample.rows.iter().all(|row| row.subject.name != "loop0"), "never used: not a row");
        assert!(sample.rows.iter().any(|row| row.subject.kind == Kind::LinuxPressure));
        let group = sample.rows.iter().find(|row| row.subject.kind == Kind::LinuxCgroup).unwrap();
        assert_eq!(group.subject.scope, Scope::Cgroup("/db.slice".into()));
        assert_eq!(group.subject.name, "/db.slice 259:0");
        assert_eq!(group.counters.get(Counter::WriteBytes), Some(8_192));
        assert!(
            sample.rows.iter().all(|row| row.subject.scope.database().is_none()),
            "a host has no databases"
        );
    }
}
