//! The buffers of a transfer, and the engine for each pair of files.

use std::io;

use iostall_engine::{
    Buffer, BufferPool, Completion, Engine, EngineError, EngineReport, FileHandle, NullEngine, Pages,
    PsyncEngine, Request, UringConfig, UringEngine, Wait,
};
use iostall_measure::{MonotonicClock, Unavailable};
use iostall_remote::{EngineFile, RemoteEngine};

/// Buffers of one size from one pool, mapped once and used by one engine after another.
pub(crate) struct BufferSet {
    pool: BufferPool,
    buffers: Vec<Buffer>,
    buffer_count: u32,
    buffer_bytes: u32,
}

impl BufferSet {
    /// Maps the buffers, on huge pages if possible: a device splits a request on scattered small pages.
    pub(crate) fn new(buffer_count: u32, buffer_bytes: u32) -> io::Result<Self> {
        let (pool, buffers) = BufferPool::new(buffer_count, buffer_bytes, Pages::HugeIfPossible)?;
        Ok(Self { pool, buffers, buffer_count, buffer_bytes })
    }

    pub(crate) fn buffer_count(&self) -> u32 {
        self.buffer_count
    }

    /// Takes all buffers out of the set.
    ///
    /// # Panics
    /// If some are in use.
    pub(crate) fn take(&mut self) -> Vec<Buffer> {
        assert_eq!(self.buffers.len(), self.buffer_count as usize, "the buffers are in use");
        std::mem::take(&mut self.buffers)
    }

    /// Puts the buffers back. If some are missing because an engine broke, the pool is rebuilt.
    pub(crate) fn put_back(&mut self, buffers: Vec<Buffer>) -> io::Result<()> {
        self.buffers = buffers;
        if self.buffers.len() < self.buffer_count as usize {
            *self = Self::new(self.buffer_count, self.buffer_bytes)?;
        }
        Ok(())
    }

    /// An engine on `files` with room for every buffer and one sync.
    pub(crate) fn engine(&self, files: &[FileHandle<'_>]) -> Result<AnyEngine, EngineError> {
        let config = UringConfig { capacity: self.buffer_count + 1, files, buffers: Some(&self.pool) };
        match UringEngine::new(&config) {
            Ok(engine) => Ok(AnyEngine::Uring(Box::new(engine))),
            Err(unavailable) => {
                let engine = PsyncEngine::new(self.buffer_count + 1, files)?;
                Ok(AnyEngine::Psync { engine, instead_of: unavailable.without_ring() })
            }
        }
    }

    /// The same on files of which some may be objects.
    pub(crate) fn engine_beside(&self, files: &[EngineFile<'_>]) -> Result<AnyEngine, EngineError> {
        let local: Vec<_> = files.iter().filter_map(EngineFile::local).collect();
        if local.len() == files.len() {
            return self.engine(&local);
        }
        let local = if local.is_empty() {
            AnyEngine::NoFiles(NullEngine::new(self.buffer_count + 1, 0))
        } else {
            self.engine(&local)?
        };
        Ok(AnyEngine::Remote(Box::new(RemoteEngine::new(local, MonotonicClock::new(), files))))
    }
}

pub(crate) enum AnyEngine {
    Uring(Box<UringEngine>),
    /// Threads with blocking calls.
    Psync {
        engine: PsyncEngine,
        instead_of: Unavailable,
    },
    NoFiles(NullEngine),
    Remote(Box<RemoteEngine<AnyEngine, MonotonicClock>>),
}

impl AnyEngine {
    fn inner(&self) -> &dyn Engine {
        match self {
            Self::Uring(engine) => engine.as_ref(),
            Self::Psync { engine, .. } => engine,
            Self::NoFiles(engine) => engine,
            Self::Remote(engine) => engine.as_ref(),
        }
    }

    fn inner_mut(&mut self) -> &mut dyn Engine {
        match self {
            Self::Uring(engine) => engine.as_mut(),
            Self::Psync { engine, .. } => engine,
            Self::NoFiles(engine) => engine,
            Self::Remote(engine) => engine.as_mut(),
        }
    }
}

impl Engine for AnyEngine {
    fn report(&self) -> EngineReport {
        let mut report = self.inner().report();
        match self {
            Self::Psync { instead_of, .. } => report.refused.push(instead_of.clone()),
            Self::NoFiles(_) => report.name = "objects",
            Self::Uring(_) | Self::Remote(_) => {}
        }
        report
    }

    fn capacity(&self) -> u32 {
        self.inner().capacity()
    }

    fn in_flight(&self) -> u32 {
        self.inner().in_flight()
    }

    fn push(&mut self, request: Request) {
        self.inner_mut().push(request);
    }

    fn submit(&mut self, wait: Wait, completions: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.inner_mut().submit(wait, completions)
    }

    fn calls(&self) -> u64 {
        self.inner().calls()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_that_a_broken_engine_lost_are_rebuilt_at_their_size() {
        let mut set = BufferSet::new(3, 64 << 10).unwrap();
        for lost in 1..=3 {
            let mut buffers = set.take();
            buffers.truncate(3 - lost);
            set.put_back(buffers).unwrap();
            let buffers = set.take();
            assert_eq!(buffers.len(), 3);
            assert!(buffers.iter().all(|buffer| buffer.len() == 64 << 10));
            set.put_back(buffers).unwrap();
        }
    }
}
