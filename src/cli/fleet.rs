//! `iostall fleet`.

mod members;
mod serve;

use std::time::Duration;

use clap::{Args, Subcommand};

use super::collect::length;

pub(crate) use members::{FleetCodeArgs, FleetJoinArgs, FleetRevokeArgs, FleetServersArgs};
pub(crate) use serve::FleetServeArgs;

/// Keep the history of many servers in one central repository.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet init 'postgres://iostall@central/iostall?password-file=/etc/iostall/central'   create or upgrade it\n  \
    iostall fleet send 'postgres://iostall@central/iostall?password-file=/etc/iostall/central'   send what it lacks\n  \
    iostall fleet serve 'postgres://iostall@localhost/iostall' --certificate cert.pem --key key.pem   at the centre\n  \
    iostall fleet code 'postgres://iostall@localhost/iostall' --for db1 > code   for a server that joins\n  \
    iostall fleet join https://central:7444 --code-file code --certificate sha256:…   on that server, once\n  \
    iostall fleet send https://central:7444   and then as often as is useful\n\n\
    docs/fleet.md explains the repository.")]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    pub(crate) command: FleetCommand,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Create a repository in a database of PostgreSQL, or upgrade its tables
    Init(FleetInitArgs),
    /// Send what a repository or a centre lacks of the history in this store
    Send(FleetSendArgs),
    /// Take the history of servers that have joined, and write it to a repository
    Serve(FleetServeArgs),
    /// Make a code with which one server may join once
    Code(FleetCodeArgs),
    /// Join a centre: from then on this store's history can be sent there
    Join(FleetJoinArgs),
    /// List the servers of a repository: which send, since when, how far
    Servers(FleetServersArgs),
    /// Take the right to send from a server. Its history stays
    Revoke(FleetRevokeArgs),
}

/// Where.
#[derive(Debug, Args)]
pub(crate) struct FleetInitArgs {
    /// postgres://USER@HOST/DATABASE; the database must exist, and nothing outside its schema iostall is touched
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Print what was done as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// To where.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet send https://central:7444            what is new, once\n  \
    iostall fleet send --follow https://central:7444   and what comes, until it is stopped")]
pub(crate) struct FleetSendArgs {
    /// https://HOST:PORT of a centre that this store has joined, or postgres://USER@HOST/DATABASE of a repository. Nothing is removed
    /// from this store
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Stay, and send samples as they come; after a failure it is tried again
    #[arg(long)]
    pub(crate) follow: bool,
    /// With --follow, look for new samples this often
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = length, requires = "follow")]
    pub(crate) every: Duration,
}
