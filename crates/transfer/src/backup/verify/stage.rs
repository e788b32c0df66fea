//! The stages of a check.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use iostall_engine::{Buffer, IoFailure};
use iostall_model::backup::FileEntry;

use crate::backup::codec::{Decoder, FrameFault};
use crate::backup::format::{Bundle, FRAME_HEADER_BYTES, FrameKind, IndexRecord, entry_lines};
use crate::backup::read::{Damage, Fault, OpenSet, Run, frames_of};
use crate::pipeline::{Frame, OrderedStage, Stage, StageFailure};

/// What a worker found.
#[derive(Debug, Default)]
pub(super) struct Checked {
    pub(super) good_frames: u64,
    /// Content of good frames.
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
    pub(super) fn unreadable(
        &mut self,
        set: &OpenSet,
        records: &[Vec<IndexRecord>],
        run: &Run,
        offset: u64,
        cause: IoFailure,
    ) {
        for record in &records[run.stripe][run.first..][..run.count] {
            let message = format!("the stripe cannot be read at offset {offset}: {cause}");
            self.bad(set, run, record, message);
        }
    }

    fn bad(&mut self, set: &OpenSet, run: &Run, record: &IndexRecord, message: String) {
        let stripe = &set.stripes[run.stripe].stripe;
        self.damage.push(Damage::of_frame(stripe.number(), &stripe.path, record, &set.manifest, message));
        if record.kind == FrameKind::Data {
            self.cover(record.file, record.plain_length.into());
        }
    }

    fn cover(&mut self, file: u64, bytes: u64) {
        *self.covered.entry(file).or_default() += bytes;
    }
}

/// A worker that decodes frames and keeps nothing of them.
pub(super) struct VerifyStage<'s> {
    set: &'s OpenSet,
    records: &'s [Vec<IndexRecord>],
    runs: &'s [Run],
    /// Runs that a worker has seen.
    done: &'s [AtomicBool],
    decoder: Decoder,
    checked: Checked,
}

impl<'s> VerifyStage<'s> {
    pub(super) fn new(
        set: &'s OpenSet,
        records: &'s [Vec<IndexRecord>],
        runs: &'s [Run],
        done: &'s [AtomicBool],
        decoder: Decoder,
    ) -> Self {
        Self { set, records, runs, done, decoder, checked: Checked::default() }
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
        if self.set.is_without_key {
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
                self.checked.cover(record.file, plain.len() as u64);
                self.checked.bytes += plain.len() as u64;
            }
            FrameKind::Bundle => {
                for (piece, data) in Bundle::decode(plain)?.pieces() {
                    self.checked.cover(piece.file, data.len() as u64);
                    self.checked.bytes += data.len() as u64;
                }
            }
            FrameKind::Entries => {
                entry_lines::<FileEntry>(plain).try_for_each(|entry| entry.map(drop))?;
            }
            FrameKind::Index | FrameKind::End => return Err(FrameFault::OtherFrame),
        }
        Ok(())
    }
}

impl Stage for VerifyStage<'_> {
    fn apply(&mut self, frame: &mut Frame, spare: &mut Buffer) -> Result<(), StageFailure> {
        let Some((at, run)) = run_of(self.runs, frame) else { return Err("a frame of no run".into()) };
        let stripe = &self.set.stripes[run.stripe].stripe;
        let (number, block) = (stripe.number(), stripe.header.block_bytes);
        let records = &self.records[run.stripe][run.first..][..run.count];
        self.checked.stored_bytes += frame.bytes().len() as u64;
        for (record, bytes) in frames_of(frame.bytes_mut(), records, block) {
            match self.check(record, number, bytes, spare) {
                Ok(()) => self.checked.good_frames += 1,
                Err(fault) => self.checked.bad(self.set, &run, record, fault.to_string()),
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

    /// Stripes whose headers are not those that their ends name.
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
