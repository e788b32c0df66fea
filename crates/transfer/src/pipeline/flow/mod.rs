//! A running job.

mod reads;
mod writes;

use std::collections::VecDeque;
use std::thread::Scope;

use iostall_engine::{Buffer, Completion, Engine, FileIndex, Wait};
use iostall_measure::Clock;
use iostall_model::transfer::BufferTime;

use super::frame::{Extent, Frame, Head};
use super::job::{BusyFiles, Equipment, Job, Moved, PipelineError};
use super::sink::{Sink, Written};
use super::source::Source;
use super::workers::{Finished, RunningStage};
use crate::progress::Progress;
use crate::rate::RateLimit;

/// How long to wait in the engine while stages are working, nanoseconds, before looking for a finished frame. The time doubles
/// as long as there is none: a checksum is soon done, and compression takes many milliseconds, in which looking would cost the
/// workers' CPU.
const STAGE_POLL_NS: u64 = 200_000;
/// The longest such wait.
const STAGE_POLL_NS_MAX: u64 = 2_000_000;
/// Longest sleep while reads are held back, nanoseconds; then it checks for cancellation.
const HOLD_POLL_NS: u64 = 100_000_000;
/// How often a request is retried that moved nothing or was interrupted.
const TRIES_MAX: u32 = 8;

#[derive(Clone, Copy, Debug)]
enum Slot {
    Idle,
    Read(ReadPart),
    Write(WritePart),
    Sync { sink: usize },
}

#[derive(Clone, Copy, Debug)]
enum NextFrame {
    Read(Extent),
    Fill(Extent),
}

#[derive(Clone, Copy, Debug)]
struct ReadPart {
    sequence: u64,
    origin: Extent,
    /// Bytes read before, now at the end of the buffer.
    filled: u32,
    /// The most that tries have read of the next block, which may be the file's last; it is at the beginning of the buffer.
    partial: u32,
    tries: u32,
}

#[derive(Clone, Copy, Debug)]
struct WritePart {
    head: Head,
    sink: usize,
    file: FileIndex,
    frame_offset: u64,
    offset: u64,
    length: u32,
    tries: u32,
}

struct SinkState<'j> {
    sink: &'j mut dyn Sink,
    writing: u32,
    /// Bytes of all writes that were begun.
    given_bytes: u64,
    unsynced: Vec<Written>,
    unsynced_bytes: u64,
    being_synced: Option<Vec<Written>>,
}

pub(super) struct Flow<'p, 'j, E, C> {
    equipment: &'p mut Equipment<E, C>,
    source: &'j mut dyn Source,
    stages: Vec<RunningStage<'j>>,
    sinks: Vec<SinkState<'j>>,
    aligns: &'j [u32],
    reads_max: u32,
    rate: Option<&'j RateLimit>,
    progress: &'j Progress,
    slots: Vec<Slot>,
    next_sequence: u64,
    next_read: Option<(u64, NextFrame)>,
    ready: VecDeque<Frame>,
    /// Sinks in the order in which they are asked.
    asked: Vec<usize>,
    reading: u32,
    held_until_ns: Option<u64>,
    stage_poll_ns: u64,
    failure: Option<PipelineError>,
    moved: Moved,
    busy: BusyFiles,
    accounted_ns: u64,
}

impl<'p, 'j, E: Engine, C: Clock> Flow<'p, 'j, E, C> {
    pub(super) fn new<'scope>(
        equipment: &'p mut Equipment<E, C>,
        job: Job<'j>,
        scope: &'scope Scope<'scope, '_>,
    ) -> Result<Self, PipelineError>
    where
        'j: 'scope,
    {
        let mut stages = Vec::with_capacity(job.stages.len());
        for stage in job.stages {
            match RunningStage::start(stage, &mut equipment.free, scope) {
                Ok(running) => stages.push(running),
                Err(error) => {
                    equipment.free.extend(stages.into_iter().flat_map(RunningStage::close));
                    return Err(PipelineError::Thread(error));
                }
            }
        }
        let state = |sink| SinkState {
            sink,
            writing: 0,
            given_bytes: 0,
            unsynced: Vec::new(),
            unsynced_bytes: 0,
            being_synced: None,
        };
        let sinks: Vec<_> = job.sinks.into_iter().map(state).collect();
        Ok(Self {
            source: job.source,
            stages,
            aligns: job.aligns,
            reads_max: job.reads_max,
            rate: job.rate,
            progress: job.progress,
            slots: vec![Slot::Idle; equipment.buffer_count as usize + sinks.len()],
            next_sequence: 0,
            next_read: None,
            ready: VecDeque::new(),
            asked: (0..sinks.len()).collect(),
            sinks,
            reading: 0,
            held_until_ns: None,
            stage_poll_ns: STAGE_POLL_NS,
            failure: None,
            moved: Moved::default(),
            busy: BusyFiles::default(),
            accounted_ns: equipment.clock.now_ns(),
            equipment,
        })
    }

    pub(super) fn run(mut self) -> Result<Moved, PipelineError> {
        loop {
            if self.failure.is_none() && self.progress.is_cancelled() {
                self.failure = Some(PipelineError::Cancelled);
            }
            if self.failure.is_none() {
                self.start_reads();
                self.start_writes();
            }
            if self.failure.is_some() {
                self.give_up_what_waits();
            }
            self.start_syncs();
            if self.is_over() {
                break;
            }
            self.wait()?;
            self.account();
            let mut completions = std::mem::take(&mut self.equipment.completions);
            for completion in completions.drain(..) {
                self.complete(completion);
            }
            self.equipment.completions = completions;
            self.take_finished(false);
        }
        self.progress.set_in_flight(0, 0);
        self.progress.add_buffer_time(&self.moved.time);
        self.equipment.free.extend(self.stages.into_iter().flat_map(RunningStage::close));
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(Moved { files: self.busy.into_totals(), ..self.moved }),
        }
    }

    /// Offsets and lengths of requests to a file must be multiples of this.
    fn align(&self, file: FileIndex) -> u32 {
        self.aligns.get(usize::from(file.0)).copied().unwrap_or(1)
    }

    /// The most requests in flight on each side, whatever the job and its sinks allow; at least 1.
    fn in_flight_max(&self) -> u32 {
        self.rate.map_or(u32::MAX, RateLimit::in_flight_max)
    }

    fn writing(&self) -> u32 {
        self.sinks.iter().map(|sink| sink.writing).sum()
    }

    fn held_by_stages(&self) -> usize {
        self.stages.iter().map(RunningStage::held).sum()
    }

    fn at_work(&self) -> u32 {
        self.stages.iter().map(RunningStage::at_work).sum()
    }

    fn is_over(&self) -> bool {
        let in_motion = self.equipment.engine.in_flight() > 0 || self.held_by_stages() > 0;
        let to_do = self.next_read.is_some() || !self.ready.is_empty();
        !in_motion && (self.failure.is_some() || !to_do)
    }

    fn wait(&mut self) -> Result<(), PipelineError> {
        let now_ns = self.equipment.clock.now_ns();
        let held_ns = self.held_until_ns.map(|until_ns| until_ns.saturating_sub(now_ns).min(HOLD_POLL_NS));
        let at_work = self.at_work();
        self.progress.set_in_flight(self.reading, self.writing());
        if self.equipment.engine.in_flight() > 0 {
            let poll_ns = (at_work > 0).then_some(self.stage_poll_ns);
            let timeout_ns = [held_ns, poll_ns].into_iter().flatten().min();
            let wait = Wait { completions: 1, timeout_ns, batch_ns: None };
            self.equipment.engine.submit(wait, &mut self.equipment.completions)?;
            if self.equipment.completions.is_empty() {
                self.stage_poll_ns = (self.stage_poll_ns * 2).min(STAGE_POLL_NS_MAX);
            }
        } else if at_work > 0 {
            self.take_finished(true);
        } else if let Some(held_ns) = held_ns {
            self.equipment.clock.sleep_until(now_ns + held_ns);
        }
        Ok(())
    }

    /// Attributes the time since the last call to what the buffers were doing.
    fn account(&mut self) {
        let now_ns = self.equipment.clock.now_ns();
        let passed_ns = now_ns - std::mem::replace(&mut self.accounted_ns, now_ns);
        let writing = u64::from(self.writing()) + self.ready.len() as u64;
        let held = self.held_by_stages() as u64;
        let time = &mut self.moved.time;
        *time = BufferTime {
            reading_ns: time.reading_ns + passed_ns * u64::from(self.reading),
            hashing_ns: time.hashing_ns + passed_ns * held,
            writing_ns: time.writing_ns + passed_ns * writing,
            held_ns: time.held_ns + if self.held_until_ns.is_some() { passed_ns } else { 0 },
            elapsed_ns: time.elapsed_ns + passed_ns,
        };
    }

    fn complete(&mut self, completion: Completion) {
        let slot = std::mem::replace(&mut self.slots[completion.token as usize], Slot::Idle);
        if let Slot::Read(ReadPart { origin: Extent { file, .. }, .. })
        | Slot::Write(WritePart { file, .. }) = slot
        {
            self.busy.end(file, self.accounted_ns, completion.result.unwrap_or(0));
        }
        match (slot, completion.buffer) {
            (Slot::Read(part), Some(buffer)) => {
                self.reading -= 1;
                self.complete_read(part, buffer, completion.result);
            }
            (Slot::Write(part), Some(buffer)) => {
                self.sinks[part.sink].writing -= 1;
                self.complete_write(part, buffer, completion.result);
            }
            (Slot::Sync { sink }, _) => self.complete_sync(sink, completion.result),
            (slot, _) => unreachable!("token {} came back without its buffer: {slot:?}", completion.token),
        }
    }

    /// Passes a frame to its next stage, or to the sinks after the last one.
    fn pass_on(&mut self, frame: Frame, next_stage: usize) {
        if self.failure.is_some() {
            self.equipment.free.push(frame.buffer);
        } else if let Some(stage) = self.stages.get_mut(next_stage) {
            stage.offer(frame);
        } else if self.sinks.is_empty() {
            self.finish_unwritten(frame);
        } else {
            self.ready.push_back(frame);
        }
    }

    /// Takes finished frames from the stages; with `wait`, blocks until there is one.
    fn take_finished(&mut self, wait: bool) {
        for index in 0..self.stages.len() {
            let mut wait = wait;
            while let Some(Finished { frame, result }) = self.stages[index].take(wait) {
                wait = false;
                self.stage_poll_ns = STAGE_POLL_NS;
                match result {
                    Ok(()) => {
                        if index == 0 && frame.head.is_filled {
                            let read_bytes = u64::from(frame.origin().length);
                            self.moved.read_bytes += read_bytes;
                            self.progress.note_moved(self.accounted_ns, read_bytes, 0);
                        }
                        self.pass_on(frame, index + 1);
                    }
                    Err(cause) => {
                        let offset = frame.origin().offset;
                        self.fail(frame.buffer, PipelineError::Stage { offset, cause });
                    }
                }
            }
        }
    }

    fn finish_unwritten(&mut self, frame: Frame) {
        self.progress.add_done(frame.origin().length.into());
        self.equipment.free.push(frame.buffer);
    }

    fn fail(&mut self, buffer: Buffer, failure: PipelineError) {
        self.equipment.free.push(buffer);
        // The first failure is the cause; later ones follow from it.
        self.failure.get_or_insert(failure);
    }

    /// After a failure: reclaims every buffer that waits for something that will not happen.
    fn give_up_what_waits(&mut self) {
        self.equipment.free.extend(self.ready.drain(..).map(|frame| frame.buffer));
        for stage in &mut self.stages {
            self.equipment.free.extend(stage.abandon().into_iter().map(|frame| frame.buffer));
        }
        self.held_until_ns = None;
    }
}

/// The largest multiple of `align`, a power of two, within `bytes`.
fn whole_blocks(bytes: u32, align: u32) -> u32 {
    bytes / align * align
}
