//! Control groups (version 2): counts and bytes by device, and pressure. There is no time by device.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use iostall_model::{Counter, Counters, Kind, Row, Scope, Subject};

use super::pressure;

/// How deep groups are looked for: slices and services, not what services make below themselves.
const DEPTH_MAX: usize = 3;

/// The rows of every group below `mount` that has done I/O.
pub(super) fn rows(mount: &Path) -> Vec<Row> {
    let mut rows = Vec::new();
    descend(mount, "", 0, &mut rows);
    rows
}

fn descend(directory: &Path, name: &str, depth: usize, rows: &mut Vec<Row>) {
    if depth > 0 {
        read_group(directory, name, rows);
    }
    if depth == DEPTH_MAX {
        return;
    }
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let child = format!("{name}/{}", entry.file_name().to_string_lossy());
        descend(&entry.path(), &child, depth + 1, rows);
    }
}

/// A group that is made anew under its name has another inode: its counters began with it.
fn read_group(directory: &Path, name: &str, rows: &mut Vec<Row>) {
    let Ok(inode) = std::fs::metadata(directory).map(|metadata| metadata.ino()) else { return };
    if let Ok(text) = std::fs::read_to_string(directory.join("io.stat")) {
        rows.extend(text.lines().filter_map(|line| device_row(line, name, inode)));
    }
    if let Ok(text) = std::fs::read_to_string(directory.join("io.pressure"))
        && let Some(mut row) = pressure::row(&text, name)
        && !row.counters.is_zero()
    {
        row.subject.scope = Scope::Cgroup(name.to_owned());
        row.subject.identity = format!("{name} {inode}");
        rows.push(row);
    }
}

/// `259:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6`
fn device_row(line: &str, group: &str, inode: u64) -> Option<Row> {
    let mut words = line.split(' ');
    let device = words.next()?;
    let mut counters = Counters::new();
    for (key, value) in words.filter_map(|word| word.split_once('=')) {
        let counter = match key {
            "rbytes" => Counter::ReadBytes,
            "wbytes" => Counter::WriteBytes,
            "rios" => Counter::Reads,
            "wios" => Counter::Writes,
            "dbytes" => Counter::DiscardBytes,
            "dios" => Counter::Discards,
            _ => continue,
        };
        counters.set(counter, value.parse().ok()?);
    }
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
        let (first, second) =
            (device_row(line, "/db", 11).unwrap().subject, device_row(line, "/db", 12).unwrap().subject);
        assert_eq!(first.name, second.name);
        assert!(!first.is_same_thing(&second));
    }

    #[test]
    fn a_group_without_io_has_no_row() {
        assert!(device_row("259:0 ", "/db", 11).is_none());
    }
}
