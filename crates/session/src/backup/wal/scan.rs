//! Looks through the log for what a recovery is to stop at.

use std::io;
use std::path::Path;

use iostall_transfer::backup::wal_file::{read_content, read_header};

use super::directory::{partial_path, path_of};
use super::error::WalError;
use super::inventory::Inventory;
use super::name::WalName;
use super::page::SegmentHead;
use super::reach::{Base, Way};
use super::records::{Event, Records};
use super::target::Until;
use super::{partial, place};

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
