//! `iostall backup create`: backs up, and writes report and run.

use std::path::PathBuf;

use iostall_measure::ByteCount;
use iostall_session::SessionError;
use iostall_session::backup::create::{CreateRequest, create, scratch_for};
use iostall_session::backup::source::{SourceHelp, source_of};

use super::known::key_error;
use super::stats::Stats;
use crate::cli::{CreateArgs, GlobalArgs, RunOutput as _, named_stripes};
use crate::failure::{Status, hinted};
use crate::frame::{answer, begin_transfer, give_way};
use crate::output::{self, Delivery};
use crate::printer::Printer;
use crate::store::{run_writer, taken};

pub(super) fn run(args: &CreateArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let targets = stripes(&args.to)?;
    let lock = args.lock.lock().map_err(key_error)?;
    let files = args.sources.iter().chain(&targets).map(PathBuf::as_path);
    let outputs = output::check(&args.output, &taken(global).targets(files))?;
    let mut writer = run_writer(global, args.no_store, printer)?;
    let scratch = scratch_for(&targets);
    let engine_dir = args.engine_dir.as_deref();
    let help = SourceHelp {
        scratch: &scratch,
        engine_dir,
        through: args.through,
        stream_name: args.stream_name()?,
        ask: &Printer::ask_password,
    };
    let sources = args.sources.iter().map(|source| source_of(source, &help)).collect::<Result<_, _>>()?;
    let transfer = begin_transfer(args.nice, printer)?;
    let transfer = give_way(transfer, &args.give_way, (args.output.require(), args.limit))?;
    let request = CreateRequest {
        targets,
        sources,
        compression: args.compress,
        frame_bytes: args.frame.map(size),
        transfer_bytes: args.transfer.map(size),
        buffers: args.buffers,
        workers: args.workers,
        limit: args.limit,
        base: args.base.request(lock.as_ref()),
        lock,
        object_lock: args.object_lock(),
    };
    let percent = Stats::new(args.stats, printer);
    let mut made = create(request, transfer, &percent)?;
    let ended = made.ended.take();
    let mut run = made.into_run();
    let status = match &ended {
        Some(error) if error.is_cancelled() => Status::Interrupted,
        Some(_) => Status::CouldNot,
        None => answer(&run),
    };
    match ended {
        None => percent.complete(),
        Some(error) => printer.error(&SessionError::from(error).into()),
    }
    let delivery = Delivery::new(&outputs, &args.output, printer).after(status, global.quiet);
    Ok(delivery.give(&mut run, &mut writer, status))
}

/// The stripes that are named; none for `null:`.
pub(super) fn stripes(to: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let hint = "`--to null:` alone measures how fast the source can be read and compressed";
    named_stripes(to).map_err(|error| hinted(anyhow::anyhow!(error), hint))
}

fn size(size: ByteCount) -> u32 {
    u32::try_from(size.bytes()).unwrap_or(u32::MAX)
}
