//! `iostall backup plan`.

use iostall_measure::clock::utc_now;
use iostall_model::backup_plan::plan;
use iostall_report::backups::{plan_json, plan_sections, plan_title};
use iostall_report::forms::write_figures;
use iostall_session::SessionError;
use iostall_session::backup::figures::kept_figures;
use jiff::tz::TimeZone;

use crate::cli::{GlobalArgs, PlanArgs};
use crate::failure::{Status, hinted};
use crate::output::{text_of_sections, to_stdout};
use crate::printer::Printer;
use crate::store;

pub(super) fn run(args: &PlanArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let kept = || kept_figures(&store::open(global)?, args.source.as_deref());
    let kept = args.asks_the_store().then(kept).transpose().map_err(SessionError::from)?;
    let plan = plan(args.input(kept.as_ref()), utc_now(), &TimeZone::system())
        .map_err(|error| hinted(error, "a shorter --for, or a longer --every"))?;
    if args.json {
        to_stdout(printer, &|out| write_figures(&plan_json(&plan, kept.as_ref()), out))?;
    } else {
        printer.result(&text_of_sections(
            &plan_title(&plan),
            &plan_sections(&plan, kept.as_ref()),
            printer,
        ))?;
    }
    Ok(if plan.full_utc.is_some() { Status::No } else { Status::Done })
}
