//! Runs: frames that stand one after another in a stripe and are read with one request.

use std::sync::atomic::Ordering;

use iostall_engine::FileIndex;
use iostall_measure::MonotonicClock;
use iostall_remote::EngineFile;

use super::error::ReadError;
use super::set::OpenSet;
use super::stripe::Stripe;
use crate::backup::format::{BLOCK_BYTES_MIN, FRAME_HEADER_BYTES, IndexRecord, TAG_BYTES, frame_block_bytes};
use crate::buffers::BufferSet;
use crate::pipeline::{Extent, Job, Moved, Pipeline, PipelineError, Source, Step};
use crate::progress::StripeCounter;
use crate::rate::RateLimit;

/// Memory for buffers; frames of the largest size still get enough of them.
const BUFFER_BYTES_MAX: u64 = 512 << 20;
/// Bytes of a run, unless a frame is larger.
const RUN_BYTES: u32 = 4 << 20;
const DEPTH: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub stripe: usize,
    pub position: u64,
    pub length: u32,
    pub plain_length: u32,
    pub first: usize,
    pub count: usize,
}

impl Run {
    pub(crate) fn holds(&self, offset: u64) -> bool {
        (self.position..self.position.saturating_add(self.length.into())).contains(&offset)
    }
}

/// What a user chose of a reader; what is `None` is chosen here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadChoice {
    /// Requests in flight on the stripes together, and as many writes.
    pub depth: Option<u32>,
    pub workers: Option<u32>,
    /// Most bytes of content in one request, cut to whole frames; at least one frame.
    pub transfer_bytes: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadShape {
    frame_bytes: u32,
    plain_max: u32,
    /// Bytes of a buffer: a run as stored fits.
    buffer_bytes: u32,
    pub(crate) depth: u32,
    pub(crate) workers: u32,
    writes: u32,
}

impl ReadShape {
    /// For the frames of this set. Without `writes` nothing is written by the pipeline.
    pub(crate) fn of(set: &OpenSet, writes: bool, choice: ReadChoice) -> Self {
        let stripes = || set.all_stripes().map(|one| &one.open.stripe);
        let largest = stripes().map(|stripe| stripe.header.frame_bytes).max();
        let frame_bytes = largest.unwrap_or(set.manifest.settings.frame_bytes).max(1);
        let block_bytes = stripes().map(|stripe| stripe.header.block_bytes).max().unwrap_or(BLOCK_BYTES_MIN);
        // A small set is shared by all requests, and needs little memory.
        let share = stripes().map(|stripe| stripe.bytes).sum::<u64>() / u64::from(DEPTH);
        let usual = u32::try_from(share).unwrap_or(RUN_BYTES).min(RUN_BYTES);
        let run_bytes = choice.transfer_bytes.unwrap_or(usual);
        let plain_max = (run_bytes / frame_bytes * frame_bytes).max(frame_bytes);
        let frames = plain_max / frame_bytes;
        let each = u32::try_from(frame_block_bytes(frame_bytes.saturating_add(TAG_BYTES), block_bytes))
            .unwrap_or(u32::MAX);
        let buffer_bytes = each.saturating_mul(frames);
        let workers = u32::try_from(std::thread::available_parallelism().map_or(1, usize::from)).unwrap_or(1);
        let most = u32::try_from(BUFFER_BYTES_MAX / u64::from(buffer_bytes.max(1))).unwrap_or(u32::MAX);
        let workers = choice.workers.unwrap_or(workers.min(most / 4)).clamp(1, 256);
        let usual = (most.saturating_sub(2 * workers) / 2).clamp(1, DEPTH);
        let depth = choice.depth.unwrap_or(usual).clamp(1, 1024);
        Self { frame_bytes, plain_max, buffer_bytes, depth, workers, writes: if writes { depth } else { 0 } }
    }

    /// Requests no larger than suits a rate, but of one frame at least.
    pub(crate) fn limited(mut self, rate: Option<&RateLimit>) -> Self {
        if let Some(rate) = rate {
            let frame_bytes = self.frame_bytes.max(1);
            let whole = rate.request_bytes_max() / frame_bytes * frame_bytes;
            self.plain_max = self.plain_max.min(whole.max(frame_bytes));
        }
        self
    }

    pub(crate) fn buffers(&self) -> std::io::Result<BufferSet> {
        BufferSet::new(self.buffer_count(), self.buffer_bytes)
    }

    pub(crate) fn buffer_count(&self) -> u32 {
        self.depth + self.writes + 2 * self.workers + 1
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        u64::from(self.buffer_count()) * u64::from(self.buffer_bytes)
    }

    pub(crate) fn transfer_bytes(&self) -> u32 {
        self.plain_max
    }

    fn stored_max(&self) -> u64 {
        self.buffer_bytes.into()
    }
}

/// The runs of all frames that are `wanted`, which gets the index of the stripe, too, in the order in which they stand: all stripes are read at once, each from its
/// beginning to its end. Two frames are read together if they `join`.
pub(crate) fn runs<'r>(
    stripes: impl Iterator<Item = (&'r Stripe, &'r [IndexRecord])>,
    shape: &ReadShape,
    wanted: impl Fn(usize, &IndexRecord) -> bool,
    join: impl Fn(&IndexRecord, &IndexRecord) -> bool,
) -> Vec<Run> {
    let mut all: Vec<Run> = Vec::new();
    for (index, (stripe, records)) in stripes.enumerate() {
        let mut last: Option<Run> = None;
        for (at, record) in records.iter().enumerate() {
            let stored = frame_block_bytes(record.stored_length, stripe.header.block_bytes);
            let Ok(length) = u32::try_from(stored) else { continue };
            if !wanted(index, record) {
                all.extend(last.take());
                continue;
            }
            let extended = last.filter(|run| run.first + run.count == at && join(&records[at - 1], record));
            let extended = extended.and_then(|run| extend(run, length, record, shape));
            if extended.is_none() {
                all.extend(last.take());
            }
            last = extended.or(Some(Run {
                stripe: index,
                position: record.position,
                length,
                plain_length: record.plain_length,
                first: at,
                count: 1,
            }));
        }
        all.extend(last);
    }
    all.sort_by_key(|run| (run.position, run.stripe));
    all
}

fn extend(run: Run, length: u32, record: &IndexRecord, shape: &ReadShape) -> Option<Run> {
    let (stored, plain) =
        (run.length.checked_add(length)?, run.plain_length.checked_add(record.plain_length)?);
    let fits = u64::from(stored) <= shape.stored_max() && plain <= shape.plain_max;
    fits.then_some(Run { length: stored, plain_length: plain, count: run.count + 1, ..run })
}

/// Reads runs one after another. The sequence number of a pipeline's frame is the index of its run.
pub(crate) struct RunSource<'r> {
    runs: &'r [Run],
    at: usize,
    counters: &'r [StripeCounter],
}

impl<'r> RunSource<'r> {
    /// `counters` of the stripes, for the display.
    pub(crate) fn new(runs: &'r [Run], counters: &'r [StripeCounter]) -> Self {
        Self { runs, at: 0, counters }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StripeRead {
    pub frames: u64,
    pub bytes: u64,
    /// Time with at least one read in flight, nanoseconds.
    pub busy_ns: u64,
}

pub(crate) fn add_reads(stripes: &mut [StripeRead], runs: &[Run], moved: &Moved) {
    for (stripe, file) in stripes.iter_mut().zip(&moved.files) {
        stripe.bytes += file.bytes;
        stripe.busy_ns += file.busy_ns;
    }
    for run in runs {
        if let Some(stripe) = stripes.get_mut(run.stripe) {
            stripe.frames += run.count as u64;
        }
    }
}

impl Source for RunSource<'_> {
    fn next(&mut self) -> Option<Step> {
        let run = self.runs.get(self.at)?;
        self.at += 1;
        let file = FileIndex(u16::try_from(run.stripe).unwrap_or(u16::MAX));
        Some(Step::Read(Extent { file, offset: run.position, length: run.length }))
    }

    fn was_read(&mut self, extent: &Extent) {
        if let Some(counter) = self.counters.get(usize::from(extent.file.0)) {
            counter.fetch_add(extent.length.into(), Ordering::Relaxed);
        }
    }
}

pub(crate) fn run_job(
    job: Job<'_>,
    files: &[EngineFile<'_>],
    buffers: &mut BufferSet,
) -> Result<Result<Moved, PipelineError>, ReadError> {
    let engine = buffers.engine_beside(files)?;
    let mut pipeline = Pipeline::new(engine, MonotonicClock::new(), buffers.take());
    let done = pipeline.run(job);
    buffers
        .put_back(pipeline.into_buffers())
        .map_err(ReadError::system("map buffers for", std::path::Path::new("the stripes")))?;
    Ok(done)
}

/// The frames of a run one after another: bytes of each, with its record.
pub(crate) fn frames_of<'f>(
    bytes: &'f mut [u8],
    records: &'f [IndexRecord],
    block_bytes: u32,
) -> impl Iterator<Item = (&'f IndexRecord, &'f mut [u8])> {
    let mut rest = bytes;
    records.iter().map_while(move |record| {
        let length = usize::try_from(frame_block_bytes(record.stored_length, block_bytes)).ok()?;
        let (frame, after) = std::mem::take(&mut rest).split_at_mut_checked(length)?;
        rest = after;
        (frame.len() >= FRAME_HEADER_BYTES).then_some((record, frame))
    })
}
