//! Messages about alerts and jobs.

use iostall_measure::foreign::shown;
use iostall_model::alert::{Notice, Occasion};
use iostall_model::job::{JobNotice, JobOutcome};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::payload;

/// Schema name in documents about jobs.
pub const JOB_SCHEMA: &str = "iostall-job";
/// Version of the format.
pub const JOB_SCHEMA_VERSION: u32 = 1;

/// A message to channels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    Alert(Notice),
    Job(JobNotice),
}

impl Message {
    /// Names of the channels to send it to.
    pub fn channels(&self) -> &[String] {
        match self {
            Self::Alert(notice) => &notice.channels,
            Self::Job(notice) => &notice.channels,
        }
    }

    /// Why it is sent.
    pub fn occasion(&self) -> Occasion {
        match self {
            Self::Alert(notice) => notice.occasion,
            Self::Job(notice) => notice.occasion,
        }
    }

    /// One line of text: the subject of a mail, the text of a chat message.
    pub fn summary(&self) -> String {
        match self {
            Self::Alert(notice) => payload::summary(notice),
            Self::Job(notice) => job_summary(notice),
        }
    }

    /// The document described in `docs/formats.md`.
    pub fn payload(&self) -> Value {
        match self {
            Self::Alert(notice) => payload::payload(notice),
            Self::Job(notice) => job_payload(notice),
        }
    }
}

impl From<Notice> for Message {
    fn from(notice: Notice) -> Self {
        Self::Alert(notice)
    }
}

fn job_summary(JobNotice { run, .. }: &JobNotice) -> String {
    let (job, detail) = (shown(&run.job), shown(&run.detail));
    match run.outcome {
        JobOutcome::Succeeded => format!("job {job}: succeeded again ({detail})"),
        JobOutcome::Failed => format!("job {job}: failed: {detail}"),
        JobOutcome::TimedOut => format!("job {job}: {detail}"),
        JobOutcome::Skipped => format!("job {job}: not started at {:.0}: {detail}", run.due),
        JobOutcome::Missed => format!("job {job}: missed its time {:.0}: {detail}", run.due),
        JobOutcome::Stopped => format!("job {job}: stopped: {detail}"),
        JobOutcome::Running | JobOutcome::Planned => format!("job {job}: {}", run.outcome.name()),
    }
}

fn job_payload(notice: &JobNotice) -> Value {
    let run = &notice.run;
    json!({
        "schema": JOB_SCHEMA,
        "schema_version": JOB_SCHEMA_VERSION,
        "occasion": notice.occasion,
        "summary": job_summary(notice),
        "job": run.job,
        "outcome": run.outcome,
        "detail": run.detail,
        "due": run.due,
        "began": run.began,
        "ended": run.ended,
        "output": run.output,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_model::job::JobRun;

    #[test]
    fn a_job_that_failed_is_a_document_with_its_last_lines() {
        let run = JobRun {
            job: "nightly\u{1b}[2J drill".into(),
            due: "2026-11-22T02:30:00Z".parse().unwrap(),
            calendar: "30 2 * * * UTC".into(),
            began: Some("2026-11-22T02:30:00Z".parse().unwrap()),
            ended: Some("2026-11-22T02:31:00Z".parse().unwrap()),
            outcome: JobOutcome::Failed,
            detail: "exit status: 3".into(),
            output: "no space left".into(),
        };
        let message = Message::Job(JobNotice { occasion: Occasion::Firing, channels: Vec::new(), run });
        assert!(message.summary().ends_with("drill: failed: exit status: 3"), "{}", message.summary());
        assert!(!message.summary().contains('\u{1b}'));
        let document = message.payload();
        assert_eq!((&document["schema"], &document["outcome"]), (&json!("iostall-job"), &json!("failed")));
        assert_eq!(document["output"], "no space left");
    }
}
