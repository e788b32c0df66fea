//! `iostall backup wal`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use iostall_collect::{Address, Secret};
use iostall_model::backup::Compression;
use iostall_session::backup::wal::{ArchiveRequest, FetchRequest, ReceiveRequest, WalListRequest};
use iostall_transfer::backup::codec::Unlock;

use super::keys::UnlockArgs;

/// Keep PostgreSQL's write-ahead log.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    archive_command = 'iostall backup wal archive %p --to /wal'       in postgresql.conf\n  \
    restore_command = 'iostall backup wal fetch %f %p --from /wal'\n  \
    iostall backup wal list /wal /b1                                  how far it brings the backups in /b1\n  \
    iostall backup wal receive postgres://backup@db1 --to /wal        what the server writes, while it writes it\n\n\
    The archive is a directory of one cluster, or its address in an object store, s3://BUCKET/NAME. docs/backup.md, \"Points in time\", is the guide.")]
pub(crate) struct WalArgs {
    #[command(subcommand)]
    pub(crate) command: WalCommand,
}

/// What is done with the log.
#[derive(Debug, Subcommand)]
pub(crate) enum WalCommand {
    /// Put a file of the log into an archive: PostgreSQL's archive_command
    Archive(WalArchiveArgs),
    /// Get a file of the log from an archive: PostgreSQL's restore_command
    Fetch(WalFetchArgs),
    /// Show what an archive has, what is missing, and how far it brings backups
    List(WalListArgs),
    /// Receive the log of a server while it writes it
    Receive(WalReceiveArgs),
}

/// What to archive.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall backup wal archive pg_wal/0000000100000000000000A7 --to /wal\n  \
    archive_command = 'iostall backup wal archive %p --to /wal'       in postgresql.conf\n\n\
    When it ends with 0, the file is in the archive, durably. Archiving the same file again is no error; another content under\n\
    the same name is, and so is a segment of another cluster. Nothing is ever replaced.")]
pub(crate) struct WalArchiveArgs {
    /// The file, as the server names it: %p
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// The directory of the archive, which exists, or s3://BUCKET/NAME; the first segment makes it the archive of its cluster
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// zstd, zstd:LEVEL (-7 to 22), lz4 or none
    #[arg(long, value_name = "HOW", default_value = "zstd:1")]
    compress: Compression,
}

impl WalArchiveArgs {
    pub(crate) fn request(&self) -> ArchiveRequest {
        ArchiveRequest { path: self.path.clone(), to: self.to.clone(), compression: self.compress }
    }
}

/// What to fetch.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall backup wal fetch 0000000100000000000000A7 /tmp/segment --from /wal\n  \
    restore_command = 'iostall backup wal fetch %f %p --from /wal'    in postgresql.conf\n\n\
    Exit status 1 if the archive does not have the file, which the server takes for the end of the log; 200, at which it stops\n\
    the recovery, if the file is damaged or the archive cannot be read.")]
pub(crate) struct WalFetchArgs {
    /// The name of the file: %f
    #[arg(value_name = "NAME")]
    name: String,
    /// Where to: %p. Nothing has this name yet
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// The directory of the archive, or s3://BUCKET/NAME
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
}

impl WalFetchArgs {
    pub(crate) fn request(&self) -> FetchRequest {
        FetchRequest { name: self.name.clone(), path: self.path.clone(), from: self.from.clone() }
    }
}

/// What to list.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall backup wal list /wal\n  \
    iostall backup wal list /wal /b1 /b2                  how far it brings the backups in these directories\n  \
    iostall backup wal list --check /wal /b1/shop.iob     reads every byte of the archive\n\n\
    Exit status 1 if a file is damaged, or a segment is missing after a backup (without backups: anywhere).")]
pub(crate) struct WalListArgs {
    /// The directory of the archive, or s3://BUCKET/NAME
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Backups, or directories with backups
    #[arg(value_name = "SET")]
    sets: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) unlock: UnlockArgs,
    /// Read every byte, and not only the header of each file
    #[arg(long)]
    check: bool,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl WalListArgs {
    /// What is to be listed, with these keys.
    pub(crate) fn request(&self, unlock: Option<Unlock>) -> WalListRequest {
        let (directory, sets) = (self.directory.clone(), self.sets.clone());
        WalListRequest { directory, sets, unlock, check: self.check }
    }
}

/// How long connecting, or the answer to a simple question, may take.
const LIMIT: Duration = Duration::from_secs(60);

/// From where to receive.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall backup wal receive 'postgres://backup@db1?password-file=/etc/iostall/db1' --to /wal\n  \
    iostall backup wal receive postgres://backup@db1 --to /wal --drop-slot      it will not be received any more\n\n\
    Runs until Ctrl-C, and goes on where it was when it is started again. A slot on the server keeps the log for it meanwhile:\n\
    drop the slot if it will not come back, or the server's disk becomes full. A lost connection is tried again.")]
pub(crate) struct WalReceiveArgs {
    /// The server: postgres://USER@HOST. The login needs REPLICATION
    #[arg(value_name = "URL")]
    pub(crate) server: String,
    /// The directory of the archive, which exists
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// The slot on the server that keeps the log; it is made if it is missing, and stays
    #[arg(long, value_name = "NAME", default_value = "iostall_wal")]
    slot: String,
    /// zstd, zstd:LEVEL (-7 to 22), lz4 or none
    #[arg(long, value_name = "HOW", default_value = "zstd:1")]
    compress: Compression,
    /// Begin where the server is now, although the archive ends before that: what is between is lost
    #[arg(long)]
    after_gap: bool,
    /// Drop the slot, and end
    #[arg(long)]
    pub(crate) drop_slot: bool,
}

impl WalReceiveArgs {
    pub(crate) fn request(&self, address: Address, password: Secret) -> ReceiveRequest {
        ReceiveRequest {
            address,
            password,
            to: self.to.clone(),
            slot: self.slot.clone(),
            compression: self.compress,
            after_gap: self.after_gap,
            limit: LIMIT,
        }
    }
}
