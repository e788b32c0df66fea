//! `iostall backup verify`: checks a backup, and writes report and run.

use std::path::PathBuf;

use iostall_model::sqlserver_backup::BackupDevice;
use iostall_session::backup::sqlserver::{self, SqlServerBackupError, SqlServerVerifyRequest};
use iostall_session::backup::verify::{BackupVerifyRequest, verify};

use super::keys::key_error;
use super::known::known;
use super::run::server;
use crate::cli::{BackupVerifyArgs, GlobalArgs};
use crate::failure::Status;
use crate::frame::{answer, begin_transfer};
use crate::output::{self, Delivery, Shown};
use crate::printer::Printer;
use crate::store::{run_writer, taken};

/// Checks and reports.
pub(super) fn run(args: &BackupVerifyArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    if let Some(url) = &args.sqlserver {
        return ask(args, url, global, printer);
    }
    let unlock = args.unlock.unlock().map_err(key_error)?;
    let inputs = args.from.iter().map(PathBuf::as_path);
    let outputs = output::check(&args.output, &taken(global).targets(inputs))?;
    let mut writer = run_writer(global, args.no_store, printer)?;
    let transfer = begin_transfer(args.nice, printer)?;
    let request = BackupVerifyRequest {
        from: args.from.clone(),
        headers_only: args.headers,
        expect: args.expect,
        bases: args.base.base.clone(),
        unlock,
        without_key: args.without_key,
        limit: args.limit,
    };
    let mut run = verify(&request, &known(global, printer), transfer, printer)?;
    let status = if run.interrupted { Status::Interrupted } else { answer(&run) };
    let mut delivery = Delivery::new(&outputs, &args.output, printer);
    if global.quiet && status == Status::Done {
        delivery.shown = Shown::Nothing;
    }
    Ok(delivery.give(&mut run, &mut writer, status))
}

/// The same for a server's own backup, which the server reads.
fn ask(args: &BackupVerifyArgs, url: &str, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let (address, password) = server(url, true)?;
    let outputs = output::check(&args.output, &taken(global))?;
    let mut writer = run_writer(global, args.no_store, printer)?;
    let devices = args.disks.iter().map(|text| BackupDevice::of(text)).collect();
    let (position, headers_only) = (args.file, args.headers);
    let request = SqlServerVerifyRequest { address, password, devices, position, headers_only };
    let mut run = match sqlserver::verify(&request, begin_transfer(None, printer)?, printer) {
        Err(error @ SqlServerBackupError::ReadingStopped { .. }) => {
            printer.error(&error.into());
            return Ok(Status::Interrupted);
        }
        verified => verified?,
    };
    let status = answer(&run);
    Ok(Delivery::new(&outputs, &args.output, printer).give(&mut run, &mut writer, status))
}
