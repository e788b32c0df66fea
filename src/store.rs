//! The store as commands use it.

use std::path::PathBuf;

use iostall_model::Run;
use iostall_store::{RunNumber, Selector, SqliteStore, Store, StoreError, WatchStore, default_path};

use crate::cli::GlobalArgs;
use crate::failure::hinted;

/// The store that the command line names, or the user's own.
fn path(global: &GlobalArgs) -> anyhow::Result<PathBuf> {
    match &global.store {
        Some(path) => Ok(path.clone()),
        None => default_path().map_err(with_hint),
    }
}

/// Opens the store for runs.
pub(crate) fn open(global: &GlobalArgs) -> anyhow::Result<SqliteStore> {
    SqliteStore::open(path(global)?).map_err(with_hint)
}

/// Opens the same store for the history of watched sources.
pub(crate) fn open_watch(global: &GlobalArgs) -> anyhow::Result<WatchStore> {
    WatchStore::open(path(global)?).map_err(with_hint)
}

/// Keeps a run.
pub(crate) fn add(store: &mut SqliteStore, run: &Run) -> anyhow::Result<RunNumber> {
    store.add(run).map_err(with_hint)
}

/// Reads the name of a run as typed.
pub(crate) fn selector(text: &str) -> anyhow::Result<Selector> {
    text.parse()
        .map_err(|error: iostall_store::SelectorError| hinted(error, "`iostall runs` lists what is there"))
}

/// The error with the store's own advice.
pub(crate) fn with_hint(error: StoreError) -> anyhow::Error {
    match error.hint() {
        Some(hint) => hinted(error, hint),
        None => error.into(),
    }
}
