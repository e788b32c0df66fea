//! Jobs: commands that a collector runs at set times, and what became of each run.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::alert::Occasion;

/// How a run of a job ended, or why there was none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobOutcome {
    /// The collector knows the job since then; nothing ran yet. What is due later and did not run was missed.
    Planned,
    /// It is running.
    Running,
    /// Exit status 0.
    Succeeded,
    /// Another exit status, a signal, or the program could not be started.
    Failed,
    /// It was still running at its deadline and was killed.
    TimedOut,
    /// It was not started because the run before it had not ended.
    Skipped,
    /// It was not started because the collector was not running or was held up.
    Missed,
    /// The collector ended while it was running.
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

    /// Its name in files and in the store.
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

    /// Whether somebody should hear of it.
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
    /// The job's name.
    pub job: String,
    /// When its calendar wanted it to run.
    pub due: Timestamp,
    /// The calendar, to notice when it was changed.
    pub calendar: String,
    /// When it was started.
    pub began: Option<Timestamp>,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// How it ended.
    pub outcome: JobOutcome,
    /// Exit status, signal or reason.
    pub detail: String,
    /// The last lines that it wrote to standard output and standard error.
    pub output: String,
}

/// A job that failed, or that succeeds again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobNotice {
    /// [`Occasion::Firing`] for a failure, [`Occasion::Resolved`] for the first success after one.
    pub occasion: Occasion,
    /// Who is notified.
    pub channels: Vec<String>,
    /// The run.
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
