//! Looking around in a history: the intervals up to a time, and the samples before and after one.

use std::collections::VecDeque;

use iostall_store::{History, SourceId};
use jiff::{SignedDuration, Timestamp};

use crate::error::WatchError;
use crate::tiers::SourceWindow;
use crate::windows::{Grain, Interval};

/// A source without samples for this long is not being watched any more.
pub(crate) const WATCHED_WITHIN: SignedDuration = SignedDuration::from_hours(1);
/// As many intervals of a source are read for its graphs.
const INTERVALS: i128 = 60;

pub(crate) struct StoredPast<'a, H>(pub(crate) &'a H);

impl<H: History> StoredPast<'_, H> {
    /// Samples of several sources that are no further apart belong to one tick.
    pub(crate) const APART: SignedDuration = SignedDuration::from_millis(500);

    /// How far to look for a sample, the shortest first: near ones are usual, and a gap may be long.
    const REACHES: [SignedDuration; 5] = [
        SignedDuration::from_mins(10),
        SignedDuration::from_hours(3),
        SignedDuration::from_hours(48),
        SignedDuration::from_hours(24 * 40),
        SignedDuration::from_hours(24 * 40_000),
    ];

    /// The newest intervals of a source up to `at`, the newest last; none if it was not sampled shortly before.
    pub(crate) fn until(&self, source: SourceId, at: Timestamp) -> Result<VecDeque<Interval>, WatchError> {
        let near = self.read(source, back(at, WATCHED_WITHIN), at)?.pop_back();
        // Where only hours or days are kept, one of them may have ended a day ago.
        let far = || {
            Ok::<_, WatchError>(self.read(source, back(at, SignedDuration::from_hours(49)), at)?.pop_back())
        };
        let newest = match near {
            Some(newest) => Some(newest),
            None => far()?.filter(|interval| interval.grain == Grain::Rollup),
        };
        let Some(newest) = newest else { return Ok(VecDeque::new()) };
        let length_ns = newest.end.duration_since(newest.start).as_nanos().saturating_mul(INTERVALS);
        let length = SignedDuration::from_nanos(i64::try_from(length_ns).unwrap_or(i64::MAX));
        let from = back(newest.end, length);
        let mut all = self.read(source, from, at)?;
        if all.is_empty() {
            all.push_back(newest);
        }
        Ok(all)
    }

    /// The intervals between two times that are not cut off at the beginning.
    fn read(
        &self,
        source: SourceId,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<VecDeque<Interval>, WatchError> {
        let mut all = VecDeque::new();
        let window = SourceWindow { history: self.0, source, from, to };
        window.each_interval(&mut |interval| {
            if interval.grain != Grain::Late && interval.start > from {
                all.push_back(interval);
            }
        })?;
        Ok(all)
    }

    pub(crate) fn sample_before(&self, at: Timestamp) -> Result<Option<Timestamp>, WatchError> {
        let to = back(at, Self::APART);
        for reach in Self::REACHES {
            let found = self.ends(back(to, reach), to)?.into_iter().max();
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    pub(crate) fn sample_after(&self, at: Timestamp) -> Result<Option<Timestamp>, WatchError> {
        let from = at.checked_add(Self::APART).unwrap_or(at);
        for reach in Self::REACHES {
            let to = from.checked_add(reach).unwrap_or(Timestamp::MAX);
            let found = self.ends(from, to)?.into_iter().min();
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn ends(&self, from: Timestamp, to: Timestamp) -> Result<Vec<Timestamp>, WatchError> {
        let mut ends = Vec::new();
        for watched in self.0.sources()? {
            let window = SourceWindow { history: self.0, source: watched.source.id, from, to };
            window.each_interval(&mut |interval| {
                // One that goes on was cut off at the edge.
                if interval.end > from && interval.end < to {
                    ends.push(interval.end);
                }
            })?;
        }
        Ok(ends)
    }
}

fn back(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_sub(by).unwrap_or(Timestamp::MIN)
}
