//! Kinds of row, and what the columns of each kind mean.

use iostall_measure::named;
use serde::{Deserialize, Serialize};

use crate::counter::{Counter, Role};
use crate::reset::ResetReason;

named! {
    /// What a row describes. The number is stored: never reuse or renumber.
    ///
    /// If a server version changes the meaning of a column, it gets its own kind, so that the two are never
    /// subtracted from each other.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    #[repr(u8)]
    pub enum Kind {
        /// A file of SQL Server (`sys.dm_io_virtual_file_stats`).
        SqlServerFile = "sqlserver-file" => 1,
        /// The newest backup of one sort of a SQL Server database (`msdb.dbo.backupset`): gauges only.
        SqlServerBackup = "sqlserver-backup" => 2,
        /// A row of `pg_stat_io` in PostgreSQL 16 and 17, where reads and writes count 8 KiB blocks.
        PostgresIoBlocks = "postgres-io-blocks" => 10,
        /// A row of `pg_stat_io` since PostgreSQL 18, where they count operations.
        PostgresIo = "postgres-io" => 11,
        /// A PostgreSQL database (`pg_stat_database`): blocks, and the time its backends waited for data files.
        PostgresDatabase = "postgres-database" => 12,
        /// A PostgreSQL table with its TOAST (`pg_statio_*_tables`): blocks, no time, no writes.
        PostgresTable = "postgres-table" => 13,
        /// A PostgreSQL index (`pg_statio_*_indexes`): blocks, no time, no writes.
        PostgresIndex = "postgres-index" => 14,
        /// The write-ahead log (`pg_stat_wal`).
        PostgresWal = "postgres-wal" => 15,
        /// Checkpoints (`pg_stat_bgwriter` to 16, `pg_stat_checkpointer` from 17).
        PostgresCheckpointer = "postgres-checkpointer" => 16,
        /// A file of MySQL or MariaDB (`performance_schema.file_summary_by_instance`).
        MysqlFile = "mysql-file" => 20,
        /// The InnoDB redo log, from the server's status.
        MysqlRedo = "mysql-redo" => 21,
        /// All data files of InnoDB, from the server's status.
        MysqlInnodb = "mysql-innodb" => 22,
        /// A block device of Linux (`/proc/diskstats`).
        LinuxDevice = "linux-device" => 30,
        /// A device as one control group uses it (`io.stat`).
        LinuxCgroup = "linux-cgroup" => 31,
        /// Pressure stall information (`/proc/pressure/io`).
        LinuxPressure = "linux-pressure" => 32,
        /// A solid-state drive by its own account (SMART): bytes since it was made, and its wear.
        SmartDrive = "smart-drive" => 40,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// As is: operations, blocks or bytes.
    One,
    /// Sectors of 512 bytes, whatever the device's sector size.
    Sectors,
    Milliseconds,
    Microseconds,
    Picoseconds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub unit: Unit,
    /// Width in bits, if the column may wrap within the life of a machine.
    pub width_bits: Option<u32>,
}

impl Kind {
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }

    pub fn column(self, counter: Counter) -> Column {
        let timed = |unit, width_bits| match counter.role() {
            Role::Time => Column { unit, width_bits },
            _ => Column { unit: Unit::One, width_bits: None },
        };
        match self {
            Self::SqlServerFile | Self::SqlServerBackup => timed(Unit::Milliseconds, None),
            Self::MysqlFile => timed(Unit::Picoseconds, Some(64)),
            Self::LinuxDevice if is_sectors(counter) => Column { unit: Unit::Sectors, width_bits: None },
            Self::LinuxDevice => timed(Unit::Milliseconds, Some(32)),
            // PostgreSQL shows milliseconds as a float with microsecond precision; microseconds are stored.
            // PSI uses microseconds too.
            Self::PostgresIoBlocks
            | Self::PostgresIo
            | Self::PostgresDatabase
            | Self::PostgresTable
            | Self::PostgresIndex
            | Self::PostgresWal
            | Self::PostgresCheckpointer
            | Self::MysqlRedo
            | Self::MysqlInnodb
            | Self::LinuxCgroup
            | Self::LinuxPressure
            | Self::SmartDrive => timed(Unit::Microseconds, None),
        }
    }

    /// Maximum number of requests that can wait at once, which limits how much a wrapped time column can have
    /// gained.
    ///
    /// A Linux device queue holds at most 1024 requests by default on the largest devices; a database server
    /// has at most some ten thousand threads. Busy time advances at most as fast as the clock.
    pub fn parallelism_max(self, counter: Counter) -> u64 {
        match (self, counter) {
            (_, Counter::Busy) => 1,
            (Self::LinuxDevice, _) => 1024,
            _ => 16_384,
        }
    }

    /// What a decreased counter of this kind means if nothing else explains it.
    pub fn decrease_means(self) -> ResetReason {
        match self {
            // SQL Server clears a file's counters when the database is closed: offline, detach, restore. The
            // counters of a device or a control group begin with its creation.
            Self::SqlServerFile
            | Self::SqlServerBackup
            | Self::LinuxDevice
            | Self::LinuxCgroup
            | Self::SmartDrive => ResetReason::Reattach,
            // TRUNCATE of the Performance Schema table, pg_stat_reset and the like.
            Self::PostgresIoBlocks
            | Self::PostgresIo
            | Self::PostgresDatabase
            | Self::PostgresTable
            | Self::PostgresIndex
            | Self::PostgresWal
            | Self::PostgresCheckpointer
            | Self::MysqlFile
            | Self::MysqlRedo
            | Self::MysqlInnodb
            | Self::LinuxPressure => ResetReason::StatisticsReset,
        }
    }

    pub fn counts_blocks(self) -> bool {
        matches!(
            self,
            Self::PostgresIoBlocks | Self::PostgresDatabase | Self::PostgresTable | Self::PostgresIndex
        )
    }

    pub fn has_stall(self) -> bool {
        matches!(
            self,
            Self::SqlServerFile
                | Self::PostgresIoBlocks
                | Self::PostgresIo
                | Self::PostgresDatabase
                | Self::PostgresWal
                | Self::MysqlFile
                | Self::LinuxDevice
        )
    }

    pub fn has_levels_only(self) -> bool {
        matches!(self, Self::SqlServerBackup)
    }

    /// A note on the meaning of its numbers, if they are not operations and the time from request to
    /// completion.
    pub fn note(self) -> Option<&'static str> {
        match self {
            Self::PostgresIoBlocks | Self::PostgresDatabase => Some(
                "counts are 8 KiB blocks; stall is the time in the system call, page cache hits included",
            ),
            Self::PostgresTable | Self::PostgresIndex => Some(
                "reads are 8 KiB blocks that the server's cache did not hold; neither writes nor time are counted. \
                 If linux: is collected too, `iostall report volumes` has the time of the device",
            ),
            Self::PostgresIo => {
                Some("stall is the time backends waited; reads done ahead are not waited for")
            }
            Self::MysqlFile => Some(
                "of asynchronous InnoDB I/O only the submission is timed; syncs of InnoDB and the logs are counted with the few times that \
                 such a file is opened or closed",
            ),
            _ => None,
        }
    }
}

/// diskstats counts 512-byte sectors.
fn is_sectors(counter: Counter) -> bool {
    matches!(counter, Counter::ReadBytes | Counter::WriteBytes | Counter::DiscardBytes)
}

impl Column {
    /// `amount` in our whole units: operations, bytes or nanoseconds. Picoseconds are truncated to
    /// nanoseconds.
    pub fn canonical(self, amount: u64) -> u64 {
        match self.unit {
            Unit::One => amount,
            Unit::Sectors => amount.saturating_mul(512),
            Unit::Milliseconds => amount.saturating_mul(1_000_000),
            Unit::Microseconds => amount.saturating_mul(1_000),
            Unit::Picoseconds => amount / 1_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_stored_number() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_number(kind as u8), Some(kind));
        }
        assert_eq!(Kind::from_number(0), None);
    }

    #[test]
    fn diskstats_sectors_are_512_bytes_and_its_times_are_32_bit_milliseconds() {
        let bytes = Kind::LinuxDevice.column(Counter::ReadBytes);
        assert_eq!(bytes.canonical(8), 4096);
        let stall = Kind::LinuxDevice.column(Counter::ReadStall);
        assert_eq!(stall.width_bits, Some(32));
        assert_eq!(stall.canonical(3), 3_000_000);
        assert_eq!(Kind::LinuxDevice.column(Counter::Reads), Column { unit: Unit::One, width_bits: None });
    }
}
