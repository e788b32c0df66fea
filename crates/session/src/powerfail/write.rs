//! The writer: a few writes, the call that makes them durable, and then a word to the witness.

use std::collections::BTreeSet;
use std::path::PathBuf;

use iostall_engine::content::mix;
use iostall_engine::guard::WriteConsent;
use iostall_engine::{
    Access, Buffer, BufferPool, Engine, FileHandle, FileIndex, OpenOptions, OpenTarget, Pages, PsyncEngine,
    Request, RequestOp, SimEngine, Wait, open_target, random_bytes,
};
use iostall_load::EngineKind;
use iostall_load::preset::preset;
use iostall_measure::{BlockSize, ByteCount, Caching, Clock, Durability, Nanos};
use iostall_model::powerfail::{Acknowledged, PowerfailRun, Primitive};

use super::block::{checksum, fill};
use super::error::PowerfailError;
use super::witness::Witness;
use crate::error::SessionError;
use crate::event::{Event, RunProgress};
use crate::session::Session;
use crate::targets::{TargetRequest, Targets};

/// The blocks begin behind the mark that iostall made the file.
const FIRST_BYTE: u32 = 4096;
const SHOW_EVERY_NS: u64 = 500_000_000;

#[derive(Clone, Debug)]
pub struct WriteRequest {
    pub target: PathBuf,
    pub consent: WriteConsent,
    /// Size of a new file; of an existing target, how much of it is written.
    pub size: ByteCount,
    pub block: BlockSize,
    pub primitive: Primitive,
    /// Writes before each flush; 1 where each write is durable by itself.
    pub writes_per_flush: u32,
    pub witness: String,
    /// `None`: until the power fails, or Ctrl-C.
    pub duration: Option<Nanos>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub run: PowerfailRun,
    pub acknowledged_writes: u64,
    pub acknowledged_flushes: u64,
    pub elapsed_ns: u64,
}

/// Writes until the power fails, the duration is over, or the session is stopped. After a loss of power it ends with an
/// error of the target or the witness.
pub fn write(request: &WriteRequest, session: &Session<'_>) -> Result<Written, SessionError> {
    let profile = preset("random-write")?;
    let asked =
        TargetRequest::of_paths(vec![request.target.clone()], Some(request.size), request.consent.clone());
    // The witness comes first: without one nothing is written.
    let mut witness = Witness::connect(&request.witness)?;
    let targets = session.prepare(&asked, &profile)?;
    let mut writer = Writer::new(request, &targets, session.engine())?;
    witness.begin(&writer.run)?;
    let started_ns = session.clock().now_ns();
    let mut shown_ns = started_ns;
    let mut now_ns = started_ns;
    while !session.stopped() && request.duration.is_none_or(|length| now_ns - started_ns < length.0) {
        let group = writer.group()?;
        witness.acknowledge(writer.flushes, &group)?;
        writer.acknowledged += group.len() as u64;
        now_ns = session.clock().now_ns();
        if now_ns - shown_ns >= SHOW_EVERY_NS {
            shown_ns = now_ns;
            progress(session, now_ns - started_ns, request.duration);
        }
    }
    session.observer().on(&Event::ProgressEnded);
    witness.end()?;
    let Writer { run, acknowledged, flushes, .. } = writer;
    let elapsed_ns = now_ns - started_ns;
    Ok(Written { run, acknowledged_writes: acknowledged, acknowledged_flushes: flushes, elapsed_ns })
}

fn progress(session: &Session<'_>, elapsed_ns: u64, length: Option<Nanos>) {
    let left_ns = length.map(|length| length.0.saturating_sub(elapsed_ns));
    let done = length.map_or(0.0, |length| elapsed_ns as f64 / length.0.max(1) as f64);
    session.observer().on(&Event::SimulationProgress {
        doing: "writing until the power fails",
        done,
        whole: RunProgress::new(elapsed_ns, left_ns),
    });
}

pub(super) struct Writer {
    engine: Box<dyn Engine>,
    /// Away only while the engine has it.
    buffer: Option<Buffer>,
    pub(super) run: PowerfailRun,
    number: u64,
    target: PathBuf,
    writes_per_flush: u32,
    sequence: u64,
    pub(super) flushes: u64,
    acknowledged: u64,
    // Closed last.
    _opened: Option<OpenTarget>,
}

impl Writer {
    pub(super) fn new(
        request: &WriteRequest,
        targets: &Targets,
        kind: &EngineKind,
    ) -> Result<Self, SessionError> {
        let facts = targets.facts();
        let all = targets.for_span(0);
        let (Some(target), Some(facts)) = (all.first(), facts.first()) else {
            return Err(SessionError::NoRole);
        };
        let (block_bytes, used_bytes) = (request.block.bytes(), target.size_bytes);
        let first_byte = u64::from(FIRST_BYTE.max(block_bytes));
        let blocks = used_bytes.saturating_sub(first_byte) / u64::from(block_bytes);
        let per_flush = if request.primitive.is_per_write() { 1 } else { request.writes_per_flush.max(1) };
        // Writes of one flush go to different blocks, and half of the blocks must be free to be chosen.
        if blocks < 2 * u64::from(per_flush) {
            let wanted_bytes = first_byte + u64::from(block_bytes) * 2 * u64::from(per_flush);
            let target = request.target.clone();
            return Err(PowerfailError::Small { target, wanted_bytes, used_bytes }.into());
        }
        let (engine, opened) = engine(request, target, kind)?;
        let number = u64::from_le_bytes(random_bytes().map_err(PowerfailError::Buffer)?);
        let (_pool, buffers) =
            BufferPool::new(1, block_bytes, Pages::Small).map_err(PowerfailError::Buffer)?;
        let direct = opened.as_ref().and_then(|opened| opened.direct.as_ref());
        Ok(Self {
            engine,
            buffer: buffers.into_iter().next(),
            run: PowerfailRun {
                run: format!("{number:016x}"),
                primitive: request.primitive,
                block_bytes,
                first_byte,
                blocks,
                target: request.target.display().to_string(),
                takes_fua: facts.device.as_ref().and_then(|device| device.fua),
                is_direct: direct.is_some_and(|direct| direct.granted),
            },
            number,
            target: request.target.clone(),
            writes_per_flush: per_flush,
            sequence: 0,
            flushes: 0,
            acknowledged: 0,
            _opened: opened,
        })
    }

    /// Writes some blocks and makes them durable. They may then be acknowledged, as flush `flushes`.
    pub(super) fn group(&mut self) -> Result<Vec<Acknowledged>, PowerfailError> {
        let mut chosen = BTreeSet::new();
        let mut group = Vec::with_capacity(self.writes_per_flush as usize);
        let mut draw = mix(self.number ^ mix(self.sequence));
        while group.len() < self.writes_per_flush as usize {
            draw = mix(draw);
            let block = draw % self.run.blocks.max(1);
            if chosen.insert(block) {
                group.push(self.write(block)?);
            }
        }
        let sync = match self.run.primitive {
            Primitive::Fdatasync => Some((RequestOp::Fdatasync, "fdatasync")),
            Primitive::Fsync => Some((RequestOp::Fsync, "fsync")),
            Primitive::OpenDatasync | Primitive::RwfDsync => None,
        };
        if let Some((op, call)) = sync {
            self.request(op, call, 0, 0)?;
        }
        self.flushes += 1;
        Ok(group)
    }

    fn write(&mut self, block: u64) -> Result<Acknowledged, PowerfailError> {
        let length = self.run.block_bytes;
        let offset = self.run.first_byte + block * u64::from(length);
        self.sequence += 1;
        let mut sum = 0;
        if let Some(buffer) = &mut self.buffer {
            fill(&mut buffer[..length as usize], offset, self.sequence, self.number);
            sum = checksum(&buffer[..length as usize]);
        }
        let (op, call) = match self.run.primitive {
            Primitive::RwfDsync => (RequestOp::WriteThrough, "pwritev2(RWF_DSYNC)"),
            Primitive::Fdatasync | Primitive::Fsync | Primitive::OpenDatasync => (RequestOp::Write, "pwrite"),
        };
        self.request(op, call, offset, length)?;
        Ok(Acknowledged { sequence: self.sequence, offset, checksum: sum })
    }

    fn request(
        &mut self,
        op: RequestOp,
        call: &'static str,
        offset: u64,
        length: u32,
    ) -> Result<(), PowerfailError> {
        let buffer = if op.is_write() { self.buffer.take() } else { None };
        self.engine.push(Request { token: 0, op, file: FileIndex(0), offset, length, buffer });
        let mut completions = Vec::with_capacity(1);
        self.engine.submit(Wait::ONE, &mut completions)?;
        let failed = |why: String| PowerfailError::Target {
            target: self.target.clone(),
            writes: self.acknowledged,
            call,
            why,
        };
        let Some(completion) = completions.pop() else { return Err(failed("no answer".to_owned())) };
        self.buffer = self.buffer.take().or(completion.buffer);
        match completion.result {
            Ok(moved) if moved == length => Ok(()),
            Ok(moved) => Err(failed(format!("{moved} of {length} bytes were written"))),
            Err(failure) => Err(failed(failure.symbol())),
        }
    }
}

/// Blocking calls on the target, one at a time: what is acknowledged must be over.
fn engine(
    request: &WriteRequest,
    target: &iostall_load::LoadTarget,
    kind: &EngineKind,
) -> Result<(Box<dyn Engine>, Option<OpenTarget>), SessionError> {
    if let EngineKind::Sim(device) = kind {
        return Ok((Box::new(SimEngine::new(device.clone(), 1)), None));
    }
    let durability = if request.primitive == Primitive::OpenDatasync {
        Durability::WriteThrough
    } else {
        Durability::None
    };
    let options =
        OpenOptions { access: Access::Write, caching: Caching::Direct, durability, ..OpenOptions::default() };
    let opened = open_target(&target.open_path, &options).map_err(SessionError::Open)?;
    let align = opened.direct.as_ref().and_then(|direct| direct.offset_align).unwrap_or(1).max(1);
    let block_bytes = request.block.bytes();
    if !block_bytes.is_multiple_of(align) {
        let target = request.target.clone();
        return Err(PowerfailError::Align { target, block_bytes, align }.into());
    }
    let engine = PsyncEngine::new(1, &[FileHandle::from(opened.file())]).map_err(PowerfailError::Engine)?;
    Ok((Box::new(engine), Some(opened)))
}
