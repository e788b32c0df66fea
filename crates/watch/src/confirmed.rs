//! What centres have confirmed of a store's samples. Until then, and within bounds, the store keeps them.

use std::collections::BTreeMap;

use iostall_measure::ByteCount;
use iostall_store::{CollectorState, History, Retention, SourceId, StoreError};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::error::WatchError;
use crate::state;

pub(crate) const STATE: &str = "fleet";
/// Samples that no centre has confirmed are kept so long at most.
pub const SPOOL_AGE_MAX: SignedDuration = SignedDuration::from_hours(90 * 24);
/// They are kept beyond the usual time as long as the store is not larger than this.
pub const SPOOL_BYTES_MAX: ByteCount = ByteCount(4 << 30);

/// How much of each source a destination has: the number of the last batch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Confirmed(BTreeMap<String, u64>);

/// What is deleted before a centre has confirmed it, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unconfirmed {
    pub oldest: Timestamp,
    /// What is older than this is deleted all the same; `None` if it is kept.
    pub deleted_before: Option<Timestamp>,
}

impl Confirmed {
    pub(crate) fn add(&mut self, source: SourceId, number: u64) {
        self.0.insert(source.to_string(), number);
    }

    /// The number of the last batch of `source`; 0 if there is none.
    pub(crate) fn number(&self, source: SourceId) -> u64 {
        self.0.get(&source.to_string()).copied().unwrap_or(0)
    }
}

/// By the address of each centre that was joined.
pub(crate) type Document = BTreeMap<String, Confirmed>;

fn read(store: &impl CollectorState) -> Result<Document, StoreError> {
    Ok(state::read(store, STATE)?.unwrap_or_default())
}

/// Remembers what the destination that is remembered as `name` has confirmed, if that is a centre that was joined.
pub fn put_confirmed(
    store: &mut impl CollectorState,
    name: Option<&str>,
    confirmed: &Confirmed,
) -> Result<(), WatchError> {
    match name {
        Some(name) => put_confirmed_as(store, name, confirmed),
        None => Ok(()),
    }
}

pub(crate) fn confirmed_by(store: &impl CollectorState, name: &str) -> Result<Confirmed, StoreError> {
    Ok(read(store)?.remove(name).unwrap_or_default())
}

pub(crate) fn put_confirmed_as(
    store: &mut impl CollectorState,
    name: &str,
    confirmed: &Confirmed,
) -> Result<(), WatchError> {
    let mut all = read(store)?;
    if all.get(name) == Some(confirmed) {
        return Ok(());
    }
    all.insert(name.to_owned(), confirmed.clone());
    let text = serde_json::to_string(&all).unwrap_or_default();
    Ok(store.put_state(STATE, &text)?)
}

/// From now on the store waits for the centre at `address`.
pub(crate) fn begin_confirming(store: &mut impl CollectorState, address: &str) -> Result<(), StoreError> {
    let mut all = read(store)?;
    if all.contains_key(address) {
        return Ok(());
    }
    all.insert(address.to_owned(), Confirmed::default());
    store.put_state(STATE, &serde_json::to_string(&all).unwrap_or_default())
}

/// `retention`, longer where a centre has not confirmed what it would delete; and what is to be said of that.
pub(crate) fn held_back<S: History + CollectorState>(
    store: &S,
    retention: &Retention,
    now: Timestamp,
) -> Result<(Retention, Option<Unconfirmed>), StoreError> {
    let Some(oldest) = oldest_unconfirmed(store)? else { return Ok((*retention, None)) };
    let age = now.duration_since(oldest);
    if age <= retention.raw {
        return Ok((*retention, None));
    }
    let is_small = store.file_bytes().is_none_or(|bytes| bytes <= SPOOL_BYTES_MAX.bytes());
    let most = if is_small { SPOOL_AGE_MAX.max(retention.raw) } else { retention.raw };
    // A little more than its age, so that the sample itself stays.
    let raw = age.saturating_add(SignedDuration::from_secs(1)).min(most);
    let deleted_before = (raw < age).then(|| now.checked_sub(raw).unwrap_or(oldest));
    Ok((Retention { raw, ..*retention }, Some(Unconfirmed { oldest, deleted_before })))
}

fn oldest_unconfirmed<S: History + CollectorState>(store: &S) -> Result<Option<Timestamp>, StoreError> {
    let all = read(store)?;
    let mut oldest: Option<Timestamp> = None;
    for confirmed in all.values() {
        for watched in store.sources()?.into_iter().filter(|watched| watched.source.store == store.id()) {
            let id = watched.source.id;
            let number = confirmed.number(id);
            let next = store.batch_after(id, number, 1)?;
            let taken = next.and_then(|batch| batch.samples.taken_utc.first().copied());
            oldest = [oldest, taken].into_iter().flatten().min();
        }
    }
    Ok(oldest)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use iostall_model::{Epoch, Sample, SampleTime, Step};
    use iostall_store::SqliteHistory;

    use super::*;

    const CENTRE: Option<&str> = Some("https://central:7444");

    fn day(number: i64) -> Timestamp {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        start + SignedDuration::from_hours(24 * number)
    }

    fn step(number: i64) -> Step {
        Step::first(Arc::new(Sample {
            taken: SampleTime { utc: day(number), clock: "c".into(), clock_ns: number.cast_unsigned() + 1 },
            epoch: Epoch::default(),
            rows: Vec::new(),
            warnings: Vec::new(),
        }))
    }

    #[test]
    fn what_no_centre_has_confirmed_is_kept_within_bounds() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = SqliteHistory::open(directory.path().join("s.db")).unwrap();
        let source = store.source("s").unwrap().id;
        for number in 0..20 {
            store.add_step(source, &step(number)).unwrap();
        }
        let plain = Retention::default();
        assert_eq!(held_back(&store, &plain, day(60)).unwrap(), (plain, None), "no centre was joined");
        let mut confirmed = Confirmed::default();
        put_confirmed(&mut store, CENTRE, &confirmed).unwrap();
        let (held, said) = held_back(&store, &plain, day(60)).unwrap();
        assert_eq!(said, Some(Unconfirmed { oldest: day(0), deleted_before: None }));
        store.forget(&held, day(60)).unwrap();
        assert_eq!(store.batch_after(source, 0, 1).unwrap().unwrap().samples.taken_utc, [day(0)]);
        confirmed.add(source, 10);
        put_confirmed(&mut store, CENTRE, &confirmed).unwrap();
        let (held, said) = held_back(&store, &plain, day(60)).unwrap();
        assert_eq!(said, Some(Unconfirmed { oldest: day(10), deleted_before: None }));
        store.forget(&held, day(60)).unwrap();
        assert_eq!(store.batch_after(source, 10, 1).unwrap().unwrap().samples.taken_utc, [day(10)]);
        let (held, said) = held_back(&store, &plain, day(105)).unwrap();
        assert_eq!(said, Some(Unconfirmed { oldest: day(10), deleted_before: Some(day(15)) }));
        assert_eq!(held.raw, SPOOL_AGE_MAX);
        confirmed.add(source, 20);
        put_confirmed(&mut store, CENTRE, &confirmed).unwrap();
        assert_eq!(held_back(&store, &plain, day(105)).unwrap(), (plain, None));
    }
}
