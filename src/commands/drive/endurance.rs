//! `iostall drive endurance`.

use std::io::Write;

use iostall_model::drive::DriveState;
use iostall_report::endurance::{sections, title, write_endurance};
use iostall_session::output::{Form, Outputs};
use iostall_watch::{EnduranceReport, drive_endurance, stored_endurance};

use crate::cli::{EnduranceArgs, GlobalArgs};
use crate::failure::Status;
use crate::output::{text_of_sections, write_or_show};
use crate::printer::Printer;
use crate::store::{open_watch, taken};

pub(super) fn run(args: &EnduranceArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let wanted = [
        ("--csv", Form::Csv, args.csv.as_deref()),
        ("--json", Form::Json, args.json.as_deref()),
        ("--html", Form::Html, args.html.as_deref()),
        ("--markdown", Form::Markdown, args.markdown.as_deref()),
    ];
    let inputs = args.places.iter().chain(&args.drives);
    let outputs = Outputs::check(&wanted, &taken(global).inputs(inputs))?;
    let report = if args.asks_the_store() {
        stored_endurance(&open_watch(global)?, &args.request())?
    } else {
        drive_endurance(&args.request())?
    };
    let render = |form, out: &mut dyn Write| write_endurance(&report, form, out);
    let text = || Some(text_of_sections(&title(&report), &sections(&report), printer));
    Ok(write_or_show(&outputs, &render, &text, printer, status(&report)))
}

/// A bad drive is an answer, and so is one that is too new for a projection; what nobody can judge is none.
fn status(report: &EnduranceReport) -> Status {
    let has = |is_met| report.judged.iter().any(|one| one.is_met == is_met);
    if has(Some(false)) || report.drives.iter().any(|one| one.state != DriveState::Healthy) {
        Status::No
    } else if has(None) {
        Status::CouldNot
    } else {
        Status::Done
    }
}
