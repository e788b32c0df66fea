//! `iostall man`: manual pages.

use std::fs;
use std::path::Path;

use anyhow::Context;
use iostall_measure::foreign::shell_path;
use iostall_session::output::Place;

use crate::cli::ManArgs;
use crate::cli::man::Page;
use crate::failure::{Status, hinted};
use crate::printer::Printer;

pub(crate) fn run(args: &ManArgs, printer: &Printer) -> anyhow::Result<Status> {
    let Some(directory) = &args.directory else {
        let mut page = Vec::new();
        Page::first().write(&mut page)?;
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
    for page in Page::all() {
        let place = Place::of(&directory.join(page.file_name()))?;
        place.check_writable()?;
        place.write(&|out| page.write(out), &|| ())?;
    }
    Ok(())
}
