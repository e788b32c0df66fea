//! The common frame of commands that measure: handles Ctrl-C, starts a session, stores the run and writes the
//! outputs.

use std::sync::Arc;

use iostall_load::window::StopToken;
use iostall_measure::{Clock, RunClock};
use iostall_model::Run;
use iostall_model::requirement::Requirement;
use iostall_remote::{Waiting, notify_of_slow_requests};
use iostall_session::give_way::{FLOOR_BYTES_PER_S, GiveWayRequest, READING_LIMIT};
use iostall_session::output::Taken;
use iostall_session::requirements::failures;
use iostall_session::transfer::Transfer;
use iostall_session::{Dependencies, EngineChoice, Session};
use iostall_store::SqliteStore;
use iostall_watch::{WatchError, named_sources};

use crate::cli::{GiveWayArgs, GlobalArgs, NiceChoice, RunOutput};
use crate::command_line;
use crate::failure::{Status, is_interrupted};
use crate::interrupt::on_signal;
use crate::output::{self, Delivery};
use crate::printer::Printer;
use crate::store::run_writer;

pub(crate) struct Frame<'a> {
    pub(crate) engine: EngineChoice,
    pub(crate) no_store: bool,
    pub(crate) output: &'a dyn RunOutput,
    /// Files that no output may overwrite.
    pub(crate) taken: Taken,
    pub(crate) global: &'a GlobalArgs,
    pub(crate) printer: &'a Printer,
}

impl Frame<'_> {
    /// Lets `measure` create a run (with access to the store), writes the outputs and stores the run.
    pub(crate) fn run(
        &self,
        measure: impl FnOnce(&Session<'_>, Option<&SqliteStore>) -> anyhow::Result<Run>,
    ) -> anyhow::Result<Status> {
        let outputs = output::check(self.output, &self.taken)?;
        let mut writer = run_writer(self.global, self.no_store, self.printer)?;
        let stop = Arc::new(StopToken::default());
        let session = begin_session(self.engine.clone(), &stop, self.printer)?;
        let mut run = match measure(&session, writer.store()) {
            Err(error) if is_interrupted(&error) => {
                self.printer.error(&error);
                return Ok(Status::Interrupted);
            }
            other => other?,
        };
        let status = if session.interrupted() { Status::Interrupted } else { answer(&run) };
        Ok(Delivery::new(&outputs, self.output, self.printer).give(&mut run, &mut writer, status))
    }
}

/// Starts a session that reports to `printer`, and handles Ctrl-C. Once per process.
pub(crate) fn begin_session<'a>(
    engine: EngineChoice,
    stop: &'a Arc<StopToken>,
    printer: &'a Printer,
) -> anyhow::Result<Session<'a>> {
    let clock = listen(stop, printer)?;
    let program = command_line::program();
    Ok(Session::begin(engine, Dependencies { program, clock, stop, observer: printer })?)
}

/// Starts a transfer, and handles Ctrl-C. Once per process.
pub(crate) fn begin_transfer(nice: Option<NiceChoice>, printer: &Printer) -> anyhow::Result<Transfer> {
    let stop = Arc::new(StopToken::default());
    let clock = listen(&stop, printer)?;
    Ok(Transfer::begin(command_line::program(), clock, &stop, nice.map(Into::into))?)
}

/// Lets a transfer give way to a source, if that is asked for, within `limit` bytes a second.
pub(crate) fn give_way(
    transfer: Transfer,
    args: &GiveWayArgs,
    (require, limit): (&[Requirement], Option<u64>),
) -> anyhow::Result<Transfer> {
    let address = args.yield_to.as_slice();
    let Some(source) = named_sources(address, &Printer::ask_password)?.pop() else { return Ok(transfer) };
    Ok(transfer.giving_way(GiveWayRequest {
        name: source.name().to_owned(),
        source: source.open(READING_LIMIT).map_err(WatchError::from)?,
        requirements: require.to_vec(),
        floor_bytes_per_s: args.yield_floor.unwrap_or(FLOOR_BYTES_PER_S),
        limit_bytes_per_s: limit,
    })?)
}

/// Lets a signal raise `stop`, on its clock.
fn listen(stop: &Arc<StopToken>, printer: &Printer) -> anyhow::Result<RunClock> {
    let clock = RunClock::of_machine();
    let (to_stop, its_clock) = (Arc::clone(stop), clock.clone());
    on_signal(Some(printer), move || to_stop.raise(its_clock.now_ns()))?;
    notify_of_slow_requests(SlowRequests { stop: Arc::clone(stop), printer: printer.clone() });
    Ok(clock)
}

/// A store that does not answer is told of, and no answer is waited for once the work was told to stop.
struct SlowRequests {
    stop: Arc<StopToken>,
    printer: Printer,
}

impl Waiting for SlowRequests {
    fn is_over(&self) -> bool {
        self.stop.is_raised()
    }

    fn notify(&self, message: &str) {
        self.printer.warning(&anyhow::anyhow!(message.to_owned()));
    }
}

/// No if requests failed, files differ or a target was missed.
pub(crate) fn answer(run: &Run) -> Status {
    if failures(run).is_empty() { Status::Done } else { Status::No }
}
