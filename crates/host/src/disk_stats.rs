//! `/proc/diskstats`: one line per block device, in the kernel's units.
//!
//! Three fields identify the device; 11 columns follow, 15 since kernel 4.18 and 17 since 5.5 (the kernel's
//! `Documentation/admin-guide/iostats.rst`). Sectors are always 512 bytes; times are whole milliseconds in 32
//! bits and wrap.

use super::system::{System, Unreadable};

/// A column after the name, in the order of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DiskColumn {
    Reads,
    /// Reads merged before they reached the device.
    ReadsMerged,
    SectorsRead,
    ReadMs,
    Writes,
    WritesMerged,
    SectorsWritten,
    WriteMs,
    InFlight,
    /// Time with at least one request in flight.
    BusyMs,
    /// Time weighted by the requests in flight.
    InFlightMs,
    Discards,
    DiscardsMerged,
    SectorsDiscarded,
    DiscardMs,
    Flushes,
    FlushMs,
}

const COLUMNS: usize = DiskColumn::FlushMs as usize + 1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskStats {
    /// `major:minor`.
    pub number: String,
    pub name: String,
    columns: Vec<u64>,
}

impl DiskStats {
    /// The value of a column; `None` if the kernel is too old for it.
    pub fn get(&self, column: DiskColumn) -> Option<u64> {
        self.columns.get(column as usize).copied()
    }

    /// Parses one line; `None` if it is malformed.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let (major, minor, name) = (words.next()?, words.next()?, words.next()?);
        let columns = words.take(COLUMNS).map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(Self { number: format!("{major}:{minor}"), name: name.to_owned(), columns })
    }
}

impl System {
    /// The counters of every block device, including unused ones.
    pub fn disk_stats(&self) -> Result<Vec<DiskStats>, Unreadable> {
        let text = self.read("/proc/diskstats")?;
        Ok(text.lines().filter_map(DiskStats::parse).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_every_age_are_read_by_the_number_of_their_columns() {
        let old = DiskStats::parse(" 8 0 sda 1 2 3 4 5 6 7 8 9 10 11").unwrap();
        assert_eq!((old.number.as_str(), old.name.as_str()), ("8:0", "sda"));
        assert_eq!((old.get(DiskColumn::InFlightMs), old.get(DiskColumn::Discards)), (Some(11), None));
        let new = DiskStats::parse("8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x").unwrap();
        assert_eq!((new.get(DiskColumn::Reads), new.get(DiskColumn::FlushMs)), (Some(1), Some(17)));
    }

    #[test]
    fn what_is_no_line_of_it_is_left_out() {
        assert_eq!(DiskStats::parse("8 0"), None);
        assert_eq!(DiskStats::parse("8 0 sda 1 x 3"), None);
    }
}
