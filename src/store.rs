//! Opens the store for commands.

use std::path::PathBuf;

use iostall_session::output::Taken;
use iostall_session::run_writer::RunWriter;
use iostall_store::{Selector, SqliteHistory, SqliteStore, StoreError, default_path};

use crate::cli::GlobalArgs;
use crate::failure::hinted;
use crate::printer::Printer;

/// The store named on the command line, or the user's own.
pub(crate) fn path(global: &GlobalArgs) -> Result<PathBuf, StoreError> {
    global.store.clone().map_or_else(default_path, Ok)
}

pub(crate) fn open(global: &GlobalArgs) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(path(global)?)
}

/// Opens the same store for the history of watched sources.
pub(crate) fn open_watch(global: &GlobalArgs) -> Result<SqliteHistory, StoreError> {
    SqliteHistory::open(path(global)?)
}

pub(crate) fn taken(global: &GlobalArgs) -> Taken {
    path(global).map_or_else(|_| Taken::default(), |path| Taken::default().store(path))
}

/// The writer that stores a command's runs. Warns now if storing may fail.
pub(crate) fn run_writer(
    global: &GlobalArgs,
    no_store: bool,
    printer: &Printer,
) -> anyhow::Result<RunWriter> {
    let (writer, warning) = RunWriter::begin(global.store.clone(), !no_store)?;
    if let Some(warning) = warning {
        printer.warning(&warning.into());
    }
    Ok(writer)
}

pub(crate) fn selector(text: &str) -> anyhow::Result<Selector> {
    text.parse()
        .map_err(|error: iostall_store::SelectorError| hinted(error, "`iostall runs` lists the stored runs"))
}
