//! One job on its way through a pipeline.

mod settling;

use std::collections::{BTreeMap, VecDeque};

use iostall_engine::{Buffer, Engine, Request, RequestOp, Wait};
use iostall_measure::Clock;
use iostall_model::transfer::BufferTime;

use super::{Job, Moved, Pipeline, PipelineError, Written};
use crate::plan::{Origin, Piece, Step};

/// How long to stay with the engine while checksums are being computed elsewhere, nanoseconds: short enough
/// that a finished buffer starts its write soon, long enough to cost nothing.
const HASH_POLL_NS: u64 = 200_000;
/// How long to sleep at most while reads are held back, nanoseconds: cancelling is looked for in between.
const HOLD_POLL_NS: u64 = 100_000_000;
/// How often a request that moves nothing or is refused as interrupted is tried again.
const TRIES_MAX: u32 = 8;

/// What a token in flight stands for.
#[derive(Clone, Copy, Debug)]
enum Slot {
    Idle,
    Read { piece: Piece, tries: u32 },
    Write { piece: Piece, hash: u64, offset: u64, length: u32, tries: u32 },
    Sync,
}

/// A full buffer.
struct Full {
    piece: Piece,
    buffer: Buffer,
    hash: u64,
}

pub(super) struct Flow<'p, 'j, E, C> {
    pipeline: &'p mut Pipeline<E, C>,
    job: Job<'j>,
    slots: Vec<Slot>,
    next_piece: Option<Piece>,
    /// What short reads left, by offset: read before anything new.
    left_over: BTreeMap<u64, Piece>,
    /// Full buffers whose write has not begun.
    ready: VecDeque<Full>,
    reading: u32,
    writing: u32,
    held_until_ns: Option<u64>,
    unsynced: Vec<Written>,
    unsynced_bytes: u64,
    being_synced: Option<Vec<Written>>,
    failure: Option<PipelineError>,
    moved: Moved,
    accounted_ns: u64,
}

impl<'p, 'j, E: Engine, C: Clock> Flow<'p, 'j, E, C> {
    pub(super) fn new(pipeline: &'p mut Pipeline<E, C>, job: Job<'j>) -> Self {
        let accounted_ns = pipeline.clock.now_ns();
        Self {
            slots: vec![Slot::Idle; pipeline.buffer_count as usize + 1],
            pipeline,
            job,
            next_piece: None,
            left_over: BTreeMap::new(),
            ready: VecDeque::new(),
            reading: 0,
            writing: 0,
            held_until_ns: None,
            unsynced: Vec::new(),
            unsynced_bytes: 0,
            being_synced: None,
            failure: None,
            moved: Moved::default(),
            accounted_ns,
        }
    }

    pub(super) fn run(mut self) -> Result<Moved, PipelineError> {
        loop {
            if self.failure.is_none() && self.job.progress.is_cancelled() {
                self.failure = Some(PipelineError::Cancelled);
            }
            if self.failure.is_none() {
                self.start_reads();
                self.start_writes();
            } else {
                self.give_up_what_waits();
            }
            self.start_sync();
            if self.is_over() {
                break;
            }
            self.wait()?;
            self.account();
            let mut completions = std::mem::take(&mut self.pipeline.completions);
            for completion in completions.drain(..) {
                self.settle(completion);
            }
            self.pipeline.completions = completions;
            self.take_hashed(false);
        }
        self.job.progress.set_in_flight(0, 0);
        self.job.progress.add_buffer_time(&self.moved.time);
        if let Some(stage) = self.job.hashes.take() {
            self.moved.hashes = stage.finish();
        }
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self.moved),
        }
    }

    fn hashing(&self) -> usize {
        self.job.hashes.as_ref().map_or(0, super::HashStage::held)
    }

    fn is_over(&self) -> bool {
        let in_motion = self.pipeline.engine.in_flight() > 0 || self.hashing() > 0;
        let to_do = self.next_piece.is_some() || !self.left_over.is_empty() || !self.ready.is_empty();
        !in_motion && (self.failure.is_some() || !to_do)
    }

    /// The next piece to read, if any: what short reads left comes first, and the lowest of it, because
    /// everything behind it in the file may be waiting for it.
    fn pick(&mut self) -> Option<(Piece, bool)> {
        if let Some((_, piece)) = self.left_over.first_key_value() {
            return Some((*piece, true));
        }
        while self.next_piece.is_none() {
            match self.job.plan.next()? {
                Step::Piece(piece) => self.next_piece = Some(piece),
                Step::Hole { offset, length } => {
                    self.moved.hole_bytes += length;
                    self.job.progress.add_done(length);
                    if let Some(stage) = &mut self.job.hashes {
                        stage.offer_hole(offset, length);
                    }
                }
            }
        }
        Some((self.next_piece?, false))
    }

    fn start_reads(&mut self) {
        self.held_until_ns = None;
        while self.reading < self.job.reads_max {
            let Some((piece, is_left_over)) = self.pick() else { return };
            // The last free buffer is for what short reads leave: if pieces behind it took them all and waited
            // for their turn to be hashed, nothing would ever move again.
            let reserved = usize::from(!is_left_over && self.pipeline.buffer_count > 1);
            if self.pipeline.free.len() <= reserved {
                return;
            }
            if let Some(rate) = self.job.rate
                && let Err(due_ns) = rate.take(piece.length.into(), self.pipeline.clock.now_ns())
            {
                self.held_until_ns = Some(due_ns);
                return;
            }
            let Some(buffer) = self.pipeline.free.pop() else { return };
            if is_left_over {
                self.left_over.remove(&piece.offset);
            } else {
                self.next_piece = None;
            }
            self.read(piece, buffer, 0);
        }
    }

    fn read(&mut self, piece: Piece, buffer: Buffer, tries: u32) {
        let (file, align) = match (piece.origin, self.job.target) {
            (Origin::Kept, Some(target)) => (target, self.job.target_align),
            _ => (self.job.source, self.job.source_align),
        };
        let length = piece.length.next_multiple_of(align);
        let token = buffer.index();
        self.slots[token as usize] = Slot::Read { piece, tries };
        self.reading += 1;
        let offset = piece.offset;
        self.pipeline.engine.push(Request {
            token,
            op: RequestOp::Read,
            file,
            offset,
            length,
            buffer: Some(buffer),
        });
    }

    fn start_writes(&mut self) {
        let Some(_) = self.job.target else { return };
        while self.writing < self.job.writes_max {
            let Some(Full { piece, mut buffer, hash }) = self.ready.pop_front() else { return };
            let length = piece.length.next_multiple_of(self.job.target_align);
            // What is behind the end of the data is from an earlier piece.
            buffer[piece.length as usize..length as usize].fill(0);
            self.write(
                Slot::Write { piece, hash, offset: piece.offset, length, tries: 0 },
                piece.offset,
                length,
                buffer,
            );
        }
    }

    fn write(&mut self, slot: Slot, offset: u64, length: u32, buffer: Buffer) {
        let Some(file) = self.job.target else { return };
        let token = buffer.index();
        self.slots[token as usize] = slot;
        self.writing += 1;
        self.pipeline.engine.push(Request {
            token,
            op: RequestOp::Write,
            file,
            offset,
            length,
            buffer: Some(buffer),
        });
    }

    /// When enough has been written since the last entry of the journal, or at a failure: makes it durable.
    fn start_sync(&mut self) {
        let (Some(journal), Some(file)) = (&self.job.journal, self.job.target) else { return };
        let due = match &self.failure {
            None => self.unsynced_bytes >= journal.interval_bytes(),
            // What is on the way out is waited for first; a destination that fails is not asked again.
            Some(PipelineError::Cancelled | PipelineError::Read { .. }) => {
                !self.unsynced.is_empty() && self.reading + self.writing == 0 && self.hashing() == 0
            }
            Some(_) => false,
        };
        if !due || self.being_synced.is_some() {
            return;
        }
        self.being_synced = Some(std::mem::take(&mut self.unsynced));
        self.unsynced_bytes = 0;
        let token = self.pipeline.buffer_count;
        self.slots[token as usize] = Slot::Sync;
        self.pipeline.engine.push(Request {
            token,
            op: RequestOp::Fdatasync,
            file,
            offset: 0,
            length: 0,
            buffer: None,
        });
    }

    fn wait(&mut self) -> Result<(), PipelineError> {
        let now_ns = self.pipeline.clock.now_ns();
        let held_ns = self.held_until_ns.map(|until_ns| until_ns.saturating_sub(now_ns).min(HOLD_POLL_NS));
        let at_work = self.job.hashes.as_ref().map_or(0, super::HashStage::at_work);
        self.job.progress.set_in_flight(self.reading, self.writing);
        if self.pipeline.engine.in_flight() > 0 {
            let poll_ns = (at_work > 0).then_some(HASH_POLL_NS);
            let timeout_ns = [held_ns, poll_ns].into_iter().flatten().min();
            let wait = Wait { completions: 1, timeout_ns };
            self.pipeline.engine.submit(wait, &mut self.pipeline.completions)?;
        } else if at_work > 0 {
            self.take_hashed(true);
        } else if let Some(held_ns) = held_ns {
            self.pipeline.clock.sleep_until(now_ns + held_ns);
        }
        Ok(())
    }

    /// Books the time since the last look on what the buffers were doing meanwhile.
    fn account(&mut self) {
        let now_ns = self.pipeline.clock.now_ns();
        let passed_ns = now_ns - std::mem::replace(&mut self.accounted_ns, now_ns);
        let time = &mut self.moved.time;
        *time = BufferTime {
            reading_ns: time.reading_ns + passed_ns * u64::from(self.reading),
            hashing_ns: time.hashing_ns
                + passed_ns * self.job.hashes.as_ref().map_or(0, |stage| stage.held() as u64),
            writing_ns: time.writing_ns + passed_ns * (u64::from(self.writing) + self.ready.len() as u64),
            held_ns: time.held_ns + if self.held_until_ns.is_some() { passed_ns } else { 0 },
            elapsed_ns: time.elapsed_ns + passed_ns,
        };
    }
}
