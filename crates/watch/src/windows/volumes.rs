//! The share of a file or database in the I/O of its volume.
//!
//! A source reports the volume of each file; the volume's I/O is the sum over all files of that source on it,
//! in the same intervals in which the group was counted. It is not the device's own count, which includes
//! other users.

use std::collections::{BTreeMap, BTreeSet};

use iostall_model::{Change, Counter, Kind, Level, Row, Totals};

/// The volumes of a group, and the I/O of all files on them while the group was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnVolumes {
    pub names: BTreeSet<String>,
    /// Whether part of the group is on an unknown volume: then there is no share.
    pub is_unknown: bool,
    totals: Totals,
}

impl OnVolumes {
    /// Share of the reads and writes, 0 to 1, of a group with the totals `own`.
    pub fn ops_share(&self, own: &Totals) -> Option<f64> {
        self.share(own, Counter::Reads, Counter::Writes)
    }

    /// Share of the bytes read and written, 0 to 1.
    pub fn bytes_share(&self, own: &Totals) -> Option<f64> {
        self.share(own, Counter::ReadBytes, Counter::WriteBytes)
    }

    fn share(&self, own: &Totals, a: Counter, b: Counter) -> Option<f64> {
        let own = sum_of(own, a, b)?;
        let all = sum_of(&self.totals, a, b).filter(|all| *all > 0 && !self.is_unknown)?;
        Some(own as f64 / all as f64)
    }

    pub(super) fn then(&mut self, volumes: &BTreeSet<Option<&str>>, kind: Kind, interval: &ByVolume<'_>) {
        for volume in volumes {
            match volume {
                None => self.is_unknown = true,
                Some(name) => {
                    if !self.names.contains(*name) {
                        self.names.insert((*name).to_owned());
                    }
                    if let Some(totals) = interval.get(&(Level::Volumes.kind(kind), *name)) {
                        self.totals.then(totals);
                    }
                }
            }
        }
    }
}

/// Totals of the files on each volume in one interval. Kinds that count different things are kept apart.
pub(super) type ByVolume<'a> = BTreeMap<(Kind, &'a str), Totals>;

/// Sums the files of an interval by volume; empty at levels without a share.
pub(super) fn by_volume(level: Level, rows: &[(Row, Change)]) -> ByVolume<'_> {
    let mut volumes = ByVolume::new();
    if !has_share(level) {
        return volumes;
    }
    for (row, change) in rows {
        let is_file = Level::Files.group(&row.subject).is_some();
        if let (true, Some(volume), Change::Delta(totals)) = (is_file, &row.subject.volume, change) {
            volumes
                .entry((Level::Volumes.kind(row.subject.kind), volume.as_str()))
                .or_default()
                .beside(totals);
        }
    }
    volumes
}

/// Whether groups of `level` are on volumes, as opposed to being volumes or servers.
fn has_share(level: Level) -> bool {
    matches!(level, Level::Files | Level::Databases)
}

/// The sum of two amounts, `None` if neither was reported.
fn sum_of(totals: &Totals, a: Counter, b: Counter) -> Option<u64> {
    match (totals.amounts.get(a), totals.amounts.get(b)) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_on_a_volume_has_a_share_of_it() {
        let shares = [Level::Files, Level::Databases, Level::Volumes, Level::Server].map(has_share);
        assert_eq!(shares, [true, true, false, false]);
    }
}
