//! The only writer to standard output and standard error, including progress.
//!
//! Names, server errors and arguments are made safe where they are put into a line
//! (`iostall_measure::foreign`); this is the second line of defence. Text from outside never controls the
//! terminal or starts a line of its own.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use iostall_measure::foreign::{guarded, shown};

use crate::cli::ColorChoice;
use crate::failure::hint_of;

/// Width of a report that does not go to a terminal.
const WIDTH_ELSEWHERE: usize = 120;

/// See the module. Clones write to the same place.
#[derive(Clone)]
pub(crate) struct Printer {
    quiet: bool,
    color: bool,
    /// Determined at the start: a terminal that is lost later no longer reports itself as one.
    stdout_is_terminal: bool,
    /// The progress line on the screen, to be cleared before anything else is written.
    bar: Arc<Mutex<Option<ProgressBar>>>,
}

impl Printer {
    pub(crate) fn new(quiet: bool, color: ColorChoice) -> Self {
        let stdout_is_terminal = io::stdout().is_terminal();
        let color = match color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => stdout_is_terminal && std::env::var_os("NO_COLOR").is_none(),
        };
        Self { quiet, color, stdout_is_terminal, bar: Arc::default() }
    }

    /// Whether reports may be coloured.
    pub(crate) fn color(&self) -> bool {
        self.color
    }

    /// Whether reports may use characters beyond ASCII: if the locale is UTF-8, or not set.
    pub(crate) fn unicode() -> bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
        locale.is_none_or(|value| {
            let value = value.to_ascii_lowercase();
            value.contains("utf-8") || value.contains("utf8") || value == "c" || value == "posix"
        })
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

    /// Shows `text` as the progress line, with `share` (0 to 1) as a bar. Only on a terminal, and not when
    /// quiet.
    pub(crate) fn progress(&self, share: f64, text: &str) {
        if self.quiet || !io::stderr().is_terminal() {
            return;
        }
        let Ok(mut bar) = self.bar.lock() else { return };
        let bar = bar.get_or_insert_with(new_bar);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a thousand fits, and float casts saturate"
        )]
        bar.set_position((share * 1000.0) as u64);
        bar.set_message(shown(text));
        bar.tick();
    }

    /// Clears the progress line.
    pub(crate) fn clear(&self) {
        if let Ok(mut bar) = self.bar.lock()
            && let Some(bar) = bar.take()
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

/// Indents a message of several lines, such as one that shows a place in a file, so that only the first looks
/// like ours.
fn indented(text: &str) -> String {
    text.trim_end().lines().map(shown).collect::<Vec<_>>().join("\n    ")
}

fn new_bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr_with_hz(10));
    let style = ProgressStyle::with_template("{bar:24.cyan/blue} {msg}");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
