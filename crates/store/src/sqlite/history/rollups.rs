//! Writes roll-ups.

use iostall_model::{Rollup, Tier};
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Transaction, named_params};

use super::columns::{SourceNumber, damage};
use super::{rollup_body, statements};
use crate::history::Pending;

/// Adds everything pending to the stored roll-ups, which then end at the sample numbered `last`.
pub(super) fn flush(
    transaction: &Transaction<'_>,
    source: SourceNumber,
    last: i64,
    pending: &mut Pending,
) -> rusqlite::Result<()> {
    for ((hour, series), rollup) in pending.take(last) {
        merge(transaction, Tier::Hour, hour, series, &rollup)?;
        merge(transaction, Tier::Day, Tier::Day.floor(hour), series, &rollup)?;
    }
    let mark = named_params! {":number": last, ":source": source.0};
    transaction.execute(statements::MARK_ROLLED_UP, mark)?;
    Ok(())
}

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
