//! `iostall fleet serve`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::cli::collect::length;

/// Which repository, and as whom.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet serve 'postgres://iostall@localhost/iostall' --certificate cert.pem --key key.pem\n\n\
    Servers join with a code of `iostall fleet code`, and send with `iostall fleet send https://…`.\n\
    A certificate: openssl req -x509 -newkey ed25519 -nodes -days 3650 -subj /CN=central -keyout key.pem -out cert.pem")]
pub(crate) struct FleetServeArgs {
    /// postgres://USER@HOST/DATABASE of the repository
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Listen on this address
    #[arg(long, value_name = "HOST:PORT", default_value = "0.0.0.0:7444")]
    pub(crate) listen: String,
    /// Show servers this certificate, in PEM form; others may follow it
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: PathBuf,
    /// The certificate's private key, in PEM form, which only its owner can read
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
    /// How long to keep raw samples in the repository; hours are kept two years then, and days forever [default: keep everything]
    #[arg(long, value_name = "TIME", value_parser = length)]
    pub(crate) keep_raw: Option<Duration>,
    /// How long to keep runs of servers in the repository, after their end [default: forever]
    #[arg(long, value_name = "TIME", value_parser = length)]
    pub(crate) keep_runs: Option<Duration>,
}
