//! Removes the part of the log that no backup needs any more.

use std::path::Path;

use iostall_connect::postgres::Lsn;
use iostall_model::backup::Manifest;
use iostall_model::wal_archive::WalPruned;
use iostall_transfer::backup::wal_file::read_header;

use super::directory::{existing_cluster, name_of};
use super::error::WalError;
use super::list::sources;
use super::name::{SegmentName, WalName};
use super::place;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::backup) enum KeptBase {
    /// Of a cluster: recovery begins there.
    Of { system_identifier: u64, start: Lsn },
    /// What it is of cannot be read.
    Unknown { set: String },
}

impl KeptBase {
    pub(in crate::backup) fn of(set: &str, manifest: Option<&Manifest>) -> Vec<Self> {
        let unknown = || Self::Unknown { set: set.to_owned() };
        let Some(manifest) = manifest else { return vec![unknown()] };
        let of_source = |record: &iostall_model::backup::PostgresRecord| match record.start_lsn.parse() {
            Ok(start) => Self::Of { system_identifier: record.system_identifier, start },
            Err(_) => unknown(),
        };
        sources(manifest).map(|(_, record)| of_source(record)).collect()
    }
}

/// Removes segments of before the beginning of the oldest of `kept`; with `dry_run`, only says which. What could not be
/// removed is in the result.
pub(in crate::backup) fn prune(
    directory: &Path,
    kept: &[KeptBase],
    dry_run: bool,
) -> Result<WalPruned, WalError> {
    let cluster = existing_cluster(directory)?;
    let mut pruned = WalPruned { directory: directory.display().to_string(), ..WalPruned::default() };
    let first = match oldest(kept, cluster.system_identifier) {
        Ok(start) => start.0 / cluster.segment_bytes,
        Err(because) => {
            pruned.because = Some(because);
            return Ok(pruned);
        }
    };
    pruned.needed_from =
        Some(format!("{}", SegmentName::of(1, first, cluster.segment_bytes))[8..].to_owned());
    let mut unneeded = Vec::new();
    for entry in place::entries(directory).map_err(WalError::system("list", directory))? {
        let name = name_of(&entry.file_name);
        let segment = match name {
            Some(WalName::Segment(name) | WalName::Partial(name) | WalName::BackupLabel(name, _)) => name,
            // A few bytes, and a recovery looks for them in every case.
            Some(WalName::History(_)) | None => continue,
        };
        if segment.number(cluster.segment_bytes).is_some_and(|number| number < first) {
            unneeded.push((segment.number(cluster.segment_bytes), entry.path, name));
        }
    }
    // The oldest first: what an interruption leaves has no gap.
    unneeded.sort();
    for (_, path, name) in unneeded {
        // Only what iostall wrote, and of this cluster.
        let header = place::open_start(&path).ok().and_then(|file| read_header(&file).ok());
        let is_ours = header.is_some_and(|header| {
            Some(header.name) == name.map(|name| name.to_string())
                && [0, cluster.system_identifier].contains(&header.system_identifier)
        });
        let bytes = place::bytes(&path).unwrap_or(0);
        if !is_ours || (!dry_run && place::remove(&path).is_err()) {
            pruned.left.push(path.display().to_string());
            continue;
        }
        let name = name.map(|name| name.to_string()).unwrap_or_default();
        pruned.first.get_or_insert_with(|| name.clone());
        pruned.last = Some(name);
        pruned.files += 1;
        pruned.bytes += bytes;
    }
    if pruned.files > 0 && !dry_run {
        place::sync(directory).map_err(WalError::system("make durable", directory))?;
    }
    Ok(pruned)
}

/// Where the oldest backup of the cluster begins. An error says why nobody can tell.
fn oldest(kept: &[KeptBase], cluster: u64) -> Result<Lsn, String> {
    let mut oldest = None;
    for base in kept {
        match base {
            KeptBase::Unknown { set } => {
                return Err(format!("what set {set} is of cannot be read, and it may need the log"));
            }
            KeptBase::Of { system_identifier, start } if *system_identifier == cluster => {
                oldest = Some(oldest.map_or(*start, |oldest: Lsn| oldest.min(*start)));
            }
            KeptBase::Of { .. } => {}
        }
    }
    oldest
        .ok_or_else(|| format!("no backup of its cluster, {cluster}, is in the directories that were named"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The story: a set was encrypted, and the log that it needed was removed because nobody could read when it began.
    #[test]
    fn what_cannot_be_read_or_is_not_there_keeps_all_of_the_log() {
        let of = |system_identifier, start| KeptBase::Of { system_identifier, start: Lsn(start) };
        let unknown = KeptBase::Unknown { set: "ab".to_owned() };
        assert_eq!(oldest(&[of(1, 900), of(2, 5), of(1, 700)], 1), Ok(Lsn(700)));
        assert!(oldest(&[of(1, 900), unknown], 1).unwrap_err().contains("set ab"));
        assert!(oldest(&[of(2, 5)], 1).unwrap_err().contains("no backup of its cluster"));
        assert!(oldest(&[], 1).is_err());
    }
}
