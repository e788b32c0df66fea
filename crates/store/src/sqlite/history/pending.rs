//! Collects deltas for roll-ups and writes them.

use std::collections::BTreeMap;

use iostall_model::{Change, Rollup, Sample, Subject, Tier};
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Transaction, named_params};

use super::columns::{SourceNumber, damage};
use super::{rollup_body, statements};

/// Deltas that are not in a stored roll-up yet.
#[derive(Debug, Default)]
pub(super) struct Pending {
    hours: BTreeMap<(Timestamp, u32), Rollup>,
    /// The hour of the newest sample.
    pub(super) open_hour: Option<Timestamp>,
    /// The last sample in the stored roll-ups, as far as this process knows.
    pub(super) rolled_up_to: i64,
}

impl Pending {
    /// Empty, if the stored roll-ups end at the sample numbered `rolled_up_to`.
    pub(super) fn after(rolled_up_to: i64) -> Self {
        Self { rolled_up_to, ..Self::default() }
    }

    /// Adds the changes of the rows of `now` since the previous sample. `number_of` returns the series of a
    /// row.
    pub(super) fn absorb(
        &mut self,
        now: &Sample,
        changes: &[Change],
        number_of: impl Fn(usize, &Subject) -> Option<u32>,
    ) {
        for (place, (row, change)) in now.rows.iter().zip(changes).enumerate() {
            if row.subject.kind.has_levels_only() {
                continue;
            }
            let (Some(whole), Some(series)) = (change.delta(), number_of(place, &row.subject)) else {
                continue;
            };
            for (hour, part) in Tier::Hour.spread(now.taken.utc, whole) {
                self.hours.entry((hour, series)).or_default().absorb(whole, &part);
            }
        }
    }

    /// The pending roll-ups, for a rebuild.
    pub(super) fn into_hours(self) -> BTreeMap<(Timestamp, u32), Rollup> {
        self.hours
    }

    /// Whether a sample taken at `taken` ends an hour.
    pub(super) fn closes(&mut self, taken: Timestamp) -> bool {
        let hour = Tier::Hour.floor(taken);
        self.open_hour.replace(hour).is_some_and(|open| open != hour)
    }
}

/// Adds everything pending to the stored roll-ups, which then end at the sample numbered `last`.
pub(super) fn flush(
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

/// Adds `rollup` to the stored one of that hour or day.
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
