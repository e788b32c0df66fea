//! `iostall write`.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use iostall_measure::{ByteCount, Nanos, Throughput};
use iostall_model::paced::WriteMethod;

use super::copy::GiveWayArgs;
use super::output::RatedOutputArgs;
use super::target::target;

const EXAMPLES: &str = "Examples:
  iostall write --size 4GiB t.dat                               all methods, as fast as they go
  iostall write --rate 622Mbit/s --period 50ms --duration 1m t.dat
  iostall write --burst 6 --period 50ms --size 10GB --methods buffered,direct t.dat
  iostall write --burst 6 --delay 50ms --size 10GB t.dat        a pause of 50 ms after each burst
  iostall write --sweep 1,2,4,8,12,16 --period 50ms --duration 20s --methods direct t.dat
  iostall write --memory-limit 512M --size 4GiB --html w.html t.dat     as on a small machine

The file is made anew for each method and removed at the end, unless --keep. A new --csv FILE grows with each interval, for
a run that may be killed. Exit status 1 where a pace was not kept or a method failed.";

/// What to write, at what pace, with which methods.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WriteArgs {
    /// The file to write; it must not exist, or be one that iostall created
    #[arg(value_name = "FILE", value_parser = target())]
    pub(crate) file: PathBuf,

    /// Bytes per packet; each packet is one write. With direct I/O a multiple of 4096
    #[arg(long, value_name = "SIZE", default_value = "800K", help_heading = "Pace")]
    pub(crate) packet: ByteCount,
    /// Packets per burst
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = "Pace")]
    pub(crate) burst: u32,
    /// Time between the starts of two bursts: a source that does not wait [default: no pause]
    #[arg(long, value_name = "TIME", help_heading = "Pace")]
    pub(crate) period: Option<Nanos>,
    /// Time between the end of a burst and the start of the next: a source that waits for the writer
    #[arg(long, value_name = "TIME", conflicts_with_all = ["period", "rate"], help_heading = "Pace")]
    pub(crate) delay: Option<Nanos>,
    /// The rate of a line, such as 622Mbit/s or 100MB/s; sets the burst size accordingly
    #[arg(long, value_name = "RATE", value_parser = line_rate, conflicts_with_all = ["burst", "sweep"], help_heading = "Pace")]
    pub(crate) rate: Option<f64>,
    /// Try these numbers of packets per burst in turn, and name the best
    #[arg(long, value_name = "N,…", value_delimiter = ',', conflicts_with = "burst", value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = "Pace")]
    pub(crate) sweep: Vec<u32>,

    /// Bytes that each method writes [default: 1 GiB without --duration]
    #[arg(long, value_name = "SIZE", value_parser = |text: &str| above(&ByteCount(0), text), help_heading = "What")]
    pub(crate) size: Option<ByteCount>,
    /// Time limit for each method
    #[arg(long, short, value_name = "TIME", value_parser = |text: &str| above(&Nanos(0), text), help_heading = "What")]
    pub(crate) duration: Option<Nanos>,
    /// Methods, used one after the other
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        default_value = "buffered,direct,direct-dsync",
        help_heading = "What"
    )]
    pub(crate) methods: Vec<MethodChoice>,
    /// Bytes per reporting interval
    #[arg(long, value_name = "SIZE", default_value = "100MB", help_heading = "What")]
    pub(crate) interval: ByteCount,
    /// Memory limit of this process, page cache included, as on a small machine. Needs permission to create a
    /// control group
    #[arg(long, value_name = "SIZE", help_heading = "What")]
    pub(crate) memory_limit: Option<ByteCount>,
    /// Keep the file that the last method wrote
    #[arg(long, help_heading = "What")]
    pub(crate) keep: bool,
    /// Allow overwriting PATH, which must be the file itself
    #[arg(long, value_name = "PATH", help_heading = "What")]
    pub(crate) overwrite: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) give_way: GiveWayArgs,

    #[command(flatten)]
    pub(crate) output: RatedOutputArgs,
    /// Do not store the run
    #[arg(long, help_heading = "Output")]
    pub(crate) no_store: bool,
}

/// How writes are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodChoice {
    /// Through the page cache
    Buffered,
    /// Bypassing the page cache
    Direct,
    /// Bypassing the page cache, each write durable before the next
    DirectDsync,
}

impl From<MethodChoice> for WriteMethod {
    fn from(choice: MethodChoice) -> Self {
        match choice {
            MethodChoice::Buffered => Self::Buffered,
            MethodChoice::Direct => Self::Direct,
            MethodChoice::DirectDsync => Self::DirectDsync,
        }
    }
}

/// Of nothing there is nothing to measure.
fn above<T: FromStr<Err: Display> + PartialEq>(nothing: &T, text: &str) -> Result<T, String> {
    let amount: T = text.parse().map_err(|error: T::Err| error.to_string())?;
    if amount == *nothing { Err("it must be above 0".to_owned()) } else { Ok(amount) }
}

/// Bytes a second from `622Mbit/s` or `100MB/s`.
pub(super) fn line_rate(text: &str) -> Result<f64, String> {
    text.parse().map(Throughput::bytes_per_second).map_err(|error| error.to_string())
}
