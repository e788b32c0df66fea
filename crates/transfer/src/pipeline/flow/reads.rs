//! Fills frames from the source.

use iostall_engine::{Buffer, Engine, IoFailure, Request, RequestOp};
use iostall_measure::Clock;

use super::{Flow, NextFrame, ReadPart, Slot, TRIES_MAX, whole_blocks};
use crate::pipeline::frame::{Extent, Frame};
use crate::pipeline::{PipelineError, Step};

impl<E: Engine, C: Clock> Flow<'_, '_, E, C> {
    pub(super) fn start_reads(&mut self) {
        self.held_until_ns = None;
        while self.reading < self.reads_max.min(self.in_flight_max()) {
            // Determined before taking a buffer: a source that has more is not at its end.
            let Some((sequence, next)) = self.next_frame() else { return };
            let (NextFrame::Read(origin) | NextFrame::Fill(origin)) = next;
            if self.equipment.free.is_empty() {
                return;
            }
            if let Some(rate) = self.rate
                && let Err(due_ns) = rate.take(origin.length.into(), self.equipment.clock.now_ns())
            {
                self.held_until_ns = Some(due_ns);
                return;
            }
            let Some(buffer) = self.equipment.free.pop() else { return };
            self.next_read = None;
            match next {
                NextFrame::Read(_) => {
                    self.read(ReadPart { sequence, origin, filled: 0, partial: 0, tries: 0 }, buffer);
                }
                NextFrame::Fill(_) => self.pass_on(Frame::to_fill(sequence, origin, buffer), 0),
            }
        }
    }

    /// The next frame, if any. Passes holes before it to the stages.
    fn next_frame(&mut self) -> Option<(u64, NextFrame)> {
        while self.next_read.is_none() {
            let step = self.source.next()?;
            let sequence = self.next_sequence;
            self.next_sequence += 1;
            match step {
                Step::Read(extent) => self.next_read = Some((sequence, NextFrame::Read(extent))),
                Step::Fill(extent) => self.next_read = Some((sequence, NextFrame::Fill(extent))),
                Step::Hole { length, .. } => {
                    self.moved.hole_bytes += length;
                    self.progress.add_done(length);
                    self.stages.iter_mut().for_each(|stage| stage.offer_hole(sequence, length));
                }
            }
        }
        self.next_read
    }

    fn read(&mut self, part: ReadPart, buffer: Buffer) {
        let Extent { file, offset, length } = part.origin;
        let token = buffer.index();
        self.slots[token as usize] = Slot::Read(part);
        self.reading += 1;
        self.busy.begin(file, self.accounted_ns);
        self.equipment.engine.push(Request {
            token,
            op: RequestOp::Read,
            file,
            offset: offset + u64::from(part.filled),
            length: (length - part.filled).next_multiple_of(self.align(file)),
            buffer: Some(buffer),
        });
    }

    pub(super) fn complete_read(
        &mut self,
        part: ReadPart,
        mut buffer: Buffer,
        result: Result<u32, IoFailure>,
    ) {
        let ReadPart { sequence, origin, filled, tries, .. } = part;
        let (offset, length) = (origin.offset + u64::from(filled), origin.length - filled);
        let again = ReadPart { tries: tries + 1, ..part };
        let moved = match result {
            Ok(moved) => moved,
            Err(cause) if cause.is_transient() && tries < TRIES_MAX && self.failure.is_none() => {
                return self.read(again, buffer);
            }
            Err(cause) => {
                let file = origin.file;
                return self.fail(buffer, PipelineError::Read { file, offset, length, cause });
            }
        };
        // A read of a whole block at the end of the file returns more than requested only if the file grew;
        // the size for this job was fixed at its start.
        let partial = part.partial.max(moved);
        let usable = if moved >= length { length } else { whole_blocks(moved, self.align(origin.file)) };
        if usable == 0 && (moved == 0 || tries >= TRIES_MAX) {
            // A partial block before the end: either the file now ends here, or the rest comes with the next
            // read.
            if self.source.ended_early(&origin, filled + partial) {
                return self.pass_on_shorter(&part, partial, buffer);
            }
            let offset = offset + u64::from(moved);
            return self.fail(buffer, PipelineError::SourceShrank { offset });
        }
        self.moved.read_bytes += u64::from(usable);
        self.progress.note_moved(self.accounted_ns, usable.into(), 0);
        if usable < length {
            if self.failure.is_some() {
                return self.equipment.free.push(buffer);
            }
            // A request always starts at the beginning of its buffer: move what is there to the end, after
            // what was moved before. Short reads are rare enough for that.
            buffer.rotate_left(usable as usize);
            let more = ReadPart { filled: filled + usable, partial: 0, tries: 0, ..part };
            return self.read(if usable == 0 { ReadPart { partial, ..again } } else { more }, buffer);
        }
        gather(&mut buffer, usable, filled);
        self.source.was_read(&origin);
        self.pass_on(Frame::new(sequence, origin, buffer), 0);
    }

    /// Passes on what there is of an extent whose file has become shorter: what was read before, and `moved` bytes more.
    fn pass_on_shorter(&mut self, part: &ReadPart, moved: u32, mut buffer: Buffer) {
        gather(&mut buffer, moved, part.filled);
        let length = part.filled + moved;
        self.moved.read_bytes += u64::from(moved);
        self.progress.note_moved(self.accounted_ns, moved.into(), 0);
        // What will never come is as done as the rest.
        self.progress.add_done((part.origin.length - length).into());
        let origin = Extent { length, ..part.origin };
        self.pass_on(Frame::new(part.sequence, origin, buffer), 0);
    }
}

/// Moves what was read before, which is at the end of the buffer, and the `moved` bytes at its beginning into one piece at the
/// beginning.
fn gather(buffer: &mut [u8], moved: u32, before: u32) {
    if before > 0 {
        buffer.rotate_left(moved as usize);
        let start = buffer.len() - (before + moved) as usize;
        buffer.copy_within(start.., 0);
    }
}
