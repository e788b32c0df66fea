//! `iostall backup tune`.

use std::path::PathBuf;

use clap::Args;
use iostall_measure::{ByteCount, Nanos};
use iostall_model::backup::Compression;
use iostall_model::sqlserver_backup::{BackupDevice, BackupStatement, ErrorOptions};
use iostall_session::backup::tune::TuneRequest;
use iostall_transfer::backup::codec::Lock;

use super::create::power_of_two;
use super::keys::LockArgs;
use super::run::SpeedArgs;
use crate::cli::output::SeriesOutputArgs;

/// A search in less time compares nothing.
const BUDGET_MIN: Nanos = Nanos(5_000_000_000);
const BUDGET_MAX: Nanos = Nanos(86_400_000_000_000);

/// For which backup settings are to be found.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall backup tune --to /b1/shop.iob --to /b2/shop.iob /var/lib/shop\n  \
    iostall backup tune --budget 10m --compress zstd:1 --to /b1/shop.iob /var/lib/shop\n  \
    iostall backup tune --to null: /var/lib/shop                without targets\n  \
    iostall backup tune --budget 10m --to s3://backups/db1/shop.iob /var/lib/shop             with the network to a store\n  \
    iostall backup tune --sqlserver sqlserver://backup@db1 --database sales --budget 2h       SQL Server's own BACKUP\n\n\
    First source, CPU and each target are measured alone; then stripes, buffers, transfer, frame and compression are tried\n\
    together; last, the best few are compared with the defaults, again and again in turn. What you give is kept. The answer\n\
    is a command line, or that the defaults are as good: both are exit status 0.\n\n\
    The source is only read. Trials write up to 1 GiB at a time (at most a quarter of the free space) to new files beside the\n\
    stripes, named .NAME.SETID.partial, and remove them; no file that exists is touched. To a store they send parts of\n\
    uploads that are never completed.\n\n\
    With --sqlserver each trial is a whole backup that the server makes with COPY_ONLY, to NUL or over the trial before in the\n\
    files that --to names. Those must not be there before; they stay, because no statement deletes them.")]
pub(crate) struct TuneArgs {
    /// Files, directories or a block device, which are only read
    #[arg(value_name = "SOURCE", required_unless_present = "sqlserver")]
    pub(crate) sources: Vec<PathBuf>,

    /// Where a stripe may go, as for `backup create`; repeat it for each place there is. `null:` writes nothing
    #[arg(long, value_name = "FILE", required_unless_present = "sqlserver", help_heading = "What")]
    pub(crate) to: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) lock: LockArgs,
    /// How long it may take: 5s to 24h
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = budget, help_heading = "How")]
    pub(crate) budget: Nanos,
    /// Most memory for buffers; settings with more are not tried [default: a quarter of what is free, at most 2 GiB]
    #[arg(long, value_name = "SIZE", help_heading = "How")]
    pub(crate) memory: Option<ByteCount>,

    /// Keep this compression: zstd, zstd:LEVEL (-7 to 22), lz4 or none
    #[arg(long, value_name = "HOW", help_heading = "Keep")]
    pub(crate) compress: Option<Compression>,
    /// Keep this unit of checksum and compression, a power of two
    #[arg(long, value_name = "SIZE", value_parser = power_of_two, help_heading = "Keep")]
    pub(crate) frame: Option<ByteCount>,
    /// Keep this number of bytes per request, a power of two and a multiple of the frame
    #[arg(long, value_name = "SIZE", value_parser = power_of_two, help_heading = "Keep")]
    pub(crate) transfer: Option<ByteCount>,
    /// Keep this number of buffers
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=4096), help_heading = "Keep")]
    pub(crate) buffers: Option<u32>,
    /// Keep this number of threads that compress [default: the number of CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256), help_heading = "Keep")]
    pub(crate) workers: Option<u32>,

    /// Tune the BACKUP of this server instead of iostall's: sqlserver://USER@HOST. Without --to it goes to NUL
    #[arg(
        long,
        value_name = "URL",
        requires = "database",
        conflicts_with_all = [
            "sources", "compress", "frame", "transfer", "buffers", "workers", "encrypt_to", "passphrase_file",
            "passphrase_fd", "passphrase",
        ],
        help_heading = "SQL Server"
    )]
    pub(crate) sqlserver: Option<String>,
    /// The database, which each trial reads as a whole
    #[arg(long, value_name = "NAME", requires = "sqlserver", help_heading = "SQL Server")]
    pub(crate) database: Option<String>,
    /// Make the trials with CHECKSUM
    #[arg(long, requires = "sqlserver", help_heading = "SQL Server")]
    pub(crate) checksum: bool,
    /// Show the buffers and steps of the first trial, which has the defaults: trace flags as for `backup run` (sysadmin; for tests)
    #[arg(long, requires = "sqlserver", help_heading = "SQL Server")]
    pub(crate) trace_flags: bool,
    #[command(flatten)]
    pub(crate) speed: SpeedArgs,

    #[command(flatten)]
    pub(crate) output: SeriesOutputArgs,
    /// Do not store the run
    #[arg(long, help_heading = "Output")]
    pub(crate) no_store: bool,
}

impl TuneArgs {
    /// What is to be tried on these targets, with these keys.
    pub(crate) fn request(&self, targets: Vec<PathBuf>, lock: Option<Lock>) -> TuneRequest {
        // Sizes are at most 64M.
        let size = |size: ByteCount| u32::try_from(size.bytes()).unwrap_or(u32::MAX);
        TuneRequest {
            sources: self.sources.clone(),
            targets,
            compression: self.compress,
            frame_bytes: self.frame.map(size),
            transfer_bytes: self.transfer.map(size),
            buffers: self.buffers,
            workers: self.workers,
            lock,
            budget: self.budget,
            memory_bytes: self.memory.map(ByteCount::bytes),
            kept: self.lock.words(),
        }
    }

    /// What a server is to back up; its options are kept.
    pub(crate) fn statement(&self) -> BackupStatement {
        let named = self.to.iter().map(|path| BackupDevice::of(&path.to_string_lossy()));
        let devices: Vec<BackupDevice> = named.collect();
        BackupStatement {
            database: self.database.clone().unwrap_or_default(),
            devices: if devices.is_empty() { vec![BackupDevice::Nul] } else { devices },
            transfer: self.speed.options(),
            compression: self.speed.compression,
            errors: ErrorOptions { checksum: self.checksum.then_some(true), ..ErrorOptions::default() },
            ..BackupStatement::default()
        }
    }
}

pub(super) fn budget(text: &str) -> Result<Nanos, String> {
    let budget: Nanos = text.parse().map_err(|error| format!("{error}"))?;
    if (BUDGET_MIN..=BUDGET_MAX).contains(&budget) { Ok(budget) } else { Err("from 5s to 24h".to_owned()) }
}
