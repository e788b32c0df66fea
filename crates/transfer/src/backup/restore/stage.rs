//! The stage of a restore: from runs of stored frames to content in its place.

use std::collections::HashMap;

use iostall_engine::{Buffer, FileIndex};
use thiserror::Error;

use super::error::RestoreError;
use super::tree::Opening;
use crate::backup::codec::{Decoder, FrameFault};
use crate::backup::format::{Bundle, FrameKind, IndexRecord};
use crate::backup::read::{Damage, OpenSet, Run, frames_of};
use crate::pipeline::{Extent, Frame, Stage, StageFailure};

/// The checksum of a pipeline's frame that its worker has written already.
pub(super) const IS_WRITTEN: u64 = 1;

/// Why a worker failed; travels through the pipeline.
#[derive(Debug, Error)]
pub(super) enum StageError {
    #[error("{}", .0.message)]
    Damage(Box<Damage>),
    #[error(transparent)]
    Restore(Box<RestoreError>),
}

/// A large file among the engine's files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Destination {
    pub(super) file: FileIndex,
    /// Writes of the engine must be multiples of this, but at the end of the file.
    pub(super) align: u32,
    /// The offset that is written to its beginning.
    pub(super) from: u64,
}

/// A worker.
pub(super) struct RestoreStage<'s> {
    set: &'s OpenSet,
    records: &'s [&'s [IndexRecord]],
    runs: &'s [Run],
    decoder: Decoder,
    opening: Opening<'s>,
    destinations: &'s HashMap<u64, Destination>,
}

impl<'s> RestoreStage<'s> {
    pub(super) fn new(
        set: &'s OpenSet,
        records: &'s [&'s [IndexRecord]],
        runs: &'s [Run],
        decoder: Decoder,
        opening: Opening<'s>,
        destinations: &'s HashMap<u64, Destination>,
    ) -> Self {
        Self { set, records, runs, decoder, opening, destinations }
    }

    fn damage(&self, run: &Run, record: &IndexRecord, fault: &impl ToString) -> StageError {
        let stripe = &self.set.stripes[run.stripe].stripe;
        let manifest = &self.set.manifest;
        let damage = Damage::of_frame(stripe.number(), &stripe.path, record, manifest, fault.to_string());
        StageError::Damage(Box::new(damage))
    }

    /// Decodes all frames of the run one after another into `into`. Bundles are written at once.
    fn decode(&mut self, run: &Run, bytes: &mut [u8], into: &mut [u8]) -> Result<usize, StageError> {
        let stripe = &self.set.stripes[run.stripe].stripe;
        let (number, block) = (stripe.number(), stripe.header.block_bytes);
        let records = &self.records[run.stripe][run.first..][..run.count];
        let mut at = 0;
        for (record, frame) in frames_of(bytes, records, block) {
            let decoded = self.decoder.decode(frame, number, &mut into[at..]);
            let (header, plain) = decoded.map_err(|fault| self.damage(run, record, &fault))?;
            if !record.is_of(&header) {
                return Err(self.damage(run, record, &FrameFault::OtherFrame));
            }
            match record.kind {
                FrameKind::Bundle => {
                    let bundle = Bundle::decode(plain).map_err(|error| self.damage(run, record, &error))?;
                    for (piece, data) in bundle.pieces() {
                        self.write(run, record, piece.file, piece.offset, data)?;
                    }
                }
                FrameKind::Data => at += plain.len(),
                FrameKind::Entries | FrameKind::Index | FrameKind::End => {}
            }
        }
        Ok(at)
    }

    fn write(
        &mut self,
        run: &Run,
        record: &IndexRecord,
        file: u64,
        offset: u64,
        data: &[u8],
    ) -> Result<(), StageError> {
        match self.opening.write(file, offset, data) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.damage(run, record, &"it has more of a file than the manifest says")),
            Err(error) => Err(StageError::Restore(Box::new(error))),
        }
    }
}

impl Stage for RestoreStage<'_> {
    fn apply(&mut self, frame: &mut Frame, spare: &mut Buffer) -> Result<(), StageFailure> {
        let run = usize::try_from(frame.sequence()).ok().and_then(|at| self.runs.get(at)).copied();
        let Some(run) = run else { return Err("a frame of no run".into()) };
        let length = self.decode(&run, frame.bytes_mut(), spare)?;
        let record = self.records[run.stripe][run.first];
        let plain_length = u32::try_from(length)?;
        let extent = |file, offset| Extent { file, offset, length: run.plain_length };
        if record.kind != FrameKind::Data {
            frame.set_checksum(IS_WRITTEN);
            frame.set_origin(extent(frame.origin().file, frame.origin().offset));
            return Ok(());
        }
        let destination = self.destinations.get(&record.file).copied();
        let size_bytes = self.opening.size_bytes(record.file);
        let end = record.offset + u64::from(plain_length);
        let fits = |align: u32| {
            let is_whole = |at: u64| at.is_multiple_of(align.into());
            is_whole(record.offset) && (is_whole(end) || end == size_bytes && self.opening.may_end_past())
        };
        match destination {
            Some(Destination { file, align, from }) if fits(align) => {
                frame.replace(spare, plain_length);
                frame.set_origin(extent(file, record.offset - from));
            }
            _ => {
                self.write(&run, &record, record.file, record.offset, &spare[..length])?;
                frame.set_checksum(IS_WRITTEN);
                frame.set_origin(extent(frame.origin().file, frame.origin().offset));
            }
        }
        Ok(())
    }
}
