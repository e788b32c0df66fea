//! What is in an archive, and how far it brings backups.

use std::path::{Path, PathBuf};

use iostall_connect::postgres::Lsn;
use iostall_model::backup::{Manifest, PostgresRecord, SourceKind, SourceRecord};
use iostall_model::wal_archive::{WalDamage, WalGap, WalListing, WalRange, WalReach, WalSet};
use iostall_transfer::backup::catalog::{Place, ScanError};
use iostall_transfer::backup::codec::Unlock;
use iostall_transfer::backup::read::{ReadError, open_with};
use jiff::Timestamp;

use super::error::WalError;
use super::inventory::{Inventory, Segment};
use super::reach::{Base, Missing, Way};
use crate::backup::catalog::catalog;
use crate::backup::known::KnownSets;
use crate::error::{SessionError, UseCaseError};

pub struct WalListRequest {
    pub directory: PathBuf,
    pub sets: Vec<PathBuf>,
    /// Reads the manifests of encrypted backups.
    pub unlock: Option<Unlock>,
    pub check: bool,
}

pub fn list(request: &WalListRequest, known: &KnownSets) -> Result<WalListing, SessionError> {
    let inventory = Inventory::read(&request.directory, request.check)?;
    let mut listing = WalListing {
        directory: request.directory.display().to_string(),
        system_identifier: inventory.cluster.system_identifier.to_string(),
        segment_bytes: inventory.cluster.segment_bytes,
        files: inventory.files,
        stored_bytes: inventory.stored_bytes,
        is_checked: request.check,
        damaged: inventory
            .faults
            .iter()
            .map(|fault| WalDamage { file: fault.path.display().to_string(), wrong: fault.wrong.clone() })
            .collect(),
        ..WalListing::default()
    };
    ranges(&inventory, &mut listing);
    for manifest in manifests(request, known)? {
        let clusters: Vec<_> = sources(&manifest).collect();
        listing
            .sets
            .extend(clusters.iter().map(|(source, record)| set(&inventory, &manifest, source, record)));
    }
    listing.sets.sort_by_key(|set| set.ended_utc);
    Ok(listing)
}

pub(super) fn sources(manifest: &Manifest) -> impl Iterator<Item = (&SourceRecord, &PostgresRecord)> {
    manifest.sources.iter().filter_map(|source| match &source.kind {
        SourceKind::Postgresql(record) => Some((source, record)),
        _ => None,
    })
}

pub(super) fn base_of(record: &PostgresRecord) -> Result<Base, String> {
    let lsn = |text: &str| text.parse::<Lsn>().map_err(|error| error.to_string());
    Ok(Base {
        timeline: record.timeline,
        start: lsn(&record.start_lsn)?,
        stop: lsn(&record.stop_lsn)?,
        from_standby: record.from_standby,
    })
}

fn manifests(request: &WalListRequest, known: &KnownSets) -> Result<Vec<Manifest>, SessionError> {
    let (directories, files): (Vec<PathBuf>, Vec<PathBuf>) =
        request.sets.iter().cloned().partition(|path| is_directory(path));
    let unlock = request.unlock.as_ref();
    let mut all = Vec::new();
    if !directories.is_empty() {
        let scanned = |error: ScanError| SessionError::OfUseCase(UseCaseError::new(error, None));
        let found = catalog(&directories, unlock, known).map_err(scanned)?;
        let opened = found.into_iter().filter_map(|one| one.found.manifest);
        all.extend(opened.filter(|manifest| sources(manifest).next().is_some()));
    }
    for file in files {
        let manifest = manifest_at(&file, unlock)?;
        if sources(&manifest).next().is_none() {
            return Err(WalError::NoPostgres { set: file }.into());
        }
        all.push(manifest);
    }
    Ok(all)
}

fn is_directory(path: &Path) -> bool {
    Place::at(path).is_ok_and(|place| place == Place::Directory)
}

fn manifest_at(file: &Path, unlock: Option<&Unlock>) -> Result<Manifest, ReadError> {
    Ok(open_with(&[file.to_owned()], &[], unlock)?.manifest)
}

fn set(inventory: &Inventory, manifest: &Manifest, source: &SourceRecord, record: &PostgresRecord) -> WalSet {
    let mut set = WalSet {
        set: manifest.set.to_string(),
        source: format!("{}: {}", manifest.host, source.named),
        ended_utc: Some(source.read_until_utc),
        timeline: record.timeline,
        start_lsn: record.start_lsn.clone(),
        stop_lsn: record.stop_lsn.clone(),
        ..WalSet::default()
    };
    if record.system_identifier != inventory.cluster.system_identifier {
        set.wrong = Some(format!("it is of another cluster, {}", record.system_identifier));
        return set;
    }
    let base = match base_of(record) {
        Ok(base) => base,
        Err(wrong) => {
            set.wrong = Some(wrong);
            return set;
        }
    };
    set.reaches = ways(inventory, &base).iter().map(|way| reach(inventory, way, &base)).collect();
    set
}

/// The ways that a recovery of `base` can take, the newest timeline last.
pub(super) fn ways(inventory: &Inventory, base: &Base) -> Vec<Way> {
    let timelines = inventory.timelines().into_iter();
    let way = |timeline| {
        let alone = || (timeline == base.timeline).then(|| Way::along(timeline));
        Way::to(inventory, timeline).or_else(alone)
    };
    timelines.filter_map(way).filter(|way| way.leads_from(base)).collect()
}

fn reach(inventory: &Inventory, way: &Way, base: &Base) -> WalReach {
    let reach = way.reach(inventory, base);
    WalReach {
        timeline: way.timeline(),
        to_lsn: reach.end.to_string(),
        to_utc: reach.last_us.and_then(time),
        gap: reach.missing.map(gap),
    }
}

pub(super) fn time(us: i64) -> Option<Timestamp> {
    Timestamp::from_microsecond(us).ok()
}

fn gap(missing: Missing) -> WalGap {
    WalGap { first: missing.first.to_string(), last: missing.last.to_string(), segments: missing.count }
}

fn ranges(inventory: &Inventory, listing: &mut WalListing) {
    let mut last: Option<(u32, u64)> = None;
    for ((timeline, number), segment) in &inventory.segments {
        let name = |number| inventory.name(*timeline, number).to_string();
        let before = last.filter(|(other, _)| other == timeline).map(|(_, number)| number);
        if before.is_none_or(|before| before + 1 != *number) {
            if let Some(before) = before {
                let segments = number - before - 1;
                listing.gaps.push(WalGap { first: name(before + 1), last: name(number - 1), segments });
            }
            let from = Lsn(number.saturating_mul(inventory.cluster.segment_bytes)).to_string();
            listing.ranges.push(WalRange {
                timeline: *timeline,
                first: name(*number),
                from_lsn: from.clone(),
                to_lsn: from,
                ..WalRange::default()
            });
        }
        if let Some(range) = listing.ranges.last_mut() {
            add(range, name(*number), segment);
        }
        last = Some((*timeline, *number));
    }
}

fn add(range: &mut WalRange, name: String, segment: &Segment) {
    range.last = if segment.is_partial { format!("{name}.partial") } else { name };
    range.segments += 1;
    range.stored_bytes += segment.stored_bytes;
    if segment.facts.end_lsn > 0 {
        range.to_lsn = Lsn(segment.facts.end_lsn).to_string();
    }
    if let Some((first_us, last_us)) = segment.facts.times_us {
        let (first, last) = (time(first_us), time(last_us));
        range.from_utc = [range.from_utc, first].into_iter().flatten().min();
        range.to_utc = [range.to_utc, last].into_iter().flatten().max();
    }
}
