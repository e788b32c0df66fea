//! `iostall backup drill`.

use std::path::PathBuf;

use clap::Args;
use iostall_collect::{Address, Secret};
use iostall_measure::Nanos;
use iostall_model::sqlserver_backup::BackupDevice;
use iostall_session::backup::drill::DrillRequest;
use iostall_session::backup::sqlserver::{DrillTarget, SqlServerDrillRequest};
use iostall_session::backup::wal::PointRequest;
use iostall_transfer::backup::codec::Unlock;

use super::base::BasePlaces;
use super::keys::UnlockArgs;
use super::point::PointArgs;
use crate::cli::copy::NiceChoice;
use crate::cli::output::CheckOutputArgs;
use crate::cli::rate::bytes_per_second;

/// Which backup to try out, and how.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall backup drill /b1 /b2                              the newest backup in these directories\n  \
    iostall backup drill --source db1/shop /b1 /b2            the newest one of this database\n  \
    iostall backup drill /b1/shop.iob --database shop --check \"select max(at) > now() - interval '1 day' from public.orders\"\n  \
    iostall backup drill /b1/shop.iob --scratch /scratch --engine-dir /opt/pg16/bin --keep\n  \
    iostall backup drill /b1 --wal /wal --until 2h            can it be brought to where it was two hours ago?\n  \
    iostall backup drill --sqlserver sqlserver://dba@test1 --from 'E:\\b\\sales.bak' --as sales_drill --move-to 'F:\\drill'\n\n\
    PostgreSQL recovers the restored files on a socket that nobody else can reach, without archiving, following or\n\
    subscribing; amcheck looks at every database, and iostall at every page. MariaDB is prepared, and\n\
    checks every table. SQLite checks integrity and foreign keys.\n\
    SQL Server restores its own backup under another name, which must not exist, checks it, and drops it again.\n\
    Of other files only the content is compared, which proves less. Exit status 1 if a check fails. The store keeps the\n\
    time to recover: restore, start and recovery.")]
pub(crate) struct DrillArgs {
    /// The manifest, or a stripe beside it; or all directories with stripes, for the newest whole set in them
    #[arg(value_name = "SET", required_unless_present = "sqlserver")]
    pub(crate) from: Vec<PathBuf>,

    /// In directories, the newest set of a source whose name contains this
    #[arg(long, value_name = "TEXT", help_heading = "What")]
    pub(crate) source: Option<String>,
    #[command(flatten)]
    pub(crate) base: BasePlaces,
    #[command(flatten)]
    pub(crate) unlock: UnlockArgs,
    /// Where to restore to: a directory of the drill's own is made there, and removed again
    #[arg(long, value_name = "DIR", default_value = "/var/tmp", help_heading = "What")]
    pub(crate) scratch: PathBuf,
    /// Leave the restored files, or the database, there
    #[arg(long, help_heading = "What")]
    pub(crate) keep: bool,
    #[command(flatten)]
    pub(crate) point: PointArgs,
    #[command(flatten)]
    pub(crate) server: ServerDrillArgs,

    /// The directory of the programs of PostgreSQL or MariaDB, if not one where distributions have them
    #[arg(long, value_name = "DIR", help_heading = "Server")]
    pub(crate) engine_dir: Option<PathBuf>,
    /// As root: the account to start the server under [default: postgres or mysql, or else the owner of the files in the set]
    #[arg(long, value_name = "NAME", help_heading = "Server")]
    pub(crate) user: Option<String>,
    /// A superuser of the restored PostgreSQL
    #[arg(long, value_name = "ROLE", default_value = "postgres", help_heading = "Server")]
    pub(crate) role: String,
    /// A setting of the restored server, such as shared_preload_libraries=; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting, help_heading = "Server")]
    pub(crate) set: Vec<(String, String)>,
    /// A statement that must run without an error, and be true (SQL Server: not 0) if it says whether something is; may be repeated.
    /// In PostgreSQL tables carry their schema, such as public.orders
    #[arg(long, value_name = "SQL", help_heading = "Server")]
    pub(crate) check: Vec<String>,
    /// The database in which the statements of --check are run [default: postgres; for MariaDB none]; of SQL Server the one to restore
    #[arg(long, value_name = "NAME", help_heading = "Server")]
    pub(crate) database: Option<String>,
    /// How long the server and the checks may take together
    #[arg(long, value_name = "TIME", default_value = "12h", help_heading = "Server")]
    pub(crate) timeout: Nanos,

    /// Threads that check, decrypt and decompress [default: the number of CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256), help_heading = "How")]
    pub(crate) workers: Option<u32>,
    /// Maximum rate in bytes a second at which stripes are read, such as 200MB/s
    #[arg(long, value_name = "RATE", value_parser = bytes_per_second, help_heading = "How")]
    pub(crate) limit: Option<u64>,
    /// Run at lower CPU and disk priority: low or idle
    #[arg(long, value_name = "LEVEL", help_heading = "How")]
    pub(crate) nice: Option<NiceChoice>,

    #[command(flatten)]
    pub(crate) output: CheckOutputArgs,
    /// Do not store the run
    #[arg(long, help_heading = "Output")]
    pub(crate) no_store: bool,
}

/// A drill on SQL Server.
#[derive(Debug, Args)]
#[command(next_help_heading = "SQL Server")]
pub(crate) struct ServerDrillArgs {
    /// Have this server restore its own backup under another name: sqlserver://USER@HOST
    #[arg(
        long,
        value_name = "URL",
        requires = "disks",
        requires = "name",
        requires = "move_to",
        conflicts_with_all = [
            "from", "source", "key_file", "passphrase_file", "passphrase_fd", "passphrase", "scratch", "engine_dir", "user", "role",
            "set", "timeout", "workers", "limit", "nice", "wal", "until", "exclusive", "timeline", "base",
        ]
    )]
    pub(crate) sqlserver: Option<String>,
    /// A file or URL as the server sees it; repeat it for each stripe
    #[arg(long = "from", value_name = "PATH", requires = "sqlserver")]
    pub(crate) disks: Vec<String>,
    /// Further files with differential and log backups, to be restored on it; stripes of one backup with | between; may be repeated
    #[arg(long, value_name = "PATHS", requires = "sqlserver")]
    pub(crate) then: Vec<String>,
    /// Which backup of the files, from 1, with what it needs [default: the last full one]
    #[arg(long, value_name = "N", requires = "sqlserver")]
    pub(crate) file: Option<u64>,
    /// STOPAT: a second in the local time of the server that made the backups, such as 2026-05-28T03:00:00, or `end`
    #[arg(long, value_name = "TIME", value_parser = drill_target, conflicts_with = "file", requires = "sqlserver")]
    pub(crate) stop_at: Option<DrillTarget>,
    /// The name of the database that is made, and dropped again: there must be none of it
    #[arg(long = "as", value_name = "NAME", requires = "sqlserver")]
    pub(crate) name: Option<String>,
    /// The directory for its files, as the server sees it
    #[arg(long, value_name = "DIR", requires = "sqlserver")]
    pub(crate) move_to: Option<String>,
    /// Print the T-SQL: the server is asked what the files hold, and restores nothing
    #[arg(long, requires = "sqlserver")]
    pub(crate) dry_run: bool,
}

impl DrillArgs {
    /// The drill of a set that `unlock` opens.
    pub(crate) fn request(&self, unlock: Option<Unlock>, point: Option<PointRequest>) -> DrillRequest {
        DrillRequest {
            point,
            from: self.from.clone(),
            source: self.source.clone(),
            scratch: self.scratch.clone(),
            keep: self.keep,
            engine_dir: self.engine_dir.clone(),
            user: self.user.clone(),
            role: self.role.clone(),
            database: self.database.clone(),
            statements: self.check.clone(),
            settings: self.set.clone(),
            timeout: self.timeout,
            bases: self.base.base.clone(),
            unlock,
            workers: self.workers,
            limit: self.limit,
        }
    }

    /// The drill on the server at `address`.
    pub(crate) fn server_request(&self, address: Address, password: Secret) -> SqlServerDrillRequest {
        let server = &self.server;
        let devices = |texts: &mut dyn Iterator<Item = &str>| texts.map(BackupDevice::of).collect();
        let first = devices(&mut server.disks.iter().map(String::as_str));
        let others = server.then.iter().map(|texts| devices(&mut texts.split('|')));
        let usual = if server.then.is_empty() { DrillTarget::LastFull } else { DrillTarget::End };
        let file = server.file.map(DrillTarget::Position);
        SqlServerDrillRequest {
            address,
            password,
            media: std::iter::once(first).chain(others).collect(),
            target: file.or_else(|| server.stop_at.clone()).unwrap_or(usual),
            database: self.database.clone(),
            name: server.name.clone().unwrap_or_default(),
            directory: server.move_to.clone().unwrap_or_default(),
            statements: self.check.clone(),
            keep: self.keep,
        }
    }
}

fn drill_target(text: &str) -> Result<DrillTarget, String> {
    if text == "end" {
        return Ok(DrillTarget::End);
    }
    let time: Option<jiff::civil::DateTime> = text.trim().parse().ok();
    // The headers of backups have whole seconds.
    let time = time.filter(|time| time.subsec_nanosecond() == 0 && !text.trim().ends_with(['Z', 'z']));
    time.map(DrillTarget::Time)
        .ok_or_else(|| "write `end`, or a local time such as 2026-05-28T03:00:00".to_owned())
}

fn setting(text: &str) -> Result<(String, String), String> {
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte))
    };
    match text.split_once('=') {
        Some((name, value)) if is_name(name.trim()) => Ok((name.trim().to_owned(), value.trim().to_owned())),
        _ => Err("write NAME=VALUE, such as shared_preload_libraries=".to_owned()),
    }
}
