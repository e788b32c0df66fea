//! Moves the bytes of one file at a time, with buffers that are mapped once.

use std::collections::HashMap;
use std::path::Path;

use iostall_engine::{Engine as _, EngineReport};
use iostall_host as host;
use iostall_measure::platform::Device;
use iostall_measure::{Clock as _, MonotonicClock};
use iostall_model::outcome::EngineUse;
use iostall_model::transfer::{TransferShape, VerifyMode};

use super::endpoint::Endpoint;
use super::error::CopyError;
use super::journal::FileJournal;
use super::options::CopyOptions;
use super::read_back::{BLOCK_BYTES, Reader};
use super::sink::FileSink;
use crate::buffers::BufferSet;
use crate::page_cache::{PageCacheDropper, PlannedSource};
use crate::pipeline::{Checksums, FileHashes, HashWanted, Job, Pipeline, PipelineError, StageWorkers};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::shape::{Shape, ShapeReason, TUNING_STEPS};

/// How often tuning tries each shape, because the first read may have warmed a cache below us.
const ROUNDS: u32 = 2;
/// Tuning pays off for a file with at least this many samples.
const SAMPLES_IN_FILE: u64 = 32;
/// Smallest and largest sample, bytes.
const SAMPLE_BYTES: (u64, u64) = (8 << 20, 256 << 20);

pub(super) struct Transfer<'t> {
    pub(super) from: &'t Endpoint,
    pub(super) to: &'t Endpoint,
    pub(super) target: &'t Path,
    pub(super) plan: Plan,
    pub(super) journal: Option<FileJournal>,
    pub(super) same_device: bool,
}

/// Moves and hashes files. It reuses its buffers.
pub(super) struct Mover<'a> {
    options: &'a CopyOptions,
    progress: &'a Progress,
    clock: MonotonicClock,
    buffers: Option<(Shape, BufferSet)>,
    tuned: Option<Shape>,
    described: Option<TransferShape>,
    pub(super) devices: SharedDevices,
}

impl<'a> Mover<'a> {
    /// On the clock of the whole copy: a limit of the rate is kept on one clock, and movers begin at different times.
    pub(super) fn new(options: &'a CopyOptions, progress: &'a Progress, clock: &MonotonicClock) -> Self {
        let clock = clock.clone();
        Self {
            options,
            progress,
            clock,
            buffers: None,
            tuned: None,
            described: None,
            devices: SharedDevices::default(),
        }
    }

    pub(super) fn into_described(self) -> Option<TransferShape> {
        self.described
    }

    /// Takes over how another one moved its first file, if this one has not moved any.
    pub(super) fn take_description(&mut self, of_other: Option<TransferShape>) {
        if self.described.is_none() {
            self.described = of_other;
        }
    }

    pub(super) fn shape(&self, same_device: bool) -> Shape {
        let options = self.options;
        if let Some(tuned) = self.tuned {
            return tuned;
        }
        let is_hashed = options.verify != VerifyMode::None || options.checkpoint_bytes > 0;
        let mut shape = Shape::choose(same_device, is_hashed, options.transfer_bytes, options.depth);
        if let Some(rate) = &options.rate {
            shape.transfer_bytes = shape.transfer_bytes.min(rate.request_bytes_max());
        }
        shape
    }

    fn shape_reason(&self) -> ShapeReason {
        match self.tuned {
            Some(_) => ShapeReason::Measured,
            None if self.options.transfer_bytes.is_some() || self.options.depth.is_some() => {
                ShapeReason::Asked
            }
            None => ShapeReason::Usual,
        }
    }

    /// The buffers, mapped when first needed, and again if another pair of devices needs different ones.
    pub(super) fn buffers(
        &mut self,
        same_device: bool,
        path: &Path,
    ) -> Result<(Shape, &mut BufferSet), CopyError> {
        let shape = self.shape(same_device);
        let mapped = match self.buffers.take().filter(|(mapped, _)| *mapped == shape) {
            Some((_, buffers)) => buffers,
            None => BufferSet::new(shape.buffer_count(), shape.transfer_bytes)
                .map_err(CopyError::system("map buffers for", path))?,
        };
        let (_, buffers) = self.buffers.insert((shape, mapped));
        Ok((shape, buffers))
    }

    /// Carries out a transfer and returns the checksums that the options ask for.
    pub(super) fn run(&mut self, transfer: Transfer<'_>) -> Result<FileHashes, CopyError> {
        let Transfer { from, to, target, plan, mut journal, same_device } = transfer;
        let wanted = self.wanted(journal.is_some());
        let (rate, progress, clock) = (self.options.rate.as_deref(), self.progress, self.clock.clone());
        let (shape, buffers) = self.buffers(same_device, from.path())?;
        let engine = buffers.engine(&[from.handle(), to.handle()])?;
        let granted = engine.report();
        let mut source = PlannedSource::new(plan, from.buffered());
        let mut sink = FileSink {
            writes_max: shape.writes_max,
            journal: journal.as_mut(),
            dropper: to.buffered().map(PageCacheDropper::new),
        };
        let mut checksums = Checksums::new(wanted);
        let mut pipeline = Pipeline::new(engine, clock, buffers.take());
        let moved = pipeline.run(Job {
            source: &mut source,
            stages: if wanted.is_nothing() { vec![] } else { vec![StageWorkers::in_order(&mut checksums)] },
            sinks: vec![&mut sink],
            aligns: &[from.align, to.align],
            reads_max: shape.reads_max,
            rate,
            progress,
        });
        buffers
            .put_back(pipeline.into_buffers())
            .map_err(CopyError::system("map buffers for", from.path()))?;
        if self.described.is_none() {
            self.described = Some(self.describe(&shape, same_device, [from, to], granted));
        }
        moved.map(|_| checksums.finish()).map_err(|cause| {
            let worth_keeping = !matches!(cause, PipelineError::SourceShrank { .. });
            let kept = worth_keeping && journal.is_some_and(|journal| journal.has_ranges());
            CopyError::Moving { from: from.path().to_owned(), to: target.to_owned(), cause, kept }
        })
    }

    fn describe(
        &self,
        shape: &Shape,
        same_device: bool,
        [from, to]: [&Endpoint; 2],
        granted: EngineReport,
    ) -> TransferShape {
        let reasons = [from, to].into_iter();
        TransferShape {
            source_caching: from.caching(),
            target_caching: to.caching(),
            caching_reasons: reasons
                .filter_map(|file| Some(format!("{}: {}", file.path().display(), file.reason()?)))
                .collect(),
            engine: EngineUse {
                name: granted.name.to_owned(),
                features: granted.features,
                refused: granted.refused,
            },
            ..shape.describe(same_device, self.shape_reason())
        }
    }

    fn wanted(&self, journaled: bool) -> HashWanted {
        let verified = self.options.verify != VerifyMode::None;
        HashWanted {
            whole: verified.then_some(self.options.hash),
            block_bytes: (self.options.verify == VerifyMode::ReadBack).then_some(BLOCK_BYTES),
            frames: journaled,
        }
    }

    /// Reads a file from the media and returns the checksums that the options ask for.
    pub(super) fn read_back(&mut self, file: &Endpoint, size_bytes: u64) -> Result<FileHashes, CopyError> {
        let wanted = self.wanted(false);
        self.hashes_of(file, size_bytes, wanted)
    }

    pub(super) fn hashes_of(
        &mut self,
        file: &Endpoint,
        size_bytes: u64,
        wanted: HashWanted,
    ) -> Result<FileHashes, CopyError> {
        let (rate, progress, clock) =
            (self.options.read_back_rate.as_deref(), self.progress, self.clock.clone());
        let (shape, buffers) = self.buffers(true, file.path())?;
        let transfer_bytes = shape.transfer_bytes;
        Reader { buffers, clock: &clock, progress, rate, transfer_bytes }.hashes_of(file, size_bytes, wanted)
    }

    /// Measures sizes and depths once, on the first file that is large enough, by copying its beginning with
    /// each of a few shapes. That writes the file's own bytes to their final places, and the copy writes them
    /// again.
    pub(super) fn tune(&mut self, from: &Endpoint, to: &Endpoint) -> Result<(), CopyError> {
        let sample_bytes = (from.stat.size_bytes / SAMPLES_IN_FILE).min(SAMPLE_BYTES.1);
        if !self.options.tune || self.tuned.is_some() || sample_bytes < SAMPLE_BYTES.0 {
            return Ok(());
        }
        let usual = self.shape(true);
        let mut best: Option<(u64, Shape)> = None;
        for round in 0..ROUNDS {
            for (transfer_bytes, depth) in TUNING_STEPS {
                if self.progress.is_cancelled() {
                    return Ok(());
                }
                let shape = Shape { transfer_bytes, reads_max: depth, writes_max: depth, ..usual };
                let taken_ns = self.try_shape(from, to, shape, sample_bytes)?;
                if round > 0 && best.is_none_or(|(least_ns, _)| taken_ns < least_ns) {
                    best = Some((taken_ns, shape));
                }
            }
        }
        self.tuned = best.map(|(_, shape)| shape);
        Ok(())
    }

    fn try_shape(
        &self,
        from: &Endpoint,
        to: &Endpoint,
        shape: Shape,
        sample_bytes: u64,
    ) -> Result<u64, CopyError> {
        let path = from.path();
        let mut buffers = BufferSet::new(shape.buffer_count(), shape.transfer_bytes)
            .map_err(CopyError::system("map buffers for", path))?;
        let engine = buffers.engine(&[from.handle(), to.handle()])?;
        // A separate one, so that trials do not count as progress.
        let progress = Progress::default();
        let mut plan = Plan::whole(sample_bytes, shape.transfer_bytes);
        let mut sink = FileSink { writes_max: shape.writes_max, journal: None, dropper: None };
        let mut pipeline = Pipeline::new(engine, self.clock.clone(), buffers.take());
        let begun_ns = self.clock.now_ns();
        let moved = pipeline.run(Job {
            source: &mut plan,
            stages: Vec::new(),
            sinks: vec![&mut sink],
            aligns: &[from.align, to.align],
            reads_max: shape.reads_max,
            rate: None,
            progress: &progress,
        });
        let taken_ns = self.clock.now_ns() - begun_ns;
        moved.map_err(|cause| CopyError::Moving {
            from: path.to_owned(),
            to: to.path().to_owned(),
            cause,
            kept: false,
        })?;
        Ok(taken_ns)
    }
}

#[derive(Default)]
pub(super) struct SharedDevices(HashMap<(u64, u64), bool>);

impl SharedDevices {
    /// Whether source and destination share a device; `one` and `other` are the numbers of their file
    /// systems.
    pub(super) fn share(&mut self, source: &Path, one: u64, target: &Path, other: u64) -> bool {
        if one == other {
            return true;
        }
        *self.0.entry((one, other)).or_insert_with(|| {
            let (Some(source), Some(target)) = (host::device_of(source), host::device_of(target)) else {
                return false;
            };
            let source = bottoms_of(&source);
            bottoms_of(&target).iter().any(|name| source.contains(name))
        })
    }
}

/// Names of the physical devices at the bottom: two partitions of one disk share it.
fn bottoms_of(device: &Device) -> Vec<String> {
    if device.below.is_empty() {
        return vec![device.name.clone()];
    }
    device.below.iter().flat_map(bottoms_of).collect()
}
