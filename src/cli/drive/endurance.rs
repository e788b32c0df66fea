//! `iostall drive endurance`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use iostall_measure::ByteCount;
use iostall_model::drive::{Planned, RaidShare};
use iostall_model::requirement::Limit;
use iostall_watch::{EnduranceRequest, TypedRating};

use crate::cli::branches::{Branch, Verb, is_typed};
use crate::cli::output::of_drive;

/// A rating alone has no drives to list.
pub(in crate::cli) const BRANCHES: Verb = Verb {
    words: &["drive", "endurance"],
    common: &["from_rate", "raid", "require", "json", "html", "markdown"],
    branches: &[
        Branch {
            line: "drive endurance FILE",
            is_taken: |typed| is_typed(typed, "places"),
            reads: &["places", "drives", "tbw", "dwpd", "years", "capacity", "csv"],
        },
        Branch {
            line: "drive endurance --tbw 1TB --years 5",
            is_taken: |typed| is_typed(typed, "tbw") || is_typed(typed, "dwpd"),
            reads: &["tbw", "dwpd", "years", "capacity"],
        },
        Branch { line: "drive endurance", is_taken: |_| true, reads: &["drives", "capacity", "csv"] },
    ],
};

/// Which drives, what was promised of them, and what is to be written.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("promised").args(["tbw", "dwpd"]))]
#[command(group = ArgGroup::new("rating").args(["drives", "tbw", "dwpd"]))]
#[command(after_help = "Examples:\n  \
    iostall drive endurance /dev/nvme0 --tbw 1380TB --years 5\n  \
    iostall drive endurance /var/lib/smart --drives drives.toml --html drives.html\n  \
    iostall drive endurance a.json b.json --drives drives.toml --from-rate 200GB/day --raid 5:4\n  \
    iostall drive endurance --drives drives.toml              the drives that `collect run smart:/dev/nvme0` sampled\n  \
    iostall drive endurance /var/lib/smart --require 'days>90,used<80'    for a monitoring system\n  \
    iostall drive endurance --tbw 7.5TB --years 3 --capacity 80GB    a rating in its spellings\n  \
    iostall drive endurance --tbw 1380TB --years 5 --from-rate 5TB/day    how long that lasts\n\n\
    FILE is what `smartctl -j -x DEVICE` or `nvme smart-log -o json DEVICE` printed; two or more of one drive, taken days\n\
    apart, give its rates. docs/endurance.md explains the numbers and the file of ratings.\n\n\
    Exit status 1: a drive reports a failure, is worn, or does not meet --require.")]
pub(crate) struct EnduranceArgs {
    /// Saved documents, directories of them (each *.json), or devices, which smartctl or nvme is asked for. None, and no
    /// rating either: the drives that `collect` has sampled
    #[arg(value_name = "FILE|DIR|DEVICE")]
    pub(crate) places: Vec<PathBuf>,
    /// Ratings of models, as TOML tables named drive with model, tbw or dwpd, years, erase-cycles, physical, nand
    #[arg(long, value_name = "FILE", help_heading = "Rating", conflicts_with_all = ["tbw", "dwpd"])]
    pub(crate) drives: Option<PathBuf>,
    /// Bytes that hosts may write: 1380TB
    #[arg(long, value_name = "SIZE", help_heading = "Rating", conflicts_with = "dwpd", requires = "years")]
    pub(crate) tbw: Option<ByteCount>,
    /// Drive writes per day
    #[arg(long, value_name = "N", help_heading = "Rating", requires = "years")]
    pub(crate) dwpd: Option<f64>,
    /// Years of 365 days that the rating is for; no number of them is usual
    #[arg(long, value_name = "N", requires = "promised", help_heading = "Rating")]
    pub(crate) years: Option<f64>,
    /// Capacity of the drive, where it does not say so itself
    #[arg(long, value_name = "SIZE", requires = "rating", help_heading = "Rating")]
    pub(crate) capacity: Option<ByteCount>,
    /// Project these writes of the database instead of those observed: 200GB/day, 5MB/s
    #[arg(long, value_name = "RATE", value_parser = crate::cli::rate::bytes_per_day, help_heading = "Writes")]
    pub(crate) from_rate: Option<f64>,
    /// The array between the database and the drives: LEVEL:DRIVES, such as 10:8 or 5:4; 5:4:full where whole stripes are
    /// written
    #[arg(long, value_name = "ARRAY", requires = "from_rate", help_heading = "Writes")]
    pub(crate) raid: Option<RaidShare>,
    /// Exit status 1 unless this holds for every drive: days (that are left) and used (percent), with <, <=, > or >=, such as
    /// 'days>90,used<80'
    #[arg(long, value_name = "LIMIT,…", value_delimiter = ',', value_parser = of_drive, help_heading = "Output")]
    pub(crate) require: Vec<Limit>,
    /// As JSON; - is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) json: Option<PathBuf>,
    /// As CSV, a line for each two readings; - is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) csv: Option<PathBuf>,
    /// As an HTML page, which needs no network; - is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// As Markdown; - is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) markdown: Option<PathBuf>,
}

impl EnduranceArgs {
    /// Whether the sampled history is asked: nothing else was named.
    pub(crate) fn asks_the_store(&self) -> bool {
        self.places.is_empty() && self.tbw.is_none() && self.dwpd.is_none()
    }

    /// What is asked.
    pub(crate) fn request(&self) -> EnduranceRequest {
        EnduranceRequest {
            places: self.places.clone(),
            ratings: self.drives.clone(),
            typed: TypedRating {
                written: self.tbw,
                drive_writes_per_day: self.dwpd,
                years: self.years,
                capacity: self.capacity,
            },
            limits: self.require.clone(),
            planned: self.from_rate.map(|bytes_per_day| Planned { bytes_per_day, raid: self.raid }),
        }
    }
}
