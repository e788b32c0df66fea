//! `iostall backup tune`: finds settings, and writes report and run.

use std::path::PathBuf;

use iostall_measure::ByteCount;
use iostall_model::Run;
use iostall_session::backup::sqlserver::{self, ServerTuneRequest};
use iostall_session::backup::tune::tune;
use iostall_session::backup::tune_restore;
use iostall_session::run_writer::RunWriter;

use super::create::stripes;
use super::known::key_error;
use super::run::server;
use crate::cli::{GlobalArgs, RestoreTuneArgs, TuneArgs};
use crate::failure::Status;
use crate::frame::{answer, begin_transfer};
use crate::output::{self, Delivery};
use crate::printer::Printer;
use crate::store::{run_writer, taken};

pub(super) fn run(args: &TuneArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    if let Some(url) = &args.sqlserver {
        return of_server(args, url, global, printer);
    }
    let targets = stripes(&args.to)?;
    let request = args.request(targets, args.lock.lock().map_err(key_error)?);
    let files = request.sources.iter().chain(&request.targets).map(PathBuf::as_path);
    let outputs = output::check(&args.output, &taken(global).targets(files))?;
    let mut writer = run_writer(global, args.no_store, printer)?;
    let run = tune(&request, begin_transfer(None, printer)?, printer)?;
    Ok(give(run, &Delivery::new(&outputs, &args.output, printer), &mut writer))
}

fn of_server(args: &TuneArgs, url: &str, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let (address, password) = server(url, true)?;
    let outputs = output::check(&args.output, &taken(global))?;
    let mut writer = run_writer(global, args.no_store, printer)?;
    let request = ServerTuneRequest {
        address,
        password,
        statement: args.statement(),
        budget: args.budget,
        memory_bytes: args.memory.map(ByteCount::bytes),
        trace_flags: args.trace_flags,
    };
    let run = sqlserver::tune(&request, begin_transfer(None, printer)?, printer)?;
    Ok(give(run, &Delivery::new(&outputs, &args.output, printer), &mut writer))
}

pub(super) fn of_restore(
    args: &RestoreTuneArgs,
    global: &GlobalArgs,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let request = args.request(args.unlock.unlock().map_err(key_error)?);
    let outputs =
        output::check(&args.output, &taken(global).targets(request.from.iter().map(PathBuf::as_path)))?;
    let mut writer = run_writer(global, args.no_store, printer)?;
    let run = tune_restore::tune(&request, begin_transfer(None, printer)?, printer)?;
    Ok(give(run, &Delivery::new(&outputs, &args.output, printer), &mut writer))
}

fn give(mut run: Run, delivery: &Delivery<'_>, writer: &mut RunWriter) -> Status {
    let status = if run.interrupted { Status::Interrupted } else { answer(&run) };
    delivery.give(&mut run, writer, status)
}
