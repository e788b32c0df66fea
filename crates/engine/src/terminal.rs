//! Asks a person at the terminal for a secret.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// The terminal of this process, even if standard input and output lead elsewhere.
const TERMINAL: &str = "/dev/tty";

/// Shows `prompt` and reads a line that is not shown while it is typed.
pub fn ask_secret(prompt: &str) -> io::Result<String> {
    let terminal = File::options().read(true).write(true).open(TERMINAL)?;
    let silent = Silent::new(&terminal)?;
    (&terminal).write_all(prompt.as_bytes())?;
    let mut line = String::new();
    let read = BufReader::new(&terminal).read_line(&mut line);
    drop(silent);
    (&terminal).write_all(b"\n")?;
    read?;
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Ok(line)
}

/// A terminal that does not echo, for as long as this value lives.
struct Silent<'a> {
    terminal: &'a File,
    before: Termios,
}

impl<'a> Silent<'a> {
    fn new(terminal: &'a File) -> io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(terminal, OptionalActions::Flush, &silent)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Silent<'_> {
    fn drop(&mut self) {
        // The shell sets its own modes anyway.
        let _ = tcsetattr(self.terminal, OptionalActions::Flush, &self.before);
    }
}
