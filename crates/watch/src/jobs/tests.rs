//! Jobs on a simulated clock, with real calendars and deadlines and scripted programs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::tz::TimeZone;

use super::*;

const SECOND_NS: u64 = 1_000_000_000;

/// Scripted programs, and what was done to them.
#[derive(Clone, Default)]
struct Programs {
    running: Arc<Mutex<Vec<&'static str>>>,
    end: Arc<Mutex<Option<JobEnd>>>,
}

impl Programs {
    fn ends(&self, is_success: bool) {
        let detail = if is_success { "exit status: 0" } else { "exit status: 3" };
        *self.end.lock().unwrap() =
            Some(JobEnd { is_success, detail: detail.into(), output: "last line".into() });
    }
}

impl JobRunner for Programs {
    fn start(&mut self, _job: &Job) -> Box<dyn RunningJob> {
        self.running.lock().unwrap().push("started");
        Box::new(self.clone())
    }
}

impl RunningJob for Programs {
    fn poll(&mut self) -> Option<JobEnd> {
        self.end.lock().unwrap().take()
    }

    fn ask_to_end(&mut self) {
        self.running.lock().unwrap().push("asked");
    }

    fn kill(&mut self) {
        self.running.lock().unwrap().push("killed");
        self.ends(false);
    }

    fn end(self: Box<Self>) -> JobEnd {
        JobEnd { is_success: false, detail: "signal: 15".into(), output: "until then".into() }
    }
}

fn job(expression: &str, zone: &str) -> Job {
    Job {
        name: "drill".into(),
        calendar: Calendar::parse(expression, Some(zone)).unwrap(),
        command: vec!["drill".into()],
        deadline: Duration::from_secs(3_600),
        notify: vec!["ops".into()],
        user: "iostall".into(),
    }
}

fn now(at: &str) -> Now {
    let utc: Timestamp = at.parse().unwrap();
    Now { utc, clock_ns: u64::try_from(utc.as_second()).unwrap() * SECOND_NS }
}

/// The runs that survive a restart of the collector.
#[derive(Default)]
struct Kept(Vec<JobRun>);

impl Kept {
    fn keep(&mut self, reports: Vec<JobReport>) -> Vec<(JobOutcome, Option<Occasion>)> {
        let said =
            reports.iter().map(|one| (one.run.outcome, one.notice.as_ref().map(|notice| notice.occasion)));
        let said = said.collect();
        for JobReport { run, .. } in reports {
            self.0.retain(|kept| kept.due != run.due);
            self.0.insert(0, run);
        }
        self.0.sort_by_key(|run| std::cmp::Reverse(run.due));
        said
    }

    fn start(&mut self, job: &Job, programs: &Programs, at: &str) -> (Jobs, Vec<JobReport>) {
        let mut jobs = Jobs::new(programs.clone());
        let kept = self.0.clone();
        let reports = jobs.replace(vec![job.clone()], |_| kept.clone(), now(at));
        self.keep(reports.clone());
        (jobs, reports)
    }
}

/// Runs the scheduler in steps of a minute.
fn started_between(jobs: &mut Jobs, programs: &Programs, from: &str, to: &str) -> Vec<String> {
    let (mut at, end) = (now(from).utc, now(to).utc);
    let mut started = Vec::new();
    while at < end {
        for report in jobs.look(now(&at.to_string())) {
            if report.run.outcome == JobOutcome::Running {
                started.push(at.to_string());
                programs.ends(true);
            }
        }
        at += SignedDuration::from_secs(30);
    }
    started
}

#[test]
fn a_job_runs_at_its_time_and_its_end_is_reported_with_what_it_said() {
    let (programs, mut kept) = (Programs::default(), Kept::default());
    let (mut jobs, first) = kept.start(&job("30 2 * * *", "UTC"), &programs, "2026-11-22T00:00:00Z");
    assert_eq!(first[0].run.outcome, JobOutcome::Planned);
    assert_eq!(jobs.look(now("2026-11-22T02:29:59Z")), []);
    let began = jobs.look(now("2026-11-22T02:30:00Z"));
    assert_eq!(began[0].run.began, Some(now("2026-11-22T02:30:00Z").utc));
    assert_eq!(jobs.look(now("2026-11-22T02:30:01Z")), []);
    programs.ends(true);
    let ended = jobs.look(now("2026-11-22T02:45:00Z"));
    let JobReport { run, notice } = &ended[0];
    assert_eq!((run.outcome, run.output.as_str(), notice), (JobOutcome::Succeeded, "last line", &None));
    assert_eq!(run.due, now("2026-11-22T02:30:00Z").utc);
    assert_eq!(jobs.look(now("2026-11-22T23:59:59Z")), []);
}

/// When the clock goes back, half past two occurs twice.
#[test]
fn a_job_runs_once_in_the_night_that_has_its_time_twice_and_in_the_one_that_does_not_have_it() {
    if TimeZone::get("Europe/Zurich").is_err() {
        return;
    }
    let (programs, mut kept) = (Programs::default(), Kept::default());
    let nightly = job("30 2 * * *", "Europe/Zurich");
    let (mut jobs, _) = kept.start(&nightly, &programs, "2027-10-30T12:00:00Z");
    let started = started_between(&mut jobs, &programs, "2027-10-30T20:00:00Z", "2027-10-31T12:00:00Z");
    assert_eq!(started, ["2027-10-31T00:30:00Z"]);
    let (mut jobs, _) = Kept::default().start(&nightly, &programs, "2027-03-27T12:00:00Z");
    let started = started_between(&mut jobs, &programs, "2027-03-27T20:00:00Z", "2027-03-28T12:00:00Z");
    assert_eq!(started, ["2027-03-28T01:00:00Z"]);
}

#[test]
fn a_clock_that_is_set_back_does_not_run_a_job_twice() {
    let (programs, mut kept) = (Programs::default(), Kept::default());
    let (mut jobs, _) = kept.start(&job("30 2 * * *", "UTC"), &programs, "2026-11-22T00:00:00Z");
    jobs.look(now("2026-11-22T02:30:00Z"));
    programs.ends(true);
    jobs.look(now("2026-11-22T02:31:00Z"));
    assert_eq!(jobs.look(now("2026-11-22T02:29:00Z")), []);
    assert_eq!(jobs.look(now("2026-11-22T02:30:30Z")), []);
    assert_eq!(jobs.look(now("2026-11-23T02:30:00Z")).len(), 1);
}

#[test]
fn a_clock_that_was_years_ahead_does_not_keep_a_job_waiting_for_years() {
    let (programs, mut kept) = (Programs::default(), Kept::default());
    let (mut jobs, _) = kept.start(&job("30 2 * * *", "UTC"), &programs, "2026-11-22T00:00:00Z");
    jobs.look(now("2033-11-22T12:00:00Z"));
    jobs.look(now("2026-11-22T00:01:00Z"));
    let began = jobs.look(now("2026-11-22T02:30:00Z"));
    assert_eq!(began.iter().map(|one| one.run.outcome).collect::<Vec<_>>(), [JobOutcome::Running]);
}

#[test]
fn what_was_due_while_the_collector_was_down_is_named_once_and_notified() {
    let (programs, mut kept) = (Programs::default(), Kept::default());
    let nightly = job("30 2 * * *", "UTC");
    drop(kept.start(&nightly, &programs, "2026-11-20T00:00:00Z"));
    let (_, reports) = kept.start(&nightly, &programs, "2026-11-22T12:00:00Z");
    let JobReport { run, notice } = &reports[0];
    assert_eq!((run.outcome, run.due), (JobOutcome::Missed, now("2026-11-22T02:30:00Z").utc));
    assert!(run.detail.contains("not running; 3 runs were missed"), "{}", run.detail);
    assert_eq!(notice.as_ref().unwrap().channels, ["ops"]);
    let (mut jobs, again) = kept.start(&nightly, &programs, "2026-11-22T13:00:00Z");
    assert_eq!(again, [], "what was named is not named again");
    // The next success sends a notice.
    kept.keep(jobs.look(now("2026-11-23T02:30:00Z")));
    programs.ends(true);
    let said = kept.keep(jobs.look(now("2026-11-23T02:40:00Z")));
    assert_eq!(said, [(JobOutcome::Succeeded, Some(Occasion::Resolved))]);
}

#[test]
fn another_calendar_has_missed_nothing_of_what_was_never_planned() {
    let (programs, mut kept) = (Programs::default(), Kept::default());
    drop(kept.start(&job("30 2 * * *", "UTC"), &programs, "2026-11-20T00:00:00Z"));
    let (_, reports) = kept.start(&job("* * * * *", "UTC"), &programs, "2026-11-22T00:00:00Z");
    assert_eq!(reports.iter().map(|one| one.run.outcome).collect::<Vec<_>>(), [JobOutcome::Planned]);
}

#[test]
fn a_run_that_the_collector_did_not_see_the_end_of_is_named() {
    let (programs, mut kept) = (Programs::default(), Kept::default());
    let nightly = job("30 2 * * *", "UTC");
    let (mut jobs, _) = kept.start(&nightly, &programs, "2026-11-22T00:00:00Z");
    kept.keep(jobs.look(now("2026-11-22T02:30:00Z")));
    drop(jobs);
    let (_, reports) = kept.start(&nightly, &programs, "2026-11-22T03:00:00Z");
    assert_eq!(reports.len(), 1);
    assert_eq!(
        (reports[0].run.outcome, reports[0].run.due),
        (JobOutcome::Stopped, now("2026-11-22T02:30:00Z").utc)
    );
    assert!(reports[0].run.detail.contains("while it was running"), "{}", reports[0].run.detail);
    assert!(reports[0].notice.is_some());
}

#[test]
fn at_its_deadline_a_job_is_asked_to_end_and_then_killed() {
    let (programs, mut kept) = (Programs::default(), Kept::default());
    let (mut jobs, _) = kept.start(&job("30 2 * * *", "UTC"), &programs, "2026-11-22T00:00:00Z");
    jobs.look(now("2026-11-22T02:30:00Z"));
    jobs.look(now("2026-11-22T03:29:59Z"));
    assert_eq!(*programs.running.lock().unwrap(), ["started"]);
    jobs.look(now("2026-11-22T03:30:00Z"));
    jobs.look(now("2026-11-22T03:30:09Z"));
    assert_eq!(*programs.running.lock().unwrap(), ["started", "asked"]);
    jobs.look(now("2026-11-22T03:30:10Z"));
    let said = kept.keep(jobs.look(now("2026-11-22T03:30:11Z")));
    assert_eq!(*programs.running.lock().unwrap(), ["started", "asked", "killed"]);
    assert_eq!(said, [(JobOutcome::TimedOut, Some(Occasion::Firing))]);
}

#[test]
fn a_job_never_overlaps_itself_and_what_is_skipped_is_told_once() {
    let (programs, mut kept) = (Programs::default(), Kept::default());
    let (mut jobs, _) = kept.start(&job("*/10 * * * *", "UTC"), &programs, "2026-11-22T00:00:00Z");
    kept.keep(jobs.look(now("2026-11-22T00:10:00Z")));
    let second = kept.keep(jobs.look(now("2026-11-22T00:20:00Z")));
    let third = kept.keep(jobs.look(now("2026-11-22T00:30:00Z")));
    assert_eq!(second, [(JobOutcome::Skipped, Some(Occasion::Firing))]);
    assert_eq!(third, [(JobOutcome::Skipped, None)]);
    assert_eq!(*programs.running.lock().unwrap(), ["started"]);
    programs.ends(true);
    let said = kept.keep(jobs.look(now("2026-11-22T00:31:00Z")));
    assert_eq!(said, [(JobOutcome::Succeeded, Some(Occasion::Resolved))]);
}

#[test]
fn after_hours_of_standing_still_one_run_is_missed_and_none_is_started_late() {
    let (programs, mut kept) = (Programs::default(), Kept::default());
    let (mut jobs, _) = kept.start(&job("0 * * * *", "UTC"), &programs, "2026-11-22T00:30:00Z");
    jobs.look(now("2026-11-22T00:59:00Z"));
    let reports = jobs.look(now("2026-11-22T04:30:00Z"));
    assert_eq!(reports.len(), 1);
    assert!(reports[0].run.detail.contains("4 runs were missed"), "{}", reports[0].run.detail);
    assert!(programs.running.lock().unwrap().is_empty());
    // A minute late, it still runs.
    let reports = jobs.look(now("2026-11-22T05:01:00Z"));
    assert_eq!(reports.iter().map(|one| one.run.outcome).collect::<Vec<_>>(), [JobOutcome::Running]);
}

#[test]
fn when_the_collector_ends_its_jobs_end_with_it() {
    let (programs, mut kept) = (Programs::default(), Kept::default());
    let (mut jobs, _) = kept.start(&job("30 2 * * *", "UTC"), &programs, "2026-11-22T00:00:00Z");
    jobs.look(now("2026-11-22T02:30:00Z"));
    let reports = jobs.stop(now("2026-11-22T02:35:00Z"));
    assert_eq!((reports[0].run.outcome, &*reports[0].run.output), (JobOutcome::Stopped, "until then"));
    assert!(programs.running.lock().unwrap().contains(&"asked"));
}

/// A job that had failed a moment before, or was being killed at its deadline, was "stopped".
#[test]
fn a_job_that_is_over_or_past_its_deadline_when_the_collector_ends_is_said_to_be() {
    let (programs, mut kept) = (Programs::default(), Kept::default());
    let nightly = job("30 2 * * *", "UTC");
    let (mut jobs, _) = kept.start(&nightly, &programs, "2026-11-22T00:00:00Z");
    jobs.look(now("2026-11-22T02:30:00Z"));
    programs.ends(false);
    let reports = jobs.stop(now("2026-11-22T02:30:01Z"));
    assert_eq!((reports.len(), reports[0].run.outcome), (1, JobOutcome::Failed));
    let (mut jobs, _) = Kept::default().start(&nightly, &programs, "2026-11-22T00:00:00Z");
    jobs.look(now("2026-11-22T02:30:00Z"));
    jobs.look(now("2026-11-22T03:30:00Z"));
    let reports = jobs.stop(now("2026-11-22T03:30:01Z"));
    assert_eq!((reports.len(), reports[0].run.outcome), (1, JobOutcome::TimedOut));
}

#[test]
fn a_file_that_changed_leaves_a_running_job_alone_and_stops_one_that_is_gone() {
    let (programs, mut kept) = (Programs::default(), Kept::default());
    let nightly = job("30 2 * * *", "UTC");
    let (mut jobs, _) = kept.start(&nightly, &programs, "2026-11-22T00:00:00Z");
    jobs.look(now("2026-11-22T02:30:00Z"));
    let longer = Job { deadline: Duration::from_secs(7_200), ..nightly };
    assert_eq!(jobs.replace(vec![longer], |_| Vec::new(), now("2026-11-22T02:40:00Z")), []);
    jobs.look(now("2026-11-22T03:40:00Z"));
    assert_eq!(*programs.running.lock().unwrap(), ["started"], "the new deadline counts");
    let reports = jobs.replace(Vec::new(), |_| Vec::new(), now("2026-11-22T03:41:00Z"));
    assert_eq!(reports[0].run.outcome, JobOutcome::Stopped);
}
