//! What was typed: as a command, and as it is kept with a run.

use std::ffi::OsString;

use clap::Parser;
use iostall_measure::foreign::{shown, without_passwords};
use iostall_session::recorder::Program;

use crate::cli::{self, Cli};

/// Reads the command line; says what is wrong with it and ends the program where it cannot be understood.
pub(crate) fn parse() -> Cli {
    let words = cli::as_diskspd(std::env::args_os().collect());
    Cli::try_parse_from(&words).unwrap_or_else(|error| {
        // The message repeats words, and a shell may have put a file's name in their place.
        let words = words.iter().map(|word| OsString::from(shown(&kept(word))));
        Cli::try_parse_from(words).err().unwrap_or(error).exit()
    })
}

/// The program as it is kept with a run: whoever reads the run later shall not read a password.
pub(crate) fn program() -> Program {
    let command_line = std::env::args_os().map(|word| kept(&word)).collect();
    Program { version: env!("CARGO_PKG_VERSION").to_owned(), command_line }
}

fn kept(word: &OsString) -> String {
    without_passwords(&word.to_string_lossy()).into_owned()
}
