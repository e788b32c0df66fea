//! Imports samples of a SQL Server management database into the history.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iostall_collect::{self as collect, Address, Engine, Position};
use iostall_store::{Appended, Batch, History, ImportMark, Source, SourceId};
use jiff::Timestamp;

use crate::error::WatchError;
use crate::named::{AskPassword, NamedSource};

pub struct ManagementDatabase(NamedSource);

impl ManagementDatabase {
    /// Reads its address and finds its password.
    pub fn named(text: &str, ask: AskPassword<'_>) -> Result<Self, WatchError> {
        let address: Address = text.parse()?;
        if address.engine != Engine::SqlServer || address.database.is_empty() {
            return Err(WatchError::NoManagementDatabase { named: text.to_owned() });
        }
        NamedSource::at(address, ask).map(Self)
    }

    /// Connects; no answer may take longer than `limit`.
    pub fn open(self, limit: Duration) -> Result<Import, WatchError> {
        let Self(named) = self;
        let name = named.name().to_owned();
        let from = collect::History::open(named.address, &named.secret, limit)?;
        Ok(Import { name, from })
    }
}

#[derive(Debug)]
pub enum ImportEvent<'a> {
    /// Nothing has been sampled there yet.
    Nothing { name: &'a str },
    /// All samples of a source are here.
    Fetched { source: &'a str, samples: usize },
}

pub struct Import {
    name: String,
    from: collect::History,
}

impl Import {
    /// Fetches every filter's samples that are not in `store` yet and not older than `since`, until `cancel` says to stop.
    pub fn run(
        &mut self,
        store: &mut impl History,
        since: Timestamp,
        cancel: &AtomicBool,
        observer: &mut dyn FnMut(ImportEvent<'_>),
    ) -> Result<(), WatchError> {
        let filters = self.from.filters()?;
        if filters.is_empty() {
            observer(ImportEvent::Nothing { name: &self.name });
        }
        for filter in filters {
            let source = store.source(&source_name(&self.name, &filter))?;
            let samples = self.fetch(&filter, &source, store, since, cancel)?;
            observer(ImportEvent::Fetched { source: &source.name, samples });
        }
        Ok(store.finish()?)
    }

    /// Fetches the samples of one filter; how many there were.
    fn fetch(
        &mut self,
        filter: &str,
        source: &Source,
        store: &mut impl History,
        since: Timestamp,
        cancel: &AtomicBool,
    ) -> Result<usize, WatchError> {
        let (mut sequence, mut position) = beginning(store, source.id, since)?;
        let mut kept = 0;
        while !cancel.load(Ordering::Relaxed) {
            let batch = self.from.read(filter, &position)?;
            if batch.samples.is_empty() {
                break;
            }
            let mut piece = Batch::of(source.clone(), sequence, &batch.samples);
            piece.gaps = batch.gaps;
            piece.import = Some(ImportMark { sample: batch.next.number, taken: batch.next.taken });
            match store.append(&piece)? {
                Appended::Added => {
                    kept += batch.samples.len();
                    (sequence, position) = (sequence + 1, batch.next);
                }
                // Another import was faster: continue after it.
                Appended::AlreadyThere | Appended::NotNext => {
                    (sequence, position) = beginning(store, source.id, since)?;
                }
            }
        }
        Ok(kept)
    }
}

/// The name for the samples of one filter. It differs from the name under which iostall samples that server,
/// so that the two do not mix.
fn source_name(name: &str, filter: &str) -> String {
    let filter = filter.trim();
    if filter.is_empty() {
        format!("{name}?from=management-database")
    } else {
        format!("{name}?from=management-database ({filter})")
    }
}

/// The number of the next batch, and where to continue: after the last import, but not before `since`. The
/// number is read first, so that if another import runs in between, the number is taken and nothing is
/// imported twice.
fn beginning(
    store: &impl History,
    source: SourceId,
    since: Timestamp,
) -> Result<(u64, Position), WatchError> {
    let sequence = store.last_appended(source)? + 1;
    let position = match store.import_mark(source)? {
        Some(mark) if mark.taken >= since => Position::following(mark.sample, mark.taken),
        _ => Position::after(since),
    };
    Ok((sequence, position))
}
