//! `/proc/diskstats`: one line a block device, in the kernel's own units.
//!
//! Three words name the device; then come 11 columns, 15 from kernel 4.18 and 17 from 5.5 (the kernel's
//! `Documentation/admin-guide/iostats.rst`). Sectors are 512 bytes whatever the device's are; times are whole
//! milliseconds in 32 bits, and wrap.

use super::system::{System, Unreadable};

/// A column behind the name, in the order of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DiskColumn {
    /// Reads completed.
    Reads,
    /// Reads merged before they reached the device.
    ReadsMerged,
    /// Sectors read.
    SectorsRead,
    /// Time of all reads.
    ReadMs,
    /// Writes completed.
    Writes,
    /// Writes merged before they reached the device.
    WritesMerged,
    /// Sectors written.
    SectorsWritten,
    /// Time of all writes.
    WriteMs,
    /// Requests in flight now.
    InFlight,
    /// Time with at least one request in flight.
    BusyMs,
    /// The same, each request counted: in flight × time.
    InFlightMs,
    /// Discards completed.
    Discards,
    /// Discards merged.
    DiscardsMerged,
    /// Sectors discarded.
    SectorsDiscarded,
    /// Time of all discards.
    DiscardMs,
    /// Flushes completed.
    Flushes,
    /// Time of all flushes.
    FlushMs,
}

/// Columns that are known.
const COLUMNS: usize = DiskColumn::FlushMs as usize + 1;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskStats {
    /// `major:minor`.
    pub number: String,
    /// Kernel name.
    pub name: String,
    columns: Vec<u64>,
}

impl DiskStats {
    /// A column as read; `None` where the kernel is too old for it.
    pub fn get(&self, column: DiskColumn) -> Option<u64> {
        self.columns.get(column as usize).copied()
    }

    /// Reads one line; `None` where it is not one.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let (major, minor, name) = (words.next()?, words.next()?, words.next()?);
        let columns = words.take(COLUMNS).map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(Self { number: format!("{major}:{minor}"), name: name.to_owned(), columns })
    }
}

impl System {
    /// The counters of every block device, those never used included.
    ///
    /// # Errors
    /// When the file cannot be read.
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
