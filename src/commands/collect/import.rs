//! `iostall collect import`: imports what a management database in SQL Server sampled.

use std::sync::atomic::Ordering;

use iostall_measure::clock::utc_now;
use iostall_measure::foreign::shown;
use iostall_measure::number::counted;
use iostall_watch::{ImportEvent, ManagementDatabase};
use jiff::Timestamp;

use crate::cli::timestamp::timestamp;
use crate::cli::{GlobalArgs, ImportArgs};
use crate::failure::Status;
use crate::interrupt::stop_flag;
use crate::printer::Printer;
use crate::store::open_watch;

pub(crate) fn run(args: &ImportArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let since = match &args.since {
        Some(text) => timestamp("--since", text, utc_now())?,
        None => Timestamp::UNIX_EPOCH,
    };
    let database = ManagementDatabase::named(&args.source, &Printer::ask_password)?;
    let mut store = open_watch(global)?;
    let mut import = database.open(args.timeout)?;
    let stop = stop_flag(Some(printer))?;
    let mut outcome = Ok(());
    import.run(&mut store, since, &stop, &mut |event| match event {
        ImportEvent::Nothing { name } => {
            printer.note(&format!("{name}: there are no samples yet"));
        }
        ImportEvent::Fetched { source, samples } => {
            let line = printer.result(&format!("{}: {}\n", shown(source), counted(samples as u64, "sample")));
            outcome = std::mem::replace(&mut outcome, Ok(())).and(line);
        }
    })?;
    outcome?;
    Ok(if stop.load(Ordering::Relaxed) { Status::Interrupted } else { Status::Done })
}
