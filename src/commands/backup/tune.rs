//! `iostall backup tune`: finds settings, and writes report and run.

use std::path::PathBuf;

use iostall_measure::ByteCount;
use iostall_session::backup::sqlserver::{self, ServerTuneRequest};
use iostall_session::backup::tune::{TuneRequest, tune};

use super::create::{size, stripes};
use super::keys::key_error;
use super::run::server;
use crate::cli::{GlobalArgs, TuneArgs};
use crate::failure::Status;
use crate::frame::{answer, begin_transfer};
use crate::output::{self, Delivery};
use crate::printer::Printer;
use crate::store::{run_writer, taken};

/// Tunes and reports.
pub(super) fn run(args: &TuneArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    if let Some(url) = &args.sqlserver {
        return of_server(args, url, global, printer);
    }
    let targets = stripes(&args.to)?;
    let lock = args.lock.lock().map_err(key_error)?;
    let files = args.sources.iter().chain(&targets).map(PathBuf::as_path);
    let outputs = output::check(&args.output, &taken(global).targets(files))?;
    let mut writer = run_writer(global, args.no_store, printer)?;
    let request = TuneRequest {
        sources: args.sources.clone(),
        targets,
        compression: args.compress,
        frame_bytes: args.frame.map(size),
        transfer_bytes: args.transfer.map(size),
        buffers: args.buffers,
        workers: args.workers,
        lock,
        budget: args.budget,
        memory_bytes: args.memory.map(ByteCount::bytes),
        kept: args.lock.words(),
    };
    let mut run = tune(&request, begin_transfer(None, printer)?, printer)?;
    let status = if run.interrupted { Status::Interrupted } else { answer(&run) };
    Ok(Delivery::new(&outputs, &args.output, printer).give(&mut run, &mut writer, status))
}

/// The same for the BACKUP of a server.
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
    };
    let mut run = sqlserver::tune(&request, begin_transfer(None, printer)?, printer)?;
    let status = if run.interrupted { Status::Interrupted } else { answer(&run) };
    Ok(Delivery::new(&outputs, &args.output, printer).give(&mut run, &mut writer, status))
}
