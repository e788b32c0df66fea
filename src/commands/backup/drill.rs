//! `iostall backup drill`: tries a backup out, and writes report and run.

use std::path::PathBuf;

use iostall_session::backup::drill::{DrillError, DrillRequest, drill};

use super::keys::key_error;
use crate::cli::{DrillArgs, GlobalArgs};
use crate::failure::{Status, hinted};
use crate::frame::{answer, begin_transfer};
use crate::output::{self, Delivery, Shown};
use crate::printer::Printer;
use crate::store::{run_writer, taken};

/// Holds the drill and reports.
pub(super) fn run(args: &DrillArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let unlock = args.unlock.unlock().map_err(key_error)?;
    let inputs = args.from.iter().map(PathBuf::as_path);
    let outputs = output::check(&args.output, &taken(global).targets(inputs))?;
    let mut writer = run_writer(global, args.no_store, printer)?;
    let transfer = begin_transfer(args.nice, printer)?;
    let request = DrillRequest {
        from: args.from.clone(),
        source: args.source.clone(),
        scratch: args.scratch.clone(),
        keep: args.keep,
        engine_dir: args.engine_dir.clone(),
        user: args.user.clone(),
        role: args.role.clone(),
        database: args.database.clone(),
        statements: args.check.clone(),
        settings: args.set.clone(),
        timeout: args.timeout,
        bases: args.base.base.clone(),
        unlock,
        workers: args.workers,
        limit: args.limit,
    };
    let mut run = drill(&request, transfer, printer).map_err(refused)?;
    let status = if run.interrupted { Status::Interrupted } else { answer(&run) };
    let mut delivery = Delivery::new(&outputs, &args.output, printer);
    if global.quiet && status == Status::Done {
        delivery.shown = Shown::Nothing;
    }
    Ok(delivery.give(&mut run, &mut writer, status))
}

fn refused(error: DrillError) -> anyhow::Error {
    match error.hint() {
        Some(hint) => hinted(error, hint),
        None => error.into(),
    }
}
