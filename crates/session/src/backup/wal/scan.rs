//! Looks through the log for what a recovery is to stop at.

use std::fs::File;
use std::path::Path;

use iostall_transfer::backup::wal_file::{read_content, read_header};

use super::directory::path_of;
use super::error::WalError;
use super::inventory::Inventory;
use super::name::WalName;
use super::page::SegmentHead;
use super::reach::{Base, Way};
use super::records::{Event, Records};
use super::target::Until;

/// Where to look.
pub(super) struct Search<'a> {
    pub(super) archive: &'a Path,
    pub(super) inventory: &'a Inventory,
    pub(super) way: &'a Way,
    pub(super) base: &'a Base,
}

impl Search<'_> {
    /// Whether the recovery of the base comes across `until`. A transaction that was prepared earlier is not named where it
    /// ends: if there was one, nobody can say that a number is not there.
    ///
    /// # Errors
    /// If a segment is damaged.
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
            if self.inventory.segments.contains_key(&(timeline, number)) {
                let name = WalName::Segment(self.inventory.name(timeline, number));
                let path = path_of(self.archive, name);
                let file = File::open(&path).map_err(WalError::system("open", &path))?;
                let header = read_header(&file).map_err(WalError::reading(&path))?;
                let mut is_first = true;
                let read = read_content(&file, &header, &mut |part| {
                    if is_first && let Some(head) = SegmentHead::parse(part) {
                        match &mut records {
                            Some(records) => records.go_on_with(head),
                            None => records = Some(Records::of(head)),
                        }
                    }
                    is_first = false;
                    if let Some(records) = &mut records {
                        records.read(part, &mut see);
                    }
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
