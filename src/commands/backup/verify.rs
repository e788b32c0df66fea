//! `iostall backup verify`: checks a backup, and writes report and run.

use std::path::PathBuf;

use iostall_session::backup::sqlserver;
use iostall_session::backup::verify::verify;

use super::keys::key_error;
use super::known::known;
use super::run::{ask, server};
use crate::cli::{BackupVerifyArgs, GlobalArgs};
use crate::failure::Status;
use crate::frame::{answer, begin_transfer};
use crate::output::{self, Delivery, Shown};
use crate::printer::Printer;
use crate::store::{run_writer, taken};

pub(super) fn run(args: &BackupVerifyArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    if let Some(url) = &args.sqlserver {
        let (address, password) = server(url, true)?;
        let request = args.server_request(address, password);
        return ask(&args.output, args.no_store, global, printer, |transfer| {
            sqlserver::verify(&request, transfer, printer)
        });
    }
    let unlock = args.unlock.unlock().map_err(key_error)?;
    let inputs = args.from.iter().map(PathBuf::as_path);
    let outputs = output::check(&args.output, &taken(global).targets(inputs))?;
    let mut writer = run_writer(global, args.no_store, printer)?;
    let transfer = begin_transfer(args.nice, printer)?;
    let request = args.request(unlock);
    let mut run = verify(&request, &known(global, printer), transfer, printer)?;
    let status = if run.interrupted { Status::Interrupted } else { answer(&run) };
    let mut delivery = Delivery::new(&outputs, &args.output, printer);
    if global.quiet && status == Status::Done {
        delivery.shown = Shown::Nothing;
    }
    Ok(delivery.give(&mut run, &mut writer, status))
}
