//! Where the samples of a spool continue those in a repository.
//!
//! A repository numbers the batches of a source, and a spool numbers its samples. Whoever samples a source adds a base to its own
//! numbers, so that they follow those of whoever sampled it before. Where the newest sample in the repository is one of this spool's, it
//! continues after that one. Otherwise another one has sampled the source meanwhile: the numbers begin anew after its last, with the
//! samples that are newer than all of its.

use std::collections::BTreeMap;

use iostall_store::{CollectorState, History, Holding, Source, SourceId, StoreError};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::state;

const STATE: &str = "pull";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SpoolState {
    pub(super) servers: BTreeMap<String, String>,
    /// By the id of a source in its repository: what is added to the numbers of its samples.
    pub(super) bases: BTreeMap<String, u64>,
}

/// Whether `text` can be the document of that name; `None` if it is none of a spool.
pub(crate) fn is_spool_state(name: &str, text: &str) -> Option<bool> {
    (name == STATE).then(|| serde_json::from_str::<SpoolState>(text).is_ok())
}

impl SpoolState {
    /// What `spool` remembers; `None` if it is a store with a history that nobody pulled.
    pub(super) fn read(spool: &(impl CollectorState + History)) -> Result<Option<Self>, StoreError> {
        let known = state::read(spool, STATE)?;
        if known.is_none() && !spool.sources()?.is_empty() {
            return Ok(None);
        }
        Ok(Some(known.unwrap_or_default()))
    }

    pub(super) fn write(&self, spool: &mut impl CollectorState) -> Result<(), StoreError> {
        spool.put_state(STATE, &serde_json::to_string(self).unwrap_or_default())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) source: Source,
    pub(super) spooled: SourceId,
    /// What is added to the numbers of the spool.
    pub(super) base: u64,
    /// The last number that the repository has of it, as the repository counts.
    pub(super) appended: u64,
    /// The number up to which the spool needs not be sent, as the spool counts.
    pub(super) confirmed: u64,
}

impl Claim {
    /// For a source whose samples in `spool` are to follow what is `there`. `base` is what was added when it was sent before.
    pub(super) fn begin(
        spool: &impl History,
        (source, spooled): (Source, SourceId),
        base: Option<u64>,
        there: &Holding,
    ) -> Result<Self, StoreError> {
        let appended = there.appended;
        if let Some(base) = base.filter(|base| *base < appended) {
            let confirmed = appended - base;
            if there.newest.is_some() && taken(spool, spooled, confirmed)? == there.newest {
                return Ok(Self { source, spooled, base, appended, confirmed });
            }
        }
        let confirmed = match there.latest {
            Some(latest) => number_up_to(spool, spooled, latest)?,
            None => 0,
        };
        Ok(Self { source, spooled, base: appended, appended, confirmed })
    }
}

/// When the sample of that number was taken, if it is there.
fn taken(spool: &impl History, source: SourceId, number: u64) -> Result<Option<Timestamp>, StoreError> {
    let Some(before) = number.checked_sub(1) else { return Ok(None) };
    let batch = spool.batch_after(source, before, 1)?.filter(|batch| batch.sequence == number);
    Ok(batch.and_then(|batch| batch.samples.taken_utc.last().copied()))
}

/// A number that all samples later than `at` follow, and no others.
fn number_up_to(spool: &impl History, source: SourceId, at: Timestamp) -> Result<u64, StoreError> {
    let number = spool.sample_before(source, at)?;
    // If all are later it is that of the first.
    let is_later = taken(spool, source, number)?.is_some_and(|taken| taken > at);
    Ok(if is_later { number - 1 } else { number })
}

#[cfg(test)]
mod tests {
    use iostall_model::{Epoch, Sample, SampleTime};
    use iostall_store::{Holder, SqliteHistory};
    use jiff::SignedDuration;

    use super::*;

    fn at(minute: i64) -> Timestamp {
        let start: Timestamp = "2026-03-01T09:58:00Z".parse().unwrap();
        start + SignedDuration::from_mins(minute)
    }

    fn spool(minutes: std::ops::Range<i64>) -> (tempfile::TempDir, SqliteHistory, SourceId) {
        let directory = tempfile::tempdir().unwrap();
        let mut spool = SqliteHistory::open(directory.path().join("s.db")).unwrap();
        let source = spool.source("s").unwrap().id;
        for minute in minutes {
            let clock_ns = minute.cast_unsigned() * 60_000_000_000;
            let taken = SampleTime { utc: at(minute), clock: "boot".into(), clock_ns };
            let sample = Sample { taken, epoch: Epoch::default(), rows: Vec::new(), warnings: Vec::new() };
            spool.add_sample(source, sample).unwrap();
        }
        (directory, spool, source)
    }

    fn there(appended: u64, newest: Option<i64>) -> Holding {
        Holding { holder: Holder::Ours, appended, newest: newest.map(at), latest: newest.map(at) }
    }

    /// What is added, and how many samples are still to be sent.
    fn begun(spool: &SqliteHistory, source: SourceId, base: Option<u64>, there: &Holding) -> (u64, usize) {
        let in_repository = Source { id: source, store: spool.id(), name: "s".into() };
        let claim = Claim::begin(spool, (in_repository, source), base, there).unwrap();
        assert_eq!(claim.appended, there.appended);
        let left = spool.batch_after(source, claim.confirmed, 1_000).unwrap();
        (claim.base, left.map_or(0, |batch| batch.samples.taken_utc.len()))
    }

    /// What is pulled is deleted an hour after it was sent: a collector's store would have lost its history.
    #[test]
    fn a_store_with_a_history_of_its_own_is_no_spool() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = SqliteHistory::open(directory.path().join("s.db")).unwrap();
        assert_eq!(SpoolState::read(&store).unwrap(), Some(SpoolState::default()));
        SpoolState::default().write(&mut store).unwrap();
        store.source("s").unwrap();
        assert!(SpoolState::read(&store).unwrap().is_some());
        let (_directory, own, _) = spool(0..1);
        assert_eq!(SpoolState::read(&own).unwrap(), None);
    }

    #[test]
    fn a_spool_continues_after_its_own_newest_sample() {
        let (_directory, spool, source) = spool(0..10);
        assert_eq!(begun(&spool, source, None, &there(0, None)), (0, 10));
        let third = spool.batch_after(source, 0, 3).unwrap().unwrap().sequence;
        assert_eq!(begun(&spool, source, Some(0), &there(third, Some(2))), (0, 7));
        assert_eq!(begun(&spool, source, Some(500), &there(500 + third, Some(2))), (500, 7));
    }

    #[test]
    fn after_another_one_sampled_it_only_what_is_newer_is_sent() {
        let (_directory, spool, source) = spool(0..10);
        // Of another spool, which happens to have the number of our third sample.
        let third = spool.batch_after(source, 0, 3).unwrap().unwrap().sequence;
        assert_eq!(begun(&spool, source, Some(0), &there(third, Some(6))), (third, 3));
        assert_eq!(begun(&spool, source, None, &there(70, Some(6))), (70, 3));
        // Nothing of ours has followed it so far: the same once more.
        assert_eq!(begun(&spool, source, Some(70), &there(70, Some(6))), (70, 3));
        assert_eq!(begun(&spool, source, None, &there(70, Some(-5))), (70, 10), "all are newer");
        assert_eq!(begun(&spool, source, None, &there(70, Some(60))), (70, 0), "none is");
    }

    #[test]
    fn a_spool_that_has_deleted_what_was_confirmed_sends_the_rest() {
        let (_directory, spool, source) = spool(5..10);
        assert_eq!(begun(&spool, source, Some(0), &there(40, Some(4))), (40, 5));
        // The repository has deleted its own samples by age.
        let aged = Holding { newest: None, ..there(40, Some(6)) };
        assert_eq!(begun(&spool, source, Some(0), &aged), (40, 3));
    }
}
