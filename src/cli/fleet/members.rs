//! `iostall fleet code`, `join`, `servers` and `revoke`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::cli::collect::length;

/// For whom.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet code 'postgres://iostall@localhost/iostall' --for db1 > code\n\n\
    The code is a secret until it is used: hand it over as one. A server that has joined before needs a code for its name.")]
pub(crate) struct FleetCodeArgs {
    /// postgres://USER@HOST/DATABASE of the repository
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// What the server will be called [default: the name of its host]
    #[arg(long = "for", value_name = "NAME")]
    pub(crate) server_name: Option<String>,
    /// How long the code can be used
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = length)]
    pub(crate) valid: Duration,
}

/// Which centre.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet join https://central:7444 --code-file code --certificate sha256:…\n  \
    iostall fleet join https://central:7444 --code-file - --certificate sha256:…   and type or paste the code\n\n\
    The key of this server is kept beside the store, in a file that only its owner can read.")]
pub(crate) struct FleetJoinArgs {
    /// https://HOST:PORT, where `iostall fleet serve` listens
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Read the code of `iostall fleet code` from this file, which only its owner can read; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) code_file: PathBuf,
    /// The centre has the certificate with this fingerprint, which `iostall fleet serve` shows [default: one of an authority]
    #[arg(long, value_name = "FINGERPRINT")]
    pub(crate) certificate: Option<String>,
}

/// Of which repository.
#[derive(Debug, Args)]
pub(crate) struct FleetServersArgs {
    /// postgres://USER@HOST/DATABASE of the repository
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Print them as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which server.
#[derive(Debug, Args)]
pub(crate) struct FleetRevokeArgs {
    /// postgres://USER@HOST/DATABASE of the repository
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Its name or the id of its store, as `iostall fleet servers` lists them
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
}
