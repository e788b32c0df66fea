//! The part of the write-ahead log that a backup needs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use iostall_connect::postgres::Lsn;
use iostall_engine::files;
use iostall_measure::{Clock, MonotonicClock};
use iostall_model::backup::{FileMetadata, StoredName};
use iostall_transfer::backup::create::{Item, OnChange, What};

use super::control::is_missing;
use super::error::PostgresBackupError;

pub(super) const DIRECTORY: &str = "pg_wal";
/// Where the server notes what it has archived, in the directory of the log.
pub(super) const ARCHIVE_STATUS: &str = "archive_status";
/// How long a segment may take to appear: on a standby the log arrives from elsewhere.
const TRIES: u32 = 300;
const PAUSE_NS: u64 = 100_000_000;

/// The name of a segment: timeline, and two halves of its number.
const NAME_DIGITS: usize = 24;
const PART_DIGITS: usize = 8;
const HISTORY: &str = ".history";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Needed {
    first: u64,
    last: u64,
    segment_bytes: u64,
}

impl Needed {
    /// From the position where recovery begins to the one that it must reach.
    pub(super) fn between(start: Lsn, stop: Lsn, segment_bytes: u64) -> Self {
        let segment_bytes = segment_bytes.max(1);
        let first = start.0 / segment_bytes;
        // A position at the beginning of a segment is the end of the one before.
        let last = (stop.0.saturating_sub(1) / segment_bytes).max(first);
        Self { first, last, segment_bytes }
    }

    fn number_of(self, name: &str) -> Option<u64> {
        if name.len() != NAME_DIGITS || !name.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let part = |at: usize| u64::from_str_radix(&name[at..at + PART_DIGITS], 16).ok();
        Some(part(PART_DIGITS)? * ((1 << 32) / self.segment_bytes) + part(2 * PART_DIGITS)?)
    }

    fn name_of(self, timeline: u32, number: u64) -> String {
        let in_a_file = (1 << 32) / self.segment_bytes;
        format!("{timeline:08X}{:08X}{:08X}", number / in_a_file, number % in_a_file)
    }

    /// Those of `names` that belong to the backup: the segments, and the history of every timeline. An error is the name of a
    /// segment that is missing.
    fn of(self, names: &BTreeMap<String, u64>, timeline: u32) -> Result<Vec<&str>, String> {
        let mut there = BTreeSet::new();
        let mut taken = Vec::new();
        for (name, bytes) in names {
            match self.number_of(name) {
                Some(number)
                    if (self.first..=self.last).contains(&number) && *bytes == self.segment_bytes =>
                {
                    there.insert(number);
                    taken.push(name.as_str());
                }
                None if is_history(name) => taken.push(name.as_str()),
                _ => {}
            }
        }
        match (self.first..=self.last).find(|number| !there.contains(number)) {
            Some(missing) => Err(self.name_of(timeline, missing)),
            None => Ok(taken),
        }
    }
}

fn is_history(name: &str) -> bool {
    name.strip_suffix(HISTORY).is_some_and(|timeline| {
        timeline.len() == PART_DIGITS && timeline.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// The items of the log, with marks that say that they need not be archived: the server that they come from has done that, and
/// a copy that archives them again would stop at the first name that exists.
pub(super) fn items(
    data: &Path,
    needed: Needed,
    timeline: u32,
    owner: FileMetadata,
) -> Result<Vec<Item>, PostgresBackupError> {
    let directory = data.join(DIRECTORY);
    let clock = MonotonicClock::new();
    let mut missing = String::new();
    for _ in 0..TRIES {
        let names = names_in(&directory)?;
        match needed.of(&names, timeline) {
            Ok(taken) => {
                let pairs = taken.into_iter().map(|name| pair(&directory, name, owner));
                return Ok(pairs.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect());
            }
            Err(name) => missing = name,
        }
        clock.sleep_until(clock.now_ns() + PAUSE_NS);
    }
    Err(PostgresBackupError::NoLog { name: missing, directory })
}

fn pair(directory: &Path, name: &str, owner: FileMetadata) -> Result<[Item; 2], PostgresBackupError> {
    let path = directory.join(name);
    let stamp = files::stamp_of_path(&path).map_err(PostgresBackupError::read(&path))?;
    let file = Item::file(StoredName::from(format!("{DIRECTORY}/{name}").as_str()), path, &stamp);
    let mark = StoredName::from(format!("{DIRECTORY}/{ARCHIVE_STATUS}/{name}.done").as_str());
    Ok([file.on_change(OnChange::Expected), Item::new(mark, What::Generated(Vec::new()), owner)])
}

fn names_in(directory: &Path) -> Result<BTreeMap<String, u64>, PostgresBackupError> {
    let failed = || PostgresBackupError::read(directory);
    let mut names = BTreeMap::new();
    for entry in std::fs::read_dir(directory).map_err(failed())? {
        let entry = entry.map_err(failed())?;
        match entry.metadata() {
            Ok(metadata) if metadata.is_file() => {
                names.insert(entry.file_name().to_string_lossy().into_owned(), metadata.len());
            }
            Ok(_) => {}
            // Old segments are recycled all the time.
            Err(error) if is_missing(&error) => {}
            Err(source) => return Err(PostgresBackupError::Read { path: PathBuf::from(directory), source }),
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: u64 = 16 << 20;

    fn names(names: &[&str]) -> BTreeMap<String, u64> {
        names.iter().map(|name| ((*name).to_owned(), SEGMENT)).collect()
    }

    #[test]
    fn the_segments_between_two_positions_are_needed_and_no_more() {
        let needed = Needed::between(Lsn(0x2_FF00_0028), Lsn(0x3_0200_0000), SEGMENT);
        let there = names(&[
            "0000000100000002000000FE",
            "0000000100000002000000FF",
            "000000010000000300000000",
            "000000010000000300000001",
            "000000010000000300000002",
            "000000010000000300000001.partial",
            "00000002.history",
            "archive_status",
        ]);
        let taken = needed.of(&there, 1).unwrap();
        assert_eq!(
            taken,
            [
                "0000000100000002000000FF",
                "000000010000000300000000",
                "000000010000000300000001",
                "00000002.history"
            ]
        );
    }

    /// A standby that follows a promoted server changes its timeline in the middle of the log.
    #[test]
    fn a_segment_may_be_on_either_timeline_and_one_that_is_on_none_is_named() {
        let needed = Needed::between(Lsn(SEGMENT * 5 + 40), Lsn(SEGMENT * 8), SEGMENT);
        let there = names(&[
            "000000010000000000000005",
            "000000010000000000000006",
            "000000020000000000000006",
            "000000020000000000000007",
        ]);
        assert_eq!(needed.of(&there, 1).unwrap().len(), 4);
        let there = names(&["000000010000000000000005", "000000010000000000000007"]);
        assert_eq!(needed.of(&there, 1), Err("000000010000000000000006".to_owned()));
    }

    #[test]
    fn a_segment_that_has_not_its_size_yet_is_not_there() {
        let needed = Needed::between(Lsn(SEGMENT + 40), Lsn(SEGMENT + 400), SEGMENT);
        let there = BTreeMap::from([("000000010000000000000001".to_owned(), 4096)]);
        assert_eq!(needed.of(&there, 1), Err("000000010000000000000001".to_owned()));
    }

    #[test]
    fn names_follow_the_size_of_segments() {
        let needed = Needed::between(Lsn(0), Lsn(1), 1 << 30);
        assert_eq!(needed.name_of(3, 9), "000000030000000200000001");
        assert_eq!(needed.number_of("000000030000000200000001"), Some(9));
        assert_eq!(needed.number_of("00000003.history"), None);
    }
}
