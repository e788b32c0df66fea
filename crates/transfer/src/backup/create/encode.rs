//! The stage that makes frames of a backup: hashes, compresses, encrypts, and puts headers before them.

use std::sync::{Arc, Mutex, PoisonError};

use iostall_engine::Buffer;
use iostall_model::backup::{SetId, StoredName};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::base::{Before, Compared};
use super::item::Inspect;
use super::options::Shape;
use super::packing::{PackedFrame, Packing};
use super::small::{SmallFile, SmallResult, fill};
use crate::backup::codec::{Compressor, KeyError, Sealer};
use crate::backup::format::{
    BundleWriter, CodecKind, FRAME_HEADER_BYTES, FrameHeader, FrameKind, Piece, PieceRecord, TAG_BYTES,
    frame_block_bytes, stored_hash,
};
use crate::pipeline::{Extent, Frame, Stage, StageFailure};

pub(super) struct EncodeJob {
    pub(super) base: u64,
    pub(super) content: Content,
}

pub(super) enum Content {
    /// Extents of files, by the index of the file among the engine's, the first of which is `first`.
    Files {
        first: u16,
        files: Vec<Tagged>,
    },
    Stream(Tagged),
    /// Small files, which the worker reads itself. The offset of a frame's origin is the index of its transfer.
    Small {
        transfers: Vec<Vec<Vec<SmallFile>>>,
        results: Mutex<Vec<SmallResult>>,
    },
    /// Parts of several files, which an ordered stage has put into the frame.
    Packed(Arc<Packing>),
    /// Bytes in memory. The offset of a frame's origin is the index of its part.
    Parts(Vec<Part>),
}

pub(super) struct Tagged {
    pub(super) number: u64,
    pub(super) name: StoredName,
    pub(super) inspect: Option<Arc<dyn Inspect>>,
    pub(super) before: Before,
}

#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) kind: FrameKind,
    pub(super) file: u64,
    pub(super) offset: u64,
    /// Which stripe must take it, for what belongs to one.
    pub(super) stripe: u16,
    pub(super) bytes: Vec<u8>,
    pub(super) before: Before,
}

impl Part {
    pub(super) fn of_set(kind: FrameKind, stripe: u16, bytes: Vec<u8>) -> Self {
        Self { kind, file: 0, offset: 0, stripe, bytes, before: Before::default() }
    }

    pub(super) fn source_bytes(&self) -> u32 {
        let bytes = if self.kind == FrameKind::Data { self.bytes.len() } else { 0 };
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}

pub(super) struct Encoder {
    set: SetId,
    shape: Shape,
    compressor: Compressor,
    sealer: Option<Arc<Sealer>>,
    job: Option<Arc<EncodeJob>>,
    /// Where each piece of the source is, and its digest, since they were taken.
    pieces: Vec<PieceRecord>,
}

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
        Self { set, shape, compressor, sealer, job: None, pieces: Vec::new() }
    }

    pub(super) fn begin(&mut self, job: &Arc<EncodeJob>) {
        self.job = Some(Arc::clone(job));
    }

    /// Forgets it, so that its results have one owner.
    pub(super) fn end(&mut self) {
        self.job = None;
    }

    pub(super) fn take_pieces(&mut self) -> Vec<PieceRecord> {
        std::mem::take(&mut self.pieces)
    }

    /// Encodes what changed of a range of one file as frames one after another; returns the bytes of the file in them, and where
    /// they end in `into`.
    fn run(
        &mut self,
        file: &Tagged,
        offset: u64,
        plain: &[u8],
        sequence: u64,
        into: &mut [u8],
    ) -> Result<(u32, usize), KeyError> {
        if let Some(inspect) = file.inspect.as_ref().filter(|_| !plain.is_empty()) {
            inspect.inspect(&file.name, offset, plain);
        }
        let (mut stored, mut at, mut begin) = (0, 0, 0);
        for (length, sequence) in self.lengths(offset, plain.len()).into_iter().zip(sequence..) {
            let chunk = &plain[begin..begin + length];
            let place = Place {
                kind: FrameKind::Data,
                file: file.number,
                offset: offset + begin as u64,
                sequence,
                stripe: 0,
            };
            let (bytes, length) = self.changed(place, &file.before, chunk, &mut into[at..])?;
            stored += bytes;
            at += length;
            begin += chunk.len();
        }
        Ok((stored, at))
    }

    /// How a range is cut into frames: at multiples of the frame, so that an increment finds the frames of its base again. There
    /// are never more than a transfer has numbers for.
    fn lengths(&self, offset: u64, length: usize) -> Vec<usize> {
        let frame_bytes = self.shape.frame_bytes as usize;
        let cut = |first: usize| {
            let first = first.min(length);
            let rest = length - first;
            let whole = std::iter::repeat_n(frame_bytes, rest / frame_bytes);
            let last = rest % frame_bytes;
            std::iter::once(first).chain(whole).chain([last]).filter(|length| *length > 0).collect()
        };
        let past = usize::try_from(offset % u64::from(self.shape.frame_bytes)).unwrap_or(0);
        let aligned: Vec<usize> = cut((frame_bytes - past) % frame_bytes);
        if aligned.len() <= self.shape.frames_per_transfer() as usize { aligned } else { cut(0) }
    }

    /// Encodes what the base does not have of `plain`, at most one frame; returns the bytes of the file in it, and its length.
    fn changed(
        &mut self,
        place: Place,
        before: &Before,
        plain: &[u8],
        into: &mut [u8],
    ) -> Result<(u32, usize), KeyError> {
        let Compared { same, own } = before.compare(place.file, place.offset, plain);
        self.pieces.extend(same);
        let Some((range, digest)) = own else { return Ok((0, 0)) };
        let length = u32::try_from(range.len()).unwrap_or(u32::MAX);
        let place = Place { offset: place.offset + range.start as u64, ..place };
        let Place { file, offset, sequence, .. } = place;
        self.pieces.push(PieceRecord { file, offset, length, set: 0, sequence, held_file: file, digest });
        Ok((length, self.frame(place, &plain[range], into)?))
    }

    /// Encodes one frame at the beginning of `into`; returns its length with the zeros up to the next block.
    fn frame(&mut self, place: Place, plain: &[u8], into: &mut [u8]) -> Result<usize, KeyError> {
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
        }
        let whole = frame_block_bytes(header.stored_length, self.shape.block_bytes);
        let whole = usize::try_from(whole).unwrap_or(usize::MAX);
        let padded = &mut content[..whole - FRAME_HEADER_BYTES];
        padded[stored..].fill(0);
        match &self.sealer {
            // One pass gives both sums of what is stored as it is.
            None if codec == CodecKind::None => {
                let mut hash = Xxh3::new();
                hash.update(plain);
                header.plain_hash = hash.digest();
                hash.update(&padded[stored..]);
                header.stored_hash = hash.digest();
            }
            sealer => {
                let mask = sealer.as_ref().map_or(0, |sealer| sealer.mask(place.sequence));
                header.plain_hash = xxh3_64(plain) ^ mask;
                header.stored_hash = stored_hash(padded);
            }
        }
        header.put(header_bytes);
        Ok(whole)
    }

    /// Encodes what changed of the frames that `plain` consists of, one after another; returns the bytes of files in them, and
    /// where they end in `into`.
    fn packed(
        &mut self,
        frames: &[PackedFrame],
        mut plain: &[u8],
        sequence: u64,
        into: &mut [u8],
    ) -> Result<(u32, usize), StageFailure> {
        let (mut stored, mut at) = (0, 0);
        for (frame, sequence) in frames.iter().zip(sequence..) {
            let (content, rest) =
                plain.split_at_checked(frame.bytes()).ok_or("a frame that is longer than its transfer")?;
            plain = rest;
            let place = Place { kind: FrameKind::Bundle, file: 0, offset: 0, sequence, stripe: 0 };
            let mut pieces = frame.compared();
            let (bytes, length) = match (pieces.next(), pieces.next()) {
                (Some((one, before)), None) => {
                    let place = Place { kind: FrameKind::Data, file: one.file, offset: one.offset, ..place };
                    self.changed(place, before, content, &mut into[at..])?
                }
                _ => self.shared(frame, place, content, &mut into[at..])?,
            };
            stored += bytes;
            at += length;
        }
        Ok((stored, at))
    }

    /// Encodes the pieces of several files in `content` that changed as one frame; returns the same. One that changed is stored as
    /// a whole.
    fn shared(
        &mut self,
        frame: &PackedFrame,
        place: Place,
        content: &[u8],
        into: &mut [u8],
    ) -> Result<(u32, usize), StageFailure> {
        let (mut own, mut own_bytes, mut rest) = (Vec::new(), Vec::new(), content);
        for (piece, before) in frame.compared() {
            let (bytes, after) = rest.split_at_checked(piece.length as usize).unwrap_or_default();
            rest = after;
            let Piece { file, offset, length } = *piece;
            let Compared { same, own: changed } = before.compare_whole(file, offset, bytes);
            self.pieces.extend(same);
            let Some((_, digest)) = changed else { continue };
            let Place { sequence, .. } = place;
            self.pieces.push(PieceRecord { file, offset, length, set: 0, sequence, held_file: file, digest });
            own.push(*piece);
            own_bytes.extend_from_slice(bytes);
        }
        if own.is_empty() {
            return Ok((0, 0));
        }
        let mut bundle = vec![0; BundleWriter::table_bytes(own.len())];
        BundleWriter::put_table(&own, &mut bundle);
        bundle.extend_from_slice(&own_bytes);
        Ok((u32::try_from(own_bytes.len())?, self.frame(place, &bundle, into)?))
    }

    /// Reads small files into the frame's own buffer, bundle by bundle, and encodes what changed; returns the bytes that were
    /// read, those in the frames, and where the frames end.
    fn small(
        &mut self,
        bundles: &[Vec<SmallFile>],
        results: &Mutex<Vec<SmallResult>>,
        sequence: u64,
        room: &mut [u8],
        into: &mut [u8],
    ) -> Result<(u32, u32, usize), StageFailure> {
        let (mut read_bytes, mut source_bytes, mut at) = (0, 0, 0);
        for (files, sequence) in bundles.iter().zip(sequence..) {
            let filled = fill(files, &mut room[..self.shape.frame_bytes as usize])?;
            results.lock().unwrap_or_else(PoisonError::into_inner).extend(filled.results);
            read_bytes += filled.read_bytes;
            let in_frame = |piece: PieceRecord| match piece.set {
                0 => PieceRecord { sequence, ..piece },
                _ => piece,
            };
            self.pieces.extend(filled.pieces.into_iter().map(in_frame));
            if filled.source_bytes > 0 {
                let place = Place { kind: FrameKind::Bundle, file: 0, offset: 0, sequence, stripe: 0 };
                at += self.frame(place, &room[..filled.length], &mut into[at..])?;
                source_bytes += filled.source_bytes;
            }
        }
        Ok((read_bytes, source_bytes, at))
    }
}

impl Stage for Encoder {
    fn apply(&mut self, frame: &mut Frame, spare: &mut Buffer) -> Result<(), StageFailure> {
        let Some(job) = self.job.clone() else { return Err("a frame without a job".into()) };
        let origin = frame.origin();
        let sequence = (job.base + frame.sequence()) * u64::from(self.shape.frames_per_transfer());
        let index = usize::try_from(origin.offset).unwrap_or(usize::MAX);
        let (read_bytes, source_bytes, length) = match &job.content {
            Content::Files { first, files } => {
                let file = origin.file.0.checked_sub(*first).and_then(|at| files.get(usize::from(at)));
                let file = file.ok_or("a frame of no file")?;
                let (stored, end) = self.run(file, origin.offset, frame.bytes(), sequence, spare)?;
                (origin.length, stored, end)
            }
            Content::Stream(file) => {
                let (stored, end) = self.run(file, origin.offset, frame.bytes(), sequence, spare)?;
                (origin.length, stored, end)
            }
            Content::Small { transfers, results } => {
                let bundles = transfers.get(index).ok_or("a frame of no file")?;
                self.small(bundles, results, sequence, frame.room(), spare)?
            }
            Content::Packed(packing) => {
                let frames = packing.take(frame.sequence());
                let (stored, end) = self.packed(&frames, frame.bytes(), sequence, spare)?;
                (origin.length, stored, end)
            }
            Content::Parts(parts) => {
                let part = parts.get(index).ok_or("a frame of no part")?;
                let Part { kind, file, offset, stripe, .. } = *part;
                let place = Place { kind, file, offset, sequence, stripe };
                let (stored, end) = match kind {
                    FrameKind::Data => self.changed(place, &part.before, &part.bytes, spare)?,
                    _ => (0, self.frame(place, &part.bytes, spare)?),
                };
                (part.source_bytes(), stored, end)
            }
        };
        frame.set_origin(Extent { length: read_bytes, ..origin });
        // For the stripe that takes it.
        frame.set_checksum(source_bytes.into());
        frame.replace(spare, u32::try_from(length)?);
        Ok(())
    }
}
