//! The row of a block device.
//!
//! Everything is stored as read: sectors of 512 bytes, and milliseconds that wrap. The delta rules handle
//! units and wrapping.

use iostall_host::{DiskColumn, DiskStats, Mount, Topology, mount_point_of};
use iostall_model::{Counter, Counters, Kind, Row, Scope, Subject};

/// The counter for each column. Merged discards are not kept.
const COLUMNS: [(DiskColumn, Counter); 16] = [
    (DiskColumn::Reads, Counter::Reads),
    (DiskColumn::ReadsMerged, Counter::ReadsMerged),
    (DiskColumn::SectorsRead, Counter::ReadBytes),
    (DiskColumn::ReadMs, Counter::ReadStall),
    (DiskColumn::Writes, Counter::Writes),
    (DiskColumn::WritesMerged, Counter::WritesMerged),
    (DiskColumn::SectorsWritten, Counter::WriteBytes),
    (DiskColumn::WriteMs, Counter::WriteStall),
    (DiskColumn::InFlight, Counter::InFlight),
    (DiskColumn::BusyMs, Counter::Busy),
    (DiskColumn::InFlightMs, Counter::InFlightTime),
    (DiskColumn::Discards, Counter::Discards),
    (DiskColumn::SectorsDiscarded, Counter::DiscardBytes),
    (DiskColumn::DiscardMs, Counter::DiscardStall),
    (DiskColumn::Flushes, Counter::Syncs),
    (DiskColumn::FlushMs, Counter::SyncStall),
];

/// The row of a device; `None` if it was never used.
pub(super) fn row(stats: &DiskStats, mounts: &[Mount], topology: &Topology) -> Option<Row> {
    let mut counters = Counters::new();
    for (column, counter) in COLUMNS {
        counters = counters.with_opt(counter, stats.get(column));
    }
    let was_used = counters.or_zero(Counter::Reads) + counters.or_zero(Counter::Writes) > 0;
    if !was_used {
        return None;
    }
    let (number, name) = (&stats.number, &stats.name);
    let volume = mount_point_of(mounts, number);
    let subject = Subject {
        kind: Kind::LinuxDevice,
        scope: Scope::Device(topology.role(number)),
        name: name.to_owned(),
        identity: format!("{number} {}", topology.identity(number)),
        volume,
    };
    Some(Row { subject, counters, age_ms: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Option<Row> {
        row(&DiskStats::parse(line)?, &[], &Topology::default())
    }

    #[test]
    fn kernels_of_every_age_are_read_by_the_number_of_their_columns() {
        let old = parsed(" 8 0 sda 1 2 3 4 5 6 7 8 9 10 11").unwrap();
        assert_eq!(old.counters.get(Counter::InFlightTime), Some(11));
        assert_eq!(old.counters.get(Counter::Discards), None);
        let middle = parsed(" 8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15").unwrap();
        assert_eq!(middle.counters.get(Counter::DiscardBytes), Some(14));
        assert_eq!(middle.counters.get(Counter::Syncs), None);
        let new = parsed(" 8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17").unwrap();
        assert_eq!(new.counters.get(Counter::SyncStall), Some(17));
        assert_eq!(new.counters.get(Counter::InFlight), Some(9));
    }

    #[test]
    fn a_device_that_was_never_used_is_left_out() {
        assert!(parsed(" 7 0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0").is_none());
        assert!(parsed("nonsense").is_none());
    }
}
