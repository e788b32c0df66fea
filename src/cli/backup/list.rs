//! `iostall backup list` and `prune`.

use std::path::PathBuf;

use clap::Args;
use iostall_measure::Nanos;

use super::keep::KeepArgs;
use super::keys::UnlockArgs;

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
