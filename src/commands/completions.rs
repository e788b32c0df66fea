//! `iostall completions`: completion rules for shells.

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs};
use crate::failure::Status;
use crate::printer::Printer;

/// Prints the rules for one shell.
pub(crate) fn run(args: &CompletionsArgs, printer: &Printer) -> anyhow::Result<Status> {
    let mut rules = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "iostall", &mut rules);
    printer.result(&String::from_utf8(rules)?)?;
    Ok(Status::Done)
}
