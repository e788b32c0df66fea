//! `iostall compare`: saved runs, fresh runs in turn, or tables of real work.

mod fresh;
mod work;

use std::io::Write;

use iostall_report::compare::ComparisonDocument;
use iostall_session::analysis::comparison::Comparison;
use iostall_session::comparison::MeasuredSide;
use iostall_session::output::{Form, OutputError, Outputs, Taken};
use iostall_session::requirements::{comparison_verdicts, work_verdicts};
use iostall_stats::work::evaluate;
use iostall_store::{SqliteStore, Store};

use crate::cli::{CompareArgs, GlobalArgs, RunOutput as _};
use crate::failure::{Status, hinted, is_interrupted};
use crate::output::{judged, text_of_sections, write_or_show};
use crate::printer::Printer;
use crate::store;

pub(crate) fn run(args: &CompareArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let taken = taken(args, global);
    taken.refuse_inputs_as_targets()?;
    let outputs = check(args, &taken)?;
    if let Some(paths) = &args.work {
        let jobs = work::read(paths)?;
        let jobs = evaluate(&jobs);
        let document = ComparisonDocument::of_work(&jobs, work_verdicts(&jobs, &args.require));
        return Ok(show(&document, &outputs, printer, Status::Done));
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
        (read_saved(&args.sides, global)?, false)
    };
    let comparison = Comparison::of(&sides);
    let status = if interrupted { Status::Interrupted } else { Status::Done };
    let verdicts = comparison_verdicts(&comparison, &args.require);
    let document = ComparisonDocument::of_runs(title(&sides), &comparison, verdicts);
    Ok(show(&document, &outputs, printer, status))
}

fn check(args: &CompareArgs, taken: &Taken) -> Result<Outputs, OutputError> {
    let csv = ("--csv", Form::Csv, args.csv.as_deref());
    Outputs::check(&[&args.output.wanted()[..], &[csv]].concat(), taken)
}

fn title(sides: &[MeasuredSide]) -> String {
    let labels: Vec<&str> = sides.iter().map(|side| side.label.as_str()).collect();
    format!("Comparison of {}", labels.join(", "))
}

fn show(document: &ComparisonDocument, outputs: &Outputs, printer: &Printer, status: Status) -> Status {
    let status = judged(&document.verdicts, !outputs.take_stdout(), printer, status);
    let render = |form: Form, out: &mut dyn Write| document.write(form, out);
    let text = || Some(text_of_sections(&document.title, &document.sections, printer));
    write_or_show(outputs, &render, &text, printer, status)
}

/// The files that are measured or read: without `--fresh`, the sides are not files.
fn taken(args: &CompareArgs, global: &GlobalArgs) -> Taken {
    let targets = if args.fresh.is_some() { args.sides.as_slice() } else { &[] };
    let tables = args.work.iter().flatten();
    store::taken(global).targets(targets).inputs(args.load.profile.iter().chain(tables))
}

fn need_two(count: usize) -> anyhow::Result<()> {
    if count >= 2 {
        return Ok(());
    }
    let error = anyhow::anyhow!("a comparison needs two sides, {count} given");
    Err(hinted(error, "such as `iostall compare last~1 last`; `iostall compare --help` has more examples"))
}

/// Reads every side; the runs of one side are joined with commas.
fn read_saved(sides: &[String], global: &GlobalArgs) -> anyhow::Result<Vec<MeasuredSide>> {
    let store = store::open(global)?;
    sides.iter().map(|side| read_side(side, &store)).collect()
}

fn read_side(text: &str, store: &SqliteStore) -> anyhow::Result<MeasuredSide> {
    let mut numbers: Vec<String> = Vec::new();
    let mut runs = Vec::new();
    for word in text.split(',') {
        let stored = store.get(&store::selector(word)?)?;
        numbers.push(stored.number.to_string());
        runs.push(stored.run);
    }
    Ok(MeasuredSide { label: numbers.join(","), runs })
}
