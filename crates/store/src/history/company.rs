//! Several collectors of one source in one store.
//!
//! They share ticks, so they read within milliseconds of each other, and the first to read is not always the
//! first to write. One reading per tick is enough.

use iostall_model::{Epoch, Sample, SampleTime, Step};

/// Whether `now` was read before the sample taken at `taken`, with the same epoch: there is no difference
/// between the two.
pub(crate) fn is_overtaken(taken: &SampleTime, epoch: &Epoch, now: &Sample) -> bool {
    let same_life = epoch.instance == now.epoch.instance && epoch.process_start == now.epoch.process_start;
    same_life && taken.clock == now.taken.clock && now.taken.clock_ns <= taken.clock_ns
}

/// Whether the sample of `step` adds nothing to `last`, the newest stored sample: it was read earlier, or
/// another collector stored that one within half the interval since our own last one.
pub(crate) fn is_redundant(last: &Sample, step: &Step) -> bool {
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
