//! `iostall fleet release`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::cli::collect::length;

/// Releases.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet release keygen release.key   once, on a machine that no centre reaches\n  \
    iostall fleet release make next --version 12 --key release.key --to 12.release   sign what is in the directory next\n  \
    iostall fleet release apply 12.release --policy /etc/iostall/push.toml --dry-run   on a server: what it would change\n\n\
    docs/push.md explains releases, and what a server's policy allows.")]
pub(crate) struct FleetReleaseArgs {
    #[command(subcommand)]
    pub(crate) command: FleetReleaseCommand,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetReleaseCommand {
    /// Make a key that signs, and show its public half
    Keygen(ReleaseKeygenArgs),
    /// Sign the settings, profiles and alert rules in a directory as one release
    Make(ReleaseMakeArgs),
    /// Show what is in a release, and whose signature it has
    Show(ReleaseShowArgs),
    /// Check a release: its signature, its objects, and its time
    Verify(ReleaseVerifyArgs),
    /// Sign a permit to undo a release: servers put back what was there before it
    Undo(ReleaseUndoArgs),
    /// Apply a release, or undo one, on this server, as far as its policy allows
    Apply(ReleaseApplyArgs),
}

/// Where.
#[derive(Debug, Args)]
pub(crate) struct ReleaseKeygenArgs {
    /// A new file, which only its owner can read
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// From what.
#[derive(Debug, Args)]
#[command(disable_version_flag = true)]
pub(crate) struct ReleaseMakeArgs {
    /// Has settings/, profile/ or alerts/ with the objects; release.toml says for which servers they are
    #[arg(value_name = "DIRECTORY")]
    pub(crate) directory: PathBuf,
    /// Higher than that of all releases before
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) version: u32,
    /// Sign with this key
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
    /// Write the release to this new file
    #[arg(long, value_name = "FILE")]
    pub(crate) to: PathBuf,
    /// How long servers take it
    #[arg(long, value_name = "DURATION", default_value = "720h", value_parser = length)]
    pub(crate) valid: Duration,
    /// A line on what it is for
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

/// Which one.
#[derive(Debug, Args)]
pub(crate) struct ReleaseShowArgs {
    /// A release, or a permit to undo one
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which one, and with whose key.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet release verify 12.release --public-key ed25519:0c1f…\n\n\
    Ends with 1 if the signature does not hold, an object was altered, or it has expired.")]
pub(crate) struct ReleaseVerifyArgs {
    /// A release, or a permit to undo one
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The key that must have signed it, as `iostall fleet release keygen` shows it; or one of several
    #[arg(long, value_name = "KEY", required = true)]
    pub(crate) public_key: Vec<String>,
}

/// Which one.
#[derive(Debug, Args)]
pub(crate) struct ReleaseUndoArgs {
    /// The release that may be undone
    #[arg(value_name = "RELEASE")]
    pub(crate) release: PathBuf,
    /// The key that has signed it
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
    /// Write the permit to this new file
    #[arg(long, value_name = "FILE")]
    pub(crate) to: PathBuf,
    /// How long servers take it
    #[arg(long, value_name = "DURATION", default_value = "168h", value_parser = length)]
    pub(crate) valid: Duration,
}

/// What, and what is allowed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet release apply 12.release --policy /etc/iostall/push.toml\n  \
    iostall fleet release apply undo-12 --policy /etc/iostall/push.toml   what was there before release 12\n\n\
    All of it is done, or nothing.")]
pub(crate) struct ReleaseApplyArgs {
    /// A release, or a permit to undo the last one
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// What this server allows: whose releases, which objects, and where to
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: PathBuf,
    /// Show what would be changed, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print what was changed as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
