//! `iostall drive`, and `atomic`, `limits` and `plan` of it.

mod endurance;
mod flash;
mod guard;
mod powerfail;
mod qualify;

use std::io::Write;

use iostall_report::{atomic as atomic_report, build as build_report};
use iostall_session::atomic::atomic;
use iostall_session::build::{measured_drive, plan};
use iostall_session::limits::{LimitsStores, limits, limits_profile};
use iostall_session::output::{Form, Outputs};
use iostall_store::Store;

use crate::cli::{AtomicArgs, DriveArgs, DriveCommand, DrivePlanArgs, GlobalArgs, LimitsArgs};
use crate::failure::Status;
use crate::frame::Frame;
use crate::output::{text_of_sections, write_or_show};
use crate::printer::Printer;
use crate::store::{self, selector, taken};

pub(crate) fn run(args: &DriveArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        DriveCommand::Atomic(args) => run_atomic(args, global, printer),
        DriveCommand::Endurance(args) => endurance::run(args, global, printer),
        DriveCommand::Flash(args) => flash::run(args, global, printer),
        DriveCommand::Guard(args) => guard::run(args, global, printer),
        DriveCommand::Limits(args) => run_limits(args, global, printer),
        DriveCommand::Plan(args) => run_plan(args, global, printer),
        DriveCommand::Powerfail(args) => powerfail::run(args, global, printer),
        DriveCommand::Qualify(args) => qualify::run(args, global, printer),
    }
}

fn run_atomic(args: &AtomicArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let wanted = [
        ("--json", Form::Json, args.json.as_deref()),
        ("--html", Form::Html, args.html.as_deref()),
        ("--markdown", Form::Markdown, args.markdown.as_deref()),
    ];
    let inputs = [&args.target].into_iter().chain(&args.prove);
    let outputs = Outputs::check(&wanted, &taken(global).inputs(inputs))?;
    let report = atomic(&args.request())?;
    let render = |form, out: &mut dyn Write| atomic_report::write_atomic(&report, form, out);
    let text =
        || Some(text_of_sections(&atomic_report::title(&report), &atomic_report::sections(&report), printer));
    let is_missed = report.required.is_some_and(|required| !required.is_met);
    let status = if is_missed || report.is_disproved() { Status::No } else { Status::Done };
    Ok(write_or_show(&outputs, &render, &text, printer, status))
}

fn run_limits(args: &LimitsArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let request = args.request();
    limits_profile(&request.plan, request.targets.len())?;
    let taken = taken(global).targets(args.targets.clone());
    let (engine, no_store, output) = (args.engine.into(), args.no_store, &args.output);
    let frame = Frame { engine, no_store, output, taken, global, printer };
    frame.run(|session, kept_in| {
        // Where it cannot be opened, that was said already.
        let mut own = if args.no_store { None } else { store::open(global).ok() };
        let opened = if args.resume && kept_in.is_none() { Some(store::open(global)?) } else { None };
        let earlier = kept_in.or(opened.as_ref()).filter(|_| args.resume);
        let stores = LimitsStores {
            earlier: earlier.map(|store| store as &dyn Store),
            checkpoints: own.as_mut().map(|store| store as &mut dyn Store),
        };
        Ok(limits(request, stores, session)?)
    })
}

fn run_plan(args: &DrivePlanArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let wanted = [
        ("--json", Form::Json, args.json.as_deref()),
        ("--html", Form::Html, args.html.as_deref()),
        ("--markdown", Form::Markdown, args.markdown.as_deref()),
    ];
    let outputs = Outputs::check(&wanted, &taken(global).inputs(&args.check))?;
    args.check_levels()?;
    let measured = match args.measured_run() {
        Some(run) => Some(measured_drive(&store::open(global)?, &selector(run)?, args.request_size())?),
        None => None,
    };
    let report = plan(&args.request(measured.as_ref()))?;
    let render = |form, out: &mut dyn Write| build_report::write_plan(&report, form, out);
    let text =
        || Some(text_of_sections(&build_report::title(&report), &build_report::sections(&report), printer));
    let is_bad = report.stack.as_ref().is_some_and(iostall_model::stack_check::StackReport::is_bad);
    let status = if is_bad { Status::No } else { Status::Done };
    Ok(write_or_show(&outputs, &render, &text, printer, status))
}
