//! Writing samples, and the roll-ups with them.

use std::collections::{BTreeMap, HashMap};

use iostall_model::{Rollup, Sample, Subject, Tier, delta};
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, named_params};

use super::body::{self, Rows};
use super::{SourceNumber, WHOLE_EVERY, WatchStore, damage, rollup_body, statements, utc_ns, warning_text};
use crate::error::StoreError;
use crate::sqlite::fault;

/// What the writer remembers of a source between its samples.
#[derive(Debug, Default)]
pub(super) struct Chain {
    /// The sample before, as it came.
    before: Option<Sample>,
    /// The numbers of the series of its rows, in their order, if this process wrote it.
    numbers: Vec<u32>,
    /// The same as it was written.
    rows: Rows,
    /// How many bodies were written since the last whole one; `None` before this process wrote one.
    since_whole: Option<u32>,
    series: HashMap<Subject, u32>,
    epoch: Option<(String, String, u32)>,
    pending: Pending,
}

/// Deltas that are in no stored roll-up yet.
#[derive(Debug, Default)]
pub(super) struct Pending {
    hours: BTreeMap<(Timestamp, u32), Rollup>,
    /// The hour the newest sample was taken in.
    open_hour: Option<Timestamp>,
    /// The sample up to which the stored roll-ups go, as far as this process knows.
    rolled_up_to: i64,
}

impl Pending {
    /// Adds what the rows of `now` did since `before`. `number_of` tells the series of the row at a place.
    pub(super) fn absorb(
        &mut self,
        before: &Sample,
        now: &Sample,
        number_of: impl Fn(usize, &Subject) -> Option<u32>,
    ) {
        for (place, (row, change)) in now.rows.iter().zip(delta::compare(before, now)).enumerate() {
            let (Some(whole), Some(series)) = (change.delta(), number_of(place, &row.subject)) else {
                continue;
            };
            for (hour, part) in Tier::Hour.spread(now.taken.utc, whole) {
                self.hours.entry((hour, series)).or_default().absorb(whole, &part);
            }
        }
    }

    /// What is waiting, for those who make roll-ups anew.
    pub(super) fn into_hours(self) -> BTreeMap<(Timestamp, u32), Rollup> {
        self.hours
    }

    /// Whether a sample taken at `taken` ends an hour.
    fn closes(&mut self, taken: Timestamp) -> bool {
        let hour = Tier::Hour.floor(taken);
        self.open_hour.replace(hour).is_some_and(|open| open != hour)
    }
}

impl WatchStore {
    /// The number of the source called `name`, which is made where it is not there.
    pub fn source(&mut self, name: &str) -> Result<SourceNumber, StoreError> {
        let number = self
            .connection
            .execute(statements::ADD_SOURCE, named_params! {":name": name})
            .and_then(|_| {
                self.connection
                    .query_row(statements::FIND_SOURCE, named_params! {":name": name}, |row| row.get(0))
            })
            .map_err(fault(&self.path, "write to"))?;
        let source = SourceNumber(number);
        if !self.chains.contains_key(&source) {
            let chain = self.resume(source)?;
            self.chains.insert(source, chain);
        }
        Ok(source)
    }

    /// Takes up the history of `source` anew if it is being written.
    pub(super) fn resume_if_open(&mut self, source: SourceNumber) -> Result<(), StoreError> {
        if self.chains.remove(&source).is_some() {
            let chain = self.resume(source)?;
            self.chains.insert(source, chain);
        }
        Ok(())
    }

    /// Takes up the history of `source` where an earlier process left it, roll-ups it could not write included.
    fn resume(&self, source: SourceNumber) -> Result<Chain, StoreError> {
        let mut chain = Chain { series: self.series_numbers(source)?, ..Chain::default() };
        let rolled_up_to = self.rolled_up_to(source)?;
        chain.pending.rolled_up_to = rolled_up_to;
        let mut before: Option<Sample> = None;
        let Chain { pending, series, .. } = &mut chain;
        self.each_sample(source, rolled_up_to, i64::MAX, &mut |number, sample| {
            if let Some(before) = before.as_ref().filter(|_| number > rolled_up_to) {
                pending.absorb(before, &sample, |_, subject| number_in(series, subject));
            }
            pending.open_hour = Some(Tier::Hour.floor(sample.taken.utc));
            before = Some(sample);
        })?;
        chain.before = before;
        Ok(chain)
    }

    /// Keeps `sample`, and the roll-ups of the hours that it closes. When it returns, both survive a loss of power.
    pub fn add_sample(&mut self, source: SourceNumber, sample: Sample) -> Result<(), StoreError> {
        let failed = fault(&self.path, "write to");
        let Some(mut chain) = self.chains.remove(&source) else {
            return Err(self.damaged(format!("source {} was not opened", source.0)));
        };
        // Somebody has rebuilt the roll-ups meanwhile: what was pending here is in them.
        if self.rolled_up_to(source)? != chain.pending.rolled_up_to {
            chain = self.resume(source)?;
        }
        let written = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).and_then(
            |transaction| {
                write(&transaction, source, &mut chain, sample)?;
                transaction.commit()
            },
        );
        match written {
            Ok(()) => {
                self.chains.insert(source, chain);
                Ok(())
            }
            // The chain may be ahead of the file now: it is taken up again from what is really there.
            Err(error) => {
                let chain = self.resume(source)?;
                self.chains.insert(source, chain);
                Err(failed(error))
            }
        }
    }

    /// Writes the roll-ups of what has been sampled so far, the open hour included.
    pub fn finish(&mut self) -> Result<(), StoreError> {
        let failed = fault(&self.path, "write to");
        let mut all = || {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for (source, chain) in &mut self.chains {
                flush(&transaction, *source, &mut chain.pending)?;
            }
            transaction.commit()
        };
        all().map_err(failed)
    }
}

fn write(
    transaction: &Transaction<'_>,
    source: SourceNumber,
    chain: &mut Chain,
    sample: Sample,
) -> rusqlite::Result<()> {
    let numbers = numbers(transaction, source, chain, &sample)?;
    let rows: Rows =
        numbers.iter().zip(&sample.rows).map(|(number, row)| (*number, (row.counters, row.age_ms))).collect();
    let epoch = epoch(transaction, source, chain, &sample)?;
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
    for warning in &sample.warnings {
        transaction.prepare_cached(statements::PUT_WARNING)?.execute(named_params! {
            ":source": source.0,
            ":message": warning.message,
            ":document": warning_text(warning),
            ":utc_ns": utc_ns(sample.taken.utc),
        })?;
    }
    let Chain { pending, before, .. } = chain;
    if let Some(before) = before {
        pending.absorb(before, &sample, |place, _| numbers.get(place).copied());
    }
    if pending.closes(sample.taken.utc) {
        flush(transaction, source, pending)?;
    }
    chain.since_whole = Some(if is_whole { 0 } else { chain.since_whole.unwrap_or(0) + 1 });
    chain.rows = rows;
    chain.numbers = numbers;
    chain.before = Some(sample);
    Ok(())
}

/// The numbers of the series of the rows; those not known yet get one.
fn numbers(
    transaction: &Transaction<'_>,
    source: SourceNumber,
    chain: &mut Chain,
    sample: &Sample,
) -> rusqlite::Result<Vec<u32>> {
    let earlier_rows = chain.before.as_ref().map_or(&[][..], |before| &before.rows);
    let mut numbers = Vec::with_capacity(sample.rows.len());
    for (place, row) in sample.rows.iter().enumerate() {
        // Mostly the same thing is at the same place as before, and its number, too.
        let same = earlier_rows.get(place).filter(|earlier| earlier.subject == row.subject);
        let known = same
            .and_then(|_| chain.numbers.get(place).copied())
            .or_else(|| number_in(&chain.series, &row.subject));
        numbers.push(if let Some(number) = known {
            number
        } else {
            let number = put_series(transaction, source, &row.subject)?;
            chain.series.insert(row.subject.clone(), number);
            number
        });
    }
    Ok(numbers)
}

fn number_in(series: &HashMap<Subject, u32>, subject: &Subject) -> Option<u32> {
    series.get(subject).copied()
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
            ":database": subject.database,
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
    // The uptime changes with every sample and is kept with it.
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

/// Adds everything pending to the stored roll-ups, and marks up to where they go.
fn flush(transaction: &Transaction<'_>, source: SourceNumber, pending: &mut Pending) -> rusqlite::Result<()> {
    for ((hour, series), rollup) in std::mem::take(&mut pending.hours) {
        merge(transaction, Tier::Hour, hour, series, &rollup)?;
        merge(transaction, Tier::Day, Tier::Day.floor(hour), series, &rollup)?;
    }
    let newest = named_params! {":source": source.0, ":utc_ns": i64::MAX};
    let number: i64 = transaction.query_row(statements::SAMPLE_LAST, newest, |row| row.get(0))?;
    transaction
        .execute(statements::MARK_ROLLED_UP, named_params! {":number": number, ":source": source.0})?;
    pending.rolled_up_to = number;
    Ok(())
}

/// Adds `rollup` to what is stored of that hour or day.
pub(super) fn merge(
    transaction: &Transaction<'_>,
    tier: Tier,
    beginning: Timestamp,
    series: u32,
    rollup: &Rollup,
) -> rusqlite::Result<()> {
    let place = named_params! {":tier": tier as u8, ":beginning_s": beginning.as_second(), ":series": series};
    let stored: Option<Vec<u8>> =
        transaction.prepare_cached(statements::FIND_ROLLUP)?.query_row(place, |row| row.get(0)).optional()?;
    let mut sum = match stored {
        None => Rollup::default(),
        Some(body) => {
            rollup_body::decode(&body).ok_or_else(|| damage(format!("a roll-up of series {series}")))?
        }
    };
    sum.merge(rollup);
    transaction.prepare_cached(statements::PUT_ROLLUP)?.execute(named_params! {
        ":tier": tier as u8,
        ":beginning_s": beginning.as_second(),
        ":series": series,
        ":body": rollup_body::encode(&sum),
    })?;
    Ok(())
}
