//! The frame of the commands that measure, keep the run and report it.

use iostall_model::Run;
use iostall_store::SqliteStore;

use super::{Interrupted, Session};
use crate::cli::{EngineChoice, GlobalArgs, OutputArgs};
use crate::failure::Status;
use crate::output;
use crate::printer::Printer;
use crate::store;

/// What these commands take alike.
pub(crate) struct Keeping<'a> {
    pub(crate) engine: EngineChoice,
    /// The run is not kept.
    pub(crate) no_store: bool,
    pub(crate) output: &'a OutputArgs,
    pub(crate) global: &'a GlobalArgs,
    pub(crate) printer: &'a Printer,
}

impl Keeping<'_> {
    /// Has `measure` make a run, with the store where runs are kept, keeps it, writes its forms, and says with `judge` how it
    /// went where nobody stopped it.
    pub(crate) fn run(
        &self,
        measure: impl FnOnce(&Session<'_>, Option<&SqliteStore>) -> anyhow::Result<Run>,
        judge: impl FnOnce(&Run) -> Status,
    ) -> anyhow::Result<Status> {
        output::check(self.output)?;
        // Before the load: a store that cannot be used should not cost anybody a run.
        let mut store = if self.no_store { None } else { Some(store::open(self.global)?) };
        let session = Session::begin(self.engine, self.printer)?;
        let run = match measure(&session, store.as_ref()) {
            Err(error) if error.is::<Interrupted>() => {
                self.printer.error(&error);
                return Ok(Status::Interrupted);
            }
            other => other?,
        };
        let number = store.as_mut().map(|store| store::add(store, &run)).transpose()?;
        output::write(&run, number, self.output, self.printer)?;
        Ok(if session.interrupted() { Status::Interrupted } else { judge(&run) })
    }
}
