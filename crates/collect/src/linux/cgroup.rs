//! Control groups (version 2): counts and bytes by device, and pressure. The kernel counts no time per
//! device.

use iostall_host::{GroupDeviceIo, GroupIo};
use iostall_model::{Counter, Counters, Kind, Row, Scope, Subject};

use super::pressure;

/// The rows of a group; none if it has done no I/O.
pub(super) fn rows(group: &GroupIo) -> Vec<Row> {
    let mut rows: Vec<Row> =
        group.devices.iter().filter_map(|device| device_row(device, &group.name, group.inode)).collect();
    if let Some(mut row) = group.pressure.and_then(|pressure| pressure::row(pressure, &group.name))
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
    use super::*;

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
