//! `iostall backup drill`: tries a backup out, and writes report and run.

use std::path::PathBuf;

use iostall_session::backup::drill::{DrillError, drill};
use iostall_session::backup::sqlserver;
use iostall_session::backup::wal::AtTarget;

use super::known::key_error;
use super::run::{ask, server};
use crate::cli::{DrillArgs, GlobalArgs, RunOutput as _};
use crate::failure::{Status, hinted};
use crate::frame::{answer, begin_transfer};
use crate::output::{self, Delivery};
use crate::printer::Printer;
use crate::store::{run_writer, taken};

pub(super) fn run(args: &DrillArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    if let Some(url) = &args.server.sqlserver {
        let (address, password) = server(url, true)?;
        let request = args.server_request(address, password);
        if args.server.dry_run {
            args.output.refuse("--dry-run only prints the T-SQL")?;
            let transfer = begin_transfer(None, printer)?;
            printer.result(&sqlserver::drill_script(&request, &transfer, printer)?)?;
            return Ok(Status::Done);
        }
        return ask(&args.output, args.no_store, global, printer, |transfer| {
            sqlserver::drill(&request, transfer, printer)
        });
    }
    let unlock = args.unlock.unlock().map_err(key_error)?;
    let inputs = args.from.iter().map(PathBuf::as_path);
    let outputs = output::check(&args.output, &taken(global).targets(inputs))?;
    let mut writer = run_writer(global, args.no_store, printer)?;
    let transfer = begin_transfer(args.nice, printer)?;
    let request = args.request(unlock, args.point.request(AtTarget::Promote)?);
    let mut run = drill(&request, transfer, printer).map_err(refused)?;
    let status = if run.interrupted { Status::Interrupted } else { answer(&run) };
    let delivery = Delivery::new(&outputs, &args.output, printer).after(status, global.quiet);
    Ok(delivery.give(&mut run, &mut writer, status))
}

fn refused(error: DrillError) -> anyhow::Error {
    match error.hint() {
        Some(hint) => hinted(error, hint),
        None => error.into(),
    }
}
