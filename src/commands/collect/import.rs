//! `iostall collect import`: what a management database in SQL Server sampled, into the local store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iostall_collect::{Engine, History, Position};
use iostall_measure::clock::utc_now;
use iostall_measure::foreign::shown;
use iostall_store::{Appended, Batch, History as _, ImportMark, SourceId, SqliteHistory};
use jiff::Timestamp;

use crate::cli::{GlobalArgs, ImportArgs};
use crate::failure::{Status, hinted};
use crate::interrupt::on_signal;
use crate::printer::Printer;
use crate::store::{open_watch, with_hint};
use crate::timestamp::timestamp;
use crate::watching::{address, advised, secret};

/// Fetches every filter's samples that are not here yet.
pub(crate) fn run(args: &ImportArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let since = match &args.since {
        Some(text) => timestamp("--since", text, utc_now())?,
        None => Timestamp::UNIX_EPOCH,
    };
    let address = address(&args.source)?;
    if address.engine != Engine::SqlServer || address.database.is_empty() {
        let error = anyhow::anyhow!("{} is no management database", args.source);
        return Err(hinted(
            error,
            "write sqlserver://USER@HOST/DATABASE; tsql/README.md says how to make one",
        ));
    }
    let name = address.to_string();
    let password = secret(&address, &name)?;
    let mut store = open_watch(global)?;
    let mut history = History::open(address, &password, args.timeout).map_err(advised)?;
    let cancel = Arc::new(AtomicBool::new(false));
    let to_cancel = Arc::clone(&cancel);
    on_signal(Some(printer), move || to_cancel.store(true, Ordering::Relaxed))?;
    let filters = history.filters().map_err(advised)?;
    if filters.is_empty() {
        printer.note(&format!("{name}: nothing has been sampled there yet"));
    }
    for filter in filters {
        let source = store.source(&source_name(&name, &filter)).map_err(with_hint)?;
        let (mut sequence, mut position) = beginning(&store, source.id, since)?;
        let mut kept = 0;
        while !cancel.load(Ordering::Relaxed) {
            let batch = history.read(&filter, &position).map_err(advised)?;
            if batch.samples.is_empty() {
                break;
            }
            let mut piece = Batch::of(source.clone(), sequence, &batch.samples);
            piece.gaps = batch.gaps;
            piece.import = Some(ImportMark { sample: batch.next.number, taken: batch.next.taken });
            match store.append(&piece).map_err(with_hint)? {
                Appended::Added => {
                    kept += batch.samples.len();
                    (sequence, position) = (sequence + 1, batch.next);
                }
                // Another import was quicker: this one goes on behind it.
                Appended::AlreadyThere => (sequence, position) = beginning(&store, source.id, since)?,
            }
        }
        printer.result(&format!("{}: {kept} samples\n", shown(&source.name)))?;
    }
    store.finish().map_err(with_hint)?;
    Ok(if cancel.load(Ordering::Relaxed) { Status::Interrupted } else { Status::Done })
}

/// What the samples of one filter are called here. Never the name of a source that is sampled from here: the two
/// would mix.
fn source_name(name: &str, filter: &str) -> String {
    let filter = filter.trim();
    if filter.is_empty() {
        format!("{name}?from=management-database")
    } else {
        format!("{name}?from=management-database ({filter})")
    }
}

/// The number of the next batch, and where to go on: behind what was taken over last time, but with nothing earlier than
/// `since`. The number is read first: should another import come in between, it is taken then, and nothing is there twice.
fn beginning(store: &SqliteHistory, source: SourceId, since: Timestamp) -> anyhow::Result<(u64, Position)> {
    let sequence = store.last_appended(source).map_err(with_hint)? + 1;
    let mark = store.import_mark(source).map_err(with_hint)?;
    let position = match mark {
        Some(mark) if mark.taken >= since => Position::following(mark.sample, mark.taken),
        _ => Position::after(since),
    };
    Ok((sequence, position))
}
