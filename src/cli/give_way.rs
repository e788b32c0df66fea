//! Options of transfers that give way to a database.

use clap::Args;

use super::rate::bytes_per_second;

/// To whom a transfer gives way, and how far.
#[derive(Debug, Args)]
#[command(next_help_heading = "Giving way")]
pub(crate) struct GiveWayArgs {
    /// Slow down before the users of this source wait longer than --require allows, such as --require
    /// 'commit.p95<5ms': commit, read, write or sync, of all of it or of one database, file or device. An
    /// address as for `collect run`: postgres://, sqlserver://, mysql:// or linux:
    #[arg(long, value_name = "SOURCE", requires = "require")]
    pub(crate) yield_to: Option<String>,
    /// The rate that is kept even if users wait or the source does not answer [default: 4 MiB/s]
    #[arg(long, value_name = "RATE", requires = "yield_to", value_parser = bytes_per_second)]
    pub(crate) yield_floor: Option<u64>,
}
