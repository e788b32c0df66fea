//! What becomes of a request that has come back.

use iostall_engine::{Buffer, Completion, Engine, IoFailure};
use iostall_measure::Clock;

use super::{Flow, Full, Slot, TRIES_MAX};
use crate::pipeline::{PipelineError, Written};
use crate::plan::{Origin, Piece};

impl<E: Engine, C: Clock> Flow<'_, '_, E, C> {
    pub(super) fn settle(&mut self, completion: Completion) {
        let slot = std::mem::replace(&mut self.slots[completion.token as usize], Slot::Idle);
        match (slot, completion.buffer) {
            (Slot::Read { piece, tries }, Some(buffer)) => {
                self.reading -= 1;
                self.settle_read(piece, buffer, completion.result, tries);
            }
            (Slot::Write { piece, hash, offset, length, tries }, Some(buffer)) => {
                self.writing -= 1;
                self.settle_write(Full { piece, buffer, hash }, (offset, length, tries), completion.result);
            }
            (Slot::Sync, _) => self.settle_sync(completion.result),
            (slot, _) => unreachable!("token {} came back without its buffer: {slot:?}", completion.token),
        }
    }

    fn settle_read(&mut self, piece: Piece, buffer: Buffer, result: Result<u32, IoFailure>, tries: u32) {
        let Piece { offset, length, .. } = piece;
        let align = if piece.origin == Origin::Kept { self.job.target_align } else { self.job.source_align };
        let moved = match result {
            Ok(moved) => moved,
            Err(cause) if cause.is_transient() && tries < TRIES_MAX && self.failure.is_none() => {
                return self.read(piece, buffer, tries + 1);
            }
            Err(cause) => return self.fail(buffer, PipelineError::Read { offset, length, cause }),
        };
        // A read of a whole block at the end of the file brings more than asked for only if the file grew; how
        // much belongs to this copy was settled when it began.
        let usable = if moved >= length { length } else { whole_blocks(moved, align, self.job.target_align) };
        if usable == 0 {
            // Short of a block and not at the end: either the file ends here now, or the rest comes another time.
            if moved == 0 || tries >= TRIES_MAX {
                let offset = offset + u64::from(moved);
                return self.fail(buffer, PipelineError::SourceShrank { offset });
            }
            return match self.failure {
                None => self.read(piece, buffer, tries + 1),
                Some(_) => self.pipeline.free.push(buffer),
            };
        }
        if usable < length {
            let rest = Piece { offset: offset + u64::from(usable), length: length - usable, ..piece };
            self.left_over.insert(rest.offset, rest);
        }
        self.moved.read_bytes += u64::from(usable);
        if let Some(behind) = &mut self.job.behind {
            behind.read(offset, usable);
        }
        self.job.progress.note_moved(self.accounted_ns, usable.into(), 0);
        let piece = Piece { length: usable, ..piece };
        match &mut self.job.hashes {
            Some(stage) => stage.offer(piece, buffer),
            None => self.pass_on(Full { piece, buffer, hash: 0 }),
        }
    }

    /// A buffer is read and hashed: to its write, or, where nothing is written, free again.
    fn pass_on(&mut self, full: Full) {
        if full.piece.origin == Origin::Kept || self.job.target.is_none() {
            self.job.progress.add_done(full.piece.length.into());
            self.pipeline.free.push(full.buffer);
        } else {
            self.ready.push_back(full);
        }
    }

    fn settle_write(&mut self, full: Full, part: (u64, u32, u32), result: Result<u32, IoFailure>) {
        let Full { piece, mut buffer, hash } = full;
        let (offset, length, tries) = part;
        let moved = match result {
            Ok(moved) => moved,
            Err(cause) if cause.is_transient() && tries < TRIES_MAX && self.failure.is_none() => 0,
            Err(cause) => return self.fail(buffer, PipelineError::Write { offset, length, cause }),
        };
        if moved >= length {
            self.pipeline.free.push(buffer);
            self.note_written(Written { offset: piece.offset, length: piece.length, hash });
            return;
        }
        if self.failure.is_some() {
            return self.pipeline.free.push(buffer);
        }
        let done = whole_blocks(moved, self.job.target_align, 1);
        let tries = if done == 0 { tries + 1 } else { 0 };
        if tries > TRIES_MAX {
            return self.fail(buffer, PipelineError::NothingWritten { offset: offset + u64::from(moved) });
        }
        // A request always begins at the start of its buffer. Short writes are rare enough to move the rest there.
        buffer.copy_within(done as usize..length as usize, 0);
        let (offset, length) = (offset + u64::from(done), length - done);
        self.write(Slot::Write { piece, hash, offset, length, tries }, offset, length, buffer);
    }

    fn note_written(&mut self, written: Written) {
        let bytes = u64::from(written.length);
        self.moved.written_bytes += bytes;
        self.job.progress.add_done(bytes);
        self.job.progress.note_moved(self.accounted_ns, 0, bytes);
        if let Some(behind) = &mut self.job.behind {
            behind.written(written.offset, written.length);
        }
        if self.job.journal.is_some() {
            self.unsynced.push(written);
            self.unsynced_bytes += bytes;
        }
    }

    fn settle_sync(&mut self, result: Result<u32, IoFailure>) {
        let durable = self.being_synced.take().unwrap_or_default();
        match (result, &mut self.job.journal) {
            (Err(cause), _) => {
                self.failure.get_or_insert(PipelineError::Sync(cause));
            }
            (Ok(_), Some(journal)) => {
                if let Err(error) = journal.append(&durable) {
                    self.failure.get_or_insert(PipelineError::Journal(error));
                }
            }
            (Ok(_), None) => {}
        }
    }

    pub(super) fn take_hashed(&mut self, mut wait: bool) {
        while let Some(hashed) = self.job.hashes.as_mut().and_then(|stage| stage.take(wait)) {
            wait = false;
            self.pass_on(Full { piece: hashed.piece, buffer: hashed.buffer, hash: hashed.hash });
        }
    }

    fn fail(&mut self, buffer: Buffer, failure: PipelineError) {
        self.pipeline.free.push(buffer);
        // The first failure is the cause; what follows is its wake.
        self.failure.get_or_insert(failure);
    }

    /// After a failure: takes back every buffer that waits for something that will not happen.
    pub(super) fn give_up_what_waits(&mut self) {
        self.pipeline.free.extend(self.ready.drain(..).map(|full| full.buffer));
        if let Some(stage) = &mut self.job.hashes {
            self.pipeline.free.extend(stage.abandon());
        }
        self.held_until_ns = None;
    }
}

/// The largest multiple of both alignments (each a power of two) within `bytes`.
fn whole_blocks(bytes: u32, align: u32, other_align: u32) -> u32 {
    let align = align.max(other_align);
    bytes / align * align
}
