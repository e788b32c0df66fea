//! Messages about alerts and jobs.

use iostall_measure::foreign::shown;
use iostall_measure::number::counted;
use iostall_model::alert::{Notice, Occasion};
use iostall_model::job::{JobNotice, JobOutcome};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::payload;

pub const JOB_SCHEMA: &str = "iostall-job";
pub const JOB_SCHEMA_VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    Alert(Notice),
    Job(JobNotice),
    /// Samples arrive: a sign of life for the channel of that name.
    Heartbeat(String),
    /// So many notices were left out, because too many waited for the channel.
    LeftOut {
        channel: String,
        count: u64,
    },
}

impl Message {
    pub fn channels(&self) -> &[String] {
        match self {
            Self::Alert(notice) => &notice.channels,
            Self::Job(notice) => &notice.channels,
            Self::Heartbeat(channel) | Self::LeftOut { channel, .. } => std::slice::from_ref(channel),
        }
    }

    #[must_use]
    pub fn only_to(&self, channel: &str) -> Self {
        let mut one = self.clone();
        match &mut one {
            Self::Alert(notice) => notice.channels = vec![channel.to_owned()],
            Self::Job(notice) => notice.channels = vec![channel.to_owned()],
            Self::Heartbeat(name) | Self::LeftOut { channel: name, .. } => channel.clone_into(name),
        }
        one
    }

    pub fn occasion(&self) -> Occasion {
        match self {
            Self::Alert(notice) => notice.occasion,
            Self::Job(notice) => notice.occasion,
            Self::Heartbeat(_) => Occasion::StillFiring,
            // It begins nothing that somebody would have to end.
            Self::LeftOut { .. } => Occasion::Resolved,
        }
    }

    /// One line of text: the subject of a mail, the text of a chat message.
    pub fn summary(&self) -> String {
        match self {
            Self::Alert(notice) => payload::summary(notice),
            Self::Job(notice) => job_summary(notice),
            Self::Heartbeat(_) => "samples arrive".to_owned(),
            Self::LeftOut { count, .. } => {
                format!(
                    "and {} more: too many came at once, and these were left out",
                    counted(*count, "notice")
                )
            }
        }
    }

    /// What there is to say beyond the summary, a line each: the next worst things of a group, the last lines of a job.
    pub fn details(&self) -> Vec<String> {
        match self {
            Self::Alert(notice) => payload::details(notice),
            Self::Job(notice) => notice.run.output.lines().map(shown).collect(),
            Self::Heartbeat(_) | Self::LeftOut { .. } => Vec::new(),
        }
    }

    /// What incidents are told apart by: letters, digits and dashes, the same from the first message of an incident to its last.
    pub fn key(&self) -> String {
        let group = match self {
            Self::Alert(notice) => notice.group.as_str(),
            Self::Job(notice) => notice.run.job.as_str(),
            Self::Heartbeat(channel) | Self::LeftOut { channel, .. } => channel.as_str(),
        };
        let kind = match self {
            Self::Job(_) => "job",
            Self::LeftOut { .. } => "left-out",
            Self::Alert(_) | Self::Heartbeat(_) => "alert",
        };
        // Names may be long, and hold anything: two numbers of 64 bits hold no two of them together.
        format!("iostall-{kind}-{:016x}{:016x}", fnv(group, FNV_BASIS), fnv(group, !FNV_BASIS))
    }

    pub fn source(&self) -> &str {
        match self {
            Self::Alert(notice) => &notice.source,
            Self::Job(notice) => &notice.run.job,
            Self::Heartbeat(channel) | Self::LeftOut { channel, .. } => channel,
        }
    }

    pub fn firing_count(&self) -> u64 {
        match self {
            Self::Alert(notice) => notice.firing_count,
            Self::Job(notice) => u64::from(notice.run.outcome.is_failure()),
            Self::Heartbeat(_) | Self::LeftOut { .. } => 0,
        }
    }

    /// The document described in `docs/formats.md`.
    pub fn payload(&self) -> Value {
        match self {
            Self::Alert(notice) => payload::payload(notice),
            Self::Job(notice) => job_payload(notice),
            Self::Heartbeat(channel) => {
                json!({ "schema": "iostall-heartbeat", "schema_version": 1, "channel": channel })
            }
            Self::LeftOut { channel, count } => json!({
                "schema": "iostall-left-out",
                "schema_version": 1,
                "summary": self.summary(),
                "channel": channel,
                "count": count,
            }),
        }
    }
}

impl From<Notice> for Message {
    fn from(notice: Notice) -> Self {
        Self::Alert(notice)
    }
}

const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash FNV-1a: the same on every machine and in every version.
fn fnv(text: &str, basis: u64) -> u64 {
    text.bytes().fold(basis, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
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
