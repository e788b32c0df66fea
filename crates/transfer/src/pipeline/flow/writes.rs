//! Writes frames where sinks want them, and makes them durable.

use iostall_engine::{Buffer, Engine, IoFailure, Request, RequestOp};
use iostall_measure::Clock;

use super::{Flow, SinkState, Slot, TRIES_MAX, WritePart, whole_blocks};
use crate::pipeline::frame::{Extent, Frame};
use crate::pipeline::{PipelineError, Placement, Written};

enum Answer {
    Placed(usize, Placement),
    NoneTakesIt,
    AllAreFull,
}

impl<E: Engine, C: Clock> Flow<'_, '_, E, C> {
    pub(super) fn start_writes(&mut self) {
        let mut at = 0;
        while at < self.ready.len() {
            match self.place(at) {
                Answer::AllAreFull => return,
                Answer::NoneTakesIt => at += 1,
                Answer::Placed(sink, placement) => {
                    let Some(frame) = self.ready.remove(at) else { return };
                    match placement {
                        Placement::Write { file, offset } => {
                            self.begin_write(frame, sink, Extent { file, offset, length: 0 });
                        }
                        Placement::Skip | Placement::Later => self.finish_unwritten(frame),
                    }
                }
            }
        }
        let may_read = self.next_read.is_some() && !self.equipment.free.is_empty();
        let is_in_motion = self.equipment.engine.in_flight() > 0 || self.held_by_stages() > 0;
        if !is_in_motion
            && !may_read
            && let Some(frame) = self.ready.front()
        {
            self.failure = Some(PipelineError::NoSink { offset: frame.origin().offset });
        }
    }

    /// Asks the sinks that have room, the least busy first: a slow one gets less. Of those that are equally busy the one that
    /// has got the least is asked first: where frames come one by one, all of them are idle each time.
    fn place(&mut self, at: usize) -> Answer {
        let in_flight_max = self.in_flight_max();
        let Self { sinks, asked, ready, .. } = self;
        asked.sort_by_key(|sink| (sinks[*sink].writing, sinks[*sink].given_bytes));
        let mut answer = Answer::AllAreFull;
        for index in asked.iter().copied() {
            let SinkState { sink, writing, .. } = &mut sinks[index];
            if *writing >= sink.writes_max().clamp(1, in_flight_max) {
                continue;
            }
            match sink.place(&mut ready[at]) {
                Placement::Later => answer = Answer::NoneTakesIt,
                placement => return Answer::Placed(index, placement),
            }
        }
        answer
    }

    fn begin_write(&mut self, frame: Frame, sink: usize, at: Extent) {
        let Frame { head, mut buffer } = frame;
        let length = head.length.next_multiple_of(self.align(at.file));
        // Beyond the end of the data there are bytes of an earlier frame.
        buffer[head.length as usize..length as usize].fill(0);
        let (file, frame_offset) = (at.file, at.offset);
        self.sinks[sink].given_bytes += u64::from(length);
        self.write(
            WritePart { head, sink, file, frame_offset, offset: frame_offset, length, tries: 0 },
            buffer,
        );
    }

    fn write(&mut self, part: WritePart, buffer: Buffer) {
        let token = buffer.index();
        self.slots[token as usize] = Slot::Write(part);
        self.sinks[part.sink].writing += 1;
        self.busy.begin(part.file, self.accounted_ns);
        self.equipment.engine.push(Request {
            token,
            op: RequestOp::Write,
            file: part.file,
            offset: part.offset,
            length: part.length,
            buffer: Some(buffer),
        });
    }

    pub(super) fn complete_write(
        &mut self,
        part: WritePart,
        mut buffer: Buffer,
        result: Result<u32, IoFailure>,
    ) {
        let WritePart { offset, length, tries, .. } = part;
        let moved = match result {
            Ok(moved) => moved,
            Err(cause) if cause.is_transient() && tries < TRIES_MAX && self.failure.is_none() => 0,
            Err(cause) => {
                return self.fail(buffer, PipelineError::Write { file: part.file, offset, length, cause });
            }
        };
        if moved >= length {
            self.equipment.free.push(buffer);
            return self.note_written(&part);
        }
        if self.failure.is_some() {
            return self.equipment.free.push(buffer);
        }
        let done = whole_blocks(moved, self.align(part.file));
        let tries = if done == 0 { tries + 1 } else { 0 };
        if tries > TRIES_MAX {
            return self.fail(buffer, PipelineError::NothingWritten { offset: offset + u64::from(moved) });
        }
        // A request always starts at the beginning of its buffer. Short writes are rare enough to move the
        // rest there.
        buffer.copy_within(done as usize..length as usize, 0);
        let (offset, length) = (offset + u64::from(done), length - done);
        self.write(WritePart { offset, length, tries, ..part }, buffer);
    }

    fn note_written(&mut self, part: &WritePart) {
        let WritePart { head, file, frame_offset, .. } = *part;
        let at = Extent { file, offset: frame_offset, length: head.length };
        let written = Written { sequence: head.sequence, origin: head.origin, at, checksum: head.checksum };
        let bytes = u64::from(head.length);
        self.moved.written_bytes += bytes;
        self.progress.add_done(head.origin.length.into());
        self.progress.note_moved(self.accounted_ns, 0, bytes);
        let state = &mut self.sinks[part.sink];
        state.sink.was_written(&written);
        if state.sink.checkpoint().is_some() {
            state.unsynced.push(written);
            state.unsynced_bytes += bytes;
        }
    }

    /// Syncs a sink when enough has been written since its last sync, or after a failure.
    pub(super) fn start_syncs(&mut self) {
        let is_quiet = self.reading + self.writing() == 0 && self.held_by_stages() == 0;
        for index in 0..self.sinks.len() {
            let state = &mut self.sinks[index];
            let Some(checkpoint) = state.sink.checkpoint() else { continue };
            let due = match &self.failure {
                None => state.unsynced_bytes >= checkpoint.interval_bytes,
                // Writes in flight complete first; a failing destination is not asked again.
                Some(PipelineError::Cancelled | PipelineError::Read { .. }) => {
                    !state.unsynced.is_empty() && is_quiet
                }
                Some(_) => false,
            };
            if !due || state.being_synced.is_some() {
                continue;
            }
            state.being_synced = Some(std::mem::take(&mut state.unsynced));
            state.unsynced_bytes = 0;
            let slot = self.equipment.buffer_count as usize + index;
            self.slots[slot] = Slot::Sync { sink: index };
            self.equipment.engine.push(Request {
                token: u32::try_from(slot).unwrap_or(u32::MAX),
                op: RequestOp::Fdatasync,
                file: checkpoint.file,
                offset: 0,
                length: 0,
                buffer: None,
            });
        }
    }

    pub(super) fn complete_sync(&mut self, sink: usize, result: Result<u32, IoFailure>) {
        let state = &mut self.sinks[sink];
        let durable = state.being_synced.take().unwrap_or_default();
        let failure = match result {
            Err(cause) => Some(PipelineError::Sync(cause)),
            Ok(_) => state.sink.is_durable(&durable).err().map(PipelineError::Journal),
        };
        if let Some(failure) = failure {
            self.failure.get_or_insert(failure);
        }
    }
}
