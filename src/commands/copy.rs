//! `iostall copy`: copies files, and writes manifest, log, report and run.

pub(crate) mod failures;

use std::io::Write;
use std::path::{Path, PathBuf};

use iostall_measure::clock::utc_now;
use iostall_session::SessionError;
use iostall_session::copy::{CopyRequest, ManifestPlace, copy, hash_of_copy, read_file_list};
use iostall_session::output::{Form, LogFile, OutputError, Outputs};
use iostall_transfer::CopyOptions;

use crate::cli::{CopyArgs, GlobalArgs, RunOutput as _};
use crate::command_line::program;
use crate::failure::Status;
use crate::frame::{begin_transfer, give_way};
use crate::output::{Delivery, Shown};
use crate::printer::Printer;
use crate::store::{run_writer, taken};

pub(crate) fn run(args: &CopyArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let Some((destination, sources)) = args.paths.split_last() else { unreachable!("clap asks for two") };
    let hash = hash_of_copy(args.manifest.as_deref(), args.hash)?;
    let list = args.select.files_from.as_deref().map(|path| read_file_list(path, args.select.null));
    let options = args.options(hash, args.select.selection(list.transpose()?, utc_now())?);
    let place = args.manifest.clone().map(|path| ManifestPlace { path, may_replace: args.overwrite });
    let mut outputs = check_outputs(args, &options, place.as_ref(), (sources, destination), global)?;
    let log = args.log.as_deref().filter(|_| !args.dry_run);
    let log = log.map(|path| LogFile::begin(path, &program().command_line.join(" ")));
    let log = log.transpose().map_err(SessionError::from)?;
    let mut writer = run_writer(global, args.no_store || args.dry_run, printer)?;
    let transfer = begin_transfer(args.nice, printer)?;
    let transfer = give_way(transfer, &args.give_way, (args.output.require(), args.limit))?;
    let (sources, destination) = (sources.to_vec(), destination.clone());
    let is_to_stdout = destination == Path::new("-");
    let request = CopyRequest { sources, destination, options, limit: args.limit, log };
    let mut copied = copy(request, transfer, printer)?;
    let (is_whole, has_nothing) = (copied.is_whole(), copied.has_nothing);
    let partial = place.as_ref().and_then(|place| place.choose(&mut outputs, is_whole, has_nothing));
    copied.warnings.extend(partial);
    let mut status = failures::status(&copied.outcome, copied.ended.as_ref());
    if copied.outcome.is_refusal() {
        writer = run_writer(global, true, printer)?;
    }
    if let Some(error) = copied.ended.take() {
        printer.error(&SessionError::from(error).into());
    }
    let log_lost = copied.log_lost.take();
    let (list, mut run) = copied.into_run();
    let manifest = |out: &mut dyn Write| place.as_ref().map_or(Ok(()), |place| place.write(&list, out));
    let mut delivery = Delivery::new(&outputs, &args.output, printer);
    delivery.manifest = Some(&manifest);
    delivery = delivery.after(status, global.quiet);
    if is_to_stdout {
        delivery.shown = Shown::Nothing;
        delivery.cautions(&run);
    }
    if let Some(error) = log_lost {
        printer.error(&SessionError::from(error).into());
        status = Status::CouldNot;
    }
    let given = delivery.give(&mut run, &mut writer, status);
    if let Some(place) = place.filter(|_| is_whole && given != Status::CouldNot) {
        place.remove_partial();
    }
    Ok(given)
}

/// Checks the outputs, manifest and log included, none of which may conflict with the copy.
fn check_outputs(
    args: &CopyArgs,
    options: &CopyOptions,
    place: Option<&ManifestPlace>,
    (sources, destination): (&[PathBuf], &Path),
    global: &GlobalArgs,
) -> Result<Outputs, OutputError> {
    let mut wanted = args.output.wanted();
    wanted.extend(place.map(|place| ("--manifest", place.form(), Some(place.path.as_path()))));
    wanted.push(("--log", Form::Log, args.log.as_deref()));
    // The copy itself refuses names that do not go together, before it writes anything.
    let pairs = options.pairs(sources, destination).unwrap_or_default();
    let taken = taken(global).copies(&pairs, destination).mirror(args.delete.as_deref());
    let taken = taken.inputs(&args.select.files_from);
    let mut outputs = Outputs::check(&wanted, &taken)?;
    place.map_or(Ok(()), |place| place.check_partial(&mut outputs, &taken))?;
    if destination == Path::new("-") && outputs.take_stdout() {
        return Err(OutputError::StdoutTwice { one: "the destination", two: "a result" });
    }
    // It is written by itself, line by line.
    args.log.iter().for_each(|path| outputs.leave_out(path));
    Ok(outputs)
}
