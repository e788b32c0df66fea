//! Schedules the jobs of a collector.
//!
//! 1. A job runs once at each time of its calendar, even if the clock is set back.
//! 2. A run that was due while the collector was down or delayed is reported as missed.
//! 3. If the previous run has not ended, the new one is reported as skipped.
//! 4. At its deadline the whole process group is asked to end, and killed [`GRACE_NS`] later.
//! 5. A failure notifies the job's channels, and so does the first success after it.

mod calendar;
mod cron;
mod job;
mod process;
mod units;

#[cfg(test)]
mod tests;

use iostall_model::alert::{Now, Occasion};
use iostall_model::job::{JobNotice, JobOutcome, JobRun};
use jiff::{SignedDuration, Timestamp};

pub use calendar::Calendar;
pub use job::{Job, JobEnd, JobRunner, RunningJob};
pub use process::ProcessRunner;
pub use units::{units_text, write_units};

const GRACE_NS: u64 = 10_000_000_000;
const LATE_MAX: SignedDuration = SignedDuration::from_mins(10);
/// If the clock is set back further than this, a job runs again at times it already ran.
const SET_BACK_MAX: SignedDuration = SignedDuration::from_hours(24);
const COUNTED_MAX: u64 = 10_000;

#[derive(Clone, Debug, PartialEq)]
pub struct JobReport {
    pub run: JobRun,
    pub notice: Option<JobNotice>,
}

struct Active {
    handle: Box<dyn RunningJob>,
    run: JobRun,
    began_ns: u64,
    /// When it was asked to end after its deadline.
    asked_ns: Option<u64>,
}

struct Scheduled {
    job: Job,
    next: Option<Timestamp>,
    active: Option<Active>,
    is_failing: bool,
}

pub struct Jobs {
    runner: Box<dyn JobRunner + Send>,
    all: Vec<Scheduled>,
    looked: Timestamp,
}

impl Jobs {
    pub fn new(runner: impl JobRunner + Send + 'static) -> Self {
        Self { runner: Box::new(runner), all: Vec::new(), looked: Timestamp::MIN }
    }

    /// Replaces the jobs. `history` returns the newest runs of a job, newest first. A run in progress
    /// continues as a run of the new job with the same name. Reports runs that were missed while the
    /// collector was down.
    pub fn replace(
        &mut self,
        jobs: Vec<Job>,
        mut history: impl FnMut(&Job) -> Vec<JobRun>,
        now: Now,
    ) -> Vec<JobReport> {
        let mut reports = Vec::new();
        let mut before = std::mem::take(&mut self.all);
        for job in jobs {
            let known = before.iter().position(|one| one.job.name == job.name);
            if let Some(place) = known {
                let mut one = before.swap_remove(place);
                let is_new_calendar = one.job.calendar != job.calendar;
                one.job = job;
                if is_new_calendar {
                    reports.push(one.plan(now));
                }
                self.all.push(one);
                continue;
            }
            let runs = history(&job);
            let next = job.calendar.after(now.utc);
            let mut one = Scheduled { next, job, active: None, is_failing: false };
            one.resume(&runs, now, &mut reports);
            self.all.push(one);
        }
        // Ended now, because nothing knows the deadline of a removed job any more.
        for gone in &mut before {
            reports.extend(gone.stop("the job is no longer in the file", now));
        }
        reports
    }

    pub fn look(&mut self, now: Now) -> Vec<JobReport> {
        let mut reports = Vec::new();
        // If the clock is set back this far, it was wrong before, and the next time computed from it may be
        // years away.
        let is_set_back = self.looked.duration_since(now.utc) > SET_BACK_MAX;
        self.looked = now.utc;
        for one in &mut self.all {
            if is_set_back {
                one.next = one.job.calendar.after(now.utc);
            }
            reports.extend(one.look_after(now));
            one.start_due(self.runner.as_mut(), now, &mut reports);
        }
        reports
    }

    pub fn stop(&mut self, now: Now) -> Vec<JobReport> {
        // One that has ended since the last look ended by itself.
        let mut reports: Vec<JobReport> = self.all.iter_mut().filter_map(|one| one.look_after(now)).collect();
        for active in self.all.iter_mut().filter_map(|one| one.active.as_mut()) {
            active.handle.ask_to_end();
        }
        reports.extend(self.all.iter_mut().filter_map(|one| one.stop("the collector ended", now)));
        reports
    }
}

impl Scheduled {
    fn resume(&mut self, runs: &[JobRun], now: Now, reports: &mut Vec<JobReport>) {
        let newest_end = runs.iter().find(|run| run.outcome != JobOutcome::Planned);
        self.is_failing = newest_end.is_some_and(|run| run.outcome.is_failure());
        for run in runs.iter().filter(|run| run.outcome == JobOutcome::Running) {
            let detail = "the collector ended without a word while it was running".to_owned();
            let run = JobRun { outcome: JobOutcome::Stopped, detail, ended: Some(now.utc), ..run.clone() };
            reports.push(self.report(run));
        }
        let calendar = self.job.calendar.to_string();
        // Runs of an earlier calendar do not count.
        let known = runs.iter().filter(|run| run.calendar == calendar).map(|run| run.due).max();
        match known {
            None => reports.push(self.plan(now)),
            Some(since) => {
                let (count, last) = self.due_between(since, now.utc);
                if let Some(last) = last {
                    reports.push(self.missed(count, last, "the collector was not running"));
                }
            }
        }
    }

    fn plan(&mut self, now: Now) -> JobReport {
        self.next = self.job.calendar.after(now.utc);
        JobReport { run: self.run(now.utc, JobOutcome::Planned, String::new()), notice: None }
    }

    /// How often it was due after `since` and up to `until`, and the last of these times.
    fn due_between(&self, since: Timestamp, until: Timestamp) -> (u64, Option<Timestamp>) {
        let (mut count, mut last) = (0, None);
        let mut next = self.job.calendar.after(since);
        while let Some(due) = next.filter(|due| *due <= until && count < COUNTED_MAX) {
            (count, last) = (count + 1, Some(due));
            next = self.job.calendar.after(due);
        }
        (count, last)
    }

    fn missed(&mut self, count: u64, last: Timestamp, why: &str) -> JobReport {
        let detail = match count {
            1 => why.to_owned(),
            COUNTED_MAX => format!("{why}; at least {COUNTED_MAX} runs were missed"),
            _ => format!("{why}; {count} runs were missed, this is the last of them"),
        };
        let run = self.run(last, JobOutcome::Missed, detail);
        self.report(run)
    }

    fn look_after(&mut self, now: Now) -> Option<JobReport> {
        let deadline_ns = u64::try_from(self.job.deadline.as_nanos()).unwrap_or(u64::MAX);
        let active = self.active.as_mut()?;
        if let Some(end) = active.handle.poll() {
            let Active { run, asked_ns, .. } = self.active.take()?;
            let (outcome, detail) = match (asked_ns, end.is_success) {
                (Some(_), _) => self.timed_out(),
                (None, true) => (JobOutcome::Succeeded, end.detail),
                (None, false) => (JobOutcome::Failed, end.detail),
            };
            let run = JobRun { ended: Some(now.utc), outcome, detail, output: end.output, ..run };
            return Some(self.report(run));
        }
        match active.asked_ns {
            None if now.clock_ns.saturating_sub(active.began_ns) >= deadline_ns => {
                active.asked_ns = Some(now.clock_ns);
                active.handle.ask_to_end();
            }
            Some(asked_ns) if now.clock_ns.saturating_sub(asked_ns) >= GRACE_NS => active.handle.kill(),
            _ => {}
        }
        None
    }

    fn start_due(&mut self, runner: &mut dyn JobRunner, now: Now, reports: &mut Vec<JobReport>) {
        let Some(first) = self.next.filter(|next| *next <= now.utc) else { return };
        let (further, last) = self.due_between(first, now.utc);
        let due = last.unwrap_or(first);
        // Never at or before a time that was already due, so that setting the clock back does not run a job
        // twice.
        self.next = self.job.calendar.after(due.max(now.utc));
        let is_late = now.utc.duration_since(due) > LATE_MAX;
        let missed = further + u64::from(is_late);
        if missed > 0 {
            let place = if is_late { due } else { first };
            let why = "the collector was held up, or the machine slept";
            reports.push(self.missed(missed, place, why));
        }
        if is_late {
            return;
        }
        if let Some(active) = &self.active {
            let detail = format!("the run of {:.0} has not ended", active.run.due);
            let run = self.run(due, JobOutcome::Skipped, detail);
            reports.push(self.report(run));
            return;
        }
        let run = JobRun { began: Some(now.utc), ..self.run(due, JobOutcome::Running, String::new()) };
        let handle = runner.start(&self.job);
        self.active = Some(Active { handle, run: run.clone(), began_ns: now.clock_ns, asked_ns: None });
        reports.push(JobReport { run, notice: None });
    }

    fn stop(&mut self, why: &str, now: Now) -> Option<JobReport> {
        let Active { mut handle, run, asked_ns, .. } = self.active.take()?;
        handle.ask_to_end();
        let JobEnd { output, .. } = handle.end();
        let (outcome, detail) = match asked_ns {
            Some(_) => self.timed_out(),
            None => (JobOutcome::Stopped, why.to_owned()),
        };
        let run = JobRun { ended: Some(now.utc), outcome, detail, output, ..run };
        Some(self.report(run))
    }

    fn timed_out(&self) -> (JobOutcome, String) {
        (JobOutcome::TimedOut, format!("killed at its deadline of {:?}", self.job.deadline))
    }

    fn run(&self, due: Timestamp, outcome: JobOutcome, detail: String) -> JobRun {
        JobRun {
            job: self.job.name.clone(),
            due,
            calendar: self.job.calendar.to_string(),
            began: None,
            ended: None,
            outcome,
            detail,
            output: String::new(),
        }
    }

    fn report(&mut self, run: JobRun) -> JobReport {
        let was_failing = std::mem::replace(&mut self.is_failing, run.outcome.is_failure());
        let occasion = match (run.outcome.is_failure(), was_failing) {
            // A job that hangs may be due every minute; one notice is enough.
            (true, true) if run.outcome == JobOutcome::Skipped => None,
            (true, _) => Some(Occasion::Firing),
            (false, true) => Some(Occasion::Resolved),
            (false, false) => None,
        };
        let notice = occasion.filter(|_| !self.job.notify.is_empty()).map(|occasion| JobNotice {
            occasion,
            channels: self.job.notify.clone(),
            run: run.clone(),
        });
        JobReport { run, notice }
    }
}
