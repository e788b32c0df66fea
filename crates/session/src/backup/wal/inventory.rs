//! What is in an archive: segments, and where timelines came from.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use iostall_connect::postgres::Lsn;
use iostall_transfer::backup::format::{WalFacts, WalHeader};
use iostall_transfer::backup::wal_file::{WalFileError, read_content, read_header};

use super::directory::{Cluster, existing_cluster, name_of, partial_name};
use super::error::WalError;
use super::name::{SegmentName, WalName};
use super::{partial, place};

/// A history is a line for each timeline.
const HISTORY_BYTES_MAX: u64 = 4 << 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) facts: WalFacts,
    pub(super) stored_bytes: u64,
    /// Whether it is still being received: no other segment of its timeline follows.
    pub(super) is_partial: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) path: PathBuf,
    pub(super) wrong: String,
}

#[derive(Clone, Debug)]
pub(super) struct Inventory {
    pub(super) cluster: Cluster,
    pub(super) segments: BTreeMap<(u32, u64), Segment>,
    pub(super) histories: BTreeMap<u32, Vec<Ancestor>>,
    /// Damaged files, which count as missing.
    pub(super) faults: Vec<Fault>,
    pub(super) files: u64,
    pub(super) stored_bytes: u64,
}

impl Inventory {
    /// Reads the header of every file in `directory`, and all of it with `reads_all`. A damaged file is no error.
    pub(super) fn read(directory: &Path, reads_all: bool) -> Result<Self, WalError> {
        let cluster = existing_cluster(directory)?;
        let mut inventory = Self::empty(cluster);
        for entry in place::entries(directory).map_err(WalError::system("list", directory))? {
            let (name, partial) = (name_of(&entry.file_name), partial_name(&entry.file_name));
            if (name.is_some() || partial.is_some()) && entry.is_special {
                let wrong = "it is no regular file".to_owned();
                inventory.faults.push(Fault { path: entry.path, wrong });
            } else if let Some(name) = name {
                inventory.take(name, &entry.path, reads_all)?;
            } else if let Some(name) = partial {
                inventory.take_partial(name, &entry.path)?;
            }
        }
        inventory.faults.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(inventory)
    }

    pub(super) fn empty(cluster: Cluster) -> Self {
        Self {
            cluster,
            segments: BTreeMap::new(),
            histories: BTreeMap::new(),
            faults: Vec::new(),
            files: 0,
            stored_bytes: 0,
        }
    }

    fn take(&mut self, name: WalName, path: &Path, reads_all: bool) -> Result<(), WalError> {
        let reads_all = reads_all || matches!(name, WalName::History(_));
        let opened = if reads_all { place::open(path) } else { place::open_start(path) };
        let file = match opened {
            // Removed meanwhile.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            file => file.map_err(WalError::system("open", path))?,
        };
        let read =
            read_header(&file).and_then(|header| Ok((content(&file, &header, name, reads_all)?, header)));
        let wrong = match read {
            Err(error @ WalFileError::System(_)) => return Err(WalError::reading(path)(error)),
            Err(error) => Some(error.to_string()),
            Ok((content, header)) => self.check(name, content.as_deref(), &header).err(),
        };
        self.faults.extend(wrong.map(|wrong| Fault { path: path.to_owned(), wrong }));
        self.files += 1;
        self.stored_bytes += file.metadata().map_err(WalError::system("look at", path))?.len();
        Ok(())
    }

    /// The error says what is wrong with the file.
    fn check(&mut self, name: WalName, content: Option<&[u8]>, header: &WalHeader) -> Result<(), String> {
        if header.name != name.to_string() {
            return Err(format!("it is the archived file {:?} under another name", header.name));
        }
        let of_other = header.system_identifier != self.cluster.system_identifier;
        if of_other && header.system_identifier != 0 {
            return Err(format!("it is of the cluster {}", header.system_identifier));
        }
        match name {
            WalName::Segment(segment) => {
                let Some(number) = segment.number(self.cluster.segment_bytes) else {
                    return Err("segments of this cluster have another size".to_owned());
                };
                let stored_bytes = header.stored_bytes;
                self.segments.insert(
                    (segment.timeline, number),
                    Segment { facts: header.facts, stored_bytes, is_partial: false },
                );
            }
            WalName::History(timeline) => {
                let text = content.and_then(|content| std::str::from_utf8(content).ok());
                let Some(ancestors) = text.and_then(parse_history) else {
                    return Err("it is no history of a timeline".to_owned());
                };
                self.histories.insert(timeline, ancestors);
            }
            WalName::Partial(_) | WalName::BackupLabel(..) => {}
        }
        Ok(())
    }

    /// What is being received. The segment itself, once it is archived, counts more.
    fn take_partial(&mut self, name: SegmentName, path: &Path) -> Result<(), WalError> {
        let file = match place::open(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            file => file.map_err(WalError::system("open", path))?,
        };
        let Some(number) = name.number(self.cluster.segment_bytes) else { return Ok(()) };
        let Some(facts) =
            partial::facts(&file, name, self.cluster).map_err(WalError::system("read", path))?
        else {
            return Ok(());
        };
        let stored_bytes = file.metadata().map_err(WalError::system("look at", path))?.len();
        self.files += 1;
        self.stored_bytes += stored_bytes;
        let segment = Segment { facts, stored_bytes, is_partial: true };
        self.segments.entry((name.timeline, number)).or_insert(segment);
        Ok(())
    }

    pub(super) fn name(&self, timeline: u32, number: u64) -> SegmentName {
        SegmentName::of(timeline, number, self.cluster.segment_bytes)
    }

    pub(super) fn timelines(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self
            .segments
            .keys()
            .map(|(timeline, _)| *timeline)
            .chain(self.histories.keys().copied())
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The content of a history; of others nothing is kept.
fn content(
    file: &File,
    header: &WalHeader,
    name: WalName,
    reads_all: bool,
) -> Result<Option<Vec<u8>>, WalFileError> {
    let keeps = matches!(name, WalName::History(_)) && header.plain_bytes <= HISTORY_BYTES_MAX;
    let mut kept = Vec::new();
    if reads_all {
        read_content(file, header, &mut |part| {
            if keeps {
                kept.extend_from_slice(part);
            }
            Ok(())
        })?;
    }
    Ok(keeps.then_some(kept))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ancestor {
    pub(super) timeline: u32,
    pub(super) until: Lsn,
}

/// The ancestors that a history names, oldest first. `None` if it is none.
pub(super) fn parse_history(text: &str) -> Option<Vec<Ancestor>> {
    let mut ancestors: Vec<Ancestor> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let timeline: u32 = words.next()?.parse().ok()?;
        let until: Lsn = words.next()?.parse().ok()?;
        // The server refuses another order, too.
        if ancestors.last().is_some_and(|last| last.timeline >= timeline) {
            return None;
        }
        ancestors.push(Ancestor { timeline, until });
    }
    Some(ancestors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ancestors_are_read_in_their_order() {
        let text = "1\t0/3000110\tbefore 2026-11-23 07:00:00.5+00\n\n# by hand\n2\t16/B374D848\tno recovery target specified\n";
        let two = Ancestor { timeline: 2, until: Lsn(0x16_B374_D848) };
        assert_eq!(parse_history(text), Some(vec![Ancestor { timeline: 1, until: Lsn(0x0300_0110) }, two]));
        assert_eq!(parse_history(""), Some(Vec::new()));
        for wrong in ["x\t0/1\t", "1", "2\t0/1\t\n1\t0/2\t"] {
            assert_eq!(parse_history(wrong), None, "{wrong:?}");
        }
    }
}
