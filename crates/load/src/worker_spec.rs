//! The worker specs of a span: everything that each worker needs.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use iostall_engine::buffer::{Buffer, BufferPool, Pages};
use iostall_engine::cpu::{allowed_cpus, pin_to_cpu};
use iostall_engine::guard::HeaderKind;
use iostall_engine::null::NullEngine;
use iostall_engine::open::{Access, OpenOptions, OpenTarget, open_target};
use iostall_engine::pacing::Schedule;
use iostall_engine::psync::PsyncEngine;
use iostall_engine::uring::{UringConfig, UringEngine};
use iostall_engine::{Engine, EngineError, FileHandle, FileIndex, SimEngine};
use iostall_measure::{Clock, Nanos, Percent, Rate};
use iostall_model::RoleProfile;
use iostall_model::profile::{Arrivals, WriteData};

use crate::fill::BlockFiller;
use crate::job::{EngineKind, LoadTarget, SpanJob, Speed};
use crate::plan::{SharedSequence, StreamPlace, StreamPlan, region_in};
use crate::resource_limits::check_resources;
use crate::run_error::RunError;
use crate::source::{WriteSource, ramp};
use crate::stream::{BurstPace, OpenPace, Pace, Stream, StreamDraw, SyncState};
use crate::window::{SpanEnd, StopToken, Window};
use crate::worker::{Worker, WorkerOutcome, WorkerParts};
use crate::worker_stats::{IntervalReport, WorkerStats};

struct RoleFile {
    target: u32,
    size_bytes: u64,
    /// `None` with the null engine.
    file: Option<Arc<OpenTarget>>,
    sector_align: u32,
    shared: Option<Arc<SharedSequence>>,
}

pub(crate) struct WorkerSpec {
    pub(crate) role: usize,
    pub(crate) worker: u32,
    engine: EngineKind,
    profile: RoleProfile,
    seed: u64,
    workers: u32,
    worker_in_role: u32,
    streams: Vec<StreamSpec>,
    interval_ns: u64,
    keeps_series: bool,
    speed: Speed,
    /// What it asks for in all, bytes; `u64::MAX`: as much as it can.
    budget_bytes: u64,
    pub(crate) end: Arc<SpanEnd>,
    /// The shared data pool of the role's writes, if the profile asks for one.
    pool: Option<Arc<[u8]>>,
}

struct StreamSpec {
    target: u32,
    file: Option<Arc<OpenTarget>>,
    first_header: HeaderKind,
    plan: StreamPlan,
    number: u64,
}

/// Targets of a role: those bound to its name; if it has none or none is bound, the plain ones.
fn targets_of(role: &RoleProfile, targets: &[LoadTarget]) -> Vec<u32> {
    let pick = |wanted: &dyn Fn(&LoadTarget) -> bool| -> Vec<u32> {
        (0_u32..).zip(targets).filter(|(_, target)| wanted(target)).map(|(index, _)| index).collect()
    };
    let bound = pick(&|target| target.name.as_ref().is_some_and(|name| role.targets.contains(name)));
    if bound.is_empty() { pick(&|target| target.name.is_none()) } else { bound }
}

/// The specs of the workers of every role of the span, with targets opened and plans made.
pub(crate) fn worker_specs(job: &SpanJob<'_>) -> Result<Vec<WorkerSpec>, RunError> {
    let mut worker_specs = Vec::new();
    let mut number = 0_u64;
    let end = Arc::new(SpanEnd::of(job.span.roles.iter().map(|role| role.workers).sum()));
    check_resources(job, |role| targets_of(role, job.targets).len() as u64)?;
    for (role, profile) in job.span.roles.iter().enumerate() {
        let files = role_files(profile, job)?;
        let pool = write_pool(profile, job.seed)?;
        for worker_in_role in 0..profile.workers {
            let mut streams = Vec::with_capacity(files.len());
            let mut region_bytes = 0;
            for file in &files {
                let place = StreamPlace {
                    target_size_bytes: file.size_bytes,
                    worker_index: worker_in_role,
                    workers: profile.workers,
                    stream_number: number,
                    seed: job.seed,
                    sector_align: file.sector_align,
                };
                let (from, to) = region_in(profile, file.size_bytes, file.sector_align);
                region_bytes += to - from;
                let plan = plan(job, profile, place, file)?;
                let first_header = job.targets[file.target as usize].first_header;
                streams.push(StreamSpec {
                    target: file.target,
                    file: file.file.clone(),
                    first_header,
                    plan,
                    number,
                });
                number += 1;
            }
            worker_specs.push(WorkerSpec {
                role,
                worker: u32::try_from(worker_specs.len()).unwrap_or(u32::MAX),
                engine: job.engine.clone(),
                profile: profile.clone(),
                seed: job.seed,
                workers: profile.workers,
                worker_in_role,
                streams,
                interval_ns: job.span.interval.0,
                keeps_series: job.span.worker_series,
                pool: pool.clone(),
                speed: job.speed.clone(),
                budget_bytes: profile.passes.map_or(u64::MAX, |passes| region_bytes * u64::from(passes)),
                end: Arc::clone(&end),
            });
        }
    }
    Ok(worker_specs)
}

fn plan(
    job: &SpanJob<'_>,
    role: &RoleProfile,
    place: StreamPlace,
    file: &RoleFile,
) -> Result<StreamPlan, RunError> {
    let recorded = job.recorded.iter().find(|(name, _)| *name == role.name);
    let plan = match recorded {
        Some((_, requests)) => StreamPlan::recorded(role, place, Arc::clone(requests)),
        None => StreamPlan::new(role, place, file.shared.clone()),
    };
    plan.map_err(|source| {
        let target = job.targets[file.target as usize].path.display().to_string();
        RunError::Plan { target, source }
    })
}

pub(crate) fn workers_of_roles(job: &SpanJob<'_>, worker_specs: &[WorkerSpec]) -> Vec<Vec<u32>> {
    let of_role =
        |role| worker_specs.iter().filter(|spec| spec.role == role).map(|spec| spec.worker).collect();
    (0..job.span.roles.len()).map(of_role).collect()
}

/// The data pool of a role: random, or a file repeated to its length.
fn write_pool(profile: &RoleProfile, seed: u64) -> Result<Option<Arc<[u8]>>, RunError> {
    let Some(WriteData::Pool { size, file }) = &profile.write_data else { return Ok(None) };
    let length = usize::try_from(size.bytes()).unwrap_or(usize::MAX);
    let mut data = vec![0; length];
    match file {
        None => BlockFiller::new(seed, Percent::ZERO).fill(&mut data),
        Some(path) => {
            let refused = |source| RunError::WriteData { path: path.clone(), source };
            let bytes = read_up_to(path, size.bytes()).map_err(refused)?;
            if bytes.is_empty() {
                return Err(refused(io::Error::new(io::ErrorKind::UnexpectedEof, "it is empty")));
            }
            for (byte, from) in data.iter_mut().zip(bytes.iter().cycle()) {
                *byte = *from;
            }
        }
    }
    Ok(Some(data.into()))
}

/// Reads as much of the file as will be written: it may be longer, or endless.
fn read_up_to(path: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    let mut read = Vec::new();
    File::open(path)?.take(bytes).read_to_end(&mut read)?;
    Ok(read)
}

fn role_files(profile: &RoleProfile, job: &SpanJob<'_>) -> Result<Vec<RoleFile>, RunError> {
    let targets = targets_of(profile, job.targets);
    if targets.is_empty() {
        return Err(RunError::NoTarget { role: profile.name.clone(), names: profile.targets.join(" or ") });
    }
    let weights = profile.target_weights.len();
    if weights > 0 && weights != targets.len() {
        return Err(RunError::Weights { role: profile.name.clone(), weights, targets: targets.len() });
    }
    let options = OpenOptions {
        access: match profile.write_pct {
            none if none == Percent::ZERO => Access::Read,
            all if all == Percent::HUNDRED => Access::Write,
            _ => Access::ReadWrite,
        },
        caching: profile.caching,
        durability: profile.durability,
        ..OpenOptions::default()
    };
    let shared = || profile.shared_sequence.then(|| Arc::new(SharedSequence::new()));
    targets
        .into_iter()
        .map(|target| {
            let of_run = &job.targets[target as usize];
            let size_bytes = of_run.size_bytes;
            if !job.engine.opens_files() {
                return Ok(RoleFile { target, size_bytes, file: None, sector_align: 1, shared: shared() });
            }
            let file = Arc::new(open_target(&of_run.open_path, &options)?);
            let granted = file.direct.as_ref().filter(|direct| direct.granted);
            let sector_align = granted.and_then(|direct| direct.offset_align).unwrap_or(1);
            Ok(RoleFile { target, size_bytes, file: Some(file), sector_align, shared: shared() })
        })
        .collect()
}

impl WorkerSpec {
    /// Creates the engine, the buffers and the streams. Must be called on the worker's own thread, as a ring
    /// requires.
    pub(crate) fn make(self) -> Result<ReadyWorker, EngineError> {
        self.pin()?;
        let count = self.slots();
        let bytes_each = self.profile.block_size.largest().bytes();
        let (pool, mut buffers) = BufferPool::new(count, bytes_each, Pages::HugeIfPossible)
            .map_err(|source| EngineError::System { call: "mapping the buffers", source })?;
        let files: Vec<Arc<OpenTarget>> =
            self.streams.iter().filter_map(|stream| stream.file.clone()).collect();
        let handles: Vec<FileHandle<'_>> = files.iter().map(|file| FileHandle::from(&**file)).collect();
        let engine = match &self.engine {
            EngineKind::Uring => {
                let config = UringConfig { capacity: count, files: &handles, buffers: Some(&pool) };
                AnyEngine::Uring(Box::new(UringEngine::new(&config)?))
            }
            EngineKind::Psync => AnyEngine::Psync(PsyncEngine::new(count, &handles)?),
            EngineKind::Null => AnyEngine::Null(NullEngine::new(count, self.streams.len())),
            EngineKind::Sim(device) => AnyEngine::Sim(SimEngine::new(device.clone(), count)),
        };
        if self.profile.writes() {
            let mut filler = self.filler();
            for buffer in &mut buffers {
                match self.profile.write_data {
                    Some(WriteData::Ramp) => ramp(buffer),
                    _ => filler.fill(buffer),
                }
            }
        }
        Ok(ReadyWorker { spec: self, engine, buffers, _files: files })
    }

    /// Maximum number of requests in flight: the depth for each target, or with weights for all of them.
    fn slots(&self) -> u32 {
        if self.profile.target_weights.is_empty() {
            self.profile.queue_depth * u32::try_from(self.streams.len()).unwrap_or(u32::MAX)
        } else {
            self.profile.queue_depth
        }
    }

    /// Pins the calling thread to the CPU that the profile assigns to this worker, if any.
    fn pin(&self) -> Result<(), EngineError> {
        let Some(listed) = self.profile.pin.as_ref().filter(|_| !matches!(self.engine, EngineKind::Sim(_)))
        else {
            return Ok(());
        };
        let refused = |source| EngineError::System { call: "sched_setaffinity", source };
        let cpus = if listed.is_empty() { allowed_cpus().map_err(refused)? } else { listed.clone() };
        match cpus.get(self.worker as usize % cpus.len().max(1)) {
            Some(cpu) => pin_to_cpu(*cpu).map_err(refused),
            None => Ok(()),
        }
    }

    /// The content of a stream's writes; `None` if it only reads.
    fn source(&self, stream: &StreamSpec) -> Option<WriteSource> {
        let seed = stream_seed(self.seed, stream.number);
        let source = || match (&self.profile.write_data, &self.pool) {
            (Some(WriteData::Ramp), _) => WriteSource::same(),
            (Some(WriteData::Fresh), _) => WriteSource::fresh(seed),
            (Some(WriteData::Pool { .. }), Some(pool)) => WriteSource::pool(Arc::clone(pool), seed),
            _ => WriteSource::with_headers(self.filler()),
        };
        self.profile.writes().then(|| source().with_first_header(stream.first_header))
    }

    /// Each worker's writes have a different seed in their headers, because all workers number their writes
    /// from the start.
    fn filler(&self) -> BlockFiller {
        BlockFiller::new(stream_seed(self.seed, u64::from(self.worker)), self.profile.compressible_pct)
    }

    fn rate_iops(&self) -> Option<f64> {
        let mean_bytes = self.profile.block_size.mean_bytes();
        self.profile.rate.map(|rate: Rate| rate.iops(mean_bytes))
    }

    /// The pace of one stream. The role's rate is shared evenly by all its streams, each offset by a fraction
    /// of a gap, so that constant arrivals remain constant overall.
    fn pace(&self, index: usize, number: u64, start_ns: u64) -> Pace {
        let Some(rate_iops) = self.rate_iops() else {
            return self.profile.burst.map_or(Pace::Closed, |burst| Pace::Bursts(BurstPace::new(burst)));
        };
        let streams = f64::from(self.workers) * self.streams.len() as f64;
        let share_iops = rate_iops / streams;
        let place = f64::from(self.worker_in_role) * self.streams.len() as f64 + index as f64;
        let schedule = match self.profile.arrivals {
            Arrivals::Constant => {
                Schedule::constant(share_iops, start_ns + Nanos::from_seconds(place / rate_iops).0)
            }
            Arrivals::Poisson => Schedule::poisson(share_iops, start_ns, stream_seed(self.seed, number)),
        };
        Pace::Open(Box::new(OpenPace::new(schedule, share_iops, self.speed.clone())))
    }
}

/// A seed for stream `number`, unrelated to its neighbours (the constant is 2^64 divided by the golden
/// ratio).
fn stream_seed(seed: u64, number: u64) -> u64 {
    seed ^ (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

enum AnyEngine {
    Uring(Box<UringEngine>),
    Psync(PsyncEngine),
    Null(NullEngine),
    Sim(SimEngine),
}

pub(crate) struct ReadyWorker {
    spec: WorkerSpec,
    engine: AnyEngine,
    buffers: Vec<Buffer>,
    /// Kept open while the engine uses them.
    _files: Vec<Arc<OpenTarget>>,
}

impl ReadyWorker {
    pub(crate) fn run<C: Clock>(
        self,
        window: Window,
        reports: Sender<IntervalReport>,
        clock: C,
        stop: &StopToken,
    ) -> Result<WorkerOutcome, EngineError> {
        match self.engine {
            AnyEngine::Uring(engine) => {
                run_on(*engine, self.spec, self.buffers, window, reports, clock, stop)
            }
            AnyEngine::Psync(engine) => run_on(engine, self.spec, self.buffers, window, reports, clock, stop),
            AnyEngine::Null(engine) => run_on(engine, self.spec, self.buffers, window, reports, clock, stop),
            AnyEngine::Sim(engine) => run_on(engine, self.spec, self.buffers, window, reports, clock, stop),
        }
    }

    /// The worker itself on a simulated device; the caller advances the clock and calls it.
    pub(crate) fn into_simulated<C: Clock>(
        self,
        window: Window,
        reports: Sender<IntervalReport>,
        clock: C,
        stop: &StopToken,
    ) -> Option<Worker<'_, SimEngine, C>> {
        let AnyEngine::Sim(engine) = self.engine else { return None };
        Some(worker_on(engine, self.spec, self.buffers, window, reports, clock, stop))
    }
}

fn run_on<E: Engine, C: Clock>(
    engine: E,
    spec: WorkerSpec,
    buffers: Vec<Buffer>,
    window: Window,
    reports: Sender<IntervalReport>,
    clock: C,
    stop: &StopToken,
) -> Result<WorkerOutcome, EngineError> {
    worker_on(engine, spec, buffers, window, reports, clock, stop).run()
}

fn worker_on<E: Engine, C: Clock>(
    engine: E,
    mut spec: WorkerSpec,
    buffers: Vec<Buffer>,
    window: Window,
    reports: Sender<IntervalReport>,
    clock: C,
    stop: &StopToken,
) -> Worker<'_, E, C> {
    let targets: Vec<u32> = spec.streams.iter().map(|stream| stream.target).collect();
    let paces: Vec<Pace> = spec
        .streams
        .iter()
        .enumerate()
        .map(|(index, stream)| spec.pace(index, stream.number, window.start_ns))
        .collect();
    let open_loop = paces.iter().any(|pace| matches!(pace, Pace::Open(_)));
    let sources: Vec<Option<WriteSource>> = spec.streams.iter().map(|stream| spec.source(stream)).collect();
    let draw = StreamDraw::new(&spec.profile.target_weights, stream_seed(spec.seed, u64::from(spec.worker)));
    let plans = if spec.profile.sequence_per_request { spec.profile.queue_depth as usize } else { 1 };
    let is_simulated = matches!(spec.engine, EngineKind::Sim(_));
    let file_of = |index: u16, target: u32| {
        // A simulated device has the run's targets as its files; other engines have the files opened for
        // them.
        if is_simulated { u16::try_from(target).unwrap_or(u16::MAX) } else { index }
    };
    let streams = (0_u16..)
        .zip(std::mem::take(&mut spec.streams))
        .zip(paces)
        .zip(sources)
        .map(|(((index, stream), pace), source)| Stream {
            file: FileIndex(file_of(index, stream.target)),
            plans: vec![stream.plan; plans],
            pace,
            sync: spec.profile.sync.map(SyncState::new),
            source,
            free: Vec::new(),
            to_sync: Vec::new(),
        })
        .collect();
    let stats = WorkerStats::new(
        spec.role,
        spec.worker,
        &targets,
        open_loop,
        (window.measure_from_ns, spec.interval_ns),
        reports,
    )
    .with_series(spec.keeps_series);
    Worker::new(WorkerParts {
        engine,
        clock,
        streams,
        depth: spec.profile.queue_depth,
        buffers,
        stats,
        window,
        stop,
        targets,
        batch: spec
            .profile
            .batch
            .map(|batch| (batch, spec.profile.batch_wait.unwrap_or(RoleProfile::BATCH_WAIT).nanos())),
        draw,
        budget: (spec.budget_bytes, spec.end),
    })
}
