//! Writing samples, and the roll-ups with them.

use std::collections::BTreeMap;

use iostall_model::{Rollup, Sample, Subject, Tier, delta};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Transaction, named_params};

use super::body::{self, Rows};
use super::series::Series;
use super::{
    ImportMark, SourceNumber, StoredGap, WHOLE_EVERY, WatchStore, damage, rollup_body, statements, utc_ns,
    warning_text,
};
use crate::error::StoreError;
use crate::sqlite::{begin, fault};

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
    series: Series,
    epoch: Option<(String, String, u32)>,
    /// The number of the sample before, or of the last one that is in the roll-ups.
    last: i64,
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
        let number = begin(&self.connection, &self.path, 0)
            .and_then(|transaction| {
                transaction.execute(statements::ADD_SOURCE, named_params! {":name": name})?;
                let number =
                    transaction.query_row(statements::FIND_SOURCE, named_params! {":name": name}, |row| {
                        row.get(0)
                    })?;
                transaction.commit()?;
                Ok(number)
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
        let (rolled_up_to, _) = self.ends(source)?;
        let mut chain = Chain { last: rolled_up_to, ..Chain::default() };
        chain.pending.rolled_up_to = rolled_up_to;
        self.follow(source, &mut chain)?;
        Ok(chain)
    }

    /// Takes in what is in the file beyond the end of `chain`. The next body is a whole one: what it would be a
    /// change to is not known as it was written.
    fn follow(&self, source: SourceNumber, chain: &mut Chain) -> Result<(), StoreError> {
        chain.series = self.series(source)?;
        chain.numbers.clear();
        chain.since_whole = None;
        let from = chain.last;
        let Chain { pending, series, before, last, .. } = chain;
        self.each_sample(source, from, i64::MAX, &mut |number, sample| {
            if let Some(before) = before.as_ref().filter(|_| number > from) {
                pending.absorb(before, &sample, |_, subject| series.number(subject));
            }
            pending.open_hour = Some(Tier::Hour.floor(sample.taken.utc));
            *last = number;
            *before = Some(sample);
        })
    }

    /// The chain of `source`, with all that is in the file. Another process may have sampled the same source into
    /// it: a change to a sample of ours would be read as a change to one of its samples. Or it has made the
    /// roll-ups anew, in which what was pending here is then.
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

    /// Keeps `sample`, and the roll-ups of the hours that it closes. When it returns, both survive a loss of power.
    pub fn add_sample(&mut self, source: SourceNumber, sample: Sample) -> Result<(), StoreError> {
        self.in_one_transaction(source, |transaction, chain| write(transaction, source, chain, sample))
    }

    /// Keeps that `gap` happened.
    pub fn add_gap(&mut self, source: SourceNumber, gap: &StoredGap) -> Result<(), StoreError> {
        begin(&self.connection, &self.path, 0)
            .and_then(|transaction| {
                put_gap(&transaction, source, gap)?;
                transaction.commit()
            })
            .map_err(fault(&self.path, "write to"))
    }

    /// Keeps a piece of the history of another database and that the import came so far: all of it, or nothing.
    pub fn add_imported(
        &mut self,
        source: SourceNumber,
        samples: Vec<Sample>,
        gaps: &[StoredGap],
        mark: ImportMark,
    ) -> Result<(), StoreError> {
        self.in_one_transaction(source, |transaction, chain| {
            for sample in samples {
                write(transaction, source, chain, sample)?;
            }
            for gap in gaps {
                put_gap(transaction, source, gap)?;
            }
            transaction.execute(
                statements::PUT_IMPORT,
                named_params! {
                    ":source": source.0,
                    ":sample": mark.sample,
                    ":taken_utc_ns": utc_ns(mark.taken),
                },
            )?;
            Ok(())
        })
    }

    /// Runs `work` on the chain of `source` and keeps what it wrote. Where that fails the chain may be ahead of the
    /// file: it is dropped, and the next call takes it up from what is really there.
    fn in_one_transaction(
        &mut self,
        source: SourceNumber,
        work: impl FnOnce(&Transaction<'_>, &mut Chain) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let failed = || fault(&self.path, "write to");
        let chain = self.chains.remove(&source);
        let transaction = begin(&self.connection, &self.path, 0).map_err(failed())?;
        let mut chain = self.caught_up(source, chain)?;
        work(&transaction, &mut chain).and_then(|()| transaction.commit()).map_err(failed())?;
        self.chains.insert(source, chain);
        Ok(())
    }

    /// Writes the roll-ups of what has been sampled so far, the open hour included.
    pub fn finish(&mut self) -> Result<(), StoreError> {
        let sources: Vec<SourceNumber> = self.chains.keys().copied().collect();
        for source in sources {
            self.in_one_transaction(source, |transaction, chain| {
                flush(transaction, source, chain.last, &mut chain.pending)
            })?;
        }
        Ok(())
    }
}

fn put_gap(connection: &Connection, source: SourceNumber, gap: &StoredGap) -> rusqlite::Result<()> {
    let parameters = named_params! {
        ":source": source.0,
        ":at_utc_ns": utc_ns(gap.at),
        ":beats": i64::try_from(gap.beats).unwrap_or(i64::MAX),
        ":reason": gap.reason,
    };
    connection.prepare_cached(statements::ADD_GAP)?.execute(parameters).map(drop)
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
    chain.last = transaction.last_insert_rowid();
    for warning in &sample.warnings {
        transaction.prepare_cached(statements::PUT_WARNING)?.execute(named_params! {
            ":source": source.0,
            ":message": warning.message,
            ":document": warning_text(warning),
            ":utc_ns": utc_ns(sample.taken.utc),
        })?;
    }
    let Chain { pending, before, last, .. } = chain;
    if let Some(before) = before {
        pending.absorb(before, &sample, |place, _| numbers.get(place).copied());
    }
    if pending.closes(sample.taken.utc) {
        flush(transaction, source, *last, pending)?;
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

/// Adds everything pending to the stored roll-ups, which then go up to the sample numbered `last`.
fn flush(
    transaction: &Transaction<'_>,
    source: SourceNumber,
    last: i64,
    pending: &mut Pending,
) -> rusqlite::Result<()> {
    for ((hour, series), rollup) in std::mem::take(&mut pending.hours) {
        merge(transaction, Tier::Hour, hour, series, &rollup)?;
        merge(transaction, Tier::Day, Tier::Day.floor(hour), series, &rollup)?;
    }
    let mark = named_params! {":number": last, ":source": source.0};
    transaction.execute(statements::MARK_ROLLED_UP, mark)?;
    pending.rolled_up_to = last;
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
