//! `iostall collect check` and `iostall collect jobs`.

use std::path::Path;

use iostall_measure::clock::utc_now;
use iostall_report::alerts::never_fire;
use iostall_report::collector::{PlannedJob, planned_jobs, setup};
use iostall_store::CollectorState;
use iostall_watch::{CollectorSetup, WatchError, units_text, write_units};

use crate::cli::{GlobalArgs, JobsArgs};
use crate::failure::Status;
use crate::printer::Printer;
use crate::store::open_watch;

/// How many runs of a job are searched for its last result.
const RUNS: u32 = 20;

pub(super) fn check(file: &Path, printer: &Printer) -> anyhow::Result<Status> {
    let read = read(file)?;
    let never = read.rules_that_never_fire();
    printer.result(&(setup(&read) + &never_fire(&never)))?;
    Ok(if never.is_empty() { Status::Done } else { Status::No })
}

pub(super) fn run(args: &JobsArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let jobs = read(&args.file)?.jobs;
    match args.systemd.as_deref() {
        None => {
            let store = open_watch(global)?;
            let mut planned = Vec::new();
            for job in &jobs {
                let runs = store.job_runs(&job.name, RUNS).map_err(WatchError::from)?;
                planned.push(PlannedJob { job, runs });
            }
            printer.result(&planned_jobs(&planned, utc_now()))?;
        }
        Some(directory) if directory == Path::new("-") => printer.result(&units_text(&jobs))?,
        Some(directory) => {
            for path in write_units(&jobs, directory).map_err(WatchError::Output)? {
                printer.result(&format!("{}\n", path.display()))?;
            }
        }
    }
    Ok(Status::Done)
}

fn read(file: &Path) -> anyhow::Result<CollectorSetup> {
    Ok(CollectorSetup::read(file).map_err(WatchError::from)?)
}
