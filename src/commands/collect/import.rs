//! `iostall collect import`: what a management database in SQL Server sampled, into the local store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iostall_collect::{Engine, History, Position};
use iostall_measure::clock::utc_now;
use iostall_model::Tier;
use iostall_store::{SourceNumber, StoredGap, WatchStore};
use jiff::{SignedDuration, Timestamp};

use crate::cli::{GlobalArgs, ImportArgs};
use crate::failure::{Status, hinted};
use crate::interrupt;
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
    let mut history = History::open(address, password, args.timeout).map_err(advised)?;
    let cancel = Arc::new(AtomicBool::new(false));
    interrupt::cancel_on_signal(&cancel)?;
    let filters = history.filters().map_err(advised)?;
    if filters.is_empty() {
        printer.note(&format!("{name}: nothing has been sampled there yet"));
    }
    for filter in filters {
        let source = source_name(&name, &filter);
        let number = store.source(&source).map_err(with_hint)?;
        let from = since.max(newest(&store, number)?);
        let (mut position, mut kept) = (Position::after(from), 0_u64);
        while !cancel.load(Ordering::Relaxed) {
            let batch = history.read(&filter, &position).map_err(advised)?;
            if batch.samples.is_empty() {
                break;
            }
            for sample in batch.samples {
                store.add_sample(number, sample).map_err(with_hint)?;
                kept += 1;
            }
            for gap in batch.gaps {
                let gap = StoredGap { at: gap.at, beats: gap.beats, reason: gap.reason };
                store.add_gap(number, &gap).map_err(with_hint)?;
            }
            position = batch.next;
        }
        printer.result(&format!("{source}: {kept} samples\n"))?;
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

/// Up to where `source` is here already; raw samples that were forgotten live on in hours and days.
fn newest(store: &WatchStore, source: SourceNumber) -> anyhow::Result<Timestamp> {
    let watched = store.sources().map_err(with_hint)?;
    if let Some(last) = watched.iter().find(|one| one.number == source).and_then(|one| one.last) {
        return Ok(last);
    }
    for tier in [Tier::Hour, Tier::Day] {
        let all = store.rollups(source, tier, Timestamp::MIN, Timestamp::MAX).map_err(with_hint)?;
        if let Some(last) = all.iter().map(|row| row.beginning).max() {
            let length = SignedDuration::from_secs(tier.seconds());
            return Ok(last.checked_add(length).unwrap_or(Timestamp::MAX));
        }
    }
    Ok(Timestamp::UNIX_EPOCH)
}
