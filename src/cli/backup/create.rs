//! `iostall backup create`.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use iostall_measure::ByteCount;
use iostall_model::backup::{Compression, LockMode, Through};
use iostall_model::retention::Within;
use iostall_session::backup::lock_for::LockFor;

use super::base::BaseArgs;
use super::keys::LockArgs;
use crate::cli::copy::GiveWayArgs;
use crate::cli::copy::NiceChoice;
use crate::cli::output::RatedOutputArgs;
use crate::cli::rate::bytes_per_second;
use crate::failure::hinted;

/// Most stripes of a set.
const STRIPES_MAX: usize = 64;

/// What to back up, and onto what.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall backup create --to /b1/shop.iob --to /b2/shop.iob /var/lib/shop\n  \
    iostall backup create --to /b1/shop.iob --compress zstd:3 --encrypt-to age1… --encrypt-to age1… /var/lib/shop\n  \
    iostall backup create --to /b1/mon.iob --base /b1 /var/lib/shop     what changed since the newest one in /b1\n  \
    iostall backup create --to /b1/disk.iob /dev/mapper/shop-snapshot    a block device\n  \
    iostall backup create --to s3://backups/db1/shop.iob /var/lib/shop    keys from AWS_ACCESS_KEY_ID …\n  \
    iostall backup create --to s3://backups/db1/shop.iob --lock 30d /var/lib/shop    nobody can delete it for 30 days
  \
    mysqldump shop | iostall backup create --to /b1/shop.iob --name shop -    standard input\n  \
    iostall backup create --to null: --compress none /var/lib/shop       how fast can it be read?\n  \
    iostall backup create --to /b1/shop.iob --stats 10 --limit 200MB/s /var/lib/shop\n  \
    iostall backup create --to /b1/shop.iob --yield-to linux: --require 'sdb.sync.mean<5ms' /var/lib/shop\n\n\
    Each --to is a stripe, written at the same time as the others: put them on different devices. An existing file is\n\
    refused. Until the end everything has the name .NAME.SETID.partial; the manifest, NAME.manifest beside the first\n\
    stripe, comes last. No manifest: no backup.")]
pub(crate) struct CreateArgs {
    /// Files, directories, a block device, postgres://USER@HOST, mariadb://USER@HOST, sqlite:PATH, or `-` for standard input
    #[arg(value_name = "SOURCE", required = true)]
    pub(crate) sources: Vec<PathBuf>,

    /// A new file for a stripe, s3://BUCKET/NAME, az://CONTAINER/NAME or gs://BUCKET/NAME; repeat it for more, at most 64. `null:` writes nothing
    #[arg(long, value_name = "FILE", required = true, help_heading = "What")]
    pub(crate) to: Vec<PathBuf>,
    /// zstd, zstd:LEVEL (-7 to 22), lz4 or none
    #[arg(long, value_name = "HOW", default_value = "zstd:1", help_heading = "What")]
    pub(crate) compress: Compression,
    /// What comes through standard input, such as shop: only backups of the same name are taken for older and newer ones of it
    #[arg(long, value_name = "NAME", help_heading = "What")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) base: BaseArgs,
    #[command(flatten)]
    pub(crate) lock: LockArgs,
    /// The directory of mariadb-backup, if it is not in PATH: the backup of MariaDB is read by it
    #[arg(long, value_name = "DIR", help_heading = "What")]
    pub(crate) engine_dir: Option<PathBuf>,
    /// How PostgreSQL's files are read: files (here, from its data directory) or replication (the server sends them) [default:
    /// files if they are here and readable]
    #[arg(long, value_name = "WAY", help_heading = "What")]
    pub(crate) through: Option<Through>,
    /// Lock it in its object store for so long from now on, such as 30d: until then nobody can delete it
    #[arg(long = "lock", value_name = "TIME", help_heading = "What")]
    pub(crate) lock_for: Option<Within>,
    /// governance: an account with a right for that can end the lock. compliance: nobody can, not even you
    #[arg(
        long,
        value_name = "MODE",
        default_value = "governance",
        requires = "lock_for",
        help_heading = "What"
    )]
    pub(crate) lock_mode: LockMode,

    /// Unit of checksum, compression and encryption, a power of two [default: 1 MiB]
    #[arg(long, value_name = "SIZE", value_parser = power_of_two, help_heading = "How")]
    pub(crate) frame: Option<ByteCount>,
    /// Bytes per request, a power of two and a multiple of --frame [default: 4 MiB]
    #[arg(long, value_name = "SIZE", value_parser = power_of_two, help_heading = "How")]
    pub(crate) transfer: Option<ByteCount>,
    /// Buffers of one transfer each
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=4096), help_heading = "How")]
    pub(crate) buffers: Option<u32>,
    /// Threads that compress and encrypt [default: the number of CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256), help_heading = "How")]
    pub(crate) workers: Option<u32>,
    /// Maximum rate in bytes of the source a second, such as 200MB/s
    #[arg(long, value_name = "RATE", value_parser = bytes_per_second, help_heading = "How")]
    pub(crate) limit: Option<u64>,
    /// Run at lower CPU and disk priority: low or idle
    #[arg(long, value_name = "LEVEL", help_heading = "How")]
    pub(crate) nice: Option<NiceChoice>,
    #[command(flatten)]
    pub(crate) give_way: GiveWayArgs,

    /// Print a line after every N percent, as BACKUP … WITH STATS = N does
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=100), help_heading = "Output")]
    pub(crate) stats: Option<u8>,
    #[command(flatten)]
    pub(crate) output: RatedOutputArgs,
    /// Do not store the run
    #[arg(long, help_heading = "Output")]
    pub(crate) no_store: bool,
}

impl CreateArgs {
    /// What comes through standard input; refused where nothing does.
    pub(crate) fn stream_name(&self) -> anyhow::Result<Option<&str>> {
        let is_stream = self.sources.iter().any(|source| source.as_os_str() == "-");
        match &self.name {
            Some(name) if name.trim().is_empty() => Err(anyhow!("--name is empty")),
            Some(_) if !is_stream => {
                let hint = "files, devices and databases are known by what they are: leave --name out";
                Err(hinted(anyhow!("--name names what comes through standard input (`-`)"), hint))
            }
            name => Ok(name.as_deref()),
        }
    }

    pub(crate) fn object_lock(&self) -> Option<LockFor> {
        self.lock_for.map(|time| LockFor { time, mode: self.lock_mode })
    }
}

/// The stripes that `to` names; none for `null:`.
pub(crate) fn named_stripes(to: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let is_null = |path: &PathBuf| matches!(path.to_str(), Some("null:" | "NUL" | "NUL:" | "/dev/null"));
    let nulls = to.iter().filter(|path| is_null(path)).count();
    match nulls {
        0 if to.len() > STRIPES_MAX => {
            Err(format!("{} stripes are too many: a set has at most {STRIPES_MAX}", to.len()))
        }
        0 => Ok(to.to_vec()),
        _ if nulls == to.len() => Ok(Vec::new()),
        _ => Err("null: writes nothing, so it cannot be one stripe of several".to_owned()),
    }
}

pub(super) fn power_of_two(text: &str) -> Result<ByteCount, String> {
    let size: ByteCount = text.parse().map_err(|error| format!("{error}"))?;
    if size.bytes().is_power_of_two() && (1 << 16..=1 << 26).contains(&size.bytes()) {
        Ok(size)
    } else {
        Err("a power of two from 64K to 64M".to_owned())
    }
}
