//! The body of a sample: rows by series, only what changed.
//!
//! ```text
//! body   := zstd( gone row* )
//! gone   := count, then the series that disappeared, each as the distance to the one before
//! row    := distance to the series before, shape, values
//! shape  := 0, present, age + 1 or 0       all values follow: a new series, or one with other columns
//!         | changed                        bit n: the n-th present value follows, as a difference
//! ```
//!
//! Numbers are encoded as in [`super::bytes`]. An unchanged row is not written; a whole body is written as if
//! nothing had been there before.

use std::collections::BTreeMap;

use iostall_model::{Counter, Counters};

use super::bytes::{Reader, put, put_difference};

pub(super) type Rows = BTreeMap<u32, (Counters, Option<u64>)>;

/// zstd level: bodies are small and written every second.
const LEVEL: i32 = 1;
/// Larger than any valid body: a damaged length must not use up memory.
const BODY_BYTES_MAX: usize = 1 << 30;

pub(super) fn encode(before: &Rows, now: &Rows) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::with_capacity(now.len() * 16);
    let gone: Vec<u32> = before.keys().filter(|series| !now.contains_key(series)).copied().collect();
    put(&mut out, gone.len() as u64);
    let mut last = 0;
    for series in gone {
        put(&mut out, u64::from(series - last));
        last = series;
    }
    last = 0;
    for (series, (counters, age_ms)) in now {
        let earlier = before.get(series).map(|(counters, _)| counters);
        if earlier == Some(counters) {
            continue;
        }
        put(&mut out, u64::from(series - last));
        last = *series;
        match earlier.filter(|earlier| earlier.present() == counters.present()) {
            Some(earlier) => put_changed(&mut out, earlier, counters),
            None => put_all(&mut out, counters, *age_ms),
        }
    }
    zstd::bulk::compress(&out, LEVEL)
}

fn put_all(out: &mut Vec<u8>, counters: &Counters, age_ms: Option<u64>) {
    put(out, 0);
    put(out, counters.present());
    put(out, age_ms.map_or(0, |age_ms| age_ms.saturating_add(1)));
    for (_, value) in counters.iter() {
        put(out, value);
    }
}

fn put_changed(out: &mut Vec<u8>, earlier: &Counters, counters: &Counters) {
    let pairs = || earlier.iter().zip(counters.iter()).map(|((_, before), (_, after))| (before, after));
    let mut changed = 0_u64;
    for (place, (before, after)) in pairs().enumerate() {
        changed |= u64::from(before != after) << place;
    }
    put(out, changed);
    for (before, after) in pairs().filter(|(before, after)| before != after) {
        put_difference(out, before, after);
    }
}

/// Applies a body to the rows of the previous sample; `None` if it is damaged. Only new series have ages.
pub(super) fn decode(rows: &mut Rows, body: &[u8]) -> Option<()> {
    let size = zstd::bulk::Decompressor::upper_bound(body).unwrap_or(BODY_BYTES_MAX).min(BODY_BYTES_MAX);
    let body = zstd::bulk::decompress(body, size).ok()?;
    let mut reader = Reader(&body);
    let mut series = 0_u32;
    for _ in 0..reader.take()? {
        series = series.checked_add(u32::try_from(reader.take()?).ok()?)?;
        rows.remove(&series);
    }
    for (_, age_ms) in rows.values_mut() {
        *age_ms = None;
    }
    series = 0;
    while !reader.is_empty() {
        series = series.checked_add(u32::try_from(reader.take()?).ok()?)?;
        match reader.take()? {
            0 => rows.insert(series, take_all(&mut reader)?),
            changed => {
                let (counters, _) = rows.get_mut(&series)?;
                take_changed(&mut reader, counters, changed)?;
                None
            }
        };
    }
    Some(())
}

fn take_all(reader: &mut Reader<'_>) -> Option<(Counters, Option<u64>)> {
    let present = reader.take()?;
    let age_ms = reader.take()?.checked_sub(1);
    let mut counters = Counters::new();
    for counter in Counter::ALL {
        if present >> (counter as u8) & 1 == 1 {
            counters.set(counter, reader.take()?);
        }
    }
    (counters.present() == present).then_some((counters, age_ms))
}

fn take_changed(reader: &mut Reader<'_>, counters: &mut Counters, changed: u64) -> Option<()> {
    let earlier = *counters;
    for (place, (counter, before)) in earlier.iter().enumerate() {
        if changed >> place & 1 == 1 {
            counters.set(counter, reader.take_from(before)?);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows() -> impl Strategy<Value = Rows> {
        let values = prop::collection::vec((0_u8..43, any::<u64>()), 0..8);
        prop::collection::btree_map(1_u32..40, (values, prop::option::of(0..u64::MAX - 1)), 0..12).prop_map(
            |rows| {
                rows.into_iter()
                    .map(|(series, (values, age_ms))| {
                        let mut counters = Counters::new();
                        for (number, value) in values {
                            counters.set(Counter::from_number(number).unwrap(), value);
                        }
                        (series, (counters, age_ms))
                    })
                    .collect()
            },
        )
    }

    /// Ages are stored only for series that appear or whose columns change.
    fn without_ages(rows: &Rows) -> BTreeMap<u32, Counters> {
        rows.iter().map(|(series, (counters, _))| (*series, *counters)).collect()
    }

    proptest! {
        #[test]
        fn a_chain_of_bodies_reads_back_as_it_was_read(samples in prop::collection::vec(rows(), 1..8)) {
            let (mut before, mut read) = (Rows::new(), Rows::new());
            for now in samples {
                let body = encode(&before, &now).unwrap();
                decode(&mut read, &body).unwrap();
                prop_assert_eq!(without_ages(&read), without_ages(&now));
                for (series, (_, age_ms)) in now.iter().filter(|(series, _)| !before.contains_key(series)) {
                    prop_assert_eq!(read[series].1, *age_ms);
                }
                before = now;
            }
        }

        #[test]
        fn a_damaged_body_is_refused_and_does_not_panic(mut rows in rows(), body in prop::collection::vec(any::<u8>(), 0..60)) {
            let packed = zstd::bulk::compress(&body, LEVEL).unwrap();
            let _ = decode(&mut rows.clone(), &packed);
            let _ = decode(&mut rows, &body);
        }
    }

    #[test]
    fn an_idle_row_takes_no_bytes() {
        let rows: Rows =
            (1..1000).map(|series| (series, (Counters::new().with(Counter::Reads, 7), None))).collect();
        assert!(encode(&rows, &rows).unwrap().len() < 16);
    }
}
