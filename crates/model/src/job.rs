//! Jobs: commands that a collector runs on a schedule, and the result of each run.

use iostall_measure::named;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::alert::Occasion;

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum JobOutcome {
        /// The collector has known the job since then; nothing has run yet. Later runs that did not happen were
        /// missed.
        Planned = "planned",
        Running = "running",
        /// Exit status 0.
        Succeeded = "succeeded",
        /// Another exit status, a signal, or the program could not be started.
        Failed = "failed",
        /// Killed at its deadline.
        TimedOut = "timed-out",
        /// Not started, because the previous run had not ended.
        Skipped = "skipped",
        /// Not started, because the collector was not running or was delayed.
        Missed = "missed",
        /// The collector ended while the job was running.
        Stopped = "stopped",
    }
}

impl JobOutcome {
    pub fn is_failure(self) -> bool {
        match self {
            Self::Failed | Self::TimedOut | Self::Skipped | Self::Missed | Self::Stopped => true,
            Self::Planned | Self::Running | Self::Succeeded => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRun {
    pub job: String,
    pub due: Timestamp,
    /// The calendar at that time, to detect changes.
    pub calendar: String,
    pub began: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    pub outcome: JobOutcome,
    /// Exit status, signal or reason.
    pub detail: String,
    /// The last lines of its output, standard error included.
    pub output: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobNotice {
    /// [`Occasion::Firing`] for a failure, [`Occasion::Resolved`] for the first success after one.
    pub occasion: Occasion,
    pub channels: Vec<String>,
    pub run: JobRun,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_has_one_name_everywhere() {
        for outcome in JobOutcome::ALL {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.name());
        }
    }
}
