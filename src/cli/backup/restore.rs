//! `iostall backup restore`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use iostall_model::backup::SetId;
use iostall_session::backup::restore::RestoreRequest;
use iostall_session::backup::tablespaces::TablespaceMove;
use iostall_session::backup::wal::PointRequest;
use iostall_transfer::backup::codec::Unlock;

use super::base::BasePlaces;
use super::keys::UnlockArgs;
use super::point::{AtTargetChoice, PointArgs};
use super::restore_tune::{ReadChoiceArgs, RestoreTuneArgs};
use crate::cli::copy::GiveWayArgs;
use crate::cli::copy::NiceChoice;
use crate::cli::load::SafetyArgs;
use crate::cli::output::RatedOutputArgs;
use crate::cli::rate::bytes_per_second;

/// What to restore, and where.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "Examples:\n  \
    iostall backup restore /b1/shop.iob.manifest --to /scratch/shop\n  \
    iostall backup restore tune /b1/shop.iob --to /scratch                                 the fastest settings\n  \
    iostall backup restore /b1/shop.iob --to /scratch/orders.ibd --only data/orders.ibd     one file\n  \
    iostall backup restore /b1/shop.iob --to /scratch/shop --key-file ~/.config/age/dba.key\n  \
    iostall backup restore /b1/disk.iob --to /dev/vg0/new --overwrite /dev/vg0/new         an image onto a device\n  \
    iostall backup restore /b1/pg.iob --to /srv/pg --wal /wal --until '2026-11-23T12:00'    PostgreSQL as it was then\n\n\
    Nothing has its name before all of it was checked, written and made durable. An existing file, and a directory with\n\
    something in it, are refused without --overwrite, which names it; so is a block device, which has no other name while it\n\
    is written.")]
pub(crate) struct RestoreArgs {
    #[command(subcommand)]
    pub(crate) command: Option<RestoreCommand>,

    /// The manifest, or a stripe beside it, a path, s3://BUCKET/NAME, az://CONTAINER/NAME or gs://BUCKET/NAME; stripes elsewhere are named, too
    #[arg(value_name = "SET", required = true)]
    pub(crate) from: Vec<PathBuf>,

    /// Where to: a new name, an empty directory, or a block device for one file
    #[arg(long, value_name = "PLACE", required = true, help_heading = "What")]
    pub(crate) to: Option<PathBuf>,
    /// Restore only this file or directory of the backup; may be repeated
    #[arg(long, value_name = "PATH", help_heading = "What")]
    pub(crate) only: Vec<PathBuf>,
    /// Restore a tablespace of PostgreSQL to NEW instead of below the data directory; OLD is where it was, or its oid; may be
    /// repeated
    #[arg(long, value_name = "OLD=NEW", conflicts_with = "only", value_parser = tablespace, help_heading = "What")]
    pub(crate) tablespace: Vec<TablespaceMove>,
    /// Leave the files of MariaDB as they were backed up: run mariadb-backup --prepare before you start a server on them
    #[arg(long, help_heading = "What")]
    pub(crate) no_prepare: bool,
    /// The directory of mariadb-backup, if it is not in PATH: it prepares the files of MariaDB
    #[arg(long, value_name = "DIR", conflicts_with = "no_prepare", help_heading = "What")]
    pub(crate) engine_dir: Option<PathBuf>,
    /// The id of the set that this must be; another one is not restored, exit status 1
    #[arg(long, value_name = "SETID", help_heading = "What")]
    pub(crate) expect: Option<SetId>,
    #[command(flatten)]
    pub(crate) point: PointArgs,
    /// What the restored PostgreSQL does at --until
    #[arg(
        long,
        value_name = "HOW",
        default_value = "pause",
        requires = "wal",
        help_heading = "Point in time"
    )]
    pub(crate) at_target: AtTargetChoice,
    #[command(flatten)]
    pub(crate) safety: SafetyArgs,
    #[command(flatten)]
    pub(crate) base: BasePlaces,
    #[command(flatten)]
    pub(crate) unlock: UnlockArgs,

    #[command(flatten)]
    pub(crate) choice: ReadChoiceArgs,
    /// Maximum rate in bytes a second, such as 200MB/s
    #[arg(long, value_name = "RATE", value_parser = bytes_per_second, help_heading = "How")]
    pub(crate) limit: Option<u64>,
    /// Run at lower CPU and disk priority: low or idle
    #[arg(long, value_name = "LEVEL", help_heading = "How")]
    pub(crate) nice: Option<NiceChoice>,
    #[command(flatten)]
    pub(crate) give_way: GiveWayArgs,

    /// Print a line after every N percent, as RESTORE … WITH STATS = N does
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "10", value_parser = clap::value_parser!(u8).range(1..=100), help_heading = "Output")]
    pub(crate) stats: Option<u8>,
    #[command(flatten)]
    pub(crate) output: RatedOutputArgs,
    /// Do not store the run
    #[arg(long, help_heading = "Output")]
    pub(crate) no_store: bool,
}

impl RestoreArgs {
    /// What is to be done, with these keys.
    pub(crate) fn request(&self, unlock: Option<Unlock>, point: Option<PointRequest>) -> RestoreRequest {
        RestoreRequest {
            point,
            from: self.from.clone(),
            // Without the verb `tune` there is one.
            to: self.to.clone().unwrap_or_default(),
            only: self.only.clone(),
            expect: self.expect,
            bases: self.base.base.clone(),
            unlock,
            consent: self.safety.consent(),
            choice: self.choice.choice(),
            limit: self.limit,
            tablespaces: self.tablespace.clone(),
            no_prepare: self.no_prepare,
            engine_dir: self.engine_dir.clone(),
        }
    }
}

/// What restore does beside restoring.
#[derive(Debug, Subcommand)]
pub(crate) enum RestoreCommand {
    /// Find the settings with which restores are fastest, by trying them, and what limits them
    Tune(Box<RestoreTuneArgs>),
}

fn tablespace(text: &str) -> Result<TablespaceMove, String> {
    match text.split_once('=') {
        Some((from, to)) if !from.is_empty() && !to.is_empty() => {
            Ok(TablespaceMove { from: from.into(), to: to.into() })
        }
        _ => Err("write OLD=NEW, such as /srv/fast=/scratch/fast".to_owned()),
    }
}
