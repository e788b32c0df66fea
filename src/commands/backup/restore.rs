//! `iostall backup restore`: restores, and writes report and run.

use std::path::PathBuf;

use iostall_session::backup::restore::restore;

use super::known::{key_error, known};
use super::stats::Stats;
use crate::cli::{GlobalArgs, RestoreArgs, RestoreCommand, RunOutput as _};
use crate::failure::{Status, hinted};
use crate::frame::{answer, begin_transfer, give_way};
use crate::output::{self, Delivery};
use crate::printer::Printer;
use crate::store::{run_writer, taken};

pub(super) fn run(args: &RestoreArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    if let Some(RestoreCommand::Tune(args)) = &args.command {
        return super::tune::of_restore(args, global, printer);
    }
    let point = args.point.request(args.at_target.into())?;
    let request = args.request(args.unlock.unlock().map_err(key_error)?, point);
    let files = request.from.iter().chain([&request.to]).map(PathBuf::as_path);
    let outputs = output::check(&args.output, &taken(global).targets(files))?;
    let mut writer = run_writer(global, args.no_store, printer)?;
    let transfer = begin_transfer(args.nice, printer)?;
    let transfer = give_way(transfer, &args.give_way, (args.output.require(), args.limit))?;
    let percent = Stats::new(args.stats, printer);
    let mut done = restore(&request, &known(global, printer), transfer, &percent)?;
    let ended = done.ended.take();
    let mut run = done.into_run();
    let status = match &ended {
        _ if run.interrupted => Status::Interrupted,
        Some(_) => Status::CouldNot,
        None => answer(&run),
    };
    if let Some(error) = ended.filter(|_| status == Status::CouldNot) {
        printer.error(&match error.hint() {
            Some(hint) => hinted(error, hint),
            None => error.into(),
        });
    }
    if status == Status::Done {
        percent.complete();
    }
    let delivery = Delivery::new(&outputs, &args.output, printer).after(status, global.quiet);
    Ok(delivery.give(&mut run, &mut writer, status))
}
