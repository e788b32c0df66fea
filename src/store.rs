//! The store as commands use it.

use std::path::PathBuf;

use iostall_model::Run;
use iostall_store::{RunNumber, Selector, SqliteStore, Store, StoreError, default_path};

use crate::cli::GlobalArgs;
use crate::failure::hinted;

/// Opens the store that the command line names, or the user's own.
pub(crate) fn open(global: &GlobalArgs) -> anyhow::Result<SqliteStore> {
    let path: PathBuf = match &global.store {
        Some(path) => path.clone(),
        None => default_path().map_err(with_hint)?,
    };
    SqliteStore::open(&path).map_err(with_hint)
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
