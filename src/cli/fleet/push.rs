//! `iostall fleet push` and `iostall fleet agent`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::cli::collect::length;

/// Which centre, and what is allowed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet agent https://central:7444 --policy /etc/iostall/push.toml          until it is stopped\n  \
    iostall fleet agent https://central:7444 --policy /etc/iostall/push.toml --once   for a job\n\n\
    The server has joined with `iostall fleet join`. What its policy does not allow is not done, whoever asks for it.")]
pub(crate) struct FleetAgentArgs {
    /// https://HOST:PORT of a centre that this store has joined
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// What this server allows: whose releases, which objects, and where to
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: PathBuf,
    /// Ask once, and end; with 1 if a release was refused or failed
    #[arg(long)]
    pub(crate) once: bool,
    /// Ask this often
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = length, conflicts_with = "once")]
    pub(crate) every: Duration,
}

/// Pushes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet push plan 'postgres://iostall@localhost/iostall' 12.release --where role=standby\n  \
    iostall fleet push apply 'postgres://iostall@localhost/iostall' 12.release --where role=standby\n  \
    iostall fleet push status 'postgres://iostall@localhost/iostall'\n\n\
    `iostall fleet release` makes releases, `iostall fleet agent` takes them. docs/push.md explains all of it.")]
pub(crate) struct FleetPushArgs {
    #[command(subcommand)]
    pub(crate) command: FleetPushCommand,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetPushCommand {
    /// Show which servers a release would go to, in which rings, and what it would change
    Plan(PushPlanArgs),
    /// Send a release to chosen servers, ring after ring, until too many fail
    Apply(PushApplyArgs),
    /// Show how far pushes are, or what became of one on each server
    Status(PushStatusArgs),
    /// Wait no longer for a server that is off; it takes the release when it is back
    Skip(PushSkipArgs),
    /// Ask no further servers
    End(PushEndArgs),
    /// Have servers put back what was there before a push
    Rollback(PushRollbackArgs),
    /// Compare what is on servers with what pushes have put there; ends with 1 if something differs
    Drift(PushReadArgs),
}

/// Which release, and where to.
#[derive(Debug, Args)]
pub(crate) struct PushPlanArgs {
    /// postgres://USER@HOST/DATABASE of the repository
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// A release
    #[arg(value_name = "RELEASE")]
    pub(crate) release: PathBuf,
    /// Only servers whose policy has this label; may be repeated
    #[arg(long = "where", value_name = "LABEL=VALUE")]
    pub(crate) labels: Vec<String>,
    /// How many servers each ring reaches, with those before it; the last one reaches all
    #[arg(long, value_name = "LIST", default_value = "1,10%,100%")]
    pub(crate) rings: String,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which release, where to, and until when.
#[derive(Debug, Args)]
pub(crate) struct PushApplyArgs {
    #[command(flatten)]
    pub(crate) what: PushPlanArgs,
    /// Halt when more servers have failed: a number, or a share of those that were asked so far
    #[arg(long, value_name = "N", default_value = "2%")]
    pub(crate) max_failed: String,
}

/// Which one.
#[derive(Debug, Args)]
pub(crate) struct PushStatusArgs {
    #[command(flatten)]
    pub(crate) read: PushReadArgs,
    /// Only this one, with its servers
    #[arg(value_name = "PUSH")]
    pub(crate) push: Option<u64>,
}

/// Which one, and where.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet push skip 'postgres://iostall@localhost/iostall' 7 db3\n\n\
    Until it is back, `iostall fleet push drift` shows that server.")]
pub(crate) struct PushSkipArgs {
    #[command(flatten)]
    pub(crate) which: PushEndArgs,
    /// As `iostall fleet push status` lists it
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
}

/// Which one.
#[derive(Debug, Args)]
pub(crate) struct PushEndArgs {
    /// postgres://USER@HOST/DATABASE of the repository
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Its number, as `iostall fleet push status` lists it
    #[arg(value_name = "PUSH")]
    pub(crate) push: u64,
}

/// Which one, and who allows it.
#[derive(Debug, Args)]
pub(crate) struct PushRollbackArgs {
    /// postgres://USER@HOST/DATABASE of the repository
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Its number, as `iostall fleet push status` lists it
    #[arg(value_name = "PUSH")]
    pub(crate) push: u64,
    /// The permit that `iostall fleet release undo` made for its release
    #[arg(long, value_name = "FILE")]
    pub(crate) permit: PathBuf,
}

/// Of which repository.
#[derive(Debug, Args)]
pub(crate) struct PushReadArgs {
    /// postgres://USER@HOST/DATABASE of the repository
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}
