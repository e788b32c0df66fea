//! `iostall fsync`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use iostall_measure::{BlockSize, Nanos};
use iostall_model::sync::{LogLayout, SyncMethod};
use iostall_session::fsync::FsyncRequest;

use super::output::OutputArgs;
use super::target::target;

const EXAMPLES: &str = "Examples:
  iostall fsync /var/lib/postgresql/wal-test        every method, with 1 and with 8 committers, 3 s each
  iostall fsync --duration 30s --methods fdatasync,open_datasync .
  iostall fsync --committers 1,4,16,64 --html f.html /wal
  iostall fsync --committers 4 --separate-logs .    four servers on one device
  iostall fsync --postgres /var/lib/postgresql/17/main /wal/test    beside this server's settings
  iostall fsync --overwrite /wal/pg_wal /wal/pg_wal    in the directory of the log itself

The segments are removed at the end, also on Ctrl-C, which keeps the results so far. Exit status 1 where a method failed.";

/// Sizes of a record, bytes.
const BLOCK_BYTES: std::ops::RangeInclusive<u32> = 512..=1 << 20;

/// Where to commit, how, and how often at once.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FsyncArgs {
    /// The directory of the log, or another one on the same file system: segments of 16 MiB are made in it
    #[arg(value_name = "DIR", value_parser = target())]
    pub(crate) directory: PathBuf,

    /// Sync methods, measured one after the other [default: all]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "What")]
    pub(crate) methods: Vec<MethodChoice>,
    /// Committers at the same time; each method is measured with each number
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,8", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "What")]
    pub(crate) committers: Vec<u32>,
    /// A log for each committer, instead of one log with group commit
    #[arg(long, help_heading = "What")]
    pub(crate) separate_logs: bool,
    /// Length of each measurement
    #[arg(long, short, value_name = "TIME", default_value = "3s", value_parser = some_time, help_heading = "What")]
    pub(crate) duration: Nanos,
    /// Bytes of a commit's record, which is one write: a multiple of 512
    #[arg(long, short, value_name = "SIZE", default_value = "8K", value_parser = record, help_heading = "What")]
    pub(crate) block_size: BlockSize,
    /// Data directory of the PostgreSQL server whose settings are shown [default: the one that DIR is in]
    #[arg(long, value_name = "DIR", help_heading = "What")]
    pub(crate) postgres: Option<PathBuf>,
    /// Allow new files in DIR although it belongs to a database; PATH is DIR
    #[arg(long, value_name = "PATH", help_heading = "Safety")]
    pub(crate) overwrite: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Name of the run in the store
    #[arg(long, value_name = "TEXT", default_value = "fsync", help_heading = "Output")]
    pub(crate) name: String,
    /// Do not store the run
    #[arg(long, help_heading = "Output")]
    pub(crate) no_store: bool,
}

impl FsyncArgs {
    /// What was typed, as a request.
    pub(crate) fn request(&self) -> FsyncRequest {
        let methods: Vec<SyncMethod> = self.methods.iter().copied().map(Into::into).collect();
        FsyncRequest {
            directory: self.directory.clone(),
            methods: if methods.is_empty() { SyncMethod::ALL.to_vec() } else { methods },
            committers: self.committers.clone(),
            log: if self.separate_logs { LogLayout::Separate } else { LogLayout::Shared },
            duration: self.duration,
            block: self.block_size,
            data_directory: self.postgres.clone(),
            overwrite: self.overwrite.clone(),
            name: self.name.clone(),
        }
    }
}

/// How a write is made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum MethodChoice {
    /// A write, then fdatasync: the default of PostgreSQL on Linux
    Fdatasync,
    /// One write with O_DSYNC
    OpenDatasync,
    /// The same past the page cache, as PostgreSQL until 15 without archiving and replicas
    OpenDatasyncDirect,
    /// A write, then fsync
    Fsync,
    /// One write with O_SYNC
    OpenSync,
    /// The same past the page cache
    OpenSyncDirect,
    /// A write, then sync_file_range: not durable, for comparison
    SyncFileRange,
}

impl From<MethodChoice> for SyncMethod {
    fn from(choice: MethodChoice) -> Self {
        match choice {
            MethodChoice::Fdatasync => Self::Fdatasync,
            MethodChoice::OpenDatasync => Self::OpenDatasync,
            MethodChoice::OpenDatasyncDirect => Self::OpenDatasyncDirect,
            MethodChoice::Fsync => Self::Fsync,
            MethodChoice::OpenSync => Self::OpenSync,
            MethodChoice::OpenSyncDirect => Self::OpenSyncDirect,
            MethodChoice::SyncFileRange => Self::SyncFileRange,
        }
    }
}

/// A length of time in which something can be measured.
fn some_time(text: &str) -> Result<Nanos, String> {
    let time: Nanos = text.parse().map_err(|error: iostall_measure::units::UnitError| error.to_string())?;
    if time.nanos() == 0 {
        Err("0 measures nothing: write a length of time such as 3s".to_owned())
    } else {
        Ok(time)
    }
}

/// The size of a record.
fn record(text: &str) -> Result<BlockSize, String> {
    let size: BlockSize =
        text.parse().map_err(|error: iostall_measure::units::UnitError| error.to_string())?;
    if BLOCK_BYTES.contains(&size.bytes()) && size.bytes().is_multiple_of(512) {
        Ok(size)
    } else {
        Err(format!("{size} is not a multiple of 512 bytes up to 1 MiB, such as 8K"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_sectors_and_times_are_not_nothing() {
        assert_eq!(record("8K").unwrap().bytes(), 8192);
        for text in ["0", "100", "1000", "2M", "8X"] {
            assert!(record(text).is_err(), "{text}");
        }
        assert!(some_time("0").is_err() && some_time("3s").is_ok() && some_time("soon").is_err());
    }

    #[test]
    fn every_method_can_be_named_as_the_report_names_it() {
        let choices = MethodChoice::value_variants();
        let names: Vec<String> =
            choices.iter().filter_map(|one| Some(one.to_possible_value()?.get_name().to_owned())).collect();
        assert_eq!(names, SyncMethod::ALL.map(SyncMethod::name));
        assert!(
            choices.iter().zip(SyncMethod::ALL).all(|(choice, method)| SyncMethod::from(*choice) == method)
        );
    }
}
