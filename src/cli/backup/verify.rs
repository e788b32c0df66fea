//! `iostall backup verify`.

use std::path::PathBuf;

use clap::Args;
use iostall_collect::{Address, Secret};
use iostall_model::backup::SetId;
use iostall_model::sqlserver_backup::BackupDevice;
use iostall_session::backup::sqlserver::SqlServerVerifyRequest;
use iostall_session::backup::verify::BackupVerifyRequest;
use iostall_transfer::backup::codec::Unlock;

use super::base::BasePlaces;
use super::keys::UnlockArgs;
use crate::cli::copy::NiceChoice;
use crate::cli::output::CheckOutputArgs;
use crate::cli::rate::bytes_per_second;

/// What to check.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall backup verify /b1/shop.iob.manifest\n  \
    iostall backup verify --headers /b1/shop.iob        seconds; proves that all is there, and nothing of the data\n  \
    iostall backup verify /b1/shop.iob --expect 0f1e2d3c4b5a69788796a5b4c3d2e1f0\n  \
    iostall backup verify --sqlserver sqlserver://backup@db1 --from 'E:\\b\\sales.bak'      SQL Server's own backup\n\n\
    Exit status 1 where something is not as it was written, or where it is not the one that --expect names. That the store\n\
    knows a newer one is only told.\n\
    An encrypted backup needs its key, or --without-key, which proves less: then 0 means that what is stored is as it was\n\
    written, and nothing of what is in it.")]
pub(crate) struct BackupVerifyArgs {
    /// The manifest, or a stripe beside it, a path, s3://BUCKET/NAME, az://CONTAINER/NAME or gs://BUCKET/NAME; stripes elsewhere are named, too
    #[arg(value_name = "SET", required_unless_present = "sqlserver")]
    pub(crate) from: Vec<PathBuf>,

    /// Read only headers, indexes and ends
    #[arg(long, help_heading = "What")]
    pub(crate) headers: bool,
    /// The id of the set that this should be: the newest, as `iostall backup list --json` shows it
    #[arg(long, value_name = "SETID", help_heading = "What")]
    pub(crate) expect: Option<SetId>,
    #[command(flatten)]
    pub(crate) base: BasePlaces,
    #[command(flatten)]
    pub(crate) unlock: UnlockArgs,
    /// Check an encrypted backup without its key: the checksums of what is stored, and nothing of what is in it
    #[arg(long, conflicts_with_all = ["key_file", "passphrase_file", "passphrase_fd", "passphrase"], help_heading = "Encryption")]
    pub(crate) without_key: bool,

    /// Have this server read its own backup: RESTORE HEADERONLY, FILELISTONLY and VERIFYONLY
    #[arg(
        long,
        value_name = "URL",
        requires = "disks",
        conflicts_with_all = [
            "from", "expect", "base", "key_file", "passphrase_file", "passphrase_fd", "passphrase", "without_key", "limit", "nice",
        ],
        help_heading = "SQL Server"
    )]
    pub(crate) sqlserver: Option<String>,
    /// A file or URL as the server sees it; repeat it for each stripe
    #[arg(long = "from", value_name = "PATH", requires = "sqlserver", help_heading = "SQL Server")]
    pub(crate) disks: Vec<String>,
    /// Which backup of the files, from 1 [default: the last]
    #[arg(long, value_name = "N", requires = "sqlserver", help_heading = "SQL Server")]
    pub(crate) file: Option<u64>,

    /// Maximum rate in bytes a second, such as 200MB/s
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

impl BackupVerifyArgs {
    /// What to check of a set that `unlock` opens.
    pub(crate) fn request(&self, unlock: Option<Unlock>) -> BackupVerifyRequest {
        BackupVerifyRequest {
            from: self.from.clone(),
            headers_only: self.headers,
            expect: self.expect,
            bases: self.base.base.clone(),
            unlock,
            without_key: self.without_key,
            limit: self.limit,
        }
    }

    /// What the server at `address` is to read.
    pub(crate) fn server_request(&self, address: Address, password: Secret) -> SqlServerVerifyRequest {
        SqlServerVerifyRequest {
            address,
            password,
            devices: self.disks.iter().map(|text| BackupDevice::of(text)).collect(),
            position: self.file,
            headers_only: self.headers,
        }
    }
}
