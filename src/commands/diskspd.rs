//! `iostall diskspd`: DiskSpd's command lines, reports and exit statuses on our engine.

mod request;

use std::process::ExitCode;
use std::sync::Arc;

use iostall_diskspd::report::asked;
use iostall_diskspd::{EXIT_FAILED, EXIT_REJECTED, MappedProfile, Request, to_profile};
use iostall_load::resource_limits::check_pins;
use iostall_load::window::StopToken;
use iostall_session::diskspd::{cautions, hint, report, target_request};
use iostall_session::load::{LoadRequest, load};
use iostall_session::output::Outputs;

use self::request::{read, taken, warn};
use crate::cli::{DiskspdArgs, DiskspdExtras, GlobalArgs};
use crate::failure::{Status, hinted, is_interrupted};
use crate::frame::{answer, begin_session};
use crate::output::{self, Delivery, Shown};
use crate::printer::Printer;
use crate::store::run_writer;

/// Runs like DiskSpd, with its exit statuses: 0, 1 if the run failed, 3 if the command line is rejected.
pub(crate) fn run(args: &DiskspdArgs, global: &GlobalArgs, printer: &Printer) -> ExitCode {
    let (ours, words) = args.split();
    let asked = DiskspdExtras::read(&ours).and_then(|extras| {
        let Some(request) = read(&words, printer)? else { return Ok(None) };
        let mapped = to_profile(&request.profile)?;
        check_pins(&mapped.profile)?;
        let taken = taken(&request, &words, global);
        taken.refuse_inputs_as_targets()?;
        let outputs = output::check(&extras.output, &taken)?;
        Ok(Some((extras, request, mapped, outputs)))
    });
    let (extras, request, mapped, outputs) = match asked {
        Ok(None) => return ExitCode::SUCCESS,
        Ok(Some(asked)) => asked,
        Err(error) => {
            printer.error(&error);
            return ExitCode::from(EXIT_REJECTED);
        }
    };
    match carry_out(&request, mapped, &extras, &outputs, global, printer) {
        Ok(status) => status,
        Err(error) => {
            printer.error(&error);
            if is_interrupted(&error) { Status::Interrupted.into() } else { ExitCode::from(EXIT_FAILED) }
        }
    }
}

fn carry_out(
    request: &Request,
    mapped: MappedProfile,
    extras: &DiskspdExtras,
    outputs: &Outputs,
    global: &GlobalArgs,
    printer: &Printer,
) -> anyhow::Result<ExitCode> {
    warn(&mapped.notes, printer);
    let targets = target_request(&mapped, &extras.safety.consent(), &|note| warn([note], printer))?;
    let mut writer = run_writer(global, extras.no_store, printer)?;
    // DiskSpd prints nothing before its report unless -P or -v asks for it.
    let silent = Printer::new(true, global.color);
    let talks = request.profile.progress > 0 || request.profile.verbose;
    let stop = Arc::new(StopToken::default());
    let session = begin_session(extras.engine.into(), &stop, if talks { printer } else { &silent })?;
    let (profile, asked) = (mapped.profile, Some(asked(&request.profile)));
    let name = extras.name.clone();
    let mut run =
        load(LoadRequest { targets, profile, asked, name }, &session).map_err(|error| {
            match hint(&error) {
                Some(hint) => hinted(error, hint),
                None => error.into(),
            }
        })?;
    warn(cautions(&run, &request.profile), printer);
    let status = if session.interrupted() { Status::Interrupted } else { answer(&run) };
    let mut delivery = Delivery::new(outputs, &extras.output, printer);
    delivery.shown = Shown::Text(report(&run, &request.profile));
    Ok(match delivery.give(&mut run, &mut writer, status) {
        Status::No | Status::CouldNot => ExitCode::from(EXIT_FAILED),
        status => status.into(),
    })
}
