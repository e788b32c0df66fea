//! A restore to a point in time: checked before its first byte, and written down for the server at its end.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use iostall_connect::postgres::Lsn;
use iostall_engine::files::{NewMetadata, OpenDirectory, path_from_bytes, stamp, write_all_at};
use iostall_model::backup::{Manifest, PostgresRecord, SourceRecord};
use iostall_model::wal_archive::RecoveryRecord;
use iostall_transfer::backup::wal_file::{read_content, read_header};
use jiff::Timestamp;

use super::access::Reader;
use super::directory::{partial_path, path_of};
use super::error::WalError;
use super::inventory::Inventory;
use super::list::{base_of, sources, time, ways};
use super::name::WalName;
use super::partial;
use super::place::{self, is_object};
use super::point_error::PointError;
use super::reach::{Base, Reach, Way};
use super::records::{Event, Records, SegmentHead};
use super::settings::Settings;
use super::target::{AtTarget, Until};

/// Before this version recovery was configured in another way.
const MAJOR_MIN: u32 = 12;
const SIGNAL: &str = "recovery.signal";
const SETTINGS: &str = "postgresql.auto.conf";
/// A file that every data directory has, with the owner of all of them.
const OWNER: &str = "PG_VERSION";
const PRIVATE: u32 = 0o600;

#[derive(Clone, Debug)]
pub struct PointRequest {
    pub wal: PathBuf,
    pub until: Until,
    /// Whether what is named is still recovered.
    pub is_inclusive: bool,
    pub at_target: AtTarget,
    /// The timeline to follow; the newest that the backup leads to if `None`.
    pub timeline: Option<u32>,
    pub program: PathBuf,
}

/// A recovery that can succeed, as far as an archive can tell.
#[derive(Clone, Debug)]
pub(in crate::backup) struct Recovery {
    pub(in crate::backup) prefix: PathBuf,
    pub(in crate::backup) record: RecoveryRecord,
    /// Lines for `postgresql.auto.conf`.
    lines: Vec<u8>,
}

impl Recovery {
    /// Checks that the archive has everything that it takes to bring the backup there, and that the account `server`,
    /// or that of the files, can read it.
    pub(in crate::backup) fn plan(
        request: &PointRequest,
        manifest: &Manifest,
        server: Option<Reader>,
    ) -> Result<Self, PointError> {
        let (source, record) = only_source(manifest)?;
        let archive = if is_object(&request.wal) {
            request.wal.clone()
        } else {
            std::fs::canonicalize(&request.wal).map_err(WalError::system("look at", &request.wal))?
        };
        let inventory = Inventory::read(&archive, false)?;
        if inventory.cluster.system_identifier != record.system_identifier {
            let of = (record.system_identifier, inventory.cluster.system_identifier);
            return Err(PointError::OtherCluster { archive, set: of.0, found: of.1 });
        }
        let base = base_of(record).map_err(|reason| PointError::Manifest { reason })?;
        let way = way(request, &inventory, &base)?;
        let reach = way.reach(&inventory, &base);
        let target = Target { request, source, base: &base, inventory: &inventory, way: &way, reach: &reach };
        target.check(&archive)?;
        if let Some(reader) = server.or_else(|| Reader::of_files(manifest, source)) {
            let first = base.start.0 / inventory.cluster.segment_bytes;
            reader.check(&archive, &inventory, first, &request.program)?;
        }
        let settings = Settings {
            program: &request.program,
            archive: &archive,
            until: &request.until,
            is_inclusive: request.is_inclusive,
            at_target: request.at_target,
            timeline: (way.timeline() != base.timeline).then(|| way.timeline()),
        };
        Ok(Self {
            prefix: path_from_bytes(source.prefix.as_bytes().to_vec()),
            record: RecoveryRecord {
                archive: archive.display().to_string(),
                until: request.until.to_string(),
                timeline: way.timeline(),
                archive_end_lsn: reach.end.to_string(),
                archive_end_utc: reach.last_us.and_then(time),
                then_pauses: request.at_target == AtTarget::Pause && request.until != Until::Latest,
            },
            lines: settings.lines(),
        })
    }

    /// Tells the server that will be started on what was restored to `directory`.
    pub(in crate::backup) fn write_to(&self, directory: &Path) -> Result<(), WalError> {
        let data = directory.join(&self.prefix);
        let failed = |name: &str| {
            let path = data.join(name);
            move |source: io::Error| WalError::System { verb: "write", path, source }
        };
        let open = OpenDirectory::open(&data).map_err(failed(""))?;
        let like = open.stamp_of(OWNER.as_ref()).map_err(failed(OWNER))?;
        let own = |file: &File| {
            let modified_ns = stamp(file)?.modified_ns;
            let metadata = NewMetadata { mode: PRIVATE, uid: like.uid, gid: like.gid, modified_ns };
            // Where we may not give it away, it is the file of the account that restores, like all others.
            let _ = iostall_engine::files::set_metadata(file, &metadata, &[]);
            file.sync_all()
        };
        let settings = match open.open_file(SETTINGS.as_ref()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => open.make_file(SETTINGS.as_ref()),
            other => other,
        };
        let settings = settings.map_err(failed(SETTINGS))?;
        let written = settings
            .metadata()
            .and_then(|metadata| write_all_at(&settings, &self.lines, metadata.len()))
            .and_then(|()| own(&settings));
        written.map_err(failed(SETTINGS))?;
        let signal = open.make_file(SIGNAL.as_ref()).and_then(|file| own(&file));
        signal.map_err(failed(SIGNAL))
    }
}

fn only_source(manifest: &Manifest) -> Result<(&SourceRecord, &PostgresRecord), PointError> {
    let mut all = sources(manifest);
    match (all.next(), all.next()) {
        (Some((source, record)), None) => {
            let digits: String = record.version.chars().take_while(char::is_ascii_digit).collect();
            match digits.parse::<u32>() {
                Ok(major) if major < MAJOR_MIN => {
                    Err(PointError::Version { version: record.version.clone() })
                }
                _ => Ok((source, record)),
            }
        }
        (None, _) => Err(PointError::NoPostgres),
        (Some(_), Some(_)) => Err(PointError::SeveralClusters),
    }
}

fn way(request: &PointRequest, inventory: &Inventory, base: &Base) -> Result<Way, PointError> {
    let mut ways = ways(inventory, base);
    let Some(timeline) = request.timeline else {
        // Where nothing was archived since, the way has no step in the archive.
        return Ok(ways.pop().unwrap_or_else(|| Way::along(base.timeline)));
    };
    let known: Vec<u32> = ways.iter().map(Way::timeline).collect();
    let found = ways.into_iter().find(|way| way.timeline() == timeline);
    found.ok_or(PointError::Timeline { timeline, known })
}

struct Target<'a> {
    request: &'a PointRequest,
    source: &'a SourceRecord,
    base: &'a Base,
    inventory: &'a Inventory,
    way: &'a Way,
    reach: &'a Reach,
}

impl Target<'_> {
    fn check(&self, archive: &Path) -> Result<(), PointError> {
        match &self.request.until {
            Until::Latest => match self.reach.missing {
                Some(_) => Err(self.beyond()),
                None => Ok(()),
            },
            Until::Position(position) => self.check_position(Lsn(*position)),
            Until::Time(at) => self.check_time(*at),
            Until::Transaction(_) | Until::Point(_) => {
                let search = Search { archive, inventory: self.inventory, way: self.way, base: self.base };
                if search.finds(&self.request.until)? { Ok(()) } else { Err(self.beyond()) }
            }
        }
    }

    fn check_position(&self, position: Lsn) -> Result<(), PointError> {
        if position < self.base.stop {
            return Err(self.before());
        }
        if position < self.reach.end { Ok(()) } else { Err(self.beyond()) }
    }

    /// The server knows that it is there only when it sees a transaction of after that time.
    fn check_time(&self, at: Timestamp) -> Result<(), PointError> {
        if at < self.source.read_until_utc {
            return Err(self.before());
        }
        let wanted_us = at.as_microsecond();
        let is_there = match self.reach.last_us {
            Some(last_us) if self.request.is_inclusive => last_us > wanted_us,
            Some(last_us) => last_us >= wanted_us,
            None => false,
        };
        if is_there { Ok(()) } else { Err(self.beyond()) }
    }

    fn before(&self) -> PointError {
        PointError::Before {
            until: self.request.until.clone(),
            stop: self.base.stop,
            ended_utc: self.source.read_until_utc,
        }
    }

    fn beyond(&self) -> PointError {
        let until = self.request.until.clone();
        let (end, last_utc) = (self.reach.end, self.reach.last_us.and_then(time));
        match self.reach.missing {
            Some(missing) => PointError::Gap {
                until,
                first: missing.first.to_string(),
                last: missing.last.to_string(),
                count: missing.count,
                end,
                last_utc,
            },
            None => PointError::Beyond { until, timeline: self.way.timeline(), end, last_utc },
        }
    }
}

pub(super) struct Search<'a> {
    pub(super) archive: &'a Path,
    pub(super) inventory: &'a Inventory,
    pub(super) way: &'a Way,
    pub(super) base: &'a Base,
}

impl Search<'_> {
    /// Whether the recovery of the base comes across `until`. A transaction that was prepared earlier is not named where it
    /// ends: if there was one, nobody can say that a number is not there.
    pub(super) fn finds(&self, until: &Until) -> Result<bool, WalError> {
        let bytes = self.inventory.cluster.segment_bytes;
        let mut records: Option<Records> = None;
        let mut is_found = false;
        let mut see = |event: Event| {
            is_found |= match (until, &event) {
                (Until::Point(wanted), Event::Point { name, .. }) => wanted == name,
                // The server counts within an epoch.
                (Until::Transaction(wanted), Event::Ended { xid: Some(xid), .. }) => {
                    *wanted & u64::from(u32::MAX) == u64::from(*xid)
                }
                (Until::Transaction(_), Event::Ended { xid: None, .. }) => true,
                _ => false,
            };
        };
        let mut number = self.base.stop.0.saturating_sub(1) / bytes;
        loop {
            let timeline = self.way.owner(number);
            let segment = self.inventory.segments.get(&(timeline, number));
            if segment.is_some_and(|segment| segment.is_partial) {
                let path = partial_path(self.archive, self.inventory.name(timeline, number));
                let read = read_partial(&path, &mut records, &mut see);
                read.map_err(WalError::system("read", &path))?;
                break;
            } else if segment.is_some() {
                let name = WalName::Segment(self.inventory.name(timeline, number));
                let path = path_of(self.archive, name);
                let file = place::open(&path).map_err(WalError::system("open", &path))?;
                let header = read_header(&file).map_err(WalError::reading(&path))?;
                let mut is_first = true;
                let read = read_content(&file, &header, &mut |part| {
                    see_part(&mut records, part, std::mem::take(&mut is_first), &mut see);
                    Ok(())
                });
                read.map_err(WalError::reading(&path))?;
            } else if number >= self.base.stop.0 / bytes {
                break;
            }
            number += 1;
        }
        Ok(is_found)
    }
}

/// Reads the next part of the log, with which a segment begins if it `is_first`.
fn see_part(records: &mut Option<Records>, part: &[u8], is_first: bool, see: &mut dyn FnMut(Event)) {
    if is_first && let Some(head) = SegmentHead::parse(part) {
        match records {
            Some(records) => records.go_on_with(head),
            None => *records = Some(Records::of(head)),
        }
    }
    if let Some(records) = records {
        records.read(part, see);
    }
}

fn read_partial(path: &Path, records: &mut Option<Records>, see: &mut dyn FnMut(Event)) -> io::Result<()> {
    let file = place::open(path)?;
    let mut is_first = true;
    partial::read(&file, &mut |part| see_part(records, part, std::mem::take(&mut is_first), see))
}
