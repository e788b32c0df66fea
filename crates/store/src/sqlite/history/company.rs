//! Several collectors of one source in one store.
//!
//! Their ticks are the same, so they read within milliseconds of each other, and what was read first is not always
//! written first. One reading a tick says all there is.

use iostall_model::{Epoch, Sample, SampleTime, Step};

/// Whether `now` was read before the sample that was taken at `taken`, of the same life of the counters: nothing can be
/// said of the time between them.
pub(super) fn is_overtaken(taken: &SampleTime, epoch: &Epoch, now: &Sample) -> bool {
    let same_life = epoch.instance == now.epoch.instance && epoch.process_start == now.epoch.process_start;
    same_life && taken.clock == now.taken.clock && now.taken.clock_ns <= taken.clock_ns
}

/// Whether the sample of `step` has nothing to add to `last`, the newest one in the store: it was read before that, or
/// another collector read that one within half the time since our own last one.
pub(super) fn is_redundant(last: &Sample, step: &Step) -> bool {
    let now = &*step.sample;
    let Some(since) = &step.since else { return false };
    if is_overtaken(&last.taken, &last.epoch, now) {
        return true;
    }
    let is_of_another = *since != last.taken && last.taken.since_ns(since).is_some();
    let lengths = now.taken.since_ns(&last.taken).zip(now.taken.since_ns(since));
    let is_close = lengths.is_some_and(|(to_last_ns, whole_ns)| to_last_ns < whole_ns / 2);
    is_of_another && is_close && now.rows.len() <= last.rows.len()
}
