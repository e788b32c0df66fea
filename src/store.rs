//! The store as commands use it.

use std::path::PathBuf;

use iostall_model::Run;
use iostall_store::{RunNumber, Selector, SqliteHistory, SqliteStore, Store, StoreError, default_path};

use crate::cli::GlobalArgs;
use crate::failure::{Hinted, hinted};
use crate::printer::Printer;

/// The store that the command line names, or the user's own.
pub(crate) fn path(global: &GlobalArgs) -> anyhow::Result<PathBuf> {
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
pub(crate) fn open_watch(global: &GlobalArgs) -> anyhow::Result<SqliteHistory> {
    SqliteHistory::open(path(global)?).map_err(with_hint)
}

/// Keeps the runs of a command, where that is wanted and can be done.
pub(crate) struct Recorder<'a> {
    global: &'a GlobalArgs,
    printer: &'a Printer,
    wanted: bool,
    store: Option<SqliteStore>,
}

impl<'a> Recorder<'a> {
    /// Opens the store, unless `no_store`. One that cannot be used is a warning now, while something can be done about it, and
    /// no reason not to measure.
    ///
    /// # Errors
    /// Where the file that was named is something else: that is a slip, and not the state of a machine.
    pub(crate) fn begin(
        global: &'a GlobalArgs,
        no_store: bool,
        printer: &'a Printer,
    ) -> anyhow::Result<Self> {
        let mut recorder = Self { global, printer, wanted: !no_store, store: None };
        if recorder.wanted {
            match path(global).and_then(|path| Ok(SqliteStore::open(path)?)) {
                Ok(store) => recorder.store = Some(store),
                Err(error) => recorder.say_unusable(error)?,
            }
        }
        Ok(recorder)
    }

    fn say_unusable(&self, error: anyhow::Error) -> anyhow::Result<()> {
        let (error, hint) = match error.downcast::<StoreError>() {
            Ok(error @ StoreError::Foreign { .. }) => return Err(with_hint(error)),
            Ok(error) => {
                let hint = error.hint().map(|hint| format!("{hint}; "));
                (error.into(), hint)
            }
            Err(error) => {
                let hint = error.downcast_ref::<Hinted>().map(|hinted| format!("{}; ", hinted.hint));
                (error, hint)
            }
        };
        let error = error.context("what is measured now can perhaps not be kept");
        let hint = hint.unwrap_or_default() + "--json FILE keeps all of it without a store";
        self.printer.warning(&hinted(error, hint));
        Ok(())
    }

    /// Where it says things.
    pub(crate) fn printer(&self) -> &'a Printer {
        self.printer
    }

    /// The store, where it could be opened.
    pub(crate) fn store(&self) -> Option<&SqliteStore> {
        self.store.as_ref()
    }

    /// Keeps a run; `None` where that is not wanted. A store that could not be opened may have become usable.
    pub(crate) fn record(&mut self, run: &Run) -> anyhow::Result<Option<RunNumber>> {
        if !self.wanted {
            return Ok(None);
        }
        let store = match &mut self.store {
            Some(store) => store,
            none => none.insert(open(self.global)?),
        };
        Ok(Some(store.add(run).map_err(with_hint)?))
    }
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
