//! `iostall diskspd`: DiskSpd's command lines, reports and exit statuses on our engine.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use iostall_diskspd::command_line::Surroundings;
use iostall_diskspd::report::asked;
use iostall_diskspd::xml::{PROFILE_BYTES_MAX, write_profile};
use iostall_diskspd::{EXIT_FAILED, EXIT_REJECTED, MappedProfile, Parsed, Request, parse, to_profile, usage};
use iostall_load::resource_limits::check_pins;
use iostall_load::window::StopToken;
use iostall_measure::clock::utc_now;
use iostall_session::diskspd::{cautions, hint, report, target_request};
use iostall_session::input::read_whole;
use iostall_session::load::{LoadRequest, load};
use iostall_session::output::{Outputs, Taken};

use crate::cli::{DiskspdArgs, DiskspdExtras, GlobalArgs};
use crate::failure::{Status, hinted, is_interrupted};
use crate::frame::{begin_session, failures};
use crate::output::{self, Delivery, Shown};
use crate::printer::Printer;
use crate::store::{self, run_writer};

/// Runs like DiskSpd, with its exit statuses: 0, 1 if the run failed, 3 if the command line is rejected.
pub(crate) fn run(args: &DiskspdArgs, global: &GlobalArgs, printer: &Printer) -> ExitCode {
    let (ours, words) = args.split();
    let asked = DiskspdExtras::read(&ours).and_then(|extras| {
        let Some(request) = read(&words, printer)? else { return Ok(None) };
        let mapped = to_profile(&request.profile)?;
        check_pins(&mapped.profile)?;
        let outputs = output::check(&extras.output, &taken(&request, &words, global))?;
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

/// The parsed request; `None` if it only asked for output such as the usage.
fn read(words: &[OsString], printer: &Printer) -> anyhow::Result<Option<Request>> {
    let words = words
        .iter()
        .map(|word| {
            word.clone().into_string().map_err(|word| anyhow::anyhow!("{} is not UTF-8", word.display()))
        })
        .collect::<anyhow::Result<Vec<String>>>()?;
    let exists = |path: &str| Path::new(path).exists();
    let clock_seed = u32::try_from(utc_now().as_millisecond().rem_euclid(1 << 32)).unwrap_or(0);
    let request = match parse(&words, &Surroundings { exists: &exists, clock_seed })? {
        Parsed::Usage => {
            printer.result(&format!("{}\n{}", usage::USAGE, DiskspdExtras::usage()))?;
            return Ok(None);
        }
        Parsed::Run(request) => *request,
        Parsed::ProfileFile(file) => {
            file.apply(&read_whole("profile", PROFILE_BYTES_MAX as u64, Path::new(&file.path))?)?
        }
    };
    warn(&request.warnings, printer);
    warn(&request.unsupported, printer);
    if request.profile_only {
        printer.result(&(write_profile(&request.profile) + "\n"))?;
        return Ok(None);
    }
    Ok(Some(request))
}

/// Its targets, and the file of a profile (`-X`).
fn taken(request: &Request, words: &[OsString], global: &GlobalArgs) -> Taken {
    let targets = request.profile.time_spans.iter().flat_map(|span| &span.targets).map(|target| &target.path);
    let profile = words.iter().filter_map(|word| word.to_str()?.strip_prefix(['-', '/'])?.strip_prefix('X'));
    store::taken(global).targets(targets).inputs(profile)
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
    let run = load(LoadRequest { targets, profile, asked, name }, &session).map_err(|error| {
        match hint(&error) {
            Some(hint) => hinted(error, hint),
            None => error.into(),
        }
    })?;
    warn(cautions(&run, &request.profile), printer);
    let status = if session.interrupted() { Status::Interrupted } else { failures(&run) };
    let mut delivery = Delivery::new(outputs, &extras.output, printer);
    delivery.shown = Shown::Text(report(&run, &request.profile));
    Ok(match delivery.give(&run, &mut writer, status) {
        Status::No | Status::CouldNot => ExitCode::from(EXIT_FAILED),
        status => status.into(),
    })
}

/// Warns as DiskSpd does, before its report.
fn warn(lines: impl IntoIterator<Item = impl std::fmt::Display>, printer: &Printer) {
    for line in lines {
        printer.note(&format!("WARNING: {line}"));
    }
}
