//! `iostall backup plan`.

use clap::Args;
use iostall_measure::ByteCount;
use iostall_model::backup_plan::PlanInput;
use iostall_session::backup::figures::KeptFigures;

use super::keep::KeepArgs;
use crate::cli::rate::bytes_per_second;

/// What backups will take. What is not given is taken from the backups that the store knows.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall backup plan --size 5T --ratio 5 --rate 618MiB/s --keep-daily 7 --keep-weekly 4\n  \
    iostall backup plan --size 800G --ratio 2.2 --growth 3%/mo --keep-within 30d --for 3y --space 12T\n  \
    iostall backup plan --size 800G --every 6h --keep-hourly 24 --keep-daily 14 --json\n  \
    iostall backup plan /var/lib/shop --keep-daily 7 --space 12T    size, ratio, rates and growth of its kept backups\n\n\
    With --space, exit status 1 if it does not fit.")]
pub(crate) struct PlanArgs {
    /// Take what is not given from the stored runs that backed this up: the beginning of its name, or of the path of its
    /// manifests. Without it and --size, from the only source that the store knows
    #[arg(value_name = "SOURCE")]
    pub(crate) source: Option<String>,
    /// Size of what is backed up, today
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<ByteCount>,
    /// Bytes of the source for each that is stored, as the last line of a backup prints it: 2.3 [default: that of the kept
    /// backups, or 1]
    #[arg(long, value_name = "N", value_parser = ratio)]
    pub(crate) ratio: Option<f64>,
    /// Growth of the source: 20% a year, 20%/y, 2%/mo [default: that of the kept backups, or 0%]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, value_parser = growth)]
    pub(crate) growth: Option<f64>,
    /// From one backup to the next: 6h, 1d, 1w
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = interval)]
    pub(crate) every: u64,
    /// How fast a backup is, in bytes of the source: 618MiB/s
    #[arg(long, value_name = "RATE", value_parser = bytes_per_second)]
    pub(crate) rate: Option<u64>,
    /// How fast a restore is, in bytes that it writes
    #[arg(long, value_name = "RATE", value_parser = bytes_per_second)]
    pub(crate) restore_rate: Option<u64>,
    /// How far to look: 90d, 6mo, 3y
    #[arg(long = "for", value_name = "TIME", default_value = "1y", value_parser = days)]
    pub(crate) horizon: u64,
    /// Room for backups: say whether it suffices, and for how long
    #[arg(long, value_name = "SIZE")]
    pub(crate) space: Option<ByteCount>,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl PlanArgs {
    /// Whether figures of kept backups are wanted.
    pub(crate) fn asks_the_store(&self) -> bool {
        self.source.is_some() || self.size.is_none()
    }

    /// What was typed counts before what was kept.
    pub(crate) fn input(&self, kept: Option<&KeptFigures>) -> PlanInput {
        let typed = |rate: Option<u64>| rate.map(|rate| rate as f64);
        let size_bytes = self.size.map(ByteCount::bytes).or(kept.map(|kept| kept.size_bytes));
        PlanInput {
            size_bytes: size_bytes.unwrap_or_default(),
            ratio: self.ratio.or(kept.map(|kept| kept.ratio)).unwrap_or(1.0),
            growth_per_year: self.growth.or(kept.and_then(|kept| kept.growth_per_year)).unwrap_or_default(),
            every_s: self.every,
            rules: self.keep.rules(),
            backup_bytes_per_s: typed(self.rate).or(kept.and_then(|kept| kept.backup_bytes_per_s)),
            restore_bytes_per_s: typed(self.restore_rate).or(kept.and_then(|kept| kept.restore_bytes_per_s)),
            days: self.horizon,
            space_bytes: self.space.map(ByteCount::bytes),
        }
    }
}

/// `2.3`, or `2.3:1` as it is printed.
fn ratio(text: &str) -> Result<f64, String> {
    let number =
        text.split_once(':').map_or(text, |(number, one)| if one.trim() == "1" { number } else { "" });
    let ratio = number.trim().parse().ok().filter(|ratio: &f64| (0.01..=100_000.0).contains(ratio));
    ratio.ok_or_else(|| {
        format!("{text:?} is no ratio: write how many bytes of the source become one, such as 2.3")
    })
}

/// As a share of the size that is added in a year.
fn growth(text: &str) -> Result<f64, String> {
    let error =
        || format!("{text:?} is no growth: write a share with %, such as 20% (a year), 20%/y or 2%/mo");
    let (number, period) = text.split_once('%').ok_or_else(error)?;
    let share = number.trim().parse::<f64>().ok().filter(|percent| (-99.0..=10_000.0).contains(percent));
    let share = share.ok_or_else(error)? / 100.0;
    match period.trim() {
        "" | "/y" | "/year" => Ok(share),
        "/mo" | "/month" => Ok((1.0 + share).powi(12) - 1.0),
        _ => Err(error()),
    }
}

/// Seconds.
fn interval(text: &str) -> Result<u64, String> {
    length(text, &[("min", 60), ("h", 3_600), ("d", 86_400), ("w", 604_800)])
        .ok_or_else(|| format!("{text:?} is no length of time: write 6h, 1d or 1w"))
}

fn days(text: &str) -> Result<u64, String> {
    length(text, &[("d", 1), ("w", 7), ("mo", 30), ("y", 365)])
        .filter(|days| *days <= 36_500)
        .ok_or_else(|| format!("{text:?} is no length of time: write 90d, 6mo or 3y, at most 100 years"))
}

fn length(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, name) = text.split_at(digits);
    let unit = units.iter().find(|(known, _)| *known == name)?.1;
    number.parse::<u64>().ok()?.checked_mul(unit).filter(|length| *length > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_plan_is_made_from_is_read_as_people_write_it() {
        assert_eq!((ratio("2.3"), ratio("2.3:1"), ratio("5 : 1")), (Ok(2.3), Ok(2.3), Ok(5.0)));
        assert!(ratio("0").is_err() && ratio("2:3").is_err() && ratio("NaN").is_err());
        assert_eq!((growth("20%"), growth("-5%/y")), (Ok(0.2), Ok(-0.05)));
        let monthly = growth("2%/mo").unwrap();
        assert!((monthly - 0.268).abs() < 0.001, "{monthly}");
        assert!(growth("20").is_err() && growth("2%/w").is_err() && growth("-100%").is_err());
        assert_eq!((interval("6h"), interval("1w")), (Ok(21_600), Ok(604_800)));
        assert_eq!((days("6mo"), days("3y")), (Ok(180), Ok(1_095)));
        assert!(
            days("101y").is_err()
                && days("0d").is_err()
                && interval("1").is_err()
                && interval("1mo").is_err()
        );
    }
}
