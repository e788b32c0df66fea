//! `iostall-lake`: the history of watched sources for engines that read Parquet.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use iostall_lake::{MoveEvent, MoveRequest, MovedDay, export, movable_days, move_days};
use iostall_measure::ByteCount;
use jiff::SignedDuration;

/// Exit status of a command that could not do what it was asked for.
const COULD_NOT: u8 = 2;
/// Younger days may still get samples from servers that send seldom.
const OLDER_THAN_MIN: SignedDuration = SignedDuration::from_hours(24);

/// The history of watched sources for Spark, DuckDB and other readers of Parquet and Apache Iceberg
#[derive(Debug, Parser)]
#[command(version, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write every sample and every gap of a local store to samples.parquet and gaps.parquet
    Export(ExportArgs),
    /// Move old days from the repository of a fleet to Iceberg tables in a directory or a bucket
    Move(MoveArgs),
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

/// The catalogue of the tables is in the repository itself. A day leaves the repository in the transaction that names its files in the
/// catalogue, after they were read back; interrupted, the same line goes on.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  iostall-lake move 'postgres://iostall@db/fleet?password-file=word' --to /lake --dry-run\n  \
                        iostall-lake move 'postgres://iostall@db/fleet?password-file=word' --to s3://bucket/lake --older-than 90d"
)]
struct MoveArgs {
    /// The repository, as for `iostall fleet`
    url: String,
    /// Directory, or s3://BUCKET/PREFIX
    #[arg(long, value_name = "PLACE")]
    to: String,
    /// Move days that ended this long ago: at least 1d
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = age)]
    older_than: SignedDuration,
    /// Show what would be moved, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// A length of time in days or hours, such as 30d or 36h.
fn age(text: &str) -> Result<SignedDuration, String> {
    let hours = |count: &str, factor: i64| count.parse::<u32>().ok().map(|count| i64::from(count) * factor);
    let hours = text
        .strip_suffix('d')
        .and_then(|count| hours(count, 24))
        .or_else(|| text.strip_suffix('h').and_then(|count| hours(count, 1)));
    match hours.map(SignedDuration::from_hours) {
        Some(age) if age >= OLDER_THAN_MIN => Ok(age),
        Some(_) => Err("days are moved a day after their end or later: write 1d or more".into()),
        None => Err("write days or hours: 30d, 36h".into()),
    }
}

fn main() -> ExitCode {
    let failure = match Cli::parse().command {
        Command::Export(args) => export_store(&args),
        Command::Move(args) => move_old_days(args),
    };
    let Err((error, hint)) = failure else { return ExitCode::SUCCESS };
    let hint = hint.map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
    say(&mut std::io::stderr(), &format!("error: {error}\n{hint}"));
    ExitCode::from(COULD_NOT)
}

type Failure = (String, Option<String>);

fn export_store(args: &ExportArgs) -> Result<(), Failure> {
    let done = export(&args.store, &args.parquet).map_err(|error| (error.to_string(), error.hint()))?;
    let text = format!(
        "{} rows of {} samples of {} sources to {}\n",
        done.rows,
        done.samples,
        done.sources,
        done.samples_file.display()
    );
    say(&mut std::io::stdout(), &text);
    Ok(())
}

fn move_old_days(args: MoveArgs) -> Result<(), Failure> {
    let request = MoveRequest { url: args.url, to: args.to, older_than: args.older_than };
    let moved = if args.dry_run {
        movable_days(&request).inspect(|days| days.iter().for_each(|day| print_day(day, "would be moved")))
    } else {
        let mut moved = Vec::new();
        let mut event = |event: &MoveEvent| match event {
            MoveEvent::Moved(day) => {
                print_day(day, "moved");
                moved.push(day.clone());
            }
            MoveEvent::Again { day } => {
                note(&format!("{day} got more samples meanwhile, and is begun again\n"));
            }
            MoveEvent::CleanedUp { day } => note(&format!("deleted what was begun of {day}\n")),
            _ => {}
        };
        move_days(&request, &mut event).map(|()| moved)
    };
    let moved = moved.map_err(|error| (error.to_string(), error.hint()))?;
    if moved.is_empty() {
        say(&mut std::io::stdout(), "no day is old enough\n");
    }
    Ok(())
}

fn print_day(day: &MovedDay, what: &str) {
    let MovedDay { day, sample_rows, hour_rows, file_bytes } = day;
    let bytes = if *file_bytes > 0 { format!(", {}", ByteCount(*file_bytes)) } else { String::new() };
    say(
        &mut std::io::stdout(),
        &format!("{day} {what}: {sample_rows} rows of samples, {hour_rows} of hours{bytes}\n"),
    );
}

fn note(text: &str) {
    say(&mut std::io::stderr(), text);
}

/// A reader that has seen enough closes the pipe.
fn say(to: &mut dyn Write, text: &str) {
    let _ = to.write_all(text.as_bytes());
}
