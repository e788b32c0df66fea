//! The frame of the commands that measure, keep the run and report it.

use iostall_model::Run;
use iostall_store::SqliteStore;

use super::{Interrupted, Session};
use crate::cli::{EngineChoice, GlobalArgs, OutputArgs};
use crate::failure::Status;
use crate::output::{self, Delivery, Taken};
use crate::printer::Printer;
use crate::store::Recorder;

/// What these commands take alike.
pub(crate) struct Keeping<'a> {
    pub(crate) engine: EngineChoice,
    /// The run is not kept.
    pub(crate) no_store: bool,
    pub(crate) output: &'a OutputArgs,
    /// Where no output may be written.
    pub(crate) taken: Taken,
    pub(crate) global: &'a GlobalArgs,
    pub(crate) printer: &'a Printer,
}

impl Keeping<'_> {
    /// Has `measure` make a run, with the store where runs are kept, writes its forms, keeps it, and says with `judge` how it
    /// went where nobody stopped it.
    pub(crate) fn run(
        &self,
        measure: impl FnOnce(&Session<'_>, Option<&SqliteStore>) -> anyhow::Result<Run>,
        judge: impl FnOnce(&Run) -> Status,
    ) -> anyhow::Result<Status> {
        let outputs = output::check(self.output, &self.taken)?;
        let mut recorder = Recorder::begin(self.global, self.no_store, self.printer)?;
        let session = Session::begin(self.engine, self.printer)?;
        let run = match measure(&session, recorder.store()) {
            Err(error) if error.is::<Interrupted>() => {
                self.printer.error(&error);
                return Ok(Status::Interrupted);
            }
            other => other?,
        };
        let status = if session.interrupted() { Status::Interrupted } else { judge(&run) };
        Ok(Delivery::new(&outputs, self.output).give(&run, &mut recorder, status))
    }
}
