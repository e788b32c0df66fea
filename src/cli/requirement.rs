//! The values of `--require`: what a command can judge, in one grammar for all of them.

use iostall_model::requirement::{Basis, Requirement};

/// For a command that makes or shows a run.
pub(super) fn of_run(text: &str) -> Result<Requirement, String> {
    parse(Basis::Run, text)
}

/// For a comparison.
pub(super) fn of_comparison(text: &str) -> Result<Requirement, String> {
    parse(Basis::Comparison, text)
}

/// For a report on watched sources.
pub(super) fn of_window(text: &str) -> Result<Requirement, String> {
    parse(Basis::Window, text)
}

fn parse(basis: Basis, text: &str) -> Result<Requirement, String> {
    Requirement::parse_for(basis, text).map_err(|error| format!("{error}\nhint: {}", error.hint()))
}
