//! `iostall collect once`.

use iostall_measure::foreign::shown;
use iostall_watch::{OnceEvent, WatchError, named_sources, sample_once};

use crate::cli::{GlobalArgs, OnceArgs};
use crate::collected;
use crate::failure::Status;
use crate::printer::Printer;
use crate::store::open_watch;

pub(super) fn run(args: &OnceArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let mut store = open_watch(global)?;
    let path = store.path().to_owned();
    let mut sources = Vec::new();
    for source in named_sources(&args.sources, &Printer::ask_password)? {
        let opened = source.open(args.timeout).map_err(WatchError::from)?;
        sources.push((source.name().to_owned(), opened));
    }
    let mut outcome = Ok(());
    let mut observer = |event: OnceEvent<'_>| match event {
        OnceEvent::Sampled { source, step } => {
            let (rows, at) = (step.sample.rows.len(), step.at());
            let line = printer.result(&format!("{}: {rows} rows at {at:.3}\n", shown(source)));
            outcome = std::mem::replace(&mut outcome, Ok(())).and(line);
        }
        OnceEvent::Failed(error) => printer.error(&WatchError::from(error).into()),
        OnceEvent::Writer(event) => collected::show_writer(event, &path, printer),
    };
    let all_answered = sample_once(&mut store, sources, &args.filter(), &mut observer)?;
    outcome?;
    Ok(if all_answered { Status::Done } else { Status::CouldNot })
}
