//! `iostall drive powerfail`: the writer, its witness, and the check.

use std::io::Write;
use std::sync::Arc;

use iostall_load::window::StopToken;
use iostall_report::powerfail::{sections, title, write_powerfail, written};
use iostall_session::EngineChoice;
use iostall_session::output::{Form, Outputs};
use iostall_session::powerfail::{check, witness, write};

use crate::cli::{
    GlobalArgs, PowerfailArgs, PowerfailCheckArgs, PowerfailCommand, PowerfailWitnessArgs, PowerfailWriteArgs,
};
use crate::failure::Status;
use crate::frame::begin_session;
use crate::output::{text_of_sections, write_or_show};
use crate::printer::Printer;
use crate::store::taken;

pub(super) fn run(args: &PowerfailArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        PowerfailCommand::Write(args) => run_write(args, printer),
        PowerfailCommand::Witness(args) => run_witness(args, printer),
        PowerfailCommand::Check(args) => run_check(args, global, printer),
    }
}

fn run_write(args: &PowerfailWriteArgs, printer: &Printer) -> anyhow::Result<Status> {
    let stop = Arc::new(StopToken::default());
    let session = begin_session(EngineChoice::Psync, &stop, printer)?;
    let done = write(&args.request(), &session)?;
    printer.result(&format!("{}\n", written(&done)))?;
    Ok(if session.interrupted() { Status::Interrupted } else { Status::Done })
}

/// Ends with Ctrl-C, which is how it is meant to end.
fn run_witness(args: &PowerfailWitnessArgs, printer: &Printer) -> anyhow::Result<Status> {
    let stop = Arc::new(StopToken::default());
    let session = begin_session(EngineChoice::Psync, &stop, printer)?;
    let listening = |address| printer.note(&format!("the witness listens on {address}"));
    witness(&args.request(), &session, &listening)?;
    Ok(Status::Done)
}

fn run_check(args: &PowerfailCheckArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let wanted = [
        ("--json", Form::Json, args.json.as_deref()),
        ("--markdown", Form::Markdown, args.markdown.as_deref()),
    ];
    let inputs = [&args.target, &args.witness_log].into_iter().chain(&args.cuts);
    let outputs = Outputs::check(&wanted, &taken(global).inputs(inputs))?;
    let report = check(&args.request())?;
    let render = |form, out: &mut dyn Write| write_powerfail(&report, form, out);
    let text = || Some(text_of_sections(&title(&report), &sections(&report), printer));
    let status = if report.cut.is_loss() { Status::No } else { Status::Done };
    Ok(write_or_show(&outputs, &render, &text, printer, status))
}
