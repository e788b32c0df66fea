//! One log: where the next record goes, the calls that make it durable, and their errors.

use std::io;
use std::path::Path;

use iostall_engine::content::mix;
use iostall_engine::guard::write_header;
use iostall_engine::{
    Access, Buffer, BufferPool, Engine, EngineError, FileHandle, FileIndex, IoFailure, OpenError,
    OpenOptions, Pages, PsyncEngine, Request, RequestOp, SimDevice, SimEngine, Wait, open_target,
};
use iostall_measure::{Caching, Durability};
use iostall_model::sync::SyncMethod;
use thiserror::Error;

const FLUSH_BYTES_MAX: u32 = 1 << 20;
/// Every so many bytes begin with a header.
const HEADER_EVERY: usize = 4096;

pub struct CommitLog {
    engine: Box<dyn Engine + Send>,
    /// Away only while the engine has it.
    buffer: Option<Buffer>,
    sync: Option<RequestOp>,
    block_bytes: u32,
    segment_bytes: u64,
    offset: u64,
    sequence: u64,
}

pub enum Opened {
    Log(CommitLog),
    Unavailable(String),
}

impl CommitLog {
    /// Opens the segment at `path`, which is as long as `segment_bytes` and written in full, for commits by `method`.
    pub fn open(
        path: &Path,
        method: SyncMethod,
        block_bytes: u32,
        segment_bytes: u64,
    ) -> Result<Opened, CommitError> {
        let opened = open_target(path, &open_options(method))?;
        if let Some(direct) = &opened.direct {
            if !direct.granted {
                let reason = direct.reason.clone().unwrap_or_else(|| "no direct I/O here".to_owned());
                return Ok(Opened::Unavailable(reason));
            }
            let align = direct.offset_align.unwrap_or(1).max(1);
            if !block_bytes.is_multiple_of(align) {
                let reason = format!("direct I/O here needs writes of a multiple of {align} bytes");
                return Ok(Opened::Unavailable(reason));
            }
        }
        let engine = PsyncEngine::new(1, &[FileHandle::from(opened.file())])?;
        Self::on(Box::new(engine), method, block_bytes, segment_bytes).map(Opened::Log)
    }

    pub fn simulated(
        device: &SimDevice,
        method: SyncMethod,
        block_bytes: u32,
        segment_bytes: u64,
    ) -> Result<Self, CommitError> {
        Self::on(Box::new(SimEngine::new(device.clone(), 1)), method, block_bytes, segment_bytes)
    }

    fn on(
        engine: Box<dyn Engine + Send>,
        method: SyncMethod,
        block_bytes: u32,
        segment_bytes: u64,
    ) -> Result<Self, CommitError> {
        let bytes = block_bytes * (FLUSH_BYTES_MAX / block_bytes).max(1);
        let (_pool, buffers) = BufferPool::new(1, bytes, Pages::Small).map_err(CommitError::Buffer)?;
        let mut buffer = buffers.into_iter().next();
        if let Some(buffer) = &mut buffer {
            for (number, word) in buffer.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                *word = mix(number as u64).to_le_bytes();
            }
        }
        // The first block holds the mark that iostall made the file; in PostgreSQL's segments it is a header too.
        let offset = u64::from(block_bytes);
        Ok(Self { engine, buffer, sync: sync_call(method), block_bytes, segment_bytes, offset, sequence: 0 })
    }

    /// Writes the records of up to `waiting` commits, a block each, and makes them durable. Returns how many that were: at least
    /// one, and as many as fit into a flush and into the rest of the segment.
    pub(super) fn flush(&mut self, waiting: u64) -> Result<u64, CommitError> {
        let left = (self.segment_bytes - self.offset) / u64::from(self.block_bytes);
        let most = u64::from((FLUSH_BYTES_MAX / self.block_bytes).max(1)).min(left);
        let blocks = waiting.clamp(1, most.max(1));
        // At most `FLUSH_BYTES_MAX`, or one block.
        let length = u32::try_from(blocks).unwrap_or(1) * self.block_bytes;
        self.write(length)?;
        if let Some(call) = self.sync {
            self.request(call, length)?;
        }
        self.offset += u64::from(length);
        if self.offset + u64::from(self.block_bytes) > self.segment_bytes {
            self.offset = u64::from(self.block_bytes);
        }
        Ok(blocks)
    }

    fn write(&mut self, length: u32) -> Result<(), CommitError> {
        self.sequence += 1;
        if let Some(buffer) = &mut self.buffer {
            for (block, at) in buffer[..length as usize].chunks_mut(HEADER_EVERY).zip(0_u64..) {
                write_header(block, self.offset + at * HEADER_EVERY as u64, self.sequence, 0);
            }
        }
        let moved = self.request(RequestOp::Write, length)?;
        if moved == length { Ok(()) } else { Err(CommitError::Short { moved, wanted: length }) }
    }

    fn request(&mut self, op: RequestOp, length: u32) -> Result<u32, CommitError> {
        let buffer = if op == RequestOp::Write { self.buffer.take() } else { None };
        self.engine.push(Request { token: 0, op, file: FileIndex(0), offset: self.offset, length, buffer });
        let mut completions = Vec::with_capacity(1);
        self.engine.submit(Wait::ONE, &mut completions)?;
        let Some(completion) = completions.pop() else { return Err(CommitError::Broken) };
        if completion.buffer.is_some() {
            self.buffer = completion.buffer;
        }
        completion.result.map_err(|failure| CommitError::Call { call: call_name(op), failure })
    }
}

fn open_options(method: SyncMethod) -> OpenOptions {
    let (caching, durability, sync_metadata) = match method {
        SyncMethod::Fdatasync | SyncMethod::Fsync | SyncMethod::SyncFileRange => {
            (Caching::Buffered, Durability::None, false)
        }
        SyncMethod::OpenDatasync => (Caching::Buffered, Durability::WriteThrough, false),
        SyncMethod::OpenDatasyncDirect => (Caching::Direct, Durability::WriteThrough, false),
        SyncMethod::OpenSync => (Caching::Buffered, Durability::WriteThrough, true),
        SyncMethod::OpenSyncDirect => (Caching::Direct, Durability::WriteThrough, true),
    };
    OpenOptions { access: Access::Write, caching, durability, sync_metadata, exclusive: false }
}

/// The call after the write; `None` if the write itself is durable.
fn sync_call(method: SyncMethod) -> Option<RequestOp> {
    match method {
        SyncMethod::Fdatasync => Some(RequestOp::Fdatasync),
        SyncMethod::Fsync => Some(RequestOp::Fsync),
        SyncMethod::SyncFileRange => Some(RequestOp::SyncFileRange),
        SyncMethod::OpenDatasync
        | SyncMethod::OpenDatasyncDirect
        | SyncMethod::OpenSync
        | SyncMethod::OpenSyncDirect => None,
    }
}

fn call_name(op: RequestOp) -> &'static str {
    match op {
        RequestOp::Read => "pread",
        RequestOp::Write => "pwrite",
        RequestOp::WriteThrough => "pwritev2(RWF_DSYNC)",
        RequestOp::Fdatasync => "fdatasync",
        RequestOp::Fsync => "fsync",
        RequestOp::SyncFileRange => "sync_file_range",
    }
}

#[derive(Debug, Error)]
pub enum CommitError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("cannot map the buffer of the log: {0}")]
    Buffer(#[source] io::Error),
    #[error("{call} failed: {failure}")]
    Call { call: &'static str, failure: IoFailure },
    #[error("the log took only {moved} of {wanted} bytes")]
    Short { moved: u32, wanted: u32 },
    #[error("a committer could not be started: {0}")]
    Thread(#[source] io::Error),
    #[error("a committer of iostall crashed; please report it with the message above")]
    Broken,
}

impl CommitError {
    /// Whether the system does not have the call, as opposed to the device failing.
    pub fn is_unsupported(&self) -> bool {
        match self {
            Self::Call { failure, .. } => {
                matches!(failure.kind(), io::ErrorKind::Unsupported | io::ErrorKind::NotSeekable)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use iostall_engine::SimConfig;
    use iostall_engine::sim::SimFile;
    use iostall_measure::ManualClock;

    use super::*;

    const BLOCK: u32 = 8192;
    const SEGMENT: u64 = 10 * 8192;

    fn device(durability: Durability) -> SimDevice {
        let file = SimFile { size_bytes: SEGMENT, durability, ..SimFile::default() };
        SimDevice::new(SimConfig { files: vec![file], ..SimConfig::default() }, ManualClock::new())
    }

    fn log(device: &SimDevice, method: SyncMethod) -> CommitLog {
        CommitLog::simulated(device, method, BLOCK, SEGMENT).unwrap()
    }

    /// The bytes at the start of block `number` after power failed.
    fn after_crash(device: &SimDevice, number: u64, seed: u64) -> [u8; 7] {
        let mut head = [0; 7];
        device.crash(seed)[0].read(number * u64::from(BLOCK), &mut head);
        head
    }

    #[test]
    fn records_advance_through_the_segment_and_leave_its_first_block_alone() {
        let device = device(Durability::None);
        let mut log = log(&device, SyncMethod::Fdatasync);
        // Nine blocks are left after the first.
        assert_eq!(log.flush(4).unwrap(), 4);
        assert_eq!(log.flush(100).unwrap(), 5, "the rest of the segment");
        assert_eq!(log.flush(100).unwrap(), 9, "the next segment");
        assert_eq!(log.flush(0).unwrap(), 1, "a flush without a record is none");
        let live = device.live(FileIndex(0));
        let mut head = [1; 7];
        live.read(0, &mut head);
        assert_eq!(head, [0; 7]);
        live.read(9 * u64::from(BLOCK), &mut head);
        assert_eq!(&head, b"IOSTALL");
        assert_eq!(live.size_bytes(), SEGMENT, "a log does not grow");
    }

    /// A commit by sync_file_range is fast because it leaves the data in the device's cache.
    #[test]
    fn durable_methods_survive_a_power_failure_and_sync_file_range_does_not() {
        for method in [SyncMethod::Fdatasync, SyncMethod::Fsync, SyncMethod::SyncFileRange] {
            let device = device(Durability::None);
            log(&device, method).flush(1).unwrap();
            let kept = (0..32).filter(|seed| after_crash(&device, 1, *seed) == *b"IOSTALL").count();
            assert_eq!(kept == 32, method.is_durable(), "{}: {kept} of 32", method.name());
        }
        let device = device(Durability::WriteThrough);
        log(&device, SyncMethod::OpenDatasync).flush(1).unwrap();
        assert!((0..32).all(|seed| after_crash(&device, 1, seed) == *b"IOSTALL"));
    }

    #[test]
    fn a_call_that_fails_is_named() {
        let file = SimFile { size_bytes: SEGMENT, ..SimFile::default() };
        let mut config = SimConfig { files: vec![file], ..SimConfig::default() };
        config.faults.eio_at = vec![1];
        let device = SimDevice::new(config, ManualClock::new());
        let error = log(&device, SyncMethod::Fdatasync).flush(1).unwrap_err();
        assert!(error.to_string().starts_with("fdatasync failed: "), "{error}");
        assert!(!error.is_unsupported());
    }

    #[test]
    fn the_methods_on_a_real_file_leave_its_mark_and_its_length() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("segment");
        for method in SyncMethod::ALL {
            std::fs::write(&path, vec![0; usize::try_from(SEGMENT).unwrap()]).unwrap();
            match CommitLog::open(&path, method, BLOCK, SEGMENT).unwrap() {
                Opened::Log(mut log) => assert_eq!(log.flush(3).unwrap(), 3, "{}", method.name()),
                Opened::Unavailable(reason) => {
                    assert!(method.name().ends_with("_direct"), "{}: {reason}", method.name());
                    continue;
                }
            }
            let content = std::fs::read(&path).unwrap();
            assert_eq!(content.len() as u64, SEGMENT);
            assert!(content[..8192].iter().all(|byte| *byte == 0) && content[8192..].starts_with(b"IOSTALL"));
        }
    }

    #[test]
    fn direct_writes_of_no_sector_are_not_tried() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("segment");
        std::fs::write(&path, vec![0; 8192]).unwrap();
        let opened = CommitLog::open(&path, SyncMethod::OpenSyncDirect, 100, 8192).unwrap();
        assert!(matches!(opened, Opened::Unavailable(_)));
    }
}
