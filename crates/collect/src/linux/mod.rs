//! The Linux host: block devices, control groups and pressure, from `/proc` and `/sys`.

mod diskstats;

use iostall_connect::SourceError;
use iostall_host::{GroupDeviceIo, GroupIo, Pressure, System, Topology};
use iostall_model::{
    Counter, Counters, Epoch, Kind, Row, Sample, Scope, Setting, Subject, Warning, WarningCode,
};

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
                Ok(pressure) => rows.extend(pressure.and_then(|pressure| pressure_row(pressure, "host"))),
                Err(_) => warnings.push(pressure_not_counted()),
            }
        }
        if self.wanted.has_kind(Kind::LinuxCgroup) {
            rows.extend(self.system.group_io(&mounts).iter().flat_map(group_rows));
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

/// The row of one `io.pressure` file: microseconds since boot or since the group was created.
fn pressure_row(pressure: Pressure, name: &str) -> Option<Row> {
    let counters = Counters::new()
        .with_opt(Counter::WaitSome, pressure.some_us)
        .with_opt(Counter::WaitFull, pressure.full_us);
    let subject = Subject {
        kind: Kind::LinuxPressure,
        scope: Scope::Source,
        name: name.to_owned(),
        identity: name.to_owned(),
        volume: None,
    };
    (!counters.is_empty()).then_some(Row { subject, counters, age_ms: None })
}

fn pressure_not_counted() -> Warning {
    Warning::new(
        WarningCode::NotCounted,
        "this kernel has no pressure stall information: how long tasks waited for I/O is unknown",
    )
    .hint("boot with psi=1 on a kernel of version 4.20 or later")
}

/// The rows of a group; none if it has done no I/O. The kernel counts no time per device.
fn group_rows(group: &GroupIo) -> Vec<Row> {
    let mut rows: Vec<Row> =
        group.devices.iter().filter_map(|device| device_row(device, &group.name, group.inode)).collect();
    if let Some(mut row) = group.pressure.and_then(|pressure| pressure_row(pressure, &group.name))
        && !row.counters.is_zero()
    {
        row.subject.scope = Scope::Cgroup(group.name.clone());
        row.subject.identity = format!("{} {}", group.name, group.inode);
        rows.push(row);
    }
    rows
}

/// A group that is recreated under its name has a new inode, and its counters start at 0.
fn device_row(io: &GroupDeviceIo, group: &str, inode: u64) -> Option<Row> {
    let counters = Counters::new()
        .with_opt(Counter::ReadBytes, io.read_bytes)
        .with_opt(Counter::WriteBytes, io.write_bytes)
        .with_opt(Counter::Reads, io.reads)
        .with_opt(Counter::Writes, io.writes)
        .with_opt(Counter::DiscardBytes, io.discard_bytes)
        .with_opt(Counter::Discards, io.discards);
    let device = &io.number;
    let subject = Subject {
        kind: Kind::LinuxCgroup,
        scope: Scope::Cgroup(group.to_owned()),
        name: format!("{group} {device}"),
        identity: format!("{group} {inode} {device}"),
        volume: None,
    };
    (!counters.is_zero()).then_some(Row { subject, counters, age_ms: None })
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

    #[test]
    fn what_is_not_counted_is_absent_and_not_0() {
        let row = pressure_row(Pressure { some_us: Some(9), full_us: None }, "host").unwrap();
        assert_eq!(
            (row.counters.get(Counter::WaitSome), row.counters.get(Counter::WaitFull)),
            (Some(9), None)
        );
        assert!(pressure_row(Pressure::default(), "host").is_none());
    }

    #[test]
    fn a_group_made_anew_is_another_thing_of_the_same_name() {
        let line = "259:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0 cost.usage=7";
        let io = GroupDeviceIo::parse(line).unwrap();
        let (first, second) =
            (device_row(&io, "/db", 11).unwrap().subject, device_row(&io, "/db", 12).unwrap().subject);
        assert_eq!(first.name, second.name);
        assert!(!first.is_same_series(&second));
    }

    #[test]
    fn a_group_without_io_has_no_row() {
        assert!(device_row(&GroupDeviceIo::parse("259:0 ").unwrap(), "/db", 11).is_none());
    }
}
