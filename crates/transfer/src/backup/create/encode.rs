//! The stage that makes frames of a backup: hashes, compresses, encrypts, and puts headers before them.

use std::sync::{Arc, Mutex, PoisonError};

use iostall_engine::Buffer;
use iostall_model::backup::{SetId, StoredName};
use xxhash_rust::xxh3::xxh3_64;

use super::item::Inspect;
use super::options::Shape;
use super::packing::{PackedFrame, Packing};
use super::small::{SmallFile, SmallResult, fill};
use crate::backup::codec::{Compressor, KeyError, Sealer};
use crate::backup::format::{
    BundleWriter, FRAME_HEADER_BYTES, FrameHeader, FrameKind, TAG_BYTES, frame_block_bytes, stored_hash,
};
use crate::pipeline::{Extent, Frame, Stage, StageFailure};

/// What the frames of one job are.
pub(super) struct EncodeJob {
    /// Transfers before this job.
    pub(super) base: u64,
    pub(super) content: Content,
}

pub(super) enum Content {
    /// Extents of files, by the index of the file among the engine's, the first of which is `first`.
    Files { first: u16, files: Vec<Tagged> },
    /// What an ordered stage has put into the frame.
    Stream(Tagged),
    /// Small files, which the worker reads itself. The offset of a frame's origin is the index of its transfer.
    Small { transfers: Vec<Vec<Vec<SmallFile>>>, results: Mutex<Vec<SmallResult>> },
    /// Parts of several files, which an ordered stage has put into the frame.
    Packed(Arc<Packing>),
    /// Bytes in memory. The offset of a frame's origin is the index of its part.
    Parts(Vec<Part>),
}

/// What frames say of a file.
pub(super) struct Tagged {
    pub(super) number: u64,
    pub(super) name: StoredName,
    pub(super) inspect: Option<Arc<dyn Inspect>>,
}

/// The plain bytes of one frame.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) kind: FrameKind,
    pub(super) file: u64,
    pub(super) offset: u64,
    /// Which stripe must take it, for what belongs to one.
    pub(super) stripe: u16,
    pub(super) bytes: Vec<u8>,
}

impl Part {
    /// Bytes of the source in it.
    pub(super) fn source_bytes(&self) -> u32 {
        let bytes = if self.kind == FrameKind::Data { self.bytes.len() } else { 0 };
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}

/// One worker.
pub(super) struct Encoder {
    set: SetId,
    shape: Shape,
    compressor: Compressor,
    sealer: Option<Arc<Sealer>>,
    job: Option<Arc<EncodeJob>>,
}

/// What a frame is of, and where it stands in the set.
#[derive(Clone, Copy)]
struct Place {
    kind: FrameKind,
    file: u64,
    offset: u64,
    sequence: u64,
    stripe: u16,
}

impl Encoder {
    pub(super) fn new(set: SetId, shape: Shape, compressor: Compressor, sealer: Option<Arc<Sealer>>) -> Self {
        Self { set, shape, compressor, sealer, job: None }
    }

    /// Says what the next frames are.
    pub(super) fn begin(&mut self, job: &Arc<EncodeJob>) {
        self.job = Some(Arc::clone(job));
    }

    /// Forgets it, so that its results have one owner.
    pub(super) fn end(&mut self) {
        self.job = None;
    }

    /// Encodes a range of one file as frames one after another; returns where they end in `into`.
    fn run(
        &mut self,
        file: &Tagged,
        offset: u64,
        plain: &[u8],
        sequence: u64,
        into: &mut [u8],
    ) -> Result<usize, KeyError> {
        if let Some(inspect) = file.inspect.as_ref().filter(|_| !plain.is_empty()) {
            inspect.inspect(&file.name, offset, plain);
        }
        let mut at = 0;
        let mut place = Place { kind: FrameKind::Data, file: file.number, offset, sequence, stripe: 0 };
        for plain in plain.chunks(self.shape.frame_bytes as usize) {
            at += self.frame(place, plain, &mut into[at..])?;
            place.offset += plain.len() as u64;
            place.sequence += 1;
        }
        Ok(at)
    }

    /// Encodes one frame at the beginning of `into`; returns its length with the zeros up to the next block.
    fn frame(&mut self, place: Place, plain: &[u8], into: &mut [u8]) -> Result<usize, KeyError> {
        let mut plain_hash = xxh3_64(plain);
        let (header_bytes, content) = into.split_at_mut(FRAME_HEADER_BYTES);
        // A reader finds the end of a stripe by its place, so it always has the same length.
        let (codec, length) = if place.kind == FrameKind::End {
            Compressor::store(plain, content)
        } else {
            self.compressor.compress(plain, content)
        };
        let tag_bytes = if self.sealer.is_some() { TAG_BYTES as usize } else { 0 };
        let stored = length + tag_bytes;
        let mut header = FrameHeader {
            kind: place.kind,
            codec,
            is_sealed: self.sealer.is_some(),
            set: self.set,
            sequence: place.sequence,
            file: place.file,
            offset: place.offset,
            plain_length: u32::try_from(plain.len()).unwrap_or(u32::MAX),
            stored_length: u32::try_from(stored).unwrap_or(u32::MAX),
            plain_hash: 0,
            stored_hash: 0,
            stripe: place.stripe,
        };
        if let Some(sealer) = &self.sealer {
            sealer.seal(&header, &mut content[..stored])?;
            plain_hash ^= sealer.mask(place.sequence);
        }
        let whole = frame_block_bytes(header.stored_length, self.shape.block_bytes);
        let whole = usize::try_from(whole).unwrap_or(usize::MAX);
        let padded = &mut content[..whole - FRAME_HEADER_BYTES];
        padded[stored..].fill(0);
        header.plain_hash = plain_hash;
        header.stored_hash = stored_hash(padded);
        header.put(header_bytes);
        Ok(whole)
    }

    /// Encodes the frames that `plain` consists of, one after another; returns where they end in `into`.
    fn packed(
        &mut self,
        frames: &[PackedFrame],
        mut plain: &[u8],
        sequence: u64,
        into: &mut [u8],
    ) -> Result<usize, StageFailure> {
        let mut at = 0;
        for (frame, sequence) in frames.iter().zip(sequence..) {
            let (content, rest) =
                plain.split_at_checked(frame.bytes()).ok_or("a frame that is longer than its transfer")?;
            plain = rest;
            let place = Place { kind: FrameKind::Bundle, file: 0, offset: 0, sequence, stripe: 0 };
            at += if let [one] = frame.pieces() {
                let place = Place { kind: FrameKind::Data, file: one.file, offset: one.offset, ..place };
                self.frame(place, content, &mut into[at..])?
            } else {
                let mut bundle = vec![0; frame.encoded_bytes()];
                let table_bytes = BundleWriter::put_table(frame.pieces(), &mut bundle);
                bundle[table_bytes..].copy_from_slice(content);
                self.frame(place, &bundle, &mut into[at..])?
            };
        }
        Ok(at)
    }

    /// Reads small files into the frame's own buffer, bundle by bundle, and encodes them; returns the bytes of the files, and
    /// where the frames end.
    fn small(
        &mut self,
        bundles: &[Vec<SmallFile>],
        results: &Mutex<Vec<SmallResult>>,
        sequence: u64,
        room: &mut [u8],
        into: &mut [u8],
    ) -> Result<(u32, usize), StageFailure> {
        let (mut source_bytes, mut at) = (0, 0);
        for (files, sequence) in bundles.iter().zip(sequence..) {
            let filled = fill(files, &mut room[..self.shape.frame_bytes as usize])?;
            results.lock().unwrap_or_else(PoisonError::into_inner).extend(filled.results);
            if filled.source_bytes > 0 {
                let place = Place { kind: FrameKind::Bundle, file: 0, offset: 0, sequence, stripe: 0 };
                at += self.frame(place, &room[..filled.length], &mut into[at..])?;
                source_bytes += filled.source_bytes;
            }
        }
        Ok((source_bytes, at))
    }
}

impl Stage for Encoder {
    fn apply(&mut self, frame: &mut Frame, spare: &mut Buffer) -> Result<(), StageFailure> {
        let Some(job) = self.job.clone() else { return Err("a frame without a job".into()) };
        let origin = frame.origin();
        let sequence = (job.base + frame.sequence()) * u64::from(self.shape.frames_per_transfer());
        let index = usize::try_from(origin.offset).unwrap_or(usize::MAX);
        let (source_bytes, length) = match &job.content {
            Content::Files { first, files } => {
                let file = origin.file.0.checked_sub(*first).and_then(|at| files.get(usize::from(at)));
                let file = file.ok_or("a frame of no file")?;
                (origin.length, self.run(file, origin.offset, frame.bytes(), sequence, spare)?)
            }
            Content::Stream(file) => {
                (origin.length, self.run(file, origin.offset, frame.bytes(), sequence, spare)?)
            }
            Content::Small { transfers, results } => {
                let bundles = transfers.get(index).ok_or("a frame of no file")?;
                self.small(bundles, results, sequence, frame.room(), spare)?
            }
            Content::Packed(packing) => {
                let frames = packing.take(frame.sequence());
                (origin.length, self.packed(&frames, frame.bytes(), sequence, spare)?)
            }
            Content::Parts(parts) => {
                let part = parts.get(index).ok_or("a frame of no part")?;
                let Part { kind, file, offset, stripe, .. } = *part;
                let place = Place { kind, file, offset, sequence, stripe };
                (part.source_bytes(), self.frame(place, &part.bytes, spare)?)
            }
        };
        frame.set_origin(Extent { length: source_bytes, ..origin });
        frame.replace(spare, u32::try_from(length)?);
        Ok(())
    }
}
