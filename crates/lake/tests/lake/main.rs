//! The program end to end, on a real PostgreSQL, read back by pyiceberg and DuckDB.

mod attacks;
mod buckets;
mod days;
mod kills;
mod place;
mod postgres;
mod queries;
mod reader;
mod spark;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

/// Says why a test checked nothing, past the test harness, which keeps to itself what a test that passes prints.
pub(crate) fn skip(what: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {what}: {why}");
}

/// Runs the program.
pub(crate) fn lake(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_iostall-lake")).args(arguments).output().unwrap()
}

/// What a run that must succeed printed.
pub(crate) fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The names of all files below a directory, with what ends in `ending`.
pub(crate) fn files_below(directory: &Path, ending: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_below(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path.to_string_lossy().into_owned());
        }
    }
    found.sort();
    found
}
