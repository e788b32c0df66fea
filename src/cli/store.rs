//! `iostall store`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Maintain the history of watched sources.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
                  iostall store sources                 what has been watched, and since when\n  \
                  iostall store remove postgres://db1:5432   delete what was sampled of a server that is gone\n  \
                  iostall store rebuild                 rebuild hours and days from the stored raw samples\n  \
                  iostall store export --parquet lake   every sample as columns, for DuckDB and others")]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    pub(crate) command: StoreCommand,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// List the watched sources
    Sources(SourcesArgs),
    /// Remove a watched source with all its samples
    Remove(RemoveArgs),
    /// Rebuild the hourly and daily roll-ups from the raw samples
    Rebuild,
    /// Export every raw sample and every gap to Parquet files, for DuckDB and others
    Export(ExportHistoryArgs),
}

/// In which form.
#[derive(Debug, Args)]
pub(crate) struct SourcesArgs {
    /// Print them as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which.
#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// Its name or id, as `iostall store sources` lists it. Its samples, roll-ups and gaps are deleted
    #[arg(value_name = "SOURCE", add = super::candidates::sources())]
    pub(crate) source: String,
}

/// Where to write them.
#[derive(Debug, Args)]
#[command(after_help = "A separate program, iostall-lake, does this; it must be next to iostall or on PATH.")]
pub(crate) struct ExportHistoryArgs {
    /// Write samples.parquet and gaps.parquet to this directory; neither may exist
    #[arg(long, value_name = "DIR")]
    pub(crate) parquet: PathBuf,
}
