//! What the watched databases on a volume did of late, for whoever must not disturb them.

use std::collections::BTreeSet;
use std::path::Path;

use iostall_host::{System, Volumes};
use iostall_model::guard::DatabaseNear;
use iostall_model::{Kind, Level, Sample, Totals};
use iostall_store::{History, SourceId};
use jiff::{SignedDuration, Timestamp};

use crate::error::WatchError;
use crate::stored_past::StoredPast;
use crate::windows::{Grain, Interval};

const WATCHED_WITHIN: SignedDuration = SignedDuration::from_hours(24);
/// A source's newest interval tells of now if it ended this recently, or three times its length ago.
const CURRENT_WITHIN: SignedDuration = SignedDuration::from_mins(5);
const LENGTHS: i32 = 3;

/// The databases of `history` that are on the volume of `target`, a file or a device of this host, or may be because they do not say
/// where they are, as they were just before `now`.
pub fn databases_near(
    history: &impl History,
    target: &Path,
    now: Timestamp,
) -> Result<Vec<DatabaseNear>, WatchError> {
    let place = Place::of(target);
    history.frozen(|| {
        let mut found = Vec::new();
        for watched in history.sources()? {
            let source = watched.source;
            let Some(sample) = history.last_sample(source.id)? else { continue };
            let is_watched = now.duration_since(sample.taken.utc) <= WATCHED_WITHIN;
            if is_watched && has_database(&sample) && place.may_have(&volumes(&sample)) {
                found.push(near(history, (source.id, source.name), now)?);
            }
        }
        Ok(found)
    })?
}

struct Place {
    /// As `linux:` and databases call it, such as `sda1 (/data)`.
    volume: Option<String>,
    device: Option<String>,
}

impl Place {
    fn of(target: &Path) -> Self {
        let device = target.strip_prefix("/dev").ok().map(|name| name.display().to_string());
        let mut volumes = Volumes::of_system(System::here());
        volumes.refresh();
        let directory = if target.is_dir() { Some(target) } else { target.parent() };
        let directory = directory.filter(|directory| *directory != Path::new("")).unwrap_or(Path::new("."));
        let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        let volume = if device.is_some() { None } else { volumes.of(&directory.display().to_string()) };
        Self { volume, device }
    }

    fn may_have(&self, volumes: &BTreeSet<String>) -> bool {
        let on_device = |volume: &String| {
            let name = volume.split(" (").next().unwrap_or(volume);
            // A partition's name begins with that of its disk, and a disk holds all of its partitions.
            self.device.as_deref().is_some_and(|device| name.starts_with(device) || device.starts_with(name))
        };
        let is_here = |volume: &String| self.volume.as_ref() == Some(volume) || on_device(volume);
        volumes.is_empty() || (self.volume.is_none() && self.device.is_none()) || volumes.iter().any(is_here)
    }
}

fn has_database(sample: &Sample) -> bool {
    sample.rows.iter().any(|row| {
        is_database(row.subject.kind) && LEVELS.iter().any(|level| level.group(&row.subject).is_some())
    })
}

fn is_database(kind: Kind) -> bool {
    kind != Kind::LinuxDevice
}

fn volumes(sample: &Sample) -> BTreeSet<String> {
    let rows = sample.rows.iter().filter(|row| is_database(row.subject.kind));
    rows.filter_map(|row| Level::Volumes.group(&row.subject)).collect()
}

/// Levels at which I/O is counted. Not every version counts it at every level, and none counts it twice at one.
const LEVELS: [Level; 3] = [Level::Server, Level::Databases, Level::Files];

fn near(
    history: &impl History,
    (source, name): (SourceId, String),
    now: Timestamp,
) -> Result<DatabaseNear, WatchError> {
    let newest = StoredPast(history).until(source, now)?.pop_back();
    let newest = newest.filter(|interval| interval.grain == Grain::Samples && is_current(interval, now));
    let Some(interval) = newest else {
        return Ok(DatabaseNear { name, iops: None, stall_per_s: None, until_utc: None });
    };
    let at = |level: Level| {
        let mut sum = Totals::default();
        for (row, change) in &interval.rows {
            let counts = is_database(row.subject.kind) && level.group(&row.subject).is_some();
            change.delta().filter(|_| counts).into_iter().for_each(|totals| sum.beside(totals));
        }
        sum
    };
    let sums = LEVELS.map(at);
    let most = |of: &dyn Fn(&Totals) -> Option<f64>| sums.iter().filter_map(of).reduce(f64::max);
    Ok(DatabaseNear {
        name,
        iops: most(&Totals::iops),
        stall_per_s: most(&Totals::stall_per_second),
        until_utc: Some(interval.end),
    })
}

fn is_current(interval: &Interval, now: Timestamp) -> bool {
    let length = interval.end.duration_since(interval.start);
    now.duration_since(interval.end) <= CURRENT_WITHIN.max(length.saturating_mul(LENGTHS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_database_is_near_if_it_shares_the_volume_the_disk_or_does_not_say() {
        let file = Place { volume: Some("sda1 (/data)".to_owned()), device: None };
        assert!(file.may_have(&on(&["sdb1 (/log)", "sda1 (/data)"])) && file.may_have(&on(&[])));
        assert!(!file.may_have(&on(&["sdb1 (/log)"])));
        let disk = Place { volume: None, device: Some("sda".to_owned()) };
        assert!(disk.may_have(&on(&["sda1 (/data)"])) && !disk.may_have(&on(&["sdb1 (/log)", "E:\\"])));
        let partition = Place { volume: None, device: Some("sda2".to_owned()) };
        assert!(partition.may_have(&on(&["sda"])) && !partition.may_have(&on(&["sda1 (/data)"])));
        assert!(Place { volume: None, device: None }.may_have(&on(&["E:\\"])));
    }
}
