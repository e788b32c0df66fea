//! Which backups are kept.

use clap::Args;
use iostall_model::retention::{Rules, Within};

/// Rules of retention. What none of them keeps is not kept.
#[derive(Debug, Args)]
pub(crate) struct KeepArgs {
    /// Keep the newest N
    #[arg(long = "keep-last", id = "keep_last", value_name = "N", value_parser = number(), help_heading = "Keep")]
    pub(crate) last: Option<u32>,
    /// Keep the newest of each of the last N hours that have one
    #[arg(long = "keep-hourly", id = "keep_hourly", value_name = "N", value_parser = number(), help_heading = "Keep")]
    pub(crate) hourly: Option<u32>,
    /// Keep the newest of each of the last N days that have one
    #[arg(long = "keep-daily", id = "keep_daily", value_name = "N", value_parser = number(), help_heading = "Keep")]
    pub(crate) daily: Option<u32>,
    /// Keep the newest of each of the last N weeks that have one
    #[arg(long = "keep-weekly", id = "keep_weekly", value_name = "N", value_parser = number(), help_heading = "Keep")]
    pub(crate) weekly: Option<u32>,
    /// Keep the newest of each of the last N months that have one
    #[arg(long = "keep-monthly", id = "keep_monthly", value_name = "N", value_parser = number(), help_heading = "Keep")]
    pub(crate) monthly: Option<u32>,
    /// Keep the newest of each of the last N years that have one
    #[arg(long = "keep-yearly", id = "keep_yearly", value_name = "N", value_parser = number(), help_heading = "Keep")]
    pub(crate) yearly: Option<u32>,
    /// Keep all that are not older than this, counted from the newest: 48h, 30d, 8w, 6mo, 2y
    #[arg(long = "keep-within", id = "keep_within", value_name = "TIME", help_heading = "Keep")]
    pub(crate) within: Option<Within>,
}

fn number() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=100_000)
}

impl KeepArgs {
    pub(crate) fn rules(&self) -> Rules {
        Rules {
            last: self.last.unwrap_or(0),
            hourly: self.hourly.unwrap_or(0),
            daily: self.daily.unwrap_or(0),
            weekly: self.weekly.unwrap_or(0),
            monthly: self.monthly.unwrap_or(0),
            yearly: self.yearly.unwrap_or(0),
            within: self.within,
        }
    }
}
