//! `iostall drive flash`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use iostall_measure::ByteCount;
use iostall_model::Profile;
use iostall_model::flash::{Collect, FlashCare, Separation, WriteClass, WritePattern};
use iostall_model::kinds::Nand;
use iostall_session::flash::FlashRequest;

use crate::cli::output::SeriesOutputArgs;

const EXAMPLES: &str = "Examples:
  iostall drive flash                             64 GiB, 7 % spare area, uniform random writes
  iostall drive flash --size 480GB --spare 28% --hot 10:90 --html f.html
  iostall drive flash --zipf 0.9 --trim 5% --collect d:10
  iostall drive flash --hot 20:80 --separate classes     a drive that knows which data is hot
  iostall drive flash --hot 10:90 --want-wa 2     the spare area for half the endurance
  iostall drive flash --hot 10:90 --separate moved --wear-gap 50    static wear levelling
  iostall drive flash --size 8G --writes w.csv    the writes of a file, repeated
  iostall drive flash --profile oltp --spare 28%    the writes of a load: a built-in profile, a file, or a saved run
  iostall drive flash --size 960GB --endurance 3000 --per-day 500GB    how long it lasts

Nothing is read or written: this is a simulation, beside the formulas that are known. Ctrl-C keeps the results so far.";

/// The device, and what is written to it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FlashArgs {
    /// What the host can address
    #[arg(long, value_name = "SIZE", default_value = "64G", help_heading = "Device")]
    size: ByteCount,
    /// Spare area beyond that, in percent of it: 7% and 28% are usual
    #[arg(long, value_name = "PERCENT", default_value = "7%", value_parser = percent, help_heading = "Device")]
    spare: f64,
    /// Size of a page, which is programmed at once
    #[arg(long, value_name = "SIZE", default_value = "4K", value_parser = page, help_heading = "Device")]
    page: u32,
    /// Size of a block, which is erased at once
    #[arg(long, value_name = "SIZE", default_value = "1M", help_heading = "Device")]
    block: ByteCount,
    /// Which block is collected: greedy, fifo, or d:N for the best of N random ones
    #[arg(long, value_name = "WHICH", default_value = "greedy", help_heading = "Device")]
    collect: Collect,
    /// Which data has blocks of its own
    #[arg(long, value_name = "WHICH", default_value = "none", help_heading = "Device")]
    separate: SeparationChoice,
    /// Microseconds to read a page, to program a page and to erase a block
    #[arg(long, value_name = "R,P,E", default_value = "75,750,3800", value_parser = times, help_heading = "Device")]
    times: [f64; 3],
    /// Erases that a block bears: SLC 100000, MLC 3000 to 10000, TLC 1000 to 3000, QLC 300 to 1000
    #[arg(long, value_name = "CYCLES", value_parser = clap::value_parser!(u64).range(1..=100_000_000), help_heading = "Device")]
    endurance: Option<u64>,

    #[command(flatten)]
    care: CareChoice,

    #[command(flatten)]
    pattern: PatternChoice,
    /// Share of the requests that trim a random live page, below 50%
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percent, help_heading = "Writes")]
    trim: f64,
    /// What the host writes a day, for the life in years
    #[arg(long, value_name = "SIZE", requires = "endurance", help_heading = "Writes")]
    per_day: Option<ByteCount>,

    /// How often the device is written after a first fill; the first half is left out
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u32).range(4..=10_000), help_heading = "Simulation")]
    fills: u32,
    /// Simulate every page, and not a part of a large device that behaves as the whole
    #[arg(long, help_heading = "Simulation")]
    whole: bool,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Simulation")]
    seed: u64,
    /// Find the spare area for this write amplification, instead of --spare
    #[arg(long, value_name = "N", conflicts_with = "spare", help_heading = "Simulation")]
    want_wa: Option<f64>,

    #[command(flatten)]
    pub(crate) output: SeriesOutputArgs,
    /// Name of the run in the store
    #[arg(long, value_name = "TEXT", default_value = "flash", help_heading = "Output")]
    name: String,
    /// Do not store the run
    #[arg(long, help_heading = "Output")]
    pub(crate) no_store: bool,
}

/// What is written; one of them.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct PatternChoice {
    /// Every page is as likely as any other: the default
    #[arg(long, help_heading = "Writes")]
    uniform: bool,
    /// One page after the other
    #[arg(long, help_heading = "Writes")]
    sequential: bool,
    /// Hot data: the percentage of the data, and of the writes to it
    #[arg(long, value_name = "DATA:WRITES", value_parser = hot, help_heading = "Writes")]
    hot: Option<Classes>,
    /// Zones of the data, each with WRITES/DATA in percent: 50/5:30/15:20/80 is the enterprise mix of JESD219
    #[arg(long, value_name = "W/D:…", value_parser = zones, help_heading = "Writes")]
    zones: Option<Classes>,
    /// Zipf's law with this theta: a few pages get most writes
    #[arg(long, value_name = "THETA", help_heading = "Writes")]
    zipf: Option<f64>,
    /// The writes of a file, one a line: OFFSET,LENGTH. They are repeated, and every page is simulated
    #[arg(long, value_name = "FILE", help_heading = "Writes")]
    writes: Option<PathBuf>,
    /// The writes of a load: a profile in TOML, the name of a built-in one, or a saved run
    #[arg(long, value_name = "PROFILE", help_heading = "Writes")]
    profile: Option<String>,
}

/// What the device does beside collection.
#[derive(Debug, Args)]
struct CareChoice {
    /// Share of the blocks that are bad from the beginning
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percent, help_heading = "Upkeep")]
    bad: f64,
    /// Share of the erases after which a block is bad
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percent, help_heading = "Upkeep")]
    grown_bad: f64,
    /// Static wear levelling: move data whose block was erased N times less than the most worn [default: none]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = "Upkeep")]
    wear_gap: Option<u32>,
    /// Write a block anew once the host has written the device N times since it was filled [default: never]
    #[arg(long, value_name = "FILLS", value_parser = above_zero, help_heading = "Upkeep")]
    refresh: Option<f64>,
    /// Write a block anew after N reads [default: never]
    #[arg(long, value_name = "N", requires = "reads", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Upkeep")]
    read_limit: Option<u32>,
    /// Pages read for each page written, all pages alike
    #[arg(long, value_name = "N", value_parser = above_zero, requires = "read_limit", help_heading = "Upkeep")]
    reads: Option<f64>,
    /// Cache of cells with one bit that takes all writes first, in percent of --size
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percent, help_heading = "Upkeep")]
    slc: f64,
}

impl CareChoice {
    fn care(&self) -> FlashCare {
        FlashCare {
            bad_share: self.bad,
            bad_per_erase: self.grown_bad,
            wear_gap: self.wear_gap,
            refresh_fills: self.refresh,
            reads_max: self.read_limit,
            reads_per_write: self.reads.unwrap_or(0.0),
            slc_share: self.slc,
        }
    }
}

/// Parts of the data. A type of its own, because clap takes a list for an option that is repeated.
#[derive(Clone, Debug, PartialEq)]
struct Classes(Vec<WriteClass>);

impl FlashArgs {
    /// The load whose writes are simulated, as it was named.
    pub(crate) fn profile(&self) -> Option<&str> {
        self.pattern.profile.as_deref()
    }

    /// What was typed, as a request.
    pub(crate) fn request(&self, profile: Option<(String, Profile)>) -> FlashRequest {
        let [read_us, program_us, erase_us] = self.times;
        FlashRequest {
            device_bytes: self.size.bytes(),
            page_bytes: self.page,
            block_bytes: self.block.bytes(),
            alpha: 1.0 + self.spare,
            collect: self.collect,
            separation: self.separate.into(),
            pattern: self.pattern.pattern(),
            writes: self.pattern.writes.clone(),
            profile,
            trim_share: self.trim,
            care: self.care.care(),
            seed: self.seed,
            fills: self.fills,
            is_whole: self.whole,
            wanted: self.want_wa,
            nand: Nand { read_us, program_us, erase_us, cycles: self.endurance },
            daily_bytes: self.per_day.map(ByteCount::bytes),
            name: self.name.clone(),
        }
    }
}

impl PatternChoice {
    fn pattern(&self) -> WritePattern {
        if let Some(Classes(classes)) = self.hot.as_ref().or(self.zones.as_ref()) {
            WritePattern::Classes(classes.clone())
        } else if let Some(theta) = self.zipf {
            WritePattern::Zipf { theta }
        } else if self.sequential {
            WritePattern::Sequential
        } else {
            WritePattern::Uniform
        }
    }
}

/// Which data has blocks of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SeparationChoice {
    /// None
    None,
    /// What collection moves
    Moved,
    /// Each part that --hot or --zones names, as if the drive knew them
    Classes,
}

impl From<SeparationChoice> for Separation {
    fn from(choice: SeparationChoice) -> Self {
        match choice {
            SeparationChoice::None => Self::None,
            SeparationChoice::Moved => Self::Moved,
            SeparationChoice::Classes => Self::Classes,
        }
    }
}

/// `7%` or `7` as 0.07.
fn percent(text: &str) -> Result<f64, String> {
    let number: f64 = text.trim_end_matches('%').trim().parse().map_err(|_| not_a_percentage(text))?;
    if number.is_finite() && number >= 0.0 { Ok(number / 100.0) } else { Err(not_a_percentage(text)) }
}

/// A number above 0, and not so large that nothing ends.
fn above_zero(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number <= 1e6 => Ok(number),
        _ => Err(format!("{text:?} is not a number above 0, up to a million")),
    }
}

fn not_a_percentage(text: &str) -> String {
    format!("{text:?} is not a percentage, such as 7%")
}

fn page(text: &str) -> Result<u32, String> {
    let size: ByteCount = text.parse().map_err(|error| format!("{error}"))?;
    match u32::try_from(size.bytes()) {
        Ok(bytes) if (512..=1 << 20).contains(&bytes) => Ok(bytes),
        _ => Err("a page has 512 bytes to 1 MiB".to_owned()),
    }
}

/// Three numbers above 0.
fn times(text: &str) -> Result<[f64; 3], String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse::<f64>()).collect();
    let wrong = || format!("{text:?} is not three times in microseconds, such as 75,750,3800");
    let numbers = numbers.map_err(|_| wrong())?;
    let [read, program, erase] = numbers[..] else { return Err(wrong()) };
    let is_time = |time: &f64| time.is_finite() && *time > 0.0;
    if [read, program, erase].iter().all(is_time) { Ok([read, program, erase]) } else { Err(wrong()) }
}

/// `10:90`: the rest of the data has the rest of the writes.
fn hot(text: &str) -> Result<Classes, String> {
    let wrong = || format!("{text:?} is not DATA:WRITES in percent, such as 10:90");
    let (data, writes) = text.split_once(':').ok_or_else(wrong)?;
    let (data, writes) = (percent(data).map_err(|_| wrong())?, percent(writes).map_err(|_| wrong())?);
    if data <= 0.0 || data >= 1.0 || writes > 1.0 {
        return Err(wrong());
    }
    let class = |data_share, write_share| WriteClass { data_share, write_share };
    Ok(Classes(vec![class(data, writes), class(1.0 - data, 1.0 - writes)]))
}

/// `50/5:30/15:20/80`, as fio writes them.
fn zones(text: &str) -> Result<Classes, String> {
    /// A block for each class is always open.
    const ZONES_MAX: usize = 16;
    let wrong = || format!("{text:?} is not WRITES/DATA:… in percent, such as 50/5:30/15:20/80");
    let zone = |part: &str| {
        let (writes, data) = part.split_once('/').ok_or_else(wrong)?;
        Ok(WriteClass {
            data_share: percent(data).map_err(|_| wrong())?,
            write_share: percent(writes).map_err(|_| wrong())?,
        })
    };
    let classes: Vec<WriteClass> = text.split(':').map(zone).collect::<Result<_, String>>()?;
    let sum = |share: fn(&WriteClass) -> f64| classes.iter().map(share).sum::<f64>();
    let is_whole = |sum: f64| (sum - 1.0).abs() < 1e-6;
    if !is_whole(sum(|class| class.data_share)) || !is_whole(sum(|class| class.write_share)) {
        return Err(format!(
            "the zones in {text:?} must add up to 100 % of the writes and 100 % of the data"
        ));
    }
    if classes.len() > ZONES_MAX {
        return Err(format!("{} zones are more than {ZONES_MAX}", classes.len()));
    }
    Ok(Classes(classes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_times_and_zones_read_as_they_are_typed() {
        assert_eq!(percent("28%"), Ok(0.28));
        assert_eq!(percent("150"), Ok(1.5));
        assert_eq!(times("75, 750,3800"), Ok([75.0, 750.0, 3800.0]));
        let Classes(classes) = hot("10:90").unwrap();
        assert!((classes[1].data_share - 0.9).abs() < 1e-12 && (classes[1].write_share - 0.1).abs() < 1e-12);
        assert_eq!(zones("50/5:30/15:20/80").unwrap().0.len(), 3);
        for text in ["", "-1%", "nan", "inf", "7%%x"] {
            assert!(percent(text).is_err(), "{text}");
        }
        for text in ["0:90", "100:90", "10:101", "10", "a:b", "10:90:1"] {
            assert!(hot(text).is_err(), "{text}");
        }
        for text in ["50/5", "50/5:50/5", "x", "50/5:30/15:20/80:0/0:"] {
            assert!(zones(text).is_err(), "{text}");
        }
        for text in ["1,2", "0,1,2", "1,2,x", "1,2,3,4"] {
            assert!(times(text).is_err(), "{text}");
        }
    }
}
