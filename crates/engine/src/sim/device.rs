//! The simulated device: the order of service, the result of each request, and what survives a crash.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iostall_measure::{Clock, Durability, ManualClock};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::config::SimConfig;
use super::contents::{Contents, Image, SECTOR_BYTES};
use super::model::{Arrival, Channels, DeviceModel};
use crate::random::{below, exponential, uniform};
use crate::request::{Completion, FileIndex, IoFailure, Request, RequestOp};

/// A device that exists only in memory and advances a [`ManualClock`]. Clones are handles of the same device,
/// so that several engines can share it.
#[derive(Clone, Debug)]
pub struct SimDevice {
    clock: ManualClock,
    state: Arc<Mutex<State>>,
}

impl SimDevice {
    pub fn new(config: SimConfig, clock: ManualClock) -> Self {
        let model = Box::new(Channels::of(&config));
        Self::with_model(config, model, clock)
    }

    /// A device with the files and faults of `config` and the service times of `model`.
    pub fn with_model(config: SimConfig, model: Box<dyn DeviceModel>, clock: ManualClock) -> Self {
        let state = State {
            rng: Xoshiro256PlusPlus::seed_from_u64(config.seed),
            model,
            begun: 0,
            pending: BinaryHeap::new(),
            finished: Vec::new(),
            files: config.files.iter().map(|file| Contents::of_size(file.size_bytes)).collect(),
            config,
        };
        Self { clock, state: Arc::new(Mutex::new(state)) }
    }

    pub fn file_sizes_bytes(&self) -> Vec<u64> {
        self.state().files.iter().map(|file| file.live().size_bytes()).collect()
    }

    /// When the next request ends; `None` if there is none.
    pub fn next_end_ns(&self) -> Option<u64> {
        self.state().next_end_ns()
    }

    pub fn clock(&self) -> &ManualClock {
        &self.clock
    }

    /// Puts durable bytes into a file before a run.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn fill(&self, file: FileIndex, offset: u64, data: &[u8]) {
        let contents = &mut self.state().files[usize::from(file.0)];
        contents.write(offset, data, iostall_measure::Durability::None);
        contents.sync(contents.written());
    }

    /// What reads of a file see now.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn live(&self, file: FileIndex) -> Image {
        self.state().files[usize::from(file.0)].live().clone()
    }

    /// What each file would hold if power failed now: durable bytes for certain, plus a random subset (by
    /// `seed`) of the sectors of writes completed since or still in flight. The device itself continues.
    pub fn crash(&self, seed: u64) -> Vec<Image> {
        let state = self.state();
        let mut coin = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut pending: Vec<&Pending> = state.pending.iter().map(|Reverse(pending)| pending).collect();
        pending.sort_by_key(|pending| pending.number);
        let left = state.files.iter().zip(0u16..).map(|(contents, file)| {
            let writes = pending.iter().filter_map(|pending| pending.write_to(FileIndex(file)));
            contents.crash(writes, &mut coin)
        });
        left.collect()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // A panic in one test's engine leaves the state between two steps, so it is consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }
}

#[derive(Debug)]
pub(super) struct State {
    config: SimConfig,
    rng: Xoshiro256PlusPlus,
    model: Box<dyn DeviceModel>,
    begun: u64,
    pending: BinaryHeap<Reverse<Pending>>,
    /// By engine: completions that it has not collected.
    finished: Vec<Vec<Completion>>,
    files: Vec<Contents>,
}

/// A request in service or queued; its result is drawn when it begins.
#[derive(Debug)]
struct Pending {
    end_ns: u64,
    number: u64,
    engine: usize,
    request: Request,
    fails: bool,
    moves: u32,
    /// For a sync call: the writes to its file that had completed when it began.
    covers: u64,
}

impl Pending {
    fn write_to(&self, file: FileIndex) -> Option<(u64, &[u8])> {
        let request = &self.request;
        let buffer = request.buffer.as_ref().filter(|_| request.op.is_write() && request.file == file)?;
        Some((request.offset, &buffer[..self.moves as usize]))
    }
}

impl PartialEq for Pending {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Pending {}

impl PartialOrd for Pending {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pending {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.end_ns, self.number).cmp(&(other.end_ns, other.number))
    }
}

impl State {
    pub(super) fn file_count(&self) -> usize {
        self.files.len()
    }

    pub(super) fn attach(&mut self) -> usize {
        self.finished.push(Vec::new());
        self.finished.len() - 1
    }

    /// Drops an engine's requests in flight, as cancelled before they reached the medium.
    pub(super) fn detach(&mut self, engine: usize) {
        self.pending.retain(|Reverse(pending)| pending.engine != engine);
        self.finished[engine].clear();
    }

    pub(super) fn begin(&mut self, engine: usize, request: Request, now_ns: u64) {
        let number = self.begun;
        self.begun += 1;
        // Draws the same random numbers for every request, so that changing one fault does not affect the
        // rest of a run.
        let exponential = exponential(&mut self.rng);
        let eio_draw = uniform(&mut self.rng);
        let short_draw = uniform(&mut self.rng);
        let kept = 1 + below(
            &mut self.rng,
            u64::from(request.length).div_ceil(SECTOR_BYTES as u64).saturating_sub(1),
        );
        let faults = &self.config.faults;
        let fails = faults.eio_at.contains(&number) || eio_draw < faults.eio_probability;
        let moves = if short_draw < faults.short_probability {
            // Less than the length, unless that is a single sector.
            u32::try_from(kept * SECTOR_BYTES as u64).unwrap_or(u32::MAX).min(request.length)
        } else {
            request.length
        };
        let Request { op, file, offset, length, .. } = request;
        // Every request takes at least a nanosecond.
        let end_ns = self
            .model
            .end_ns(&Arrival { now_ns, op, file, offset, length, exponential })
            .max(now_ns.saturating_add(1));
        let covers = self.files[usize::from(request.file.0)].written();
        self.pending.push(Reverse(Pending { end_ns, number, engine, request, fails, moves, covers }));
    }

    pub(super) fn next_end_ns(&self) -> Option<u64> {
        self.pending.peek().map(|Reverse(pending)| pending.end_ns)
    }

    pub(super) fn run_until(&mut self, now_ns: u64) {
        while self.next_end_ns().is_some_and(|end_ns| end_ns <= now_ns) {
            if let Some(Reverse(pending)) = self.pending.pop() {
                let engine = pending.engine;
                let completion = self.carry_out(pending);
                self.finished[engine].push(completion);
            }
        }
    }

    pub(super) fn fetch(&mut self, engine: usize) -> std::vec::Drain<'_, Completion> {
        self.finished[engine].drain(..)
    }

    fn carry_out(&mut self, pending: Pending) -> Completion {
        let Pending { mut request, fails, moves, covers, .. } = pending;
        let file = self.config.files[usize::from(request.file.0)];
        let contents = &mut self.files[usize::from(request.file.0)];
        let bytes = moves as usize;
        let beyond_offsets = i64::try_from(request.offset.saturating_add(u64::from(request.length))).is_err();
        let result = match (request.op, request.buffer.as_mut()) {
            _ if fails => Err(IoFailure(libc::EIO)),
            (RequestOp::Fdatasync | RequestOp::Fsync, _) => {
                contents.sync(covers);
                Ok(0)
            }
            // The device still has it in its cache.
            (RequestOp::SyncFileRange, _) => Ok(0),
            _ if beyond_offsets => Err(IoFailure(libc::EINVAL)),
            (RequestOp::Read, buffer) => {
                let buffer = buffer.expect("admitted with a buffer");
                Ok(contents.live().read(request.offset, &mut buffer[..bytes]))
            }
            (RequestOp::Write | RequestOp::WriteThrough, buffer) => {
                let buffer = buffer.expect("admitted with a buffer");
                let space = file.space_bytes.map_or(u64::MAX, |space| space.saturating_sub(request.offset));
                let bytes = bytes.min(usize::try_from(space).unwrap_or(usize::MAX));
                if bytes == 0 && moves > 0 {
                    Err(IoFailure(libc::ENOSPC))
                } else {
                    let is_through =
                        request.op == RequestOp::WriteThrough || file.durability == Durability::WriteThrough;
                    let durability = if is_through && !self.config.faults.ignores_write_through {
                        Durability::WriteThrough
                    } else {
                        Durability::None
                    };
                    contents.write(request.offset, &buffer[..bytes], durability);
                    Ok(bytes)
                }
            }
        };
        // At most `moves`, which is a `u32`.
        let result = result.map(|bytes| u32::try_from(bytes).unwrap_or(moves));
        Completion { token: request.token, result, buffer: request.buffer }
    }
}
