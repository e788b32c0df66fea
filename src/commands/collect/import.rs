//! `iostall collect import`: what a management database in SQL Server sampled, into the local store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iostall_collect::{Engine, History, HistoryGap, Position};
use iostall_measure::clock::utc_now;
use iostall_measure::foreign::shown;
use iostall_store::{ImportMark, SourceNumber, StoredGap, WatchStore};
use jiff::Timestamp;

use crate::cli::{GlobalArgs, ImportArgs};
use crate::failure::{Status, hinted};
use crate::interrupt::on_signal;
use crate::moment::moment;
use crate::printer::Printer;
use crate::store::{open_watch, with_hint};
use crate::watching::{address, advised, secret};

/// Fetches every filter's samples that are not here yet.
pub(crate) fn run(args: &ImportArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let since = match &args.since {
        Some(text) => moment("--since", text, utc_now())?,
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
        let source = source_name(&name, &filter);
        let number = store.source(&source).map_err(with_hint)?;
        let (mut position, mut kept) = (beginning(&store, number, since)?, 0);
        while !cancel.load(Ordering::Relaxed) {
            let batch = history.read(&filter, &position).map_err(advised)?;
            if batch.samples.is_empty() {
                break;
            }
            kept += batch.samples.len();
            let gap = |gap: HistoryGap| StoredGap { at: gap.at, beats: gap.beats, reason: gap.reason };
            let gaps: Vec<StoredGap> = batch.gaps.into_iter().map(gap).collect();
            let mark = ImportMark { sample: batch.next.number, taken: batch.next.taken };
            store.add_imported(number, batch.samples, &gaps, mark).map_err(with_hint)?;
            position = batch.next;
        }
        printer.result(&format!("{}: {kept} samples\n", shown(&source)))?;
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

/// Where to go on: behind what was taken over last time, but with nothing earlier than `since`.
fn beginning(store: &WatchStore, source: SourceNumber, since: Timestamp) -> anyhow::Result<Position> {
    let mark = store.import_mark(source).map_err(with_hint)?;
    Ok(match mark {
        Some(mark) if mark.taken >= since => Position::following(mark.sample, mark.taken),
        _ => Position::after(since),
    })
}
