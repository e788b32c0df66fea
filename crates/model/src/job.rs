//! Jobs: commands that a collector runs on a schedule, and the result of each run.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::alert::Occasion;

/// How a run of a job ended, or why it did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobOutcome {
    /// The collector has known the job since then; nothing has run yet. Later runs that did not happen were
    /// missed.
    Planned,
    /// It is running.
    Running,
    /// Exit status 0.
    Succeeded,
    /// Another exit status, a signal, or the program could not be started.
    Failed,
    /// Killed at its deadline.
    TimedOut,
    /// Not started, because the previous run had not ended.
    Skipped,
    /// Not started, because the collector was not running or was delayed.
    Missed,
    /// The collector ended while the job was running.
    Stopped,
}

impl JobOutcome {
    /// Every outcome.
    pub const ALL: [Self; 8] = [
        Self::Planned,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::TimedOut,
        Self::Skipped,
        Self::Missed,
        Self::Stopped,
    ];

    /// The name in files and in the store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed-out",
            Self::Skipped => "skipped",
            Self::Missed => "missed",
            Self::Stopped => "stopped",
        }
    }

    /// Whether to notify the job's channels.
    pub fn is_failure(self) -> bool {
        match self {
            Self::Failed | Self::TimedOut | Self::Skipped | Self::Missed | Self::Stopped => true,
            Self::Planned | Self::Running | Self::Succeeded => false,
        }
    }
}

/// One run of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRun {
    pub job: String,
    /// When the calendar scheduled it.
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

/// A notice that a job failed, or succeeded again.
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
