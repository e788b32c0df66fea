//! Reads named places of a target, each once and in the order given, with several in flight, and says how long each took.

use std::path::Path;

use iostall_engine::buffer::{Buffer, BufferPool, Pages};
use iostall_engine::null::NullEngine;
use iostall_engine::open::{Access, OpenOptions, open_target};
use iostall_engine::psync::PsyncEngine;
use iostall_engine::uring::{UringConfig, UringEngine};
use iostall_engine::{
    Completion, Engine, EngineError, FileHandle, FileIndex, IoFailure, Request, RequestOp, SimEngine, Wait,
};
use iostall_measure::{Caching, Clock, RunClock};

use crate::job::EngineKind;
use crate::prepare::PrepareError;
use crate::window::StopToken;

/// Longest wait without a look at the stop token, nanoseconds.
const LOOK_UP_NS: u64 = 50_000_000;
/// Requests are multiples of this, bytes.
const ALIGN: u32 = 4096;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub offset: u64,
    pub length: u32,
}

#[derive(Clone, Copy, Debug)]
pub struct PlaceRead {
    pub place: Place,
    pub latency_ns: u64,
    /// Why it could not be read; a target that ends within it is one reason.
    pub failure: Option<IoFailure>,
}

#[derive(Clone, Copy, Debug)]
pub struct ReadOrder<'a> {
    pub path: &'a Path,
    pub kind: &'a EngineKind,
    pub clock: &'a RunClock,
    /// Ends it: what is in flight is waited for.
    pub stop: &'a StopToken,
    pub depth: u32,
    /// No place is longer, bytes; a multiple of 4096.
    pub length_max: u32,
    pub bytes_per_s: Option<f64>,
}

/// Reads `places`, always direct. `taken` gets each when it is done, in the order in which they end, and ends
/// the reading with `false`. A place that cannot be read is no error.
pub fn read_places(
    order: &ReadOrder<'_>,
    places: &mut dyn Iterator<Item = Place>,
    taken: &mut dyn FnMut(&PlaceRead) -> bool,
) -> Result<(), PrepareError> {
    let (pool, buffers) = BufferPool::new(order.depth, order.length_max, Pages::HugeIfPossible)
        .map_err(|source| EngineError::System { call: "mapping the buffers", source })?;
    let open = || {
        let options =
            OpenOptions { access: Access::Read, caching: Caching::Direct, ..OpenOptions::default() };
        open_target(order.path, &options)
    };
    let begun_ns = order.clock.now_ns();
    let slots = vec![Slot::default(); buffers.len()];
    let free = (0_u32..).zip(buffers).collect();
    let reader =
        Reader { order, places, next: None, slots, free, begun_ns, started_bytes: 0, continues: true };
    let depth = order.depth;
    match order.kind {
        EngineKind::Psync => {
            let target = open()?;
            reader.read(PsyncEngine::new(depth, &[FileHandle::from(&target)])?, taken)
        }
        EngineKind::Uring => {
            let target = open()?;
            let files = [FileHandle::from(&target)];
            let config = UringConfig { capacity: depth, files: &files, buffers: Some(&pool) };
            reader.read(UringEngine::new(&config)?, taken)
        }
        EngineKind::Null => reader.read(NullEngine::new(depth, 1), taken),
        EngineKind::Sim(device) => reader.read(SimEngine::new(device.clone(), depth), taken),
    }
}

#[derive(Clone, Copy, Default)]
struct Slot {
    place: Place,
    done: u32,
    begun_ns: u64,
}

struct Reader<'a> {
    order: &'a ReadOrder<'a>,
    places: &'a mut dyn Iterator<Item = Place>,
    next: Option<Place>,
    slots: Vec<Slot>,
    free: Vec<(u32, Buffer)>,
    begun_ns: u64,
    started_bytes: u64,
    continues: bool,
}

impl Reader<'_> {
    fn read<E: Engine>(
        mut self,
        mut engine: E,
        taken: &mut dyn FnMut(&PlaceRead) -> bool,
    ) -> Result<(), PrepareError> {
        let mut completions = Vec::new();
        loop {
            let due_ns = self.start(&mut engine);
            let now_ns = self.order.clock.now_ns();
            let wait_ns = due_ns.map(|due_ns| due_ns.saturating_sub(now_ns).min(LOOK_UP_NS));
            if engine.in_flight() == 0 {
                let Some(wait_ns) = wait_ns else { return Ok(()) };
                self.order.clock.sleep_until(now_ns + wait_ns);
                continue;
            }
            // Without a look now and then a device that hangs would make the program deaf.
            let wait = Wait { timeout_ns: Some(wait_ns.unwrap_or(LOOK_UP_NS).max(1)), ..Wait::ONE };
            engine.submit(wait, &mut completions)?;
            for completion in completions.drain(..) {
                self.take(&mut engine, completion, taken);
            }
        }
    }

    /// Starts what may start now. When the next one may, if it is too early for it; `None` if nothing is to be started before something
    /// ends.
    fn start<E: Engine>(&mut self, engine: &mut E) -> Option<u64> {
        while self.continues && !self.order.stop.is_raised() && !self.free.is_empty() {
            let place = self.next.take().or_else(|| self.places.next())?;
            let (now_ns, due_ns) = (self.order.clock.now_ns(), self.due_ns());
            if due_ns > now_ns {
                self.next = Some(place);
                return Some(due_ns);
            }
            let (token, buffer) = self.free.pop()?;
            self.started_bytes += u64::from(place.length);
            self.slots[token as usize] = Slot { place, done: 0, begun_ns: now_ns };
            engine.push(request(token, place, buffer));
        }
        None
    }

    fn due_ns(&self) -> u64 {
        let seconds = self.order.bytes_per_s.map_or(0.0, |rate| self.started_bytes as f64 / rate.max(1.0));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
        let since_ns = (seconds * 1e9) as u64;
        self.begun_ns.saturating_add(since_ns)
    }

    fn take<E: Engine>(
        &mut self,
        engine: &mut E,
        completion: Completion,
        taken: &mut dyn FnMut(&PlaceRead) -> bool,
    ) {
        let Completion { token, result, buffer } = completion;
        let buffer = buffer.expect("a read gives its buffer back");
        let slot = &mut self.slots[token as usize];
        let moved = result.unwrap_or(0);
        slot.done += moved;
        let rest = slot.place.length.saturating_sub(slot.done);
        // A short read is continued; one of nothing is the end of the target.
        if moved > 0 && rest > 0 {
            let offset = slot.place.offset + u64::from(slot.done);
            engine.push(request(token, Place { offset, length: rest }, buffer));
            return;
        }
        let failure = result.err().or((rest > 0).then_some(IoFailure::BROKEN));
        let latency_ns = self.order.clock.now_ns().saturating_sub(slot.begun_ns);
        let read = PlaceRead { place: slot.place, latency_ns, failure };
        self.free.push((token, buffer));
        self.continues &= taken(&read);
    }
}

fn request(token: u32, place: Place, buffer: Buffer) -> Request {
    // A direct request for the last bytes of a file asks for more than there is.
    let (offset, length) = (place.offset, place.length.next_multiple_of(ALIGN));
    Request { token, op: RequestOp::Read, file: FileIndex(0), offset, length, buffer: Some(buffer) }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn order<'a>(
        path: &'a Path,
        clock: &'a RunClock,
        stop: &'a StopToken,
        bytes_per_s: Option<f64>,
    ) -> ReadOrder<'a> {
        let kind = &EngineKind::Psync;
        ReadOrder { path, kind, clock, stop, depth: 4, length_max: 1 << 20, bytes_per_s }
    }

    fn places(count: u64) -> impl Iterator<Item = Place> {
        (0..count).map(|index| Place { offset: index * MIB, length: 1 << 20 })
    }

    /// A target that shrank has an end that nobody reads, and the rest is still read.
    #[test]
    fn each_place_is_read_once_and_one_beyond_the_end_fails() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("there");
        File::create(&path).unwrap().set_len(6 * MIB).unwrap();
        let (clock, stop) = (RunClock::of_machine(), StopToken::default());
        let mut seen = Vec::new();
        read_places(&order(&path, &clock, &stop, None), &mut places(8), &mut |read| {
            seen.push((read.place.offset / MIB, read.failure.is_some()));
            true
        })
        .unwrap();
        seen.sort_unstable();
        assert_eq!(seen, (0..8).map(|index| (index, index >= 6)).collect::<Vec<_>>());
    }

    #[test]
    fn a_rate_holds_it_back_and_who_stops_it_is_obeyed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("there");
        File::create(&path).unwrap().set_len(8 * MIB).unwrap();
        let (clock, stop) = (RunClock::of_machine(), StopToken::default());
        let begun_ns = clock.now_ns();
        let mut count = 0;
        let rate = Some(40.0 * MIB as f64);
        read_places(&order(&path, &clock, &stop, rate), &mut places(1000), &mut |_| {
            count += 1;
            count < 6
        })
        .unwrap();
        assert!((6..10).contains(&count), "{count}");
        // The first starts at once, and five more need a fortieth of a second each.
        assert!(clock.now_ns() - begun_ns >= 100_000_000);
    }
}
