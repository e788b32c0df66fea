//! One line of `/proc/diskstats`.
//!
//! Three numbers name the device; then 11 values, 15 from kernel 4.18 and 17 from 5.5. Sectors are 512 bytes
//! whatever the device's are; times are whole milliseconds in 32 bits, and wrap. That is for the delta rules:
//! here everything is kept as read.

use iostall_model::{Counter, Counters, Kind, Row, Scope, Subject};

use super::mounts::{self, Mount};
use super::topology::Topology;

/// What the values behind the name are, in their order. Merged discards are not kept.
const COLUMNS: [Option<Counter>; 17] = [
    Some(Counter::Reads),
    Some(Counter::ReadsMerged),
    Some(Counter::ReadBytes),
    Some(Counter::ReadStall),
    Some(Counter::Writes),
    Some(Counter::WritesMerged),
    Some(Counter::WriteBytes),
    Some(Counter::WriteStall),
    Some(Counter::InFlight),
    Some(Counter::Busy),
    Some(Counter::InFlightTime),
    Some(Counter::Discards),
    None,
    Some(Counter::DiscardBytes),
    Some(Counter::DiscardStall),
    Some(Counter::Syncs),
    Some(Counter::SyncStall),
];

/// The row of one device; `None` for a line that is not one or a device that was never used.
pub(super) fn row(line: &str, mounts: &[Mount], topology: &Topology) -> Option<Row> {
    let mut words = line.split_ascii_whitespace();
    let (major, minor, name) = (words.next()?, words.next()?, words.next()?);
    let number = format!("{major}:{minor}");
    let mut counters = Counters::new();
    for (counter, word) in COLUMNS.into_iter().zip(words) {
        if let Some(counter) = counter {
            counters.set(counter, word.parse().ok()?);
        }
    }
    let was_used = counters.or_zero(Counter::Reads) + counters.or_zero(Counter::Writes) > 0;
    if !was_used {
        return None;
    }
    let volume = mounts::point_of(mounts, &number);
    let subject = Subject {
        kind: Kind::LinuxDevice,
        scope: Scope::Device(topology.role(&number)),
        name: name.to_owned(),
        identity: format!("{number} {}", topology.identity(&number)),
        volume,
    };
    Some(Row { subject, counters, age_ms: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Option<Row> {
        row(line, &[], &Topology::default())
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
