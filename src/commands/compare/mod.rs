//! `iostall compare`: saved runs, fresh ones in turn, or tables of real work.

mod fresh;
mod saved;
mod work;

use std::path::Path;

use anyhow::Context;
use iostall_report::chapter::Chapter;
use iostall_report::compare::{Comparison, Side};

use crate::cli::{CompareArgs, GlobalArgs};
use crate::failure::{Status, hinted};
use crate::measuring::Interrupted;
use crate::output::chapters_to_stdout;
use crate::printer::Printer;

/// Compares and shows what was found.
pub(crate) fn run(args: &CompareArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let seed = args.bootstrap_seed;
    if let Some(paths) = &args.work {
        let jobs = work::read(paths)?;
        let chapters = [iostall_report::work::chapter(&jobs, seed)];
        show("Before and after", &chapters, &iostall_report::work::to_json(&jobs, seed), args, printer)?;
        return Ok(Status::Done);
    }
    let (sides, interrupted) = match args.fresh {
        Some(times) => match fresh::measure(args, times, global, printer) {
            Err(error) if error.is::<Interrupted>() => {
                printer.error(&error);
                return Ok(Status::Interrupted);
            }
            other => other?,
        },
        None => (saved::read(&args.sides, global)?, false),
    };
    let comparison = Comparison::of(&sides, seed);
    show(&title(&sides), &comparison.chapters(), &comparison.to_json(), args, printer)?;
    Ok(if interrupted { Status::Interrupted } else { Status::Done })
}

fn title(sides: &[Side]) -> String {
    let labels: Vec<&str> = sides.iter().map(|side| side.label.as_str()).collect();
    format!("Comparison of {}", labels.join(", "))
}

fn show(
    title: &str,
    chapters: &[Chapter],
    json: &serde_json::Value,
    args: &CompareArgs,
    printer: &Printer,
) -> anyhow::Result<()> {
    let document = format!("{}\n", serde_json::to_string_pretty(json)?);
    match args.json.as_deref() {
        Some(path) if path == Path::new("-") => return Ok(printer.result(&document)?),
        Some(path) => {
            std::fs::write(path, document).with_context(|| format!("cannot write {}", path.display()))?;
        }
        None => {}
    }
    chapters_to_stdout(title, chapters, printer)
}

/// Refuses fewer than two sides.
fn need_two(count: usize) -> anyhow::Result<()> {
    if count >= 2 {
        return Ok(());
    }
    let error = anyhow::anyhow!("a comparison needs two sides, {count} given");
    Err(hinted(error, "such as `iostall compare last~1 last`; `iostall compare --help` has more examples"))
}
