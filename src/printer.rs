//! The only writer to standard output and standard error, including progress.
//!
//! Names, server errors and arguments are made safe where they are put into a line
//! (`iostall_measure::foreign`); this is the second line of defence. Text from outside never controls the
//! terminal or starts a line of its own.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use iostall_measure::clock::Every;
use iostall_measure::foreign::{guarded, indented, shown};
use iostall_measure::{Clock, MonotonicClock};

use crate::cli::ColorChoice;
use crate::failure::hint_of;

const MINUTE_NS: u64 = 60_000_000_000;
/// Width of a report that does not go to a terminal.
const WIDTH_ELSEWHERE: usize = 120;

/// Clones write to the same place.
#[derive(Clone)]
pub(crate) struct Printer {
    quiet: bool,
    color: bool,
    /// Determined at the start: a terminal that is lost later no longer reports itself as one.
    stdout_is_terminal: bool,
    progress: Arc<Mutex<Progress>>,
}

struct Progress {
    /// The line on the screen, to be cleared before anything else is written.
    bar: Option<ProgressBar>,
    line: Option<String>,
    clock: MonotonicClock,
    /// When a line is due without a terminal.
    lines: Every,
}

impl Printer {
    pub(crate) fn new(quiet: bool, color: ColorChoice) -> Self {
        let stdout_is_terminal = io::stdout().is_terminal();
        let color = match color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => stdout_is_terminal && std::env::var_os("NO_COLOR").is_none(),
        };
        let (clock, lines) = (MonotonicClock::new(), Every::nanos(MINUTE_NS));
        let progress = Progress { bar: None, line: None, clock, lines };
        Self { quiet, color, stdout_is_terminal, progress: Arc::new(Mutex::new(progress)) }
    }

    pub(crate) fn color(&self) -> bool {
        self.color
    }

    pub(crate) fn quiet(&self) -> bool {
        self.quiet
    }

    /// Columns of the terminal, or a fixed width without one.
    pub(crate) fn width() -> usize {
        if !io::stdout().is_terminal() {
            return WIDTH_ELSEWHERE;
        }
        console::Term::stdout()
            .size_checked()
            .map_or(WIDTH_ELSEWHERE, |(_rows, columns)| usize::from(columns))
    }

    /// Writes a report to standard output. A reader that closes the pipe (`| head`, a lost terminal) is no
    /// error.
    pub(crate) fn result(&self, text: &str) -> io::Result<()> {
        self.to_stdout(guarded(text, self.color).as_bytes())
    }

    /// Writes a document to standard output: unchanged, or like a report on a terminal.
    pub(crate) fn document(&self, bytes: &[u8]) -> io::Result<()> {
        if io::stdout().is_terminal() {
            return self.result(&String::from_utf8_lossy(bytes));
        }
        self.to_stdout(bytes)
    }

    fn to_stdout(&self, bytes: &[u8]) -> io::Result<()> {
        self.clear();
        let mut out = io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            // A terminal fails a write for no other reason.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe || self.stdout_is_terminal => Ok(()),
            other => other,
        }
    }

    /// Prints a note on one line of standard error, unless quiet.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.to_stderr(&format!("{}\n", shown(text)));
        }
    }

    /// The same with a hint on the next line.
    pub(crate) fn advise(&self, text: &str, hint: &str) {
        if !self.quiet {
            self.to_stderr(&format!("{}\nhint: {}\n", shown(text), shown(hint)));
        }
    }

    /// Prints an error, its causes, and its hint.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        self.say("error", error);
    }

    /// The same for an error that does not end the command.
    pub(crate) fn warning(&self, error: &anyhow::Error) {
        self.say("warning", error);
    }

    fn say(&self, word: &str, error: &anyhow::Error) {
        let mut text = format!("{word}: {}\n", indented(&error.to_string()));
        let mut said = error.to_string();
        for cause in error.chain().skip(1) {
            let cause = cause.to_string();
            if !said.contains(&cause) {
                text.push_str(&format!("  because: {}\n", indented(&cause)));
                said.push_str(&cause);
            }
        }
        if let Some(hint) = hint_of(error) {
            text.push_str(&format!("hint: {}\n", indented(&hint)));
        }
        self.to_stderr(&text);
    }

    /// Asks for the password of the source `name`; `None` without a terminal.
    pub(crate) fn ask_password(name: &str) -> io::Result<Option<String>> {
        let term = console::Term::stderr();
        if !term.is_term() {
            return Ok(None);
        }
        term.write_str(&format!("password for {}: ", shown(name)))?;
        term.read_secure_line().map(Some)
    }

    /// Shows `text` as the progress line, with `share` (0 to 1) as a bar. Without a terminal, one line a minute. Nothing when quiet.
    pub(crate) fn progress(&self, share: f64, text: &str) {
        let text = shown(text);
        let Ok(mut progress) = self.progress.lock() else { return };
        progress.line = Some(text.clone());
        if self.quiet {
            return;
        }
        if !io::stderr().is_terminal() {
            let now_ns = progress.clock.now_ns();
            let is_due = progress.lines.is_due(now_ns);
            drop(progress);
            if is_due {
                self.to_stderr(&format!("{text}\n"));
            }
            return;
        }
        let bar = progress.bar.get_or_insert_with(new_bar);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a thousand fits, and float casts saturate"
        )]
        bar.set_position((share * 1000.0) as u64);
        bar.set_message(text);
        bar.tick();
    }

    /// Prints where the work is, for whoever asked with a signal: also when quiet.
    pub(crate) fn status(&self) {
        let line = self.progress.lock().ok().and_then(|progress| progress.line.clone());
        let line = line.unwrap_or_else(|| "nothing to report yet".to_owned());
        self.to_stderr(&format!("status: {line}\n"));
    }

    pub(crate) fn clear(&self) {
        if let Ok(mut progress) = self.progress.lock()
            && let Some(bar) = progress.bar.take()
        {
            bar.finish_and_clear();
        }
    }

    fn to_stderr(&self, text: &str) {
        self.clear();
        // If standard error is gone, there is no way to report anything.
        drop(io::stderr().lock().write_all(text.as_bytes()));
    }
}

fn new_bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr_with_hz(10));
    let style = ProgressStyle::with_template("{bar:24.cyan/blue} {wide_msg}");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
