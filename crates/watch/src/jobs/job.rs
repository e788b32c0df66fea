//! A job from the collector's file, and the interface to run it.

use std::time::Duration;

use super::calendar::Calendar;

#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub name: String,
    pub calendar: Calendar,
    /// The program and its arguments, run without a shell.
    pub command: Vec<String>,
    pub deadline: Duration,
    pub notify: Vec<String>,
    pub user: String,
}

impl Job {
    /// Name of the systemd units: `iostall-nightly-drill` for "nightly drill".
    pub fn unit_name(&self) -> String {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
        let plain: String =
            self.name.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).collect();
        format!("iostall-{plain}")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEnd {
    pub is_success: bool,
    /// Its exit status or signal, or why it could not be started.
    pub detail: String,
    pub output: String,
}

/// Starts jobs. No method blocks on a program.
pub trait JobRunner {
    /// Starts `job`. If that fails, the returned job has already ended, with the reason.
    fn start(&mut self, job: &Job) -> Box<dyn RunningJob>;
}

pub trait RunningJob {
    /// How it ended; `None` while it runs.
    fn poll(&mut self) -> Option<JobEnd>;

    fn ask_to_end(&mut self);

    fn kill(&mut self);

    /// Waits a few seconds after it was asked to end, then kills it.
    fn end(self: Box<Self>) -> JobEnd;
}
