//! The stages of a check, and what it found.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use iostall_engine::{Buffer, IoFailure};
use iostall_model::backup::{BaseRecord, FileEntry, SetId};

use crate::backup::codec::{Decoder, FrameFault};
use crate::backup::format::{
    Bundle, FRAME_HEADER_BYTES, FrameKind, IndexRecord, Piece, entry_lines, pieces_of,
};
use crate::backup::read::{ChainStripe, Damage, Fault, OpenSet, Run, StripeRead, frames_of};
use crate::pipeline::{Frame, OrderedStage, Stage, StageFailure};

/// The stripes of one set that are read for a check: of the set itself, or of one that it is based on.
pub(super) struct Part<'s> {
    pub(super) set: &'s OpenSet,
    pub(super) stripes: Vec<ChainStripe<'s>>,
    pub(super) records: Vec<Vec<IndexRecord>>,
    /// Which of its bases it is, from 1; 0 for itself.
    pub(super) number: usize,
}

impl<'s> Part<'s> {
    pub(super) fn holder(&self) -> &'s OpenSet {
        self.stripes.first().map_or(self.set, |one| one.set)
    }

    /// Whether the check needs a frame: of a base only what the increment has from it.
    pub(super) fn needs(&self, record: &IndexRecord) -> bool {
        self.number == 0 || !self.set.chain.in_frame(self.number, record.sequence).is_empty()
    }
}

#[derive(Debug, Default)]
pub(super) struct Checked {
    pub(super) good_frames: u64,
    pub(super) bytes: u64,
    pub(super) stored_bytes: u64,
    /// Bytes of each file in good frames, or in damaged ones that are listed.
    pub(super) covered: HashMap<u64, u64>,
    pub(super) damage: Vec<Damage>,
}

impl Checked {
    pub(super) fn add(&mut self, mut other: Self) {
        self.good_frames += other.good_frames;
        self.bytes += other.bytes;
        self.stored_bytes += other.stored_bytes;
        other.covered.into_iter().for_each(|(file, bytes)| *self.covered.entry(file).or_default() += bytes);
        self.damage.append(&mut other.damage);
    }

    /// The run at `offset` could not be read: all of its frames are lost.
    pub(super) fn unreadable(&mut self, part: &Part<'_>, run: &Run, offset: u64, cause: IoFailure) {
        for record in &part.records[run.stripe][run.first..][..run.count] {
            let message = format!("the stripe cannot be read at offset {offset}: {cause}");
            self.bad(part, run, record, message);
        }
    }

    fn bad(&mut self, part: &Part<'_>, run: &Run, record: &IndexRecord, message: String) {
        let source = part.stripes[run.stripe];
        self.damage.push(source.damage_of(record, message));
        if let Some(file) = source.file_of(&part.set.chain, record) {
            self.cover(file, record.plain_length.into());
        }
    }

    fn cover(&mut self, file: u64, bytes: u64) {
        *self.covered.entry(file).or_default() += bytes;
    }
}

/// A worker that decodes frames and keeps nothing of them.
pub(super) struct VerifyStage<'s> {
    part: &'s Part<'s>,
    runs: &'s [Run],
    done: &'s [AtomicBool],
    decoder: Decoder,
    checked: Checked,
}

impl<'s> VerifyStage<'s> {
    pub(super) fn new(part: &'s Part<'s>, runs: &'s [Run], done: &'s [AtomicBool], decoder: Decoder) -> Self {
        Self { part, runs, done, decoder, checked: Checked::default() }
    }

    pub(super) fn into_checked(self) -> Checked {
        self.checked
    }

    fn check(
        &mut self,
        record: &IndexRecord,
        stripe: u16,
        frame: &mut [u8],
        spare: &mut [u8],
    ) -> Result<(), FrameFault> {
        if self.part.set.is_without_key {
            let header = self.decoder.check_stored(frame, stripe)?;
            return match (record.is_of(&header), header.is_sealed) {
                (true, true) => Ok(()),
                (true, false) => Err(FrameFault::NotSealed),
                (false, _) => Err(FrameFault::OtherFrame),
            };
        }
        let (header, plain) = self.decoder.decode(frame, stripe, spare)?;
        if !record.is_of(&header) {
            return Err(FrameFault::OtherFrame);
        }
        match record.kind {
            FrameKind::Data => {
                let (file, offset) = (record.file, record.offset);
                self.content(record, &Piece { file, offset, length: record.plain_length }, plain)?;
            }
            FrameKind::Bundle => {
                for (piece, data) in Bundle::decode(plain)?.pieces() {
                    self.content(record, &piece, data)?;
                }
            }
            FrameKind::Entries => {
                entry_lines::<FileEntry>(plain).try_for_each(|entry| entry.map(drop))?;
            }
            FrameKind::Bases => {
                entry_lines::<BaseRecord>(plain).try_for_each(|base| base.map(drop))?;
            }
            FrameKind::Digests => drop(pieces_of(plain)?),
            FrameKind::Index | FrameKind::End => return Err(FrameFault::OtherFrame),
        }
        Ok(())
    }

    /// A piece of a file. One in a base must be what the increment was compared with.
    fn content(&mut self, record: &IndexRecord, piece: &Piece, data: &[u8]) -> Result<(), FrameFault> {
        let mut file = piece.file;
        if self.part.number > 0 {
            let chain = &self.part.set.chain;
            let Some(found) = chain.piece(self.part.number, record.sequence, piece) else { return Ok(()) };
            if *blake3::hash(data).as_bytes() != found.digest {
                return Err(FrameFault::OtherContent);
            }
            file = found.file;
        }
        self.checked.cover(file, data.len() as u64);
        self.checked.bytes += data.len() as u64;
        Ok(())
    }
}

impl Stage for VerifyStage<'_> {
    fn apply(&mut self, frame: &mut Frame, spare: &mut Buffer) -> Result<(), StageFailure> {
        let Some((at, run)) = run_of(self.runs, frame) else { return Err("a frame of no run".into()) };
        let stripe = &self.part.stripes[run.stripe].open.stripe;
        let (number, block) = (stripe.number(), stripe.header.block_bytes);
        let records = &self.part.records[run.stripe][run.first..][..run.count];
        self.checked.stored_bytes += frame.bytes().len() as u64;
        for (record, bytes) in frames_of(frame.bytes_mut(), records, block) {
            match self.check(record, number, bytes, spare) {
                Ok(()) => self.checked.good_frames += 1,
                Err(fault) => self.checked.bad(self.part, &run, record, fault.to_string()),
            }
        }
        if let Some(done) = self.done.get(at) {
            done.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

fn run_of(runs: &[Run], frame: &Frame) -> Option<(usize, Run)> {
    let at = usize::try_from(frame.sequence()).ok()?;
    Some((at, *runs.get(at)?))
}

/// Compares the headers of each stripe with its end, while its frames pass in their order.
pub(super) struct HeaderHashes<'s> {
    set: &'s OpenSet,
    records: &'s [Vec<IndexRecord>],
    runs: Vec<Run>,
    at: usize,
    hashers: Vec<blake3::Hasher>,
}

impl<'s> HeaderHashes<'s> {
    pub(super) fn new(set: &'s OpenSet, records: &'s [Vec<IndexRecord>]) -> Self {
        let hashers = set.stripes.iter().map(|_| blake3::Hasher::new()).collect();
        Self { set, records, runs: Vec::new(), at: 0, hashers }
    }

    pub(super) fn begin(&mut self, runs: &[Run]) {
        self.runs = runs.to_vec();
        self.at = 0;
    }

    pub(super) fn wrong(self) -> Vec<Damage> {
        let stripes = self.set.stripes.iter().zip(self.hashers);
        let wrong = stripes.filter_map(|(open, mut hasher)| {
            let (end, index) = (open.end?, open.index.as_ref()?);
            hasher.update(&index.headers);
            let message = "the headers of the stripe are not those that its end names";
            let is_wrong = *hasher.finalize().as_bytes() != end.headers_hash;
            is_wrong.then(|| open.stripe.damage(Fault::new(end.position, &message)))
        });
        wrong.collect()
    }
}

impl OrderedStage for HeaderHashes<'_> {
    fn frame(&mut self, frame: &mut Frame) -> Result<(), StageFailure> {
        let Some(run) = self.runs.get(self.at).copied() else { return Err("a frame of no run".into()) };
        self.at += 1;
        let block = self.set.stripes[run.stripe].stripe.header.block_bytes;
        let records = &self.records[run.stripe][run.first..][..run.count];
        for (_, bytes) in frames_of(frame.bytes_mut(), records, block) {
            self.hashers[run.stripe].update(&bytes[..FRAME_HEADER_BYTES]);
        }
        Ok(())
    }

    fn hole(&mut self, _: u64) {}
}

#[derive(Debug, Default)]
pub struct Verified {
    pub files: u64,
    /// Frames that were found, but for those of the index and the ends.
    pub frames: u64,
    pub good_frames: u64,
    pub bytes: u64,
    pub stored_bytes: u64,
    /// What was read of each stripe, but for headers and indexes; empty if only these were looked at.
    pub stripes: Vec<StripeRead>,
    /// The sets that it is based on and of which something is needed.
    pub bases: Vec<BaseVerified>,
    /// By stripe and position.
    pub damage: Vec<Damage>,
    pub was_cancelled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseVerified {
    pub set: SetId,
    /// Frames of it that the increment needs. They were read unless only headers were looked at.
    pub frames: u64,
}
