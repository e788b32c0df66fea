//! Reads every block of a target once, so that a volume restored from a snapshot is filled before a database asks for it.

use std::collections::BTreeSet;
use std::path::Path;

use iostall_load::read_places::{Place, PlaceRead, ReadOrder, read_places};
use iostall_measure::{Clock, Nanos};
use iostall_model::limits::{LimitsEnd, LimitsTask, ReadAll};
use iostall_model::{LimitsOutcome, RunBody};
use iostall_store::Store;

use super::search::Search;
use crate::error::{SessionError, UseCaseError};
use crate::event::{Event, Observer, RunProgress};
use crate::past::{Earlier, Subject};
use crate::qualify::Checkpoints;
use crate::session::Session;

const PIECE_BYTES: u32 = 1 << 20;
/// Pieces in flight at most, so that buffers stay small.
const DEPTH_MAX: u32 = 64;

/// The newest reading of all of `target`, which must not be complete.
pub(super) fn newest(
    store: &dyn Store,
    target: &Path,
    session: &Session<'_>,
) -> Result<Earlier<ReadAll>, SessionError> {
    let read = |outcome: &LimitsOutcome| {
        let is_it = outcome.plan.task == LimitsTask::ReadAll;
        outcome.read_all.clone().filter(|_| is_it)
    };
    let subject = Subject::new(session, &[target.to_owned()]);
    subject.to_resume(store, ("limits", "reading of all"), read, |earlier| earlier.outcome.is_whole())
}

/// Where this run begins. Refuses a target of another size.
fn continued(earlier: &Earlier<ReadAll>, whole_bytes: u64) -> Result<ReadAll, SessionError> {
    let read = &earlier.outcome;
    earlier.check_size("size of the target".to_owned(), read.whole_bytes, whole_bytes)?;
    Ok(ReadAll {
        from_bytes: read.to_bytes,
        to_bytes: read.to_bytes,
        elapsed_ns: 0,
        resumed: Some(earlier.run.id),
        ..read.clone()
    })
}

struct Course {
    read: ReadAll,
    /// Pieces that are read beyond one that is not.
    beyond: BTreeSet<u64>,
}

impl Course {
    fn take(&mut self, read: &PlaceRead) {
        if read.failure.is_some() {
            self.read.failed += 1;
            if self.read.failed_at.len() < ReadAll::FAILED_AT_MAX {
                self.read.failed_at.push(read.place.offset);
            }
        }
        self.beyond.insert(read.place.offset);
        while self.beyond.first() == Some(&self.read.to_bytes) {
            self.beyond.pop_first();
            let end = self.read.to_bytes.saturating_add(PIECE_BYTES.into());
            self.read.to_bytes = end.min(self.read.whole_bytes);
        }
    }
}

impl Search<'_> {
    /// Reads from the start, or from where `earlier` ended.
    pub(super) fn read_all(
        &mut self,
        earlier: Option<&Earlier<ReadAll>>,
        stores: LimitsStores<'_>,
        name: &str,
    ) -> Result<(), SessionError> {
        let whole_bytes = self.targets.used_bytes().first().copied().unwrap_or(0);
        let read = match earlier {
            Some(earlier) => continued(earlier, whole_bytes)?,
            None => ReadAll { whole_bytes, ..ReadAll::default() },
        };
        let (from_bytes, bytes_per_s) = (read.from_bytes, self.outcome.plan.bytes_per_s);
        self.runner.emit(&Event::ReadAllBegins { from_bytes, whole_bytes, bytes_per_s });
        let mut checkpoints = Checkpoints::new(stores.checkpoints, self.session.clock().clone());
        let mut course = Course { read, beyond: BTreeSet::new() };
        let read = self.pieces(&mut course, &mut checkpoints, name);
        self.session.observer().on(&Event::ProgressEnded);
        self.outcome.ended =
            if course.read.is_whole() { LimitsEnd::Complete } else { LimitsEnd::Interrupted };
        self.outcome.read_all = Some(course.read);
        read
    }

    fn pieces(
        &self,
        course: &mut Course,
        checkpoints: &mut Checkpoints<'_>,
        name: &str,
    ) -> Result<(), SessionError> {
        let Self { session, runner, outcome, .. } = self;
        let targets = self.targets.for_span(0);
        let Some(target) = targets.first() else { return Ok(()) };
        let plan = &outcome.plan;
        let order = ReadOrder {
            path: &target.open_path,
            kind: session.engine(),
            clock: session.clock(),
            stop: session.stop(),
            depth: plan.queue_depth.saturating_mul(plan.workers).clamp(1, DEPTH_MAX),
            length_max: PIECE_BYTES,
            bytes_per_s: plan.bytes_per_s,
        };
        let (from_bytes, whole_bytes) = (course.read.from_bytes, course.read.whole_bytes);
        let mut next = from_bytes;
        let mut places = std::iter::from_fn(|| {
            let left = whole_bytes.saturating_sub(next);
            let place =
                Place { offset: next, length: u32::try_from(left).unwrap_or(u32::MAX).min(PIECE_BYTES) };
            next += u64::from(place.length);
            (place.length > 0).then_some(place)
        });
        let begun_ns = session.clock().now_ns();
        let read = read_places(&order, &mut places, &mut |read| {
            course.take(read);
            course.read.elapsed_ns = session.clock().now_ns() - begun_ns;
            progress(session.observer(), &course.read);
            checkpoints.store(false, session, || {
                let read_all = Some(course.read.clone());
                let ended = LimitsEnd::Interrupted;
                let so_far = LimitsOutcome { read_all, ended, ..outcome.clone() };
                runner.record_so_far(name, RunBody::Limits(Box::new(so_far)))
            });
            true
        });
        read.map_err(|error| {
            let hint = "`dmesg` may say more about the device".to_owned();
            SessionError::OfUseCase(UseCaseError::new(error, Some(hint)))
        })
    }
}

fn progress(observer: &dyn Observer, read: &ReadAll) {
    let done = read.to_bytes as f64 / read.whole_bytes.max(1) as f64;
    let left = read.bytes_per_s().filter(|speed| *speed > 0.0);
    let left_ns = left.map(|speed| {
        let seconds = read.whole_bytes.saturating_sub(read.to_bytes) as f64 / speed;
        Nanos::from_seconds(seconds).0
    });
    let whole = RunProgress::new(read.elapsed_ns, left_ns);
    observer.on(&Event::SimulationProgress { doing: "reading every block once", done, whole });
}

#[derive(Default)]
pub struct LimitsStores<'a> {
    /// Has an interrupted one, to be continued.
    pub earlier: Option<&'a dyn Store>,
    /// Gets the run while it goes on.
    pub checkpoints: Option<&'a mut dyn Store>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(number: u64) -> PlaceRead {
        let place = Place { offset: number * u64::from(PIECE_BYTES), length: PIECE_BYTES };
        PlaceRead { place, latency_ns: 1, failure: None }
    }

    /// What a run after a crash may leave out is only what lies before the first piece that was not read.
    #[test]
    fn what_was_read_ends_before_the_first_piece_that_was_not() {
        let whole_bytes = 5 * u64::from(PIECE_BYTES) - 100;
        let read = ReadAll { whole_bytes, ..ReadAll::default() };
        let mut course = Course { read, beyond: BTreeSet::new() };
        let reached = [(1, 0), (2, 0), (0, 3), (4, 3), (3, 5)];
        for (number, expected) in reached {
            course.take(&piece(number));
            assert_eq!(
                course.read.to_bytes,
                (expected * u64::from(PIECE_BYTES)).min(whole_bytes),
                "{number}"
            );
        }
        assert!(course.read.is_whole());
    }

    #[test]
    fn a_piece_that_cannot_be_read_is_counted_and_passed() {
        let whole_bytes = 40 * u64::from(PIECE_BYTES);
        let mut course =
            Course { read: ReadAll { whole_bytes, ..ReadAll::default() }, beyond: BTreeSet::new() };
        for number in 0..40 {
            course.take(&PlaceRead { failure: Some(iostall_engine::IoFailure::BROKEN), ..piece(number) });
        }
        assert!(course.read.is_whole());
        assert_eq!((course.read.failed, course.read.failed_at.len()), (40, ReadAll::FAILED_AT_MAX));
    }
}
