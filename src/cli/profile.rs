//! `iostall profile`, and `iostall presets`, its older name.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::load::preset_name;

const EXAMPLES: &str = "Examples:
  iostall profile list
  iostall profile show oltp > mine.toml             a profile to change
  iostall profile translate --fio nightly.fio       fio's jobs as a profile
  iostall profile translate -- diskspd -b8K -d30 -o8 -t4 -r -w25 t.dat";

/// Built-in load profiles, and those of other tools.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ProfileArgs {
    #[command(subcommand)]
    pub(crate) command: ProfileCommand,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// List the built-in profiles
    List,
    /// Print a built-in profile as TOML
    Show(ShowProfileArgs),
    /// Print the profile of another tool's load as TOML
    Translate(TranslateArgs),
}

/// Which.
#[derive(Debug, Args)]
pub(crate) struct ShowProfileArgs {
    /// Its name (`iostall profile list`)
    #[arg(value_name = "NAME", value_parser = preset_name())]
    pub(crate) name: String,
}

/// Where the load is described.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("from").required(true).args(["fio", "diskspd"]))]
pub(crate) struct TranslateArgs {
    /// A job file of fio's; - is standard input
    #[arg(long, value_name = "JOBS")]
    pub(crate) fio: Option<PathBuf>,
    /// A command line of DiskSpd's
    #[arg(value_name = "DISKSPD LINE", last = true)]
    pub(crate) diskspd: Vec<OsString>,
}

/// `iostall presets`.
#[derive(Debug, Args)]
pub(crate) struct PresetsArgs {
    /// Print this one as TOML
    #[arg(value_name = "NAME", add = super::candidates::presets())]
    pub(crate) name: Option<String>,
}
