//! A roll-up's body, which has its sums, maxima and distributions in sequence, and how roll-ups are stored.

use iostall_model::{Counter, Counters, Peak, Rollup, StallHistogram, Tier, Totals};
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Transaction, named_params};

use super::bytes::{Reader, put};
use super::columns::{SourceNumber, damage};
use super::statements;
use crate::history::Pending;

pub(super) fn encode(rollup: &Rollup) -> Vec<u8> {
    let mut out = Vec::with_capacity(96);
    put(&mut out, rollup.totals.covered_ns);
    put(&mut out, rollup.intervals);
    put(&mut out, rollup.totals.amounts.present());
    for (_, amount) in rollup.totals.amounts.iter() {
        put(&mut out, amount);
    }
    for peak in &rollup.peaks {
        // The bits of a non-negative float without the trailing zeros of its fraction; 0 means "none".
        put(&mut out, peak.map_or(0, |peak| peak.to_bits().swap_bytes().saturating_add(1)));
    }
    for histogram in [&rollup.reads_by_stall, &rollup.writes_by_stall] {
        put(&mut out, histogram.buckets().len() as u64);
        for (bucket, ops) in histogram.buckets() {
            put(&mut out, u64::from(bucket));
            put(&mut out, ops);
        }
    }
    out
}

pub(super) fn decode(body: &[u8]) -> Option<Rollup> {
    let mut reader = Reader(body);
    let (covered_ns, intervals, present) = (reader.take()?, reader.take()?, reader.take()?);
    let mut amounts = Counters::new();
    for counter in Counter::ALL {
        if present >> (counter as u8) & 1 == 1 {
            amounts.set(counter, reader.take()?);
        }
    }
    let mut peaks = [None; Peak::ALL.len()];
    for peak in &mut peaks {
        *peak = reader.take()?.checked_sub(1).map(|bits| f64::from_bits(bits.swap_bytes()));
        if peak.is_some_and(|peak| !peak.is_finite()) {
            return None;
        }
    }
    let (reads_by_stall, writes_by_stall) = (histogram(&mut reader)?, histogram(&mut reader)?);
    let totals = Totals { covered_ns, amounts };
    reader.is_empty().then_some(Rollup { totals, intervals, peaks, reads_by_stall, writes_by_stall })
}

fn histogram(reader: &mut Reader<'_>) -> Option<StallHistogram> {
    let mut buckets = Vec::new();
    for _ in 0..reader.take()? {
        buckets.push((u8::try_from(reader.take()?).ok()?, reader.take()?));
    }
    Some(StallHistogram::from_buckets(buckets))
}

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
        Some(body) => decode(&body).ok_or_else(|| damage(format!("a roll-up of series {series}")))?,
    };
    sum.merge(rollup);
    transaction.prepare_cached(statements::PUT_ROLLUP)?.execute(named_params! {
        ":tier": tier as u8,
        ":beginning_s": beginning.as_second(),
        ":series": series,
        ":body": encode(&sum),
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_rollup_reads_back(intervals in prop::collection::vec((1_u64..1 << 50, 0_u64..1 << 40, 0_u64..1 << 50), 0..20)) {
            let mut rollup = Rollup::default();
            for (covered_ns, reads, stall) in intervals {
                let amounts = Counters::new().with(Counter::Reads, reads).with(Counter::ReadStall, stall);
                let totals = Totals { covered_ns, amounts };
                rollup.absorb(&totals, &totals);
            }
            prop_assert_eq!(decode(&encode(&rollup)), Some(rollup));
        }

        #[test]
        fn damage_is_refused_and_does_not_panic(body in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = decode(&body);
        }
    }
}
