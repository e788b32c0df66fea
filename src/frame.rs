//! The frame of the commands that measure: listens for Ctrl-C, begins a session, keeps the run and writes its forms.

use std::sync::Arc;

use iostall_load::window::StopToken;
use iostall_measure::{Clock, RunClock};
use iostall_model::{Run, WarningCode};
use iostall_session::output::Taken;
use iostall_session::transfer::Transfer;
use iostall_session::{Dependencies, EngineChoice, Session};
use iostall_store::SqliteStore;

use crate::cli::{GlobalArgs, NiceChoice, OutputArgs};
use crate::command_line;
use crate::failure::{Status, is_interrupted};
use crate::interrupt::on_signal;
use crate::output::{self, Delivery};
use crate::printer::Printer;
use crate::store::run_writer;

/// What these commands take alike.
pub(crate) struct Frame<'a> {
    pub(crate) engine: EngineChoice,
    /// The run is not kept.
    pub(crate) no_store: bool,
    pub(crate) output: &'a OutputArgs,
    /// Where no output may be written.
    pub(crate) taken: Taken,
    pub(crate) global: &'a GlobalArgs,
    pub(crate) printer: &'a Printer,
}

impl Frame<'_> {
    /// Has `measure` make a run, with the store where runs are kept, writes its forms, keeps it, and says with `status` how it
    /// went where nobody stopped it.
    pub(crate) fn run(
        &self,
        measure: impl FnOnce(&Session<'_>, Option<&SqliteStore>) -> anyhow::Result<Run>,
        status: impl FnOnce(&Run) -> Status,
    ) -> anyhow::Result<Status> {
        let outputs = output::check(self.output, &self.taken)?;
        let mut writer = run_writer(self.global, self.no_store, self.printer)?;
        let stop = Arc::new(StopToken::default());
        let session = begin_session(self.engine.clone(), &stop, self.printer)?;
        let run = match measure(&session, writer.store()) {
            Err(error) if is_interrupted(&error) => {
                self.printer.error(&error);
                return Ok(Status::Interrupted);
            }
            other => other?,
        };
        let status = if session.interrupted() { Status::Interrupted } else { status(&run) };
        Ok(Delivery::new(&outputs, self.output, self.printer).give(&run, &mut writer, status))
    }
}

/// Begins a session that tells `printer`, and to listen for Ctrl-C. Once a process.
pub(crate) fn begin_session<'a>(
    engine: EngineChoice,
    stop: &'a Arc<StopToken>,
    printer: &'a Printer,
) -> anyhow::Result<Session<'a>> {
    let clock = listen(stop, printer)?;
    let program = command_line::program();
    Ok(Session::begin(engine, Dependencies { program, clock, stop, observer: printer })?)
}

/// Begins a transfer, and to listen for Ctrl-C. Once a process.
pub(crate) fn begin_transfer(nice: Option<NiceChoice>, printer: &Printer) -> anyhow::Result<Transfer> {
    let stop = Arc::new(StopToken::default());
    let clock = listen(&stop, printer)?;
    Ok(Transfer::begin(command_line::program(), clock, &stop, nice.map(Into::into))?)
}

/// Has a signal raise `stop`, on the clock that it answers.
fn listen(stop: &Arc<StopToken>, printer: &Printer) -> anyhow::Result<RunClock> {
    let clock = RunClock::of_machine();
    let (to_stop, its_clock) = (Arc::clone(stop), clock.clone());
    on_signal(Some(printer), move || to_stop.raise(its_clock.now_ns()))?;
    Ok(clock)
}

/// No where requests failed, those of a setting that was given up and has no point included.
pub(crate) fn failures(run: &Run) -> Status {
    let failed = run.warnings.iter().any(|warning| warning.code == WarningCode::IoErrors);
    if failed { Status::No } else { Status::Done }
}
