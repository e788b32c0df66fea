//! `iostall reference`: docs/reference.md.

use crate::cli::reference::reference;
use crate::failure::Status;
use crate::printer::Printer;

pub(crate) fn run(printer: &Printer) -> anyhow::Result<Status> {
    printer.result(&reference()?)?;
    Ok(Status::Done)
}
