//! `iostall man`: manual pages from the same description that parses the command line.

use std::fs;
use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;
use clap_mangen::Man;
use iostall_measure::foreign::shell_path;

use crate::cli::{Cli, ManArgs};
use crate::failure::{Status, hinted};
use crate::output::Place;
use crate::printer::Printer;

/// Prints iostall(1), or writes the page of every command into a directory.
pub(crate) fn run(args: &ManArgs, printer: &Printer) -> anyhow::Result<Status> {
    let Some(directory) = &args.directory else {
        let mut page = Vec::new();
        Man::new(Cli::command()).render(&mut page)?;
        printer.result(&String::from_utf8(page)?)?;
        return Ok(Status::Done);
    };
    write_pages(directory)
        .with_context(|| format!("cannot write manual pages into {}", directory.display()))
        .map_err(|error| hinted(error, "name a directory that this user may write to"))?;
    printer.note(&format!(
        "wrote the manual pages into {0}; `man -l {1}` shows the first",
        directory.display(),
        shell_path(&directory.join("iostall.1"))
    ));
    Ok(Status::Done)
}

fn write_pages(directory: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(directory)?;
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    let mut commands = vec![root];
    while let Some(command) = commands.pop() {
        commands.extend(command.get_subcommands().filter(|below| !below.is_hide_set()).cloned());
        let page = Man::new(command);
        let place = Place::of(&directory.join(page.get_filename()))?;
        place.check_writable()?;
        place.write(&|out| page.render(out), &|| ())?;
    }
    Ok(())
}
