//! `iostall verify`.

use std::path::PathBuf;

use clap::Args;
use iostall_model::transfer::HashKind;

use super::copy::NiceChoice;
use super::output::CheckOutputArgs;
use super::rate::bytes_per_second;

/// Which files to check.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  iostall verify m.json\n  iostall verify --hash md5 OLD.TXT\n  \
    md5sum -z * | iostall verify --hash md5 -           zero bytes end the names\n  \
    iostall verify --root /restored --extra m.json      the same files elsewhere, and no others\n  \
    iostall verify data /mnt/new/data                   two trees\n\n\
    Reads every file past the page cache. Exit status 1 where a file differs, is not there, or is extra. Relative \
    names are looked for from the current directory, as md5sum does.")]
pub(crate) struct VerifyArgs {
    /// A manifest written by iostall, or a list in the format of md5sum, also of `md5sum -z`; `-` is standard
    /// input. With a second TREE: the directory it should be like
    #[arg(value_name = "MANIFEST")]
    pub(crate) manifest: PathBuf,
    /// Compare this directory with the first one, instead of reading a manifest: contents, links and kinds, but
    /// not modes, owners and times
    #[arg(value_name = "TREE", conflicts_with_all = ["root", "extra"])]
    pub(crate) tree: Option<PathBuf>,
    /// The checksum of a list, if neither its name nor its digests tell
    #[arg(long, value_name = "NAME")]
    pub(crate) hash: Option<HashKind>,
    /// Look for all files of the manifest below DIR, also for those with names that begin with a slash
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Report files below --root that the manifest does not list
    #[arg(long, requires = "root")]
    pub(crate) extra: bool,
    /// Maximum rate in bytes a second, such as 200MB/s
    #[arg(long, value_name = "RATE", value_parser = bytes_per_second)]
    pub(crate) limit: Option<u64>,
    /// Run at lower CPU and disk priority: low or idle
    #[arg(long, value_name = "LEVEL")]
    pub(crate) nice: Option<NiceChoice>,
    #[command(flatten)]
    pub(crate) output: CheckOutputArgs,
    /// Do not store the run
    #[arg(long, help_heading = "Output")]
    pub(crate) no_store: bool,
}
