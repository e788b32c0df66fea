//! The Linux host: block devices, control groups and pressure, from `/proc` and `/sys`.

mod cgroup;
mod diskstats;
mod mounts;
mod pressure;
mod topology;
mod volumes;

use std::path::{Path, PathBuf};

use iostall_model::{Epoch, Row, Sample, Warning};

use crate::moment;
use crate::source::{Source, SourceError};

pub use mounts::{Mount, device_of, mounts};
pub use topology::Topology;
pub(crate) use volumes::Volumes;

/// The host iostall runs on.
pub(crate) struct LinuxSource {
    root: PathBuf,
}

impl LinuxSource {
    pub(crate) fn new() -> Self {
        Self { root: PathBuf::from("/") }
    }

    /// The same with another root, where a captured `/proc` and `/sys` lie.
    #[cfg(test)]
    fn rooted(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }
}

/// Reads a file below `root`, or says which one cannot be read.
fn read_text(root: &Path, path: &str) -> Result<String, SourceError> {
    let path = root.join(path);
    std::fs::read_to_string(&path).map_err(|source| SourceError::HostFile { path, source })
}

/// Whether this host has this name: a server reached by a loopback address may run in a container.
pub(crate) fn is_called(host: &str) -> bool {
    std::fs::read_to_string("/proc/sys/kernel/hostname").is_ok_and(|name| name.trim() == host)
}

/// Whether process `id` of this host is called `name`: what has that number in a container is another here.
pub(crate) fn runs(id: i32, name: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|text| text.trim() == name)
}

impl Source for LinuxSource {
    fn read(&mut self) -> Result<Sample, SourceError> {
        let taken = moment::now();
        let text = read_text(&self.root, "proc/diskstats")?;
        let mounts = mounts::parse(&read_text(&self.root, "proc/self/mountinfo")?);
        let topology = Topology::read(&self.root);
        let mut rows: Vec<Row> =
            text.lines().filter_map(|line| diskstats::row(line, &mounts, &topology)).collect();
        let mut warnings: Vec<Warning> = Vec::new();
        match read_text(&self.root, "proc/pressure/io") {
            Ok(text) => rows.extend(pressure::row(&text, "host")),
            Err(_) => warnings.push(pressure::not_counted()),
        }
        rows.extend(cgroup::rows(&self.root.join("sys/fs/cgroup")));
        let instance = moment::boot_id();
        let epoch = Epoch {
            version: 1,
            process_start: instance.clone(),
            counters_since: vec![instance],
            // The machine stays the same over a boot: that is a restart, not another machine.
            instance: read_text(&self.root, "etc/machine-id").unwrap_or_default().trim().to_owned(),
            uptime_s: None,
        };
        Ok(Sample { taken, epoch, rows, warnings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_model::{Counter, Kind, Scope};

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
        let sample = LinuxSource::rooted(&root).read().unwrap();
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
