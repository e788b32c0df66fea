//! Collector files, alert files and job results as text.

use iostall_measure::foreign::shown;
use iostall_measure::number::counted;
use iostall_model::job::{JobOutcome, JobRun};
use iostall_watch::{CollectorSetup, Job, PushEvent, PushNow, WatchedSource};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::alerts::listing;
use crate::zone::{column, heading, timestamp};

/// Lists sources, jobs, rules and channels of a collector's file, one per line.
pub fn setup(setup: &CollectorSetup) -> String {
    let mut text: String = setup.sources.iter().map(source).collect();
    for job in &setup.jobs {
        let notifies = match job.notify.as_slice() {
            [] => "notifies nobody".to_owned(),
            names => format!("notifies {}", shown(&names.join(", "))),
        };
        text.push_str(&format!(
            "job {:?}: at {}, {} within {:?}, {notifies}\n",
            job.name,
            shown(&job.calendar.to_string()),
            shown(&job.command.join(" ")),
            job.deadline
        ));
    }
    for push in &setup.pushes {
        text.push_str(&format!("samples are sent to {}\n", shown(&push.name())));
    }
    let used: Vec<&String> = setup.jobs.iter().flat_map(|job| &job.notify).collect();
    text.push_str(&listing(&setup.alerts, &used));
    text
}

fn source(source: &WatchedSource) -> String {
    let mut text = format!("source {:?}: every {:?}", source.name, source.interval);
    let address = source.address.to_string();
    if address != source.name {
        text.push_str(&format!(", {}", shown(&address)));
    }
    for (word, parts) in
        [("tags", &source.tags), ("databases", &source.filter.databases), ("files", &source.filter.names)]
    {
        if !parts.is_empty() {
            text.push_str(&format!(", {word} {}", shown(&parts.join(" "))));
        }
    }
    text.push('\n');
    text
}

#[derive(Clone, Debug, Serialize)]
pub struct SourceEntry {
    pub id: String,
    pub name: String,
    /// The other store that sampled it, if it was not this one.
    pub store: Option<String>,
    pub first_utc: Option<Timestamp>,
    pub last_utc: Option<Timestamp>,
}

pub fn watched_sources(sources: &[SourceEntry]) -> String {
    if sources.is_empty() {
        return "no source has been watched; `iostall collect --help` has examples\n".to_owned();
    }
    let names: Vec<String> = sources.iter().map(|source| shown(&source.name)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(6);
    let (first, last) = (heading("first sample"), heading("last sample"));
    let (first_width, last_width) = (first.chars().count().max(19), last.chars().count().max(19));
    let mut text = format!("{:width$}  {first:first_width$}  {last:last_width$}\n", "source");
    for (source, name) in sources.iter().zip(&names) {
        let at = |time: Option<Timestamp>| time.map_or("none".to_owned(), column);
        // Two stores may each have a source of this name; only its id tells them apart.
        let of = source.store.as_ref().map(|store| format!("  {} of store {store}", source.id));
        let (first, last) = (at(source.first_utc), at(source.last_utc));
        text.push_str(&format!(
            "{name:width$}  {first:first_width$}  {last:last_width$}{}\n",
            of.unwrap_or_default()
        ));
    }
    text
}

/// A job and its runs, newest first.
#[derive(Clone, Debug)]
pub struct PlannedJob<'a> {
    pub job: &'a Job,
    pub runs: Vec<JobRun>,
}

/// One line per job. If its newest run did not end by itself, the last one that did follows. Each failed
/// run is followed by the last lines of its output.
pub fn planned_jobs(jobs: &[PlannedJob<'_>], now: Timestamp) -> String {
    let mut text = String::new();
    for PlannedJob { job, runs } in jobs {
        let next = job.calendar.after(now).map_or_else(|| "never again".to_owned(), timestamp);
        let newest = runs.iter().find(|run| run.outcome != JobOutcome::Planned);
        text.push_str(&format!(
            "{:?}: next {next}; {}\n",
            job.name,
            newest.map_or("never ran".to_owned(), outcome)
        ));
        text.push_str(&newest.map(last_output).unwrap_or_default());
        let ended = runs.iter().find(|run| ended_by_itself(run));
        if let Some(run) = ended.filter(|_| newest.is_some_and(|newest| !ended_by_itself(newest))) {
            text.push_str(&format!("  before it: {}\n{}", outcome(run), last_output(run)));
        }
    }
    text
}

fn ended_by_itself(run: &JobRun) -> bool {
    matches!(run.outcome, JobOutcome::Succeeded | JobOutcome::Failed | JobOutcome::TimedOut)
}

fn last_output(run: &JobRun) -> String {
    let mut text = String::new();
    for line in run.output.lines().filter(|_| run.outcome.is_failure()) {
        text.push_str(&format!("    {}\n", shown(line)));
    }
    text
}

/// The collector's log lines about a run that started, ended or did not happen.
pub fn run_lines(run: &JobRun) -> Vec<String> {
    let JobRun { job, due, outcome, detail, output, .. } = run;
    let first = match outcome {
        JobOutcome::Planned => return Vec::new(),
        JobOutcome::Running => format!("job {job}: started"),
        _ => format!("job {job}, due at {due:.0}: {}: {detail}", outcome.name()),
    };
    let last = output.lines().filter(|_| outcome.is_failure());
    std::iter::once(first).chain(last.map(|line| format!("  {job} | {}", shown(line)))).collect()
}

fn outcome(run: &JobRun) -> String {
    let detail = if run.detail.is_empty() { String::new() } else { format!(" ({})", shown(&run.detail)) };
    format!("due {}: {}{detail}", timestamp(run.due), run.outcome.name())
}

/// What a receiver of samples does, in a line.
pub fn push_line(event: &PushEvent) -> String {
    match event {
        PushEvent::Failing { receiver, reason } => {
            format!("{receiver}: {reason}; samples wait in the store, and are tried again")
        }
        PushEvent::TakesAgain { receiver } => format!("{receiver}: takes samples again"),
        PushEvent::Refused { receiver, reason, samples } => {
            format!(
                "warning: {receiver} refuses samples, which are not sent again ({samples} since the start): {reason}"
            )
        }
        PushEvent::TooOld { receiver, waited, samples } => {
            let waited = SignedDuration::from_secs(waited.as_secs().cast_signed());
            format!(
                "warning: {receiver}: samples that waited for up to {waited:#} are not sent ({samples} since the start): \
                 --push-backlog"
            )
        }
        PushEvent::Ended(now) => ended_line(now),
    }
}

fn ended_line(PushNow { receiver, refused, too_old, backlog_s }: &PushNow) -> String {
    let mut parts = Vec::new();
    if refused + too_old > 0 {
        parts.push(format!(
            "{} were not sent: {refused} refused, {too_old} too old",
            counted(refused + too_old, "sample")
        ));
    }
    if *backlog_s > 0 {
        parts.push(format!(
            "samples of the last {:#} wait in the store, and the next `iostall collect run` sends them",
            SignedDuration::from_secs(backlog_s.cast_signed())
        ));
    }
    format!("{receiver}: {}", parts.join("; "))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use iostall_watch::Calendar;

    use super::*;

    #[test]
    fn a_failure_stands_with_its_last_lines_under_its_job() {
        let job = Job {
            name: "drill".into(),
            calendar: Calendar::parse("30 2 * * *", None).unwrap(),
            command: vec!["drill".into()],
            deadline: Duration::from_secs(60),
            notify: Vec::new(),
            user: "iostall".into(),
        };
        let run = JobRun {
            job: "drill".into(),
            due: "2026-11-22T02:30:00Z".parse().unwrap(),
            calendar: String::new(),
            began: None,
            ended: None,
            outcome: JobOutcome::Failed,
            detail: "exit status: 3".into(),
            output: "no\u{1b}[2J space".into(),
        };
        let runs = vec![run.clone()];
        let text = planned_jobs(&[PlannedJob { job: &job, runs }], "2026-11-22T12:00:00Z".parse().unwrap());
        let wanted = "\"drill\": next 2026-11-23 02:30:00 UTC; due 2026-11-22 02:30:00 UTC: failed (exit status: 3)\n    no";
        assert!(text.starts_with(wanted) && !text.contains('\u{1b}'), "{text}");
        let stopped = JobRun {
            due: "2026-11-23T02:30:00Z".parse().unwrap(),
            outcome: JobOutcome::Stopped,
            detail: "the collector ended".into(),
            output: String::new(),
            ..run.clone()
        };
        let runs = vec![stopped, run];
        let text = planned_jobs(&[PlannedJob { job: &job, runs }], Timestamp::UNIX_EPOCH);
        let wanted = "due 2026-11-23 02:30:00 UTC: stopped (the collector ended)\n  \
            before it: due 2026-11-22 02:30:00 UTC: failed (exit status: 3)\n    no";
        assert!(text.contains(wanted), "{text}");
        let never = planned_jobs(&[PlannedJob { job: &job, runs: Vec::new() }], Timestamp::UNIX_EPOCH);
        assert!(never.ends_with("never ran\n"), "{never}");
    }
}
