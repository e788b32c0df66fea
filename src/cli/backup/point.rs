//! To which point in time a backup is brought.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use clap::{Args, ValueEnum};
use iostall_measure::clock::utc_now;
use iostall_session::backup::wal::{AtTarget, PointRequest, Until};

use crate::cli::timestamp::timestamp;
use crate::failure::hinted;

const POINTS: &str = "write latest, a time, a position such as 16/B374D848, xid:N, or name:RESTOREPOINT";

/// Which point in time, and the log that leads to it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Point in time")]
pub(crate) struct PointArgs {
    /// Bring a PostgreSQL forward with the log in this archive, a directory or s3://BUCKET/NAME, which `iostall backup wal archive` wrote
    #[arg(long, value_name = "DIR")]
    wal: Option<PathBuf>,
    /// Where to stop: latest, a time (2026-11-23T08:00, yesterday, 2h), a position (16/B374D848), xid:N or name:RESTOREPOINT
    #[arg(long, value_name = "POINT", default_value = "latest", requires = "wal")]
    until: String,
    /// Stop just before the time, transaction or position that --until names, and not just after it
    #[arg(long, requires = "wal")]
    exclusive: bool,
    /// The timeline to follow [default: the newest that the backup leads to]
    #[arg(long, value_name = "N", requires = "wal")]
    timeline: Option<u32>,
}

/// What the restored server does at --until.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AtTargetChoice {
    /// It waits and can be read: SELECT pg_wal_replay_resume() lets it become a primary
    Pause,
    /// It becomes a primary at once
    Promote,
}

impl From<AtTargetChoice> for AtTarget {
    fn from(choice: AtTargetChoice) -> Self {
        match choice {
            AtTargetChoice::Pause => Self::Pause,
            AtTargetChoice::Promote => Self::Promote,
        }
    }
}

impl PointArgs {
    /// `None` without an archive.
    pub(crate) fn request(&self, at_target: AtTarget) -> anyhow::Result<Option<PointRequest>> {
        let Some(wal) = self.wal.clone() else { return Ok(None) };
        let until = match Until::parse(self.until.trim()) {
            Some(until) => until.map_err(|wrong| hinted(anyhow!("--until: {wrong}"), POINTS))?,
            None => Until::Time(timestamp("--until", &self.until, utc_now())?),
        };
        if self.exclusive && matches!(until, Until::Latest | Until::Point(_)) {
            let hint = "name a time, a position or xid:N with --until, or leave --exclusive out";
            let error = anyhow!(
                "--exclusive has no meaning with --until {}: nothing comes before it alone",
                self.until.trim()
            );
            return Err(hinted(error, hint));
        }
        let program = std::env::current_exe().context("cannot find the path of this program")?;
        let is_inclusive = !self.exclusive;
        Ok(Some(PointRequest { wal, until, is_inclusive, at_target, timeline: self.timeline, program }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The story: `--exclusive` was given with `--until latest`, and did nothing.
    #[test]
    fn exclusive_is_refused_where_there_is_nothing_to_stop_before() {
        let request = |until: &str| {
            let (wal, until) = (Some("/wal".into()), until.to_owned());
            PointArgs { wal, until, exclusive: true, timeline: None }.request(AtTarget::Pause)
        };
        for until in ["latest", "name:before_upgrade"] {
            assert!(request(until).is_err(), "{until}");
        }
        for until in ["xid:7", "16/B374D848", "2026-11-23T08:00"] {
            assert!(request(until).is_ok(), "{until}");
        }
    }
}
