//! Keeps runs: in the store where that can be done, else in a file, so that hours of measuring are not lost over a full disk.

use std::io::{self, Write};
use std::path::PathBuf;

use iostall_engine::output::Place;
use iostall_model::Run;
use iostall_store::{RunNumber, SqliteStore, Store, StoreError, default_path};
use thiserror::Error;

pub type WriteDocument<'a> = &'a dyn Fn(&mut dyn Write) -> io::Result<()>;

pub struct RunWriter {
    wanted: bool,
    named: Option<PathBuf>,
    store: Option<SqliteStore>,
}

/// A run that is not in the store, and where else it is.
#[derive(Debug, Error)]
#[error("{what}")]
pub struct NotKept {
    what: &'static str,
    elsewhere: String,
    source: Box<StoreError>,
}

impl NotKept {
    pub fn hint(&self) -> String {
        let hint = self.source.hint().map(|hint| hint + "; ").unwrap_or_default();
        hint + &self.elsewhere
    }
}

impl RunWriter {
    /// Opens the store that is named, or the user's own, where runs are wanted there. One that cannot be used is a
    /// warning now, while something can be done about it, and no reason not to measure. A file that was named and is
    /// something else is an error: that is a slip, and not the state of a machine.
    pub fn begin(named: Option<PathBuf>, wanted: bool) -> Result<(Self, Option<NotKept>), StoreError> {
        let mut writer = Self { wanted, named, store: None };
        if !wanted {
            return Ok((writer, None));
        }
        let source = match open_store(writer.named.as_ref()) {
            Ok(store) => {
                writer.store = Some(store);
                return Ok((writer, None));
            }
            Err(error @ StoreError::Foreign { .. }) => return Err(error),
            Err(error) => error,
        };
        let elsewhere = "--json FILE keeps the complete run without a store".to_owned();
        Ok((
            writer,
            Some(NotKept {
                what: "the results of this run may not be stored",
                elsewhere,
                source: Box::new(source),
            }),
        ))
    }

    pub fn store(&self) -> Option<&SqliteStore> {
        self.store.as_ref()
    }

    /// Stores a run; `None` if that is not wanted. `has_document` means that the complete run is already in a
    /// file; otherwise, if the store fails, it is written to the working directory.
    pub fn keep(
        &mut self,
        run: &Run,
        has_document: bool,
        document: WriteDocument<'_>,
    ) -> Result<Option<RunNumber>, NotKept> {
        let was_usable = self.store.is_some();
        let source = match self.add(run) {
            Ok(number) => return Ok(number),
            Err(error) => error,
        };
        let elsewhere = match (has_document, was_usable) {
            (true, _) => "the JSON output contains the complete run".to_owned(),
            // The user was warned before the run. This may be the case for every run, so do not write a file
            // each time.
            (false, false) => "--json FILE keeps a complete run without a store".to_owned(),
            (false, true) => rescue(run, document),
        };
        Err(NotKept { what: "the run could not be stored", elsewhere, source: Box::new(source) })
    }

    /// A store that could not be opened may have become usable.
    fn add(&mut self, run: &Run) -> Result<Option<RunNumber>, StoreError> {
        if !self.wanted {
            return Ok(None);
        }
        let store = match &mut self.store {
            Some(store) => store,
            none => none.insert(open_store(self.named.as_ref())?),
        };
        store.keep(run).map(Some)
    }
}

fn open_store(named: Option<&PathBuf>) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(named.map_or_else(default_path, |path| Ok(path.clone()))?)
}

/// Writes the document of a run that would else be lost into the working directory; where it is now.
fn rescue(run: &Run, document: WriteDocument<'_>) -> String {
    let path = PathBuf::from(format!("iostall-{}-{}.json", run.body.kind(), run.id));
    let place = Place::of(&path).map_err(io::Error::other);
    match place.and_then(|place| place.write(document, &|| ())) {
        Ok(()) => format!("the complete run was written to {}", path.display()),
        Err(error) => {
            format!("it could not be written to a file in this directory either ({error}); use --json FILE")
        }
    }
}
