//! Which backups are kept.

use clap::Args;
use iostall_model::retention::{Rules, Within};

/// Rules of retention. What none of them keeps is not kept.
#[derive(Debug, Args)]
pub(crate) struct KeepArgs {
    /// Keep the newest N
    #[arg(long, value_name = "N", value_parser = number(), help_heading = "Keep")]
    pub(crate) keep_last: Option<u32>,
    /// Keep the newest of each of the last N hours that have one
    #[arg(long, value_name = "N", value_parser = number(), help_heading = "Keep")]
    pub(crate) keep_hourly: Option<u32>,
    /// Keep the newest of each of the last N days that have one
    #[arg(long, value_name = "N", value_parser = number(), help_heading = "Keep")]
    pub(crate) keep_daily: Option<u32>,
    /// Keep the newest of each of the last N weeks that have one
    #[arg(long, value_name = "N", value_parser = number(), help_heading = "Keep")]
    pub(crate) keep_weekly: Option<u32>,
    /// Keep the newest of each of the last N months that have one
    #[arg(long, value_name = "N", value_parser = number(), help_heading = "Keep")]
    pub(crate) keep_monthly: Option<u32>,
    /// Keep the newest of each of the last N years that have one
    #[arg(long, value_name = "N", value_parser = number(), help_heading = "Keep")]
    pub(crate) keep_yearly: Option<u32>,
    /// Keep all that are not older than this, counted from the newest: 48h, 30d, 8w, 6mo, 2y
    #[arg(long, value_name = "TIME", help_heading = "Keep")]
    pub(crate) keep_within: Option<Within>,
}

fn number() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=100_000)
}

impl KeepArgs {
    pub(crate) fn rules(&self) -> Rules {
        Rules {
            last: self.keep_last.unwrap_or(0),
            hourly: self.keep_hourly.unwrap_or(0),
            daily: self.keep_daily.unwrap_or(0),
            weekly: self.keep_weekly.unwrap_or(0),
            monthly: self.keep_monthly.unwrap_or(0),
            yearly: self.keep_yearly.unwrap_or(0),
            within: self.keep_within,
        }
    }
}
