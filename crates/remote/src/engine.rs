//! An engine whose files are those of this machine and objects.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use iostall_engine::{
    Buffer, Completion, Engine, EngineError, EngineReport, FileHandle, FileIndex, IoFailure, Request,
    RequestOp, Wait,
};
use iostall_measure::Clock;

use crate::object::ObjectReader;
use crate::reads::{Read, Reads};
use crate::upload::Upload;

/// How often an upload that has no room is asked again, and how often the other side is looked at while one of two is waited
/// for, nanoseconds. A part takes many milliseconds.
const POLL_NS: u64 = 1_000_000;

#[derive(Clone, Debug)]
pub enum EngineFile<'f> {
    Local(FileHandle<'f>),
    Object(Arc<ObjectReader>),
    Upload(Arc<Upload>),
}

impl<'f> EngineFile<'f> {
    pub fn local(&self) -> Option<FileHandle<'f>> {
        match self {
            Self::Local(handle) => Some(*handle),
            Self::Object(_) | Self::Upload(_) => None,
        }
    }
}

impl<'f> From<FileHandle<'f>> for EngineFile<'f> {
    fn from(handle: FileHandle<'f>) -> Self {
        Self::Local(handle)
    }
}

enum Route {
    /// To the other engine, under this index.
    Local(FileIndex),
    Object(Arc<ObjectReader>),
    Upload {
        upload: Arc<Upload>,
        writes: VecDeque<Write>,
    },
}

/// A write whose bytes the upload has not taken yet.
struct Write {
    token: u32,
    offset: u64,
    length: usize,
    taken: usize,
    buffer: Buffer,
}

/// Passes requests to files on to another engine, and carries out those to objects.
pub struct RemoteEngine<E, C> {
    local: E,
    clock: C,
    routes: Vec<Route>,
    reads: Reads,
    done: Vec<Completion>,
    writing: u32,
}

impl<E: Engine, C: Clock> RemoteEngine<E, C> {
    /// `local` has the handles among `files`, in their order.
    pub fn new(local: E, clock: C, files: &[EngineFile<'_>]) -> Self {
        let mut locals = 0..;
        let route = |file: &EngineFile<'_>| match file {
            EngineFile::Local(_) => Route::Local(FileIndex(locals.next().unwrap_or_default())),
            EngineFile::Object(object) => Route::Object(Arc::clone(object)),
            EngineFile::Upload(upload) => {
                Route::Upload { upload: Arc::clone(upload), writes: VecDeque::new() }
            }
        };
        let routes = files.iter().map(route).collect();
        Self { local, clock, routes, reads: Reads::new(), done: Vec::new(), writing: 0 }
    }

    /// Lets each upload take of its writes what it has room for, in their order.
    fn write(&mut self) {
        for route in &mut self.routes {
            let Route::Upload { upload, writes } = route else { continue };
            while let Some(write) = writes.front_mut() {
                let rest = &write.buffer[write.taken..write.length];
                let result = match upload.take(write.offset + write.taken as u64, rest) {
                    Ok(taken) => {
                        write.taken += taken;
                        if write.taken < write.length {
                            break;
                        }
                        Ok(u32::try_from(write.length).unwrap_or(u32::MAX))
                    }
                    Err(error) => Err(failure(&error)),
                };
                let Some(Write { token, buffer, .. }) = writes.pop_front() else { break };
                self.writing -= 1;
                self.done.push(Completion { token, result, buffer: Some(buffer) });
            }
        }
    }

    fn collect(&mut self, completions: &mut Vec<Completion>) {
        self.write();
        completions.append(&mut self.done);
        while let Some(done) = self.reads.take(false) {
            completions.push(done);
        }
    }

    fn pause(&mut self, pause_ns: u64, completions: &mut Vec<Completion>) -> Result<(), EngineError> {
        if self.local.in_flight() > 0 {
            let wait = Wait { completions: 1, timeout_ns: Some(pause_ns.min(POLL_NS)), batch_ns: None };
            return self.local.submit(wait, completions);
        }
        if self.writing == 0 && pause_ns == u64::MAX {
            completions.extend(self.reads.take(true));
        } else {
            self.clock.sleep_until(self.clock.now_ns().saturating_add(pause_ns.min(POLL_NS)));
        }
        Ok(())
    }
}

fn failure(error: &io::Error) -> IoFailure {
    match error.kind() {
        io::ErrorKind::FileTooLarge => IoFailure::TOO_LARGE,
        _ => IoFailure::BROKEN,
    }
}

impl<E: Engine, C: Clock> Engine for RemoteEngine<E, C> {
    fn report(&self) -> EngineReport {
        self.local.report()
    }

    fn capacity(&self) -> u32 {
        self.local.capacity()
    }

    fn in_flight(&self) -> u32 {
        let reading = u32::try_from(self.reads.in_flight()).unwrap_or(u32::MAX);
        let done = u32::try_from(self.done.len()).unwrap_or(u32::MAX);
        self.local.in_flight() + reading + self.writing + done
    }

    fn push(&mut self, request: Request) {
        let Request { token, op, file, offset, length, buffer } = request;
        let done = |result, buffer| Completion { token, result, buffer };
        match (&mut self.routes[usize::from(file.0)], op, buffer) {
            (Route::Local(file), _, buffer) => {
                let file = *file;
                self.local.push(Request { token, op, file, offset, length, buffer });
            }
            (Route::Object(object), RequestOp::Read, Some(buffer)) => {
                self.reads.begin(Read { object: Arc::clone(object), token, offset, length, buffer });
            }
            (Route::Upload { writes, .. }, RequestOp::Write, Some(buffer)) => {
                let length = (length as usize).min(buffer.len());
                writes.push_back(Write { token, offset, length, taken: 0, buffer });
                self.writing += 1;
            }
            // A part is durable when the store has answered, which [`Upload::flush`] waits for.
            (_, RequestOp::Fdatasync | RequestOp::Fsync | RequestOp::SyncFileRange, buffer) => {
                self.done.push(done(Ok(0), buffer));
            }
            // An object is either read or written.
            (_, RequestOp::Read | RequestOp::Write | RequestOp::WriteThrough, buffer) => {
                self.done.push(done(Err(IoFailure::BROKEN), buffer));
            }
        }
    }

    fn submit(&mut self, wait: Wait, completions: &mut Vec<Completion>) -> Result<(), EngineError> {
        let before = completions.len();
        let wanted = wait.completions.min(self.in_flight()) as usize;
        let begun_ns = self.clock.now_ns();
        loop {
            self.local.submit(Wait::NO, completions)?;
            self.collect(completions);
            let there = completions.len() - before;
            let waited_ns = self.clock.now_ns().saturating_sub(begun_ns);
            let is_enough = there > 0 && wait.batch_ns.is_some_and(|batch_ns| waited_ns >= batch_ns);
            let left_ns = wait.timeout_ns.map_or(u64::MAX, |limit_ns| limit_ns.saturating_sub(waited_ns));
            if there >= wanted || is_enough || left_ns == 0 {
                return Ok(());
            }
            self.pause(left_ns, completions)?;
        }
    }

    fn calls(&self) -> u64 {
        self.local.calls()
    }
}
