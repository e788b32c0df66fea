//! `iostall compare`: saved runs, fresh runs in turn, or tables of real work.

mod fresh;
mod saved;
mod work;

use std::io::Write;

use iostall_report::compare::{sections, to_json};
use iostall_report::forms::write_figures;
use iostall_report::section::Section;
use iostall_session::analysis::comparison::Comparison;
use iostall_session::comparison::MeasuredSide;
use iostall_session::output::{Form, Outputs, Taken};
use iostall_stats::work::evaluate;

use crate::cli::{CompareArgs, GlobalArgs};
use crate::failure::{Status, hinted, is_interrupted};
use crate::output::{text_of_sections, write_or_show};
use crate::printer::Printer;
use crate::store;

/// Compares and shows the result.
pub(crate) fn run(args: &CompareArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let outputs = Outputs::check(&[("--json", Form::Json, args.json.as_deref())], &taken(args, global))?;
    if let Some(paths) = &args.work {
        let jobs = work::read(paths)?;
        let jobs = evaluate(&jobs);
        let sections = [iostall_report::work::section(&jobs)];
        let json = iostall_report::work::to_json(&jobs);
        return Ok(show("Before and after", &sections, &json, &outputs, printer, Status::Done));
    }
    let (sides, interrupted) = if let Some(times) = args.fresh {
        let request = fresh::request(args, times)?;
        need_two(request.sides.len())?;
        match fresh::measure(&request, args, global, printer) {
            Err(error) if is_interrupted(&error) => {
                printer.error(&error);
                return Ok(Status::Interrupted);
            }
            other => other?,
        }
    } else {
        need_two(args.sides.len())?;
        (saved::read(&args.sides, global)?, false)
    };
    let comparison = Comparison::of(&sides);
    let status = if interrupted { Status::Interrupted } else { Status::Done };
    Ok(show(&title(&sides), &sections(&comparison), &to_json(&comparison), &outputs, printer, status))
}

fn title(sides: &[MeasuredSide]) -> String {
    let labels: Vec<&str> = sides.iter().map(|side| side.label.as_str()).collect();
    format!("Comparison of {}", labels.join(", "))
}

fn show(
    title: &str,
    sections: &[Section],
    json: &serde_json::Value,
    outputs: &Outputs,
    printer: &Printer,
    status: Status,
) -> Status {
    let render = |_: Form, out: &mut dyn Write| write_figures(json, out);
    write_or_show(outputs, &render, &|| Some(text_of_sections(title, sections, printer)), printer, status)
}

/// The files that are measured or read: without `--fresh`, the sides are not files.
fn taken(args: &CompareArgs, global: &GlobalArgs) -> Taken {
    let targets = if args.fresh.is_some() { args.sides.as_slice() } else { &[] };
    let tables = args.work.iter().flatten();
    store::taken(global).targets(targets).inputs(args.load.profile.iter().chain(tables))
}

/// Refuses fewer than two sides.
fn need_two(count: usize) -> anyhow::Result<()> {
    if count >= 2 {
        return Ok(());
    }
    let error = anyhow::anyhow!("a comparison needs two sides, {count} given");
    Err(hinted(error, "such as `iostall compare last~1 last`; `iostall compare --help` has more examples"))
}
