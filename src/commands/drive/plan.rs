//! `iostall drive plan`: what a server should be built of, and how what is there fits its drives.

use std::io::Write;

use iostall_report::build::{sections, title, write_plan};
use iostall_session::build::{measured_drive, plan};
use iostall_session::output::{Form, Outputs};

use crate::cli::{DrivePlanArgs, GlobalArgs};
use crate::failure::Status;
use crate::output::{text_of_sections, write_or_show};
use crate::printer::Printer;
use crate::store::{self, selector, taken};

pub(super) fn run(args: &DrivePlanArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let wanted = [
        ("--json", Form::Json, args.json.as_deref()),
        ("--html", Form::Html, args.html.as_deref()),
        ("--markdown", Form::Markdown, args.markdown.as_deref()),
    ];
    let outputs = Outputs::check(&wanted, &taken(global).inputs(&args.check))?;
    let measured = match args.measured_run() {
        Some(run) => Some(measured_drive(&store::open(global)?, &selector(run)?)?),
        None => None,
    };
    let report = plan(&args.request(measured.as_ref()))?;
    let render = |form, out: &mut dyn Write| write_plan(&report, form, out);
    let text = || Some(text_of_sections(&title(&report), &sections(&report), printer));
    let is_bad = report.stack.as_ref().is_some_and(iostall_model::stack_check::StackReport::is_bad);
    let status = if is_bad { Status::No } else { Status::Done };
    Ok(write_or_show(&outputs, &render, &text, printer, status))
}
