//! `iostall store`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Maintain the history of watched sources.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
                  iostall store rebuild                 rebuild hours and days from the stored raw samples\n  \
                  iostall store export --parquet lake   every sample as columns, for DuckDB and others")]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    pub(crate) command: StoreCommand,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Rebuild the hourly and daily roll-ups from the raw samples
    Rebuild,
    /// Export every raw sample and every gap to Parquet files, for DuckDB and others
    Export(ExportHistoryArgs),
}

/// Where to write them.
#[derive(Debug, Args)]
#[command(after_help = "A separate program, iostall-lake, does this; it must be next to iostall or on PATH.")]
pub(crate) struct ExportHistoryArgs {
    /// Write samples.parquet and gaps.parquet to this directory; neither may exist
    #[arg(long, value_name = "DIR")]
    pub(crate) parquet: PathBuf,
}
