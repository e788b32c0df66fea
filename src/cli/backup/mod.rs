//! `iostall backup`.

mod base;
mod create;
mod drill;
#[cfg(test)]
mod ignored;
mod keep;
mod keys;
mod plan;
mod point;
mod restore;
mod restore_tune;
mod run;
mod tune;
mod verify;
mod wal;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use iostall_measure::Nanos;

use self::keep::KeepArgs;
use self::keys::UnlockArgs;

pub(crate) use create::{CreateArgs, named_stripes};
pub(crate) use drill::DrillArgs;
pub(crate) use plan::PlanArgs;
pub(crate) use restore::{RestoreArgs, RestoreCommand};
pub(crate) use restore_tune::RestoreTuneArgs;
pub(crate) use run::{BackupRunArgs, FormChoice};
pub(crate) use tune::TuneArgs;
pub(crate) use verify::BackupVerifyArgs;
pub(crate) use wal::{WalArchiveArgs, WalArgs, WalCommand, WalFetchArgs, WalListArgs, WalReceiveArgs};

/// Back up, restore, check and keep.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall backup create --to /b1/shop.iob --to /b2/shop.iob /var/lib/shop\n  \
    iostall backup verify /b1/shop.iob\n  \
    iostall backup restore /b1/shop.iob --to /scratch/shop\n  \
    iostall backup tune --to /b1/shop.iob --to /b2/shop.iob /var/lib/shop    the fastest settings\n  \
    iostall backup drill /b1 /b2                              restore it and start the database\n  \
    iostall backup list /b1 /b2\n  \
    iostall backup prune --dry-run --keep-daily 7 --keep-weekly 4 /b1 /b2\n  \
    iostall backup plan --size 5T --ratio 5 --keep-daily 7    room and time that backups will take\n  \
    iostall backup run --sqlserver sqlserver://backup@db1 --database sales --to 'E:\\b\\sales.bak' --dry-run\n  \
    iostall backup wal archive %p --to /wal                   archive_command of PostgreSQL\n\n\
    docs/backup.md is the guide.")]
pub(crate) struct BackupArgs {
    #[command(subcommand)]
    pub(crate) command: BackupCommand,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum BackupCommand {
    /// Back up files, trees, a device or a stream onto several stripes at once
    Create(Box<CreateArgs>),
    /// Restore a backup, or a part of it, to a new place
    Restore(Box<RestoreArgs>),
    /// Read a backup and check every byte of it, without restoring it
    Verify(Box<BackupVerifyArgs>),
    /// Find the settings with which backups are fastest, by trying them, and what limits them
    Tune(Box<TuneArgs>),
    /// Restore a backup to a scratch directory, start the database there, and check it
    Drill(Box<DrillArgs>),
    /// Make a lost manifest again from all stripes of a set
    Rebuild(RebuildArgs),
    /// List the backups in directories, or those that the store knows
    List(BackupListArgs),
    /// Delete the backups that no rule keeps
    Prune(Box<PruneArgs>),
    /// Say how much room and time backups will take: size, ratio, growth and what is kept
    Plan(Box<PlanArgs>),
    /// Have SQL Server make its own backup: write the statement, run it, follow it, keep its figures
    Run(Box<BackupRunArgs>),
    /// Archive PostgreSQL's write-ahead log, and fetch it: what brings a backup to a point in time
    Wal(WalArgs),
}

/// Which set has lost its manifest.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall backup rebuild /b1/shop.iob /b2/shop.iob\n  \
    iostall backup rebuild --to /b1/shop.iob.manifest /b1/shop.iob /b2/shop.iob\n\n\
    Works only where every stripe is there and was completed.")]
pub(crate) struct RebuildArgs {
    /// All stripes of the set
    #[arg(value_name = "STRIPE", required = true)]
    pub(crate) stripes: Vec<PathBuf>,
    /// Where the manifest goes [default: beside the stripes]
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) unlock: UnlockArgs,
}

/// Which backups.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall backup list                    the backups that the store knows\n  \
    iostall backup list /b1 /b2            those that are in these directories\n  \
    iostall backup list --json /b1 /b2")]
pub(crate) struct BackupListArgs {
    /// All directories with stripes: paths, s3://BUCKET/DIR, az://CONTAINER/DIR or gs://BUCKET/DIR. None: what the store knows
    #[arg(value_name = "DIR")]
    pub(crate) directories: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) unlock: UnlockArgs,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which backups may go.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall backup prune --dry-run --keep-daily 7 --keep-weekly 4 --keep-monthly 12 /b1 /b2\n  \
    iostall backup prune --keep-within 30d --keep-last 3 /b1 /b2\n  \
    iostall backup prune --keep-daily 7 --wal /wal /b1         and the log that no kept backup needs\n\n\
    Rules are applied to the backups of each source separately, on the calendar of this machine's time zone. The last good\n\
    one, the last verified one and what a kept one is based on always stay; so does what cannot be judged, such as a\n\
    backup without a manifest. The manifest goes first, so that what is left never looks like a backup; after an\n\
    interruption the next call goes on.")]
pub(crate) struct PruneArgs {
    /// Directories with stripes, all that a backup is spread over
    #[arg(value_name = "DIR", required = true)]
    pub(crate) directories: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    /// Remove what killed backups left in an object store if nothing was added to it for so long, such as 2h or 7d
    #[arg(long, value_name = "TIME", default_value = "1d", help_heading = "Keep")]
    pub(crate) abandoned_after: Nanos,
    #[command(flatten)]
    pub(crate) unlock: UnlockArgs,
    /// Delete also what is in this archive of PostgreSQL's log and of before the oldest backup of its cluster that is left; the
    /// directories must be all that have backups of it
    #[arg(long, value_name = "DIR", help_heading = "Keep")]
    pub(crate) wal: Option<PathBuf>,
    /// Show what would be deleted, and delete nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}
