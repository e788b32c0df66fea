//! Counters: one name per quantity, whatever server it was read from.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Declares [`Counter`] with the stored number, the column name and the role of each.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $text:literal, $role:ident;)*) => {
        /// A quantity of a row. The number is stored: never reuse or renumber.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[repr(u8)]
        pub enum Counter { $($(#[$doc])* $name = $number,)* }

        impl Counter {
            /// Every counter, in the order of its number.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$name,)*];
            /// Number of counters.
            pub const COUNT: usize = [$($number,)*].len();

            /// Its name in tables, files and messages.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// How it may be used.
            pub fn role(self) -> Role {
                match self { $(Self::$name => Role::$role,)* }
            }
        }
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A count that only grows within an epoch; can be subtracted.
    Count,
    /// Accumulated time that only grows within an epoch; can be subtracted.
    Time,
    /// A level: shown as read, never subtracted.
    Gauge,
    /// Describes the reading itself: neither shown nor subtracted.
    Mark,
    /// Marks when counting began: if it differs, the statistics were reset.
    StatisticsMark,
    /// Marks the open file: if it differs, the file was closed in between.
    HandleMark,
}

counters! {
    /// Reads completed (PostgreSQL 16 and 17: blocks read).
    Reads = 0, "reads", Count;
    ReadBytes = 1, "read_bytes", Count;
    ReadStall = 2, "read_stall", Time;
    /// Writes completed (PostgreSQL 16 and 17: blocks written).
    Writes = 3, "writes", Count;
    WriteBytes = 4, "write_bytes", Count;
    WriteStall = 5, "write_stall", Time;
    /// Syncs of a file or flushes of a device.
    Syncs = 6, "syncs", Count;
    SyncStall = 7, "sync_stall", Time;
    Extends = 8, "extends", Count;
    ExtendBytes = 9, "extend_bytes", Count;
    ExtendStall = 10, "extend_stall", Time;
    /// Blocks the kernel was asked to write back.
    Writebacks = 11, "writebacks", Count;
    WritebackStall = 12, "writeback_stall", Time;
    Discards = 13, "discards", Count;
    DiscardBytes = 14, "discard_bytes", Count;
    DiscardStall = 15, "discard_stall", Time;
    /// Other file operations: open, close, stat, seek and, in MySQL, sync.
    Others = 16, "others", Count;
    OtherStall = 17, "other_stall", Time;
    Hits = 18, "hits", Count;
    Evictions = 19, "evictions", Count;
    Reuses = 20, "reuses", Count;
    /// The part of the read stall added by the resource governor.
    QueuedReadStall = 21, "queued_read_stall", Time;
    /// The part of the write stall added by the resource governor.
    QueuedWriteStall = 22, "queued_write_stall", Time;
    Busy = 23, "busy", Time;
    /// Time summed over the requests in flight.
    InFlightTime = 24, "in_flight_time", Time;
    ReadsMerged = 25, "reads_merged", Count;
    WritesMerged = 26, "writes_merged", Count;
    /// Time in which some tasks waited for I/O.
    WaitSome = 27, "wait_some", Time;
    /// Time in which all tasks waited for I/O.
    WaitFull = 28, "wait_full", Time;
    InFlight = 29, "in_flight", Gauge;
    /// Size on disk when read, bytes.
    SizeBytes = 30, "size_bytes", Gauge;
    /// When the server started to count the row.
    StatisticsReset = 31, "statistics_reset", StatisticsMark;
    /// The handle with which the server has the file open.
    Handle = 32, "handle", HandleMark;
    WalBytes = 33, "wal_bytes", Count;
    WalRecords = 34, "wal_records", Count;
    /// Full-page images in the write-ahead log.
    WalFullPages = 35, "wal_full_pages", Count;
    WalBuffersFull = 36, "wal_buffers_full", Count;
    CheckpointsTimed = 37, "checkpoints_timed", Count;
    CheckpointsRequested = 38, "checkpoints_requested", Count;
    /// Elapsed time of the checkpoints' write phase, including its deliberate pauses: not a stall.
    CheckpointWriteTime = 39, "checkpoint_write_time", Time;
    CheckpointSyncTime = 40, "checkpoint_sync_time", Time;
    TempFiles = 41, "temp_files", Count;
    TempBytes = 42, "temp_bytes", Count;
    /// Reads in a difference whose stall was not reported. No source counts it; sums need it.
    UntimedReads = 43, "untimed_reads", Count;
    /// Writes in a difference whose stall was not reported.
    UntimedWrites = 44, "untimed_writes", Count;
    /// When the row was read, in nanoseconds of its sample's clock. Present only if it comes from an earlier
    /// sample because the server did not return the row again.
    ReadClockNs = 45, "read_clock_ns", Mark;
    /// When the newest backup ended, seconds since 1970, UTC.
    BackupFinished = 46, "backup_finished_utc_s", Gauge;
    BackupElapsed = 47, "backup_elapsed_s", Gauge;
    BackupBytes = 48, "backup_bytes", Gauge;
    BackupStoredBytes = 49, "backup_stored_bytes", Gauge;
    NandBytes = 50, "nand_bytes", Count;
    /// How much of a drive's life is used by its own account, percent. It may be more than 100.
    UsedPercent = 51, "used_percent", Gauge;
    SparePercent = 52, "spare_percent", Gauge;
    /// Below this a drive warns about its spare blocks, percent.
    SpareThresholdPercent = 53, "spare_threshold_percent", Gauge;
    PowerOnHours = 54, "power_on_hours", Gauge;
    EraseCycles = 55, "erase_cycles", Gauge;
    /// 1 if a drive reports a failure, otherwise 0.
    DriveFailing = 56, "drive_failing", Gauge;
    /// When a drive's counters were read, seconds since 1970, UTC: before the sample if they come from a file.
    DriveRead = 57, "drive_read_utc_s", Gauge;
}

impl Counter {
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    pub fn subtracts(self) -> bool {
        matches!(self.role(), Role::Count | Role::Time)
    }
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Values of some counters; the others are absent, which is different from zero.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Counters {
    present: u64,
    values: [u64; Counter::COUNT],
}

impl Default for Counters {
    fn default() -> Self {
        Self { present: 0, values: [0; Counter::COUNT] }
    }
}

impl Counters {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn with(mut self, counter: Counter, value: u64) -> Self {
        self.set(counter, value);
        self
    }

    pub fn with_opt(mut self, counter: Counter, value: Option<u64>) -> Self {
        if let Some(value) = value {
            self.set(counter, value);
        }
        self
    }

    pub fn set(&mut self, counter: Counter, value: u64) {
        self.present |= 1 << (counter as u8);
        self.values[counter as usize] = value;
    }

    pub fn unset(&mut self, counter: Counter) {
        self.present &= !(1 << (counter as u8));
        self.values[counter as usize] = 0;
    }

    pub fn get(&self, counter: Counter) -> Option<u64> {
        (self.present >> (counter as u8) & 1 == 1).then(|| self.values[counter as usize])
    }

    /// The value of `counter`, or zero if absent: for sums only.
    pub fn or_zero(&self, counter: Counter) -> u64 {
        self.values[counter as usize]
    }

    /// The present counters with their values, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (Counter, u64)> + '_ {
        let mut left = self.present;
        std::iter::from_fn(move || {
            let index =
                usize::try_from(left.trailing_zeros()).ok().filter(|index| *index < Counter::COUNT)?;
            left &= left - 1;
            Some((Counter::ALL[index], self.values[index]))
        })
    }

    /// Bit `n` is set if the counter with number `n` is present.
    pub fn present(&self) -> u64 {
        self.present
    }

    pub fn is_empty(&self) -> bool {
        self.present == 0
    }

    pub fn is_zero(&self) -> bool {
        self.values.iter().all(|value| *value == 0)
    }

    /// Adds `other` counter by counter, saturating. A counter present in either is present in the sum.
    pub fn add(&mut self, other: &Self) {
        self.present |= other.present;
        for (mine, theirs) in self.values.iter_mut().zip(&other.values) {
            *mine = mine.saturating_add(*theirs);
        }
    }
}

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(counter, value)| (counter.name(), value))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_has_the_number_of_its_place_and_a_name_of_its_own() {
        for (index, counter) in Counter::ALL.iter().enumerate() {
            assert_eq!(*counter as usize, index);
            assert_eq!(Counter::from_number(u8::try_from(index).unwrap()), Some(*counter));
        }
        let mut names: Vec<_> = Counter::ALL.iter().map(|counter| counter.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Counter::COUNT);
        assert_eq!(Counter::from_number(200), None);
    }

    #[test]
    fn an_absent_counter_is_not_a_zero() {
        let counters = Counters::new().with(Counter::Writes, 0);
        assert_eq!(counters.get(Counter::Writes), Some(0));
        assert_eq!(counters.get(Counter::Reads), None);
        assert_eq!(counters.iter().collect::<Vec<_>>(), [(Counter::Writes, 0)]);
        assert!(!counters.is_empty() && counters.is_zero());
    }
}
