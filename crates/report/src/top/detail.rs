//! What is around one group: what else is on its device, or what a volume or server consists of.

use std::collections::BTreeSet;

use iostall_model::{Kind, Level, Row};
use iostall_watch::windows::{Group, GroupKey, Interval, WatchWindow, key_of};

use super::columns::Column;
use super::line::Line;
use super::state::TopState;
use crate::format::shown;

/// The rows around a group, under a heading.
#[derive(Clone, Debug)]
pub(super) struct Around {
    pub(super) heading: String,
    pub(super) level: Level,
    pub(super) lines: Vec<Line>,
}

type IsAround<'a> = Box<dyn Fn(&Row) -> bool + 'a>;

impl TopState {
    /// What is around the group `key` of this level, in the newest interval of its source; the most time waited first.
    pub(super) fn around(&self, key: &GroupKey) -> Around {
        let source = self.sources.iter().find(|source| source.name == key.source);
        let Some(interval) = source.and_then(|source| source.newest.as_ref()) else {
            return Around { heading: String::new(), level: self.level, lines: Vec::new() };
        };
        let is_own = |row: &Row| key_of(self.level, &key.source, row).as_ref() == Some(key);
        let own: Vec<&Row> = interval.rows.iter().map(|(row, _)| row).filter(|row| is_own(row)).collect();
        let volumes: BTreeSet<&str> = own.iter().filter_map(|row| row.subject.volume.as_deref()).collect();
        let is_on_volume =
            |row: &Row| row.subject.volume.as_deref().is_some_and(|volume| volumes.contains(volume));
        let names = || volumes.iter().map(|volume| shown(volume)).collect::<Vec<_>>().join(", ");
        let (level, heading, is_around): (Level, String, IsAround<'_>) = match (self.level, key.kind) {
            (Level::Volumes, Kind::LinuxDevice) => {
                let related = |row: &Row| {
                    let name = &row.subject.name;
                    own.iter().any(|own| is_part(name, &own.subject.name) || is_part(&own.subject.name, name))
                };
                let is_around = move |row: &Row| row.subject.kind == Kind::LinuxDevice && related(row);
                (Level::Volumes, "Its disk and partitions".to_owned(), Box::new(is_around))
            }
            (Level::Server, Kind::LinuxDevice) => (
                Level::Volumes,
                "Its devices".to_owned(),
                Box::new(|row: &Row| row.subject.kind == Kind::LinuxDevice),
            ),
            (Level::Volumes | Level::Server, _) => (Level::Files, "Its files".to_owned(), Box::new(is_own)),
            (Level::Files | Level::Databases, _) => {
                let heading = format!("Also on {}", names());
                (Level::Files, heading, Box::new(move |row: &Row| !is_own(row) && is_on_volume(row)))
            }
        };
        let rows = interval.rows.iter().filter(|(row, _)| is_around(row)).cloned().collect();
        let part = Interval { start: interval.start, end: interval.end, rows, grain: interval.grain };
        let mut window = WatchWindow::new(level, None);
        window.add(&key.source, &part);
        window.groups.retain(|other, _| other != key || level != self.level);
        let line = |(key, group): (GroupKey, Group)| Line { key, totals: group.totals, missing: Vec::new() };
        let mut lines: Vec<Line> = window.groups.into_iter().map(line).collect();
        lines.sort_by(|a, b| Column::Queue.compare(a, b, false));
        Around { heading, level, lines }
    }
}

/// Whether `part` is a partition of the device `whole`, by the kernel's names: `sda1` of `sda`, `nvme0n1p2` of `nvme0n1`.
fn is_part(part: &str, whole: &str) -> bool {
    let Some(rest) = part.strip_prefix(whole) else { return false };
    let number =
        if whole.ends_with(|last: char| last.is_ascii_digit()) { rest.strip_prefix('p') } else { Some(rest) };
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_known_by_the_names_that_the_kernel_gives_them() {
        assert!(is_part("sda1", "sda") && is_part("nvme0n1p2", "nvme0n1") && is_part("vdb15", "vdb"));
        assert!(!is_part("sdaa", "sda") && !is_part("nvme0n12", "nvme0n1") && !is_part("sda", "sda"));
        assert!(!is_part("dm-1", "dm-11") && !is_part("dm-11", "dm-1"));
    }
}
