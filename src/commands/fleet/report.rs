//! `iostall fleet report`.

use std::io::Write;

use iostall_measure::clock::utc_now;
use iostall_report::fleet::{sections, title, write_fleet};
use iostall_session::output::{Form, Outputs};
use iostall_watch::{FleetRequest, fleet_report, open_repository};

use crate::cli::timestamp::timestamp;
use crate::cli::{FleetReportArgs, GlobalArgs};
use crate::failure::Status;
use crate::output::{text_of_sections, write_or_show};
use crate::printer::Printer;
use crate::store::taken;

pub(super) fn run(args: &FleetReportArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let wanted = [
        ("--json", Form::Json, args.json.as_deref()),
        ("--html", Form::Html, args.html.as_deref()),
        ("--markdown", Form::Markdown, args.markdown.as_deref()),
    ];
    let outputs = Outputs::check(&wanted, &taken(global))?;
    let now = utc_now();
    let from = timestamp("--since", &args.since, now)?;
    let to = args.until.as_deref().map_or(Ok(now), |text| timestamp("--until", text, now))?;
    anyhow::ensure!(from < to, "the report ends before it begins: {from:.0} to {to:.0}");
    let version = env!("CARGO_PKG_VERSION");
    let repository = open_repository(&args.url, &Printer::ask_password)?;
    let report = fleet_report(&repository, &FleetRequest { from, to, now, top: args.top, version })?;
    let render = |form, out: &mut dyn Write| write_fleet(&report, form, out);
    let text = || Some(text_of_sections(&title(&report), &sections(&report), printer));
    Ok(write_or_show(&outputs, &render, &text, printer, Status::Done))
}
