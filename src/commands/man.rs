//! `iostall man`: manual pages from the same description that parses the command line.

use std::fs;

use anyhow::Context;
use clap::CommandFactory;

use crate::cli::{Cli, ManArgs};
use crate::failure::{Status, hinted};
use crate::printer::Printer;

/// Prints iostall(1), or writes the page of every command into a directory.
pub(crate) fn run(args: &ManArgs, printer: &Printer) -> anyhow::Result<Status> {
    let Some(directory) = &args.directory else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut page)?;
        printer.result(&String::from_utf8(page)?)?;
        return Ok(Status::Done);
    };
    fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), directory))
        .with_context(|| format!("cannot write manual pages into {}", directory.display()))
        .map_err(|error| hinted(error, "name a directory that this user may write to"))?;
    printer.note(&format!(
        "wrote the manual pages into {0}; `man -l {0}/iostall.1` shows the first",
        directory.display()
    ));
    Ok(Status::Done)
}
