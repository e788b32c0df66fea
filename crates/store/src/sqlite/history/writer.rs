//! Writes samples and their roll-ups.

use std::sync::Arc;

use iostall_model::{Gap, Sample, Step, Subject, Tier, delta};
use rusqlite::{Connection, Transaction, named_params};

use super::body::{self, Rows};
use super::file::Chain;
use super::rollup_body::flush;
use super::{SourceNumber, SqliteHistory, damage, sources, statements, utc_ns};
use crate::error::StoreError;
use crate::history::{Appended, Batch, ImportMark, SeenWarning, changes_since, company};
use crate::sqlite::{begin, fault};

/// One complete body follows this many bodies with changes.
pub(super) const WHOLE_EVERY: u32 = 64;

impl SqliteHistory {
    pub(super) fn resume_if_closed(&mut self, source: SourceNumber) -> Result<(), StoreError> {
        if !self.chains.contains_key(&source) {
            let chain = self.resume(source)?;
            self.chains.insert(source, chain);
        }
        Ok(())
    }

    pub(super) fn resume_if_open(&mut self, source: SourceNumber) -> Result<(), StoreError> {
        if self.chains.remove(&source).is_some() {
            let chain = self.resume(source)?;
            self.chains.insert(source, chain);
        }
        Ok(())
    }

    /// Loads the state of `source` as an earlier process left it, including roll-ups that it could not write.
    fn resume(&self, source: SourceNumber) -> Result<Chain, StoreError> {
        let (rolled_up_to, _) = self.ends(source)?;
        let mut chain = Chain::new(source, rolled_up_to);
        self.follow(source, &mut chain)?;
        Ok(chain)
    }

    /// Reads what is in the file beyond the end of `chain`. The next body will be complete, because the
    /// previous rows are not known as written.
    fn follow(&self, source: SourceNumber, chain: &mut Chain) -> Result<(), StoreError> {
        chain.series = self.series(source)?;
        chain.numbers.clear();
        chain.since_whole = None;
        let from = chain.last;
        let Chain { pending, series, before, last, .. } = chain;
        self.each_sample(source, from, i64::MAX, &mut |number, sample| {
            if let Some(before) = before.as_ref().filter(|_| number > from) {
                let changes = delta::compare(before, &sample);
                pending.absorb(&sample, &changes, |_, subject| series.number(subject));
            }
            pending.open_hour = Some(Tier::Hour.floor(sample.taken.utc));
            *last = number;
            *before = Some(Arc::new(sample));
        })
    }

    /// The chain of `source`, including everything in the file. Another process may have added samples of the
    /// same source: a change relative to our sample would be read as relative to theirs. Or it may have
    /// rebuilt the roll-ups, which then include what was pending here.
    fn caught_up(&self, source: SourceNumber, chain: Option<Chain>) -> Result<Chain, StoreError> {
        let (rolled_up_to, last) = self.ends(source)?;
        match chain {
            Some(mut chain) if chain.pending.rolled_up_to == rolled_up_to => {
                if chain.last != last {
                    self.follow(source, &mut chain)?;
                }
                Ok(chain)
            }
            _ => self.resume(source),
        }
    }

    pub(super) fn add_step_of(&mut self, source: SourceNumber, step: &Step) -> Result<(), StoreError> {
        self.in_one_transaction(|_| Ok(source), |transaction, chain| write(transaction, source, chain, step))
    }

    pub(super) fn add_gap_of(&mut self, source: SourceNumber, gap: &Gap) -> Result<(), StoreError> {
        begin(&self.connection, &self.path, 0)
            .and_then(|transaction| {
                put_gap(&transaction, source, gap)?;
                transaction.commit()
            })
            .map_err(fault(&self.path, "write to"))
    }

    /// See [`History::append`](crate::History::append). The batch number is written with its samples, so that
    /// both are there or neither.
    pub(super) fn append_batch(
        &mut self,
        batch: &Batch,
        number: i64,
        samples: Vec<Sample>,
    ) -> Result<Appended, StoreError> {
        self.in_one_transaction(
            |transaction| sources::put(transaction, &batch.source),
            |transaction, chain| {
                let source = chain.source;
                if sources::last_appended(transaction, source)? >= number {
                    return Ok(Appended::AlreadyThere);
                }
                for sample in samples {
                    write(transaction, source, chain, &Step::first(Arc::new(sample)))?;
                }
                for warning in &batch.warnings {
                    put_warning(transaction, source, warning)?;
                }
                for gap in &batch.gaps {
                    put_gap(transaction, source, gap)?;
                }
                if let Some(mark) = &batch.import {
                    put_import(transaction, source, mark)?;
                }
                sources::mark_appended(transaction, source, number)?;
                Ok(Appended::Added)
            },
        )
    }

    /// Runs `work` on the chain of the source that `find` returns, and commits. If that fails the chain may
    /// be ahead of the file: it is dropped, and the next call reloads it from the file.
    fn in_one_transaction<T>(
        &mut self,
        find: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<SourceNumber>,
        work: impl FnOnce(&Transaction<'_>, &mut Chain) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let failed = || fault(&self.path, "write to");
        // Takes the write lock at the start, so that the data read stays current.
        let transaction = begin(&self.connection, &self.path, 0).map_err(failed())?;
        let source = find(&transaction).map_err(failed())?;
        let chain = self.chains.remove(&source);
        let mut chain = self.caught_up(source, chain)?;
        let done = work(&transaction, &mut chain)
            .and_then(|done| transaction.commit().map(|()| done))
            .map_err(fault(&self.path, "write to"))?;
        self.chains.insert(source, chain);
        Ok(done)
    }

    pub(super) fn write_rollups(&mut self) -> Result<(), StoreError> {
        let sources: Vec<SourceNumber> = self.chains.keys().copied().collect();
        for source in sources {
            self.in_one_transaction(
                |_| Ok(source),
                |transaction, chain| flush(transaction, source, chain.last, &mut chain.pending),
            )?;
        }
        Ok(())
    }
}

fn put_gap(connection: &Connection, source: SourceNumber, gap: &Gap) -> rusqlite::Result<()> {
    let parameters = named_params! {
        ":source": source.0,
        ":at_utc_ns": utc_ns(gap.at),
        ":beats": i64::try_from(gap.missed).unwrap_or(i64::MAX),
        ":reason": gap.reason,
    };
    connection.prepare_cached(statements::ADD_GAP)?.execute(parameters).map(drop)
}

fn put_warning(connection: &Connection, source: SourceNumber, seen: &SeenWarning) -> rusqlite::Result<()> {
    let parameters = named_params! {
        ":source": source.0,
        ":message": seen.warning.message,
        ":document": serde_json::to_string(&seen.warning).unwrap_or_default(),
        ":first_utc_ns": utc_ns(seen.first),
        ":last_utc_ns": utc_ns(seen.last),
    };
    connection.prepare_cached(statements::PUT_WARNING)?.execute(parameters).map(drop)
}

fn put_import(connection: &Connection, source: SourceNumber, mark: &ImportMark) -> rusqlite::Result<()> {
    let parameters = named_params! {
        ":source": source.0,
        ":sample": mark.sample,
        ":taken_utc_ns": utc_ns(mark.taken),
    };
    connection.execute(statements::PUT_IMPORT, parameters).map(drop)
}

fn write(
    transaction: &Transaction<'_>,
    source: SourceNumber,
    chain: &mut Chain,
    step: &Step,
) -> rusqlite::Result<()> {
    let sample = &*step.sample;
    if chain.before.as_ref().is_some_and(|last| company::is_redundant(last, step)) {
        return Ok(());
    }
    let numbers = numbers(transaction, source, chain, sample)?;
    let rows: Rows =
        numbers.iter().zip(&sample.rows).map(|(number, row)| (*number, (row.counters, row.age_ms))).collect();
    let epoch = epoch(transaction, source, chain, sample)?;
    let is_whole = chain.since_whole.is_none_or(|since| since + 1 >= WHOLE_EVERY);
    let nothing = Rows::new();
    let earlier = if is_whole { &nothing } else { &chain.rows };
    let body = body::encode(earlier, &rows).map_err(|error| damage(error.to_string()))?;
    transaction.prepare_cached(statements::ADD_SAMPLE)?.execute(named_params! {
        ":source": source.0,
        ":epoch": epoch,
        ":taken_utc_ns": utc_ns(sample.taken.utc),
        ":clock_ns": sample.taken.clock_ns.cast_signed(),
        ":uptime_s": sample.epoch.uptime_s.map(u64::cast_signed),
        ":is_whole": is_whole,
        ":body": body,
    })?;
    chain.last = transaction.last_insert_rowid();
    let at = sample.taken.utc;
    for warning in &sample.warnings {
        let seen = SeenWarning { warning: warning.clone(), first: at, last: at };
        put_warning(transaction, source, &seen)?;
    }
    let Chain { pending, before, last, .. } = chain;
    if let Some(before) = before {
        pending.absorb(sample, &changes_since(before, step), |place, _| numbers.get(place).copied());
    }
    if pending.closes(sample.taken.utc) {
        flush(transaction, source, *last, pending)?;
    }
    chain.since_whole = Some(if is_whole { 0 } else { chain.since_whole.unwrap_or(0) + 1 });
    chain.rows = rows;
    chain.numbers = numbers;
    chain.before = Some(Arc::clone(&step.sample));
    Ok(())
}

fn numbers(
    transaction: &Transaction<'_>,
    source: SourceNumber,
    chain: &mut Chain,
    sample: &Sample,
) -> rusqlite::Result<Vec<u32>> {
    let earlier_rows = chain.before.as_ref().map_or(&[][..], |before| &before.rows);
    let mut numbers = Vec::with_capacity(sample.rows.len());
    for (place, row) in sample.rows.iter().enumerate() {
        // Usually the same subject is at the same index as before, with the same number.
        let same = earlier_rows.get(place).filter(|earlier| earlier.subject == row.subject);
        let known = same
            .and_then(|_| chain.numbers.get(place).copied())
            .or_else(|| chain.series.number(&row.subject));
        numbers.push(if let Some(number) = known {
            number
        } else {
            let number = put_series(transaction, source, &row.subject)?;
            chain.series.put(number, row.subject.clone());
            number
        });
    }
    Ok(numbers)
}

fn put_series(
    transaction: &Transaction<'_>,
    source: SourceNumber,
    subject: &Subject,
) -> rusqlite::Result<u32> {
    transaction.prepare_cached(statements::PUT_SERIES)?.query_row(
        named_params! {
            ":source": source.0,
            ":kind": subject.kind as u8,
            ":scope": subject.scope.number(),
            ":scope_name": subject.scope.name(),
            ":identity": subject.identity,
            ":name": subject.name,
            ":volume": subject.volume,
        },
        |row| row.get(0),
    )
}

fn epoch(
    transaction: &Transaction<'_>,
    source: SourceNumber,
    chain: &mut Chain,
    sample: &Sample,
) -> rusqlite::Result<u32> {
    // The uptime changes with every sample and is stored with it.
    let lasting = iostall_model::Epoch { uptime_s: None, ..sample.epoch.clone() };
    let document = serde_json::to_string(&lasting).map_err(|error| damage(error.to_string()))?;
    if let Some((known, clock, number)) = &chain.epoch
        && *known == document
        && *clock == sample.taken.clock
    {
        return Ok(*number);
    }
    let parameters = named_params! {
        ":source": source.0,
        ":document": document,
        ":clock": sample.taken.clock,
    };
    transaction.execute(statements::ADD_EPOCH, parameters)?;
    let number = transaction.query_row(statements::FIND_EPOCH, parameters, |row| row.get(0))?;
    chain.epoch = Some((document, sample.taken.clock.clone(), number));
    Ok(number)
}
