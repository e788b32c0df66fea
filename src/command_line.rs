//! The command line as a command, and as stored with a run.

use std::ffi::OsString;

use clap::Parser;
use iostall_measure::foreign::{shown, without_passwords};
use iostall_session::recorder::Program;

use crate::cli::{self, Cli};

/// Parses the command line; prints the error and exits if it is invalid.
pub(crate) fn parse() -> Cli {
    let words = cli::as_diskspd(std::env::args_os().collect());
    Cli::try_parse_from(&words).unwrap_or_else(|error| {
        // The message repeats words, and shell expansion may have put a file's name in their place.
        let words = words.iter().map(|word| OsString::from(shown(&kept(word))));
        Cli::try_parse_from(words).err().unwrap_or(error).exit()
    })
}

/// The program as stored with a run, without passwords, because others may read the run later.
pub(crate) fn program() -> Program {
    let command_line = std::env::args_os().map(|word| kept(&word)).collect();
    Program { version: env!("CARGO_PKG_VERSION").to_owned(), command_line }
}

fn kept(word: &OsString) -> String {
    without_passwords(&word.to_string_lossy()).into_owned()
}
