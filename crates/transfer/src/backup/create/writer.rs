//! Writes a set: job after job through the pipeline onto the stripes, then their indexes and ends.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use iostall_engine::files::path_bytes;
use iostall_engine::{Engine, EngineReport, FileHandle, FileIndex, OpenTarget};
use iostall_measure::{Clock, MonotonicClock};
use iostall_model::backup::{BaseRecord, FileEntry, SetId, StoredName, StripeRecord};
use iostall_remote::{EngineFile, is_object};

use super::encode::{Content, EncodeJob, Encoder, Part};
use super::error::CreateError;
use super::options::{CreateOptions, Shape};
use super::source::{CountedSource, Fills};
use super::stripe::Stripe;
use super::target_file::RoomAhead;
use super::targets::{Published, Targets, align_of};
use crate::backup::codec::{Compressor, Sealer};
use crate::backup::format::{
    End, FormatError, FrameKind, PieceRecord, put_digests, put_entry_line, put_index,
};
use crate::buffers::BufferSet;
use crate::pipeline::{Job, Moved, OrderedStage, Pipeline, PipelineError, Sink, Stage, StageWorkers};
use crate::progress::Progress;
use crate::rate::RateLimit;

/// Entries and indexes are turned into frames about so many bytes at a time, so that a million of them take no memory for long.
const PARTS_BYTES: usize = 16 << 20;

pub(super) struct SetWriter<'a> {
    shape: Shape,
    rate: Option<&'a RateLimit>,
    progress: &'a Progress,
    clock: MonotonicClock,
    buffers: BufferSet,
    encoders: Vec<Encoder>,
    stripes: Vec<Stripe>,
    room: Option<RoomAhead>,
    /// `None` for `null:`.
    targets: Option<Targets>,
    transfers: u64,
    /// Where each piece of the source is, as far as it is not written yet.
    pieces: Vec<PieceRecord>,
    pub(super) base_bytes: u64,
    pub(super) engine: Option<EngineReport>,
}

pub(super) struct JobParts<'j> {
    pub(super) source: &'j mut dyn CountedSource,
    pub(super) reader: Option<&'j mut dyn OrderedStage>,
    pub(super) encoders: &'j mut [Encoder],
    pub(super) stripes: &'j mut [Stripe],
    pub(super) aligns: &'j [u32],
    pub(super) reads_max: u32,
    pub(super) rate: Option<&'j RateLimit>,
    pub(super) progress: &'j Progress,
}

/// Runs one job; returns what it moved, and the sequence numbers it took.
pub(super) fn run_job<E: Engine, C: Clock>(
    pipeline: &mut Pipeline<E, C>,
    job: &Arc<EncodeJob>,
    parts: JobParts<'_>,
) -> (Result<Moved, PipelineError>, u64) {
    let JobParts { source, reader, encoders, stripes, aligns, reads_max, rate, progress } = parts;
    for encoder in encoders.iter_mut() {
        encoder.begin(job);
    }
    let mut stages = Vec::with_capacity(2);
    if let Some(reader) = reader {
        // On a thread of its own: it waits for whoever writes the stream.
        stages.push(StageWorkers::in_order(reader).on_threads());
    }
    stages.push(StageWorkers::any_order(encoders.iter_mut().map(|encoder| encoder as &mut dyn Stage)));
    let sinks = stripes.iter_mut().map(|stripe| stripe as &mut dyn Sink).collect();
    let moved = pipeline.run(Job { source, stages, sinks, aligns, reads_max, rate, progress });
    encoders.iter_mut().for_each(Encoder::end);
    (moved, source.steps())
}

impl<'a> SetWriter<'a> {
    pub(super) fn new(
        set: SetId,
        shape: Shape,
        options: &'a CreateOptions,
        sealer: Option<Sealer>,
        targets: Option<Targets>,
        progress: &'a Progress,
    ) -> Result<Self, CreateError> {
        let Shape { buffers, buffer_bytes, block_bytes, writes_max, .. } = shape;
        let sealer = sealer.map(Arc::new);
        let encoder = |_| {
            let compressor = Compressor::new(options.compression)
                .map_err(|error| CreateError::Settings(format!("{}: {error}", options.compression)))?;
            Ok(Encoder::new(set, shape, compressor, sealer.clone()))
        };
        let encoders = (0..shape.fillers).map(encoder).collect::<Result<Vec<_>, CreateError>>()?;
        let counters = progress.count_stripes(targets.iter().flat_map(Targets::files).count());
        let room = RoomAhead::start(targets.iter().flat_map(Targets::rooms).collect());
        let stripe = |((number, (header_bytes, buffered)), counter)| {
            Stripe::new(number, Some(FileIndex(number)), header_bytes, block_bytes, writes_max)
                .reserving(room.as_ref().map(|room| room.of_stripe(number.into())))
                .drop_from_cache(buffered)
                .counted_by(counter)
        };
        let stripes = match &targets {
            Some(targets) => (0..).zip(targets.begins()).zip(counters).map(stripe).collect(),
            None => vec![Stripe::new(0, None, block_bytes.into(), block_bytes, writes_max)],
        };
        let failed = |source| CreateError::Buffers { buffers, bytes: buffer_bytes, source };
        Ok(Self {
            shape,
            rate: options.rate.as_deref(),
            progress,
            clock: MonotonicClock::new(),
            buffers: BufferSet::new(buffers, buffer_bytes).map_err(failed)?,
            encoders,
            stripes,
            room,
            targets,
            transfers: 0,
            pieces: Vec::new(),
            base_bytes: 0,
            engine: None,
        })
    }

    pub(super) fn first_file(&self) -> u16 {
        if self.targets.is_none() { 0 } else { u16::try_from(self.stripes.len()).unwrap_or(u16::MAX) }
    }

    pub(super) fn stripes(&self) -> &[Stripe] {
        &self.stripes
    }

    /// Moves one job's content from `files`, or from `source` alone, through `encoders` workers.
    pub(super) fn run(
        &mut self,
        content: Content,
        source: &mut dyn CountedSource,
        reader: Option<&mut dyn OrderedStage>,
        files: &[&OpenTarget],
        workers: u32,
    ) -> Result<Content, CreateError> {
        if self.progress.is_cancelled() {
            return Err(CreateError::Cancelled);
        }
        let job = Arc::new(EncodeJob { base: self.transfers, content });
        let targets = self.targets.iter().flat_map(Targets::files);
        let sources = files.iter().map(|file| EngineFile::from(FileHandle::from(*file)));
        let handles: Vec<_> = targets.chain(sources).collect();
        let target_aligns = self.targets.iter().flat_map(Targets::aligns);
        let aligns: Vec<_> = target_aligns.chain(files.iter().map(|file| align_of(file))).collect();
        let engine = self.buffers.engine_beside(&handles)?;
        if self.engine.is_none() {
            self.engine = Some(engine.report());
        }
        drop(handles);
        let mut pipeline = Pipeline::new(engine, self.clock.clone(), self.buffers.take());
        let workers = (workers as usize).min(self.encoders.len());
        let (moved, steps) = run_job(
            &mut pipeline,
            &job,
            JobParts {
                source,
                reader: reader.map(|reader| reader as &mut dyn OrderedStage),
                encoders: &mut self.encoders[..workers],
                stripes: &mut self.stripes,
                aligns: &aligns,
                reads_max: self.shape.reads_max,
                rate: self.rate,
                progress: self.progress,
            },
        );
        self.transfers += steps;
        for encoder in &mut self.encoders {
            let pieces = encoder.take_pieces();
            let of_base = pieces.iter().filter(|piece| piece.set > 0);
            self.base_bytes += of_base.map(|piece| u64::from(piece.length)).sum::<u64>();
            self.pieces.extend(pieces);
        }
        let Shape { buffers, buffer_bytes: bytes, .. } = self.shape;
        self.buffers.put_back(pipeline.into_buffers()).map_err(|source| CreateError::Buffers {
            buffers,
            bytes,
            source,
        })?;
        match moved {
            // A producer that was stopped by the same signal ends its stream early.
            _ if self.progress.is_cancelled() => return Err(CreateError::Cancelled),
            Ok(moved) => {
                for (stripe, done) in self.stripes.iter_mut().zip(&moved.files) {
                    stripe.busy_ns += if stripe.is_written() { done.busy_ns } else { 0 };
                }
            }
            Err(cause) => return Err(self.explain(cause, files)),
        }
        // Nobody else has it any more.
        Arc::into_inner(job)
            .map(|job| job.content)
            .ok_or_else(|| CreateError::Settings("a worker still has its job".to_owned()))
    }

    fn explain(&self, cause: PipelineError, files: &[&OpenTarget]) -> CreateError {
        let first = usize::from(self.first_file());
        match cause {
            PipelineError::Cancelled => CreateError::Cancelled,
            PipelineError::Stage { cause, .. } => CreateError::Stage(cause),
            PipelineError::Read { file, .. } => {
                let open = usize::from(file.0).checked_sub(first).and_then(|at| files.get(at));
                match open {
                    Some(open) => CreateError::Reading { path: open.path.clone(), cause },
                    None => CreateError::Moving(cause),
                }
            }
            PipelineError::Write { file, .. } => {
                let number = usize::from(file.0);
                let target =
                    self.targets.as_ref().and_then(|all| Some((all.path(number)?, all.refusal(number))));
                match target {
                    Some((path, Some(refusal))) => CreateError::system("write", path)(refusal),
                    Some((path, None)) => CreateError::Writing { path: path.to_owned(), cause },
                    None => CreateError::Moving(cause),
                }
            }
            other => CreateError::Moving(other),
        }
    }

    pub(super) fn parts(&mut self, parts: Vec<Part>) -> Result<(), CreateError> {
        if parts.is_empty() {
            return Ok(());
        }
        let mut fills = Fills::new(parts.iter().map(Part::source_bytes).collect());
        let workers = self.shape.workers;
        self.run(Content::Parts(parts), &mut fills, None, &[], workers).map(drop)
    }

    /// Writes the entries of all files, so that a lost manifest can be made again.
    pub(super) fn entries(&mut self, entries: &[FileEntry]) -> Result<(), CreateError> {
        let frame_bytes = self.shape.frame_bytes as usize;
        let part = |bytes| Part::of_set(FrameKind::Entries, 0, bytes);
        let (mut parts, mut lines, mut line) = (Vec::new(), Vec::new(), Vec::new());
        for entry in entries {
            line.clear();
            put_entry_line(entry, &mut line).map_err(unreadable)?;
            if lines.len() + line.len() > frame_bytes && !lines.is_empty() {
                parts.push(part(std::mem::take(&mut lines)));
                if parts.len() * frame_bytes >= PARTS_BYTES {
                    self.parts(std::mem::take(&mut parts))?;
                }
            }
            lines.extend_from_slice(&line);
        }
        if !lines.is_empty() {
            parts.push(part(lines));
        }
        self.parts(parts)
    }

    pub(super) fn bases(&mut self, bases: &[BaseRecord]) -> Result<(), CreateError> {
        let frame_bytes = self.shape.frame_bytes as usize;
        let part = |bytes| Part::of_set(FrameKind::Bases, 0, bytes);
        let (mut parts, mut lines) = (Vec::new(), Vec::new());
        for base in bases {
            let mut line = Vec::new();
            put_entry_line(base, &mut line).map_err(unreadable)?;
            if lines.len() + line.len() > frame_bytes && !lines.is_empty() {
                parts.push(part(std::mem::take(&mut lines)));
            }
            lines.append(&mut line);
        }
        if !lines.is_empty() {
            parts.push(part(lines));
        }
        self.parts(parts)
    }

    /// Writes where each piece of the source is, so that the next backup can be an increment on this one.
    pub(super) fn digests(&mut self) -> Result<(), CreateError> {
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.sort_unstable_by_key(|piece| (piece.file, piece.offset));
        let (mut parts, mut left) = (Vec::new(), &pieces[..]);
        while !left.is_empty() {
            let (bytes, rest) = put_digests(left, self.shape.frame_bytes);
            parts.push(Part::of_set(FrameKind::Digests, 0, bytes));
            left = rest;
            if parts.len() * self.shape.frame_bytes as usize >= PARTS_BYTES {
                self.parts(std::mem::take(&mut parts))?;
            }
        }
        self.parts(parts)
    }

    /// Writes index and end of each stripe and makes all stripes durable.
    pub(super) fn end(&mut self) -> Result<(), CreateError> {
        let Some(_) = &self.targets else { return Ok(()) };
        let index_positions: Vec<u64> = self.stripes.iter().map(|stripe| stripe.end).collect();
        // Together, because each job has to be set up; but the indexes of a large set are long, and not all of them are needed
        // in memory twice.
        let mut parts = Vec::new();
        for number in 0..self.stripes.len() {
            parts.extend(index_parts(&self.stripes[number], number, self.shape.frame_bytes));
            self.stripes[number].index = Vec::new();
            if parts.iter().map(|part: &Part| part.bytes.len()).sum::<usize>() >= PARTS_BYTES {
                self.parts(std::mem::take(&mut parts))?;
            }
        }
        self.parts(parts)?;
        let ends = self.stripes.iter().zip(index_positions).zip(0..).map(|((stripe, position), number)| {
            let end = End {
                frames: stripe.frames,
                source_bytes: stripe.source_bytes,
                position: stripe.end,
                index_position: position,
                headers_hash: stripe.headers_hash(),
            };
            Part::of_set(FrameKind::End, number, end.encode().to_vec())
        });
        self.parts(ends.collect())?;
        self.sync()
    }

    pub(super) fn sync(&mut self) -> Result<(), CreateError> {
        // Nothing may be reserved any more once the files have their length.
        self.room = None;
        let lengths: Vec<u64> = self.stripes.iter().map(|stripe| stripe.end).collect();
        self.targets.as_ref().map_or(Ok(()), |targets| targets.sync(&lengths))
    }

    pub(super) fn records(&self) -> Vec<StripeRecord> {
        let Some(targets) = &self.targets else { return Vec::new() };
        let record = |(number, stripe): (u16, &Stripe)| {
            let name = targets.path(number.into()).and_then(|path| path.file_name()).unwrap_or_default();
            let name = path_bytes(Path::new(name)).to_vec();
            let place = targets.path(number.into()).and_then(whole_address);
            let directory =
                place.as_deref().and_then(Path::parent).map(|path| StoredName(path_bytes(path).to_vec()));
            StripeRecord {
                number,
                name: StoredName(name),
                directory,
                bytes: stripe.end,
                frames: stripe.frames,
                end_digest: stripe.end_digest,
            }
        };
        (0..).zip(&self.stripes).map(record).collect()
    }

    pub(super) fn path(&self, number: usize) -> Option<PathBuf> {
        self.targets.as_ref()?.path(number).map(Path::to_owned)
    }

    pub(super) fn reasons(&self) -> Vec<String> {
        self.targets.iter().flat_map(Targets::reasons).collect()
    }

    /// Gives everything its name; returns where the manifest is, and a manifest in a store that would have replaced it.
    pub(super) fn publish(self, manifest: &[u8]) -> Result<(Option<PathBuf>, Option<PathBuf>), CreateError> {
        let published = self.targets.map(|targets| targets.publish(manifest)).transpose()?;
        Ok(published.map_or((None, None), |Published { path, replaces }| (Some(path), replaces)))
    }
}

fn whole_address(path: &Path) -> Option<PathBuf> {
    if is_object(path) { Some(path.to_owned()) } else { std::path::absolute(path).ok() }
}

fn index_parts(stripe: &Stripe, number: usize, frame_bytes: u32) -> Vec<Part> {
    let stripe_number = u16::try_from(number).unwrap_or(u16::MAX);
    let (mut parts, mut left) = (Vec::new(), &stripe.index[..]);
    while !left.is_empty() {
        let (bytes, rest) = put_index(left, frame_bytes);
        parts.push(Part::of_set(FrameKind::Index, stripe_number, bytes));
        left = rest;
    }
    parts
}

fn unreadable(error: FormatError) -> CreateError {
    CreateError::Stage(Box::new(error))
}
