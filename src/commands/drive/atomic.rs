//! `iostall drive atomic`: what the stack promises about torn writes.

use std::io::Write;

use iostall_report::atomic::{sections, title, write_atomic};
use iostall_session::atomic::atomic;
use iostall_session::output::{Form, Outputs};

use crate::cli::{AtomicArgs, GlobalArgs};
use crate::failure::Status;
use crate::output::{text_of_sections, write_or_show};
use crate::printer::Printer;
use crate::store::taken;

pub(super) fn run(args: &AtomicArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let wanted = [
        ("--json", Form::Json, args.json.as_deref()),
        ("--html", Form::Html, args.html.as_deref()),
        ("--markdown", Form::Markdown, args.markdown.as_deref()),
    ];
    let inputs = [&args.target].into_iter().chain(&args.prove);
    let outputs = Outputs::check(&wanted, &taken(global).inputs(inputs))?;
    let report = atomic(&args.request())?;
    let render = |form, out: &mut dyn Write| write_atomic(&report, form, out);
    let text = || Some(text_of_sections(&title(&report), &sections(&report), printer));
    let is_missed = report.required.is_some_and(|required| !required.is_met);
    let status = if is_missed || report.is_disproved() { Status::No } else { Status::Done };
    Ok(write_or_show(&outputs, &render, &text, printer, status))
}
