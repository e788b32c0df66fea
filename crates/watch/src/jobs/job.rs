//! A job as its file describes it, and who runs it.

use std::time::Duration;

use super::calendar::Calendar;

/// A command that runs at set times.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// When it runs.
    pub calendar: Calendar,
    /// The program and its arguments, read by no shell.
    pub command: Vec<String>,
    /// How long a run may take.
    pub deadline: Duration,
    /// The names of the channels that are notified when it fails.
    pub notify: Vec<String>,
    /// The account that systemd runs it under.
    pub user: String,
}

impl Job {
    /// What systemd's units are called: `iostall-nightly-drill` for "nightly drill".
    pub fn unit_name(&self) -> String {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
        let plain: String =
            self.name.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).collect();
        format!("iostall-{plain}")
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEnd {
    /// Whether the program ended with status 0.
    pub is_success: bool,
    /// Its exit status or signal, or why it could not be started.
    pub detail: String,
    /// The last lines it wrote.
    pub output: String,
}

/// Starts jobs. None of its methods waits for a program.
pub trait JobRunner {
    /// Starts `job`. One that cannot be started ends at once, with the reason.
    fn start(&mut self, job: &Job) -> Box<dyn RunningJob>;
}

/// A program that is running, with everything that it started in turn.
pub trait RunningJob {
    /// Its end, once it has ended.
    fn poll(&mut self) -> Option<JobEnd>;

    /// Asks it to end.
    fn ask_to_end(&mut self);

    /// Ends it.
    fn kill(&mut self);

    /// Waits a few seconds for its end after it was asked to, then ends it.
    fn end(self: Box<Self>) -> JobEnd;
}
