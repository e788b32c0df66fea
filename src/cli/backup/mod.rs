//! `iostall backup`.

mod base;
mod create;
mod drill;
mod keep;
mod keys;
mod list;
mod plan;
mod point;
mod read_choice;
mod rebuild;
mod restore;
mod restore_tune;
mod run;
mod tune;
mod verify;
mod wal;

use clap::{Args, Subcommand};

pub(crate) use create::{CreateArgs, named_stripes};
pub(crate) use drill::DrillArgs;
pub(crate) use list::{BackupListArgs, PruneArgs};
pub(crate) use plan::PlanArgs;
pub(crate) use rebuild::RebuildArgs;
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
