//! `iostall-lake`: exports the history in a store as Parquet files.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use iostall_lake::export;

/// Export the history of watched sources for DuckDB and other readers of Parquet
#[derive(Debug, Parser)]
#[command(version, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write every sample and every gap to samples.parquet and gaps.parquet
    Export(ExportArgs),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  iostall-lake export ~/.local/share/iostall/iostall.db --parquet lake\n  \
                        duckdb -c \"FROM 'lake/samples.parquet' LIMIT 10\""
)]
struct ExportArgs {
    /// The store, as for `iostall --store`
    store: PathBuf,
    /// Directory to write to; neither file may exist
    #[arg(long, value_name = "DIR")]
    parquet: PathBuf,
}

fn main() -> ExitCode {
    let Command::Export(args) = Cli::parse().command;
    match export(&args.store, &args.parquet) {
        Ok(done) => {
            let text = format!(
                "{} rows of {} samples of {} sources to {}\n",
                done.rows,
                done.samples,
                done.sources,
                done.samples_file.display()
            );
            // A reader that has seen enough closes the pipe.
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => {
            let hint = error.hint().map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
            let _ = std::io::stderr().write_all(format!("error: {error}\n{hint}").as_bytes());
            ExitCode::from(2)
        }
    }
}
