//! The stage of a restore: from runs of stored frames to content in its place.

use std::collections::HashMap;

use iostall_engine::{Buffer, FileIndex};
use thiserror::Error;

use super::error::RestoreError;
use super::tree::Opening;
use crate::backup::codec::{Decoder, FrameFault};
use crate::backup::format::{Bundle, FrameKind, IndexRecord, Piece};
use crate::backup::read::{ChainStripe, Damage, OpenSet, Run, frames_of};
use crate::pipeline::{Extent, Frame, Stage, StageFailure};

/// The checksum of a pipeline's frame that its worker has written already.
pub(super) const IS_WRITTEN: u64 = 1;

#[derive(Debug, Error)]
pub(super) enum StageError {
    #[error("{}", .0.message)]
    Damage(Box<Damage>),
    #[error(transparent)]
    Restore(Box<RestoreError>),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Destination {
    pub(super) file: FileIndex,
    /// Writes of the engine must be multiples of this, but at the end of the file.
    pub(super) align: u32,
    pub(super) from: u64,
}

pub(super) struct RestoreStage<'s> {
    set: &'s OpenSet,
    sources: &'s [ChainStripe<'s>],
    records: &'s [&'s [IndexRecord]],
    runs: &'s [Run],
    /// For the set itself, and for each of its bases that is there.
    decoders: Vec<Option<Decoder>>,
    opening: Opening<'s>,
    destinations: &'s HashMap<u64, Destination>,
}

impl<'s> RestoreStage<'s> {
    pub(super) fn new(
        set: &'s OpenSet,
        sources: &'s [ChainStripe<'s>],
        records: &'s [&'s [IndexRecord]],
        runs: &'s [Run],
        opening: Opening<'s>,
        destinations: &'s HashMap<u64, Destination>,
    ) -> Result<Self, RestoreError> {
        let decoder = |set: &OpenSet| Decoder::new(set.manifest.set, set.keys.as_ref());
        let bases = set.chain.bases.iter().map(|base| base.as_ref().map(decoder).transpose());
        let decoders = std::iter::once(decoder(set).map(Some)).chain(bases).collect::<Result<_, _>>()?;
        Ok(Self { set, sources, records, runs, decoders, opening, destinations })
    }

    fn damage(&self, run: &Run, record: &IndexRecord, fault: &impl ToString) -> StageError {
        let damage = self.sources[run.stripe].damage_of(record, fault.to_string());
        StageError::Damage(Box::new(damage))
    }

    /// Decodes all frames of the run one after another into `into`. Bundles are written at once.
    fn decode(&mut self, run: &Run, bytes: &mut [u8], into: &mut [u8]) -> Result<usize, StageError> {
        let source = self.sources[run.stripe];
        let stripe = &source.open.stripe;
        let (number, block) = (stripe.number(), stripe.header.block_bytes);
        let records = &self.records[run.stripe][run.first..][..run.count];
        let mut at = 0;
        for (record, frame) in frames_of(bytes, records, block) {
            let Some(Some(decoder)) = self.decoders.get_mut(source.number) else { continue };
            let found = decoder.decode(frame, number, &mut into[at..]);
            let (header, plain) = found.map_err(|fault| self.damage(run, record, &fault))?;
            if !record.is_of(&header) {
                return Err(self.damage(run, record, &FrameFault::OtherFrame));
            }
            match record.kind {
                FrameKind::Bundle => {
                    let bundle = Bundle::decode(plain).map_err(|error| self.damage(run, record, &error))?;
                    for (piece, data) in bundle.pieces() {
                        let file = self.file_of(run, record, &piece, data)?;
                        if let Some(file) = file {
                            self.write(run, record, file, piece.offset, data)?;
                        }
                    }
                }
                FrameKind::Data => {
                    let length = plain.len();
                    let piece =
                        Piece { file: record.file, offset: record.offset, length: record.plain_length };
                    self.file_of(run, record, &piece, &into[at..at + length])?;
                    at += length;
                }
                FrameKind::Entries
                | FrameKind::Index
                | FrameKind::End
                | FrameKind::Digests
                | FrameKind::Bases => {}
            }
        }
        Ok(at)
    }

    /// The file of this set that a piece of a frame belongs to; `None` if it is of no use here. What is in a base must be what
    /// the increment was compared with.
    fn file_of(
        &self,
        run: &Run,
        record: &IndexRecord,
        piece: &Piece,
        data: &[u8],
    ) -> Result<Option<u64>, StageError> {
        let number = self.sources[run.stripe].number;
        if number == 0 {
            return Ok(Some(piece.file));
        }
        let Some(found) = self.set.chain.piece(number, record.sequence, piece) else { return Ok(None) };
        if *blake3::hash(data).as_bytes() != found.digest {
            return Err(self.damage(run, record, &FrameFault::OtherContent));
        }
        Ok(Some(found.file))
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
        let source = self.sources[run.stripe];
        let file = source.file_of(&self.set.chain, &record).ok_or("a frame of no file")?;
        let destination = self.destinations.get(&file).copied();
        let size_bytes = self.opening.size_bytes(file);
        let end = record.offset + u64::from(plain_length);
        let fits = |align: u32| {
            let is_whole = |at: u64| at.is_multiple_of(align.into());
            is_whole(record.offset) && (is_whole(end) || end == size_bytes && self.opening.may_end_past())
        };
        match destination {
            Some(Destination { file: place, align, from }) if fits(align) => {
                frame.replace(spare, plain_length);
                frame.set_origin(extent(place, record.offset - from));
            }
            _ => {
                self.write(&run, &record, file, record.offset, &spare[..length])?;
                frame.set_checksum(IS_WRITTEN);
                frame.set_origin(extent(frame.origin().file, frame.origin().offset));
            }
        }
        Ok(())
    }
}
