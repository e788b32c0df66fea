//! `iostall backup rebuild`.

use std::path::PathBuf;

use clap::Args;

use super::keys::UnlockArgs;

/// Which set has lost its manifest.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall backup rebuild /b1/shop.iob /b2/shop.iob\n  \
    iostall backup rebuild --to /b1/shop.iob.manifest /b1/shop.iob /b2/shop.iob\n\n\
    Works only where every stripe is there and was completed.")]
pub(crate) struct RebuildArgs {
    /// All stripes of the set
    #[arg(value_name = "STRIPE", required = true)]
    pub(crate) stripes: Vec<PathBuf>,
    /// Where the manifest goes [default: beside the stripes]
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) unlock: UnlockArgs,
}
