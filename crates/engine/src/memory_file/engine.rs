//! Any engine, whose writes to one memory file are done by threads.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use iostall_measure::{Clock, MonotonicClock};

use super::MemoryFile;
use crate::request::{
    Completion, Engine, EngineError, EngineReport, FileIndex, IoFailure, Request, RequestOp, Wait,
};
use crate::tokens::Tokens;

/// Most threads. Beyond a few they wait for one another in the kernel's accounting.
const THREADS_MAX: usize = 4;
/// How long to stay with the inner engine while threads are writing, nanoseconds. What they finish meanwhile waits
/// so long; they have the next pieces already, so it costs nothing, and looking more often would.
const POLL_NS: u64 = 250_000;

/// Sends writes to a [`MemoryFile`] to threads, and everything else to another engine.
#[derive(Debug)]
pub struct MemoryFileEngine<E> {
    inner: E,
    file: FileIndex,
    tokens: Tokens,
    clock: MonotonicClock,
    pushed: Vec<Request>,
    writing: u32,
    /// `None` only while it is dropped.
    requests: Option<Sender<Request>>,
    completions: Receiver<Completion>,
    threads: Vec<JoinHandle<()>>,
}

impl<E: Engine> MemoryFileEngine<E> {
    /// Writes to `file`, one of the inner engine's `file_count`, go to `memory`, by as many threads as there are
    /// processors, at most four.
    ///
    /// [`EngineError::System`] where a thread cannot be had.
    pub fn new(inner: E, file_count: u16, file: FileIndex, memory: MemoryFile) -> Result<Self, EngineError> {
        let count = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
        let (to_threads, requests) = channel();
        let (done, completions) = channel();
        let (memory, requests) = (Arc::new(memory), Arc::new(Mutex::new(requests)));
        let mut engine = Self {
            tokens: Tokens::new(inner.capacity(), file_count.into()),
            inner,
            file,
            clock: MonotonicClock::new(),
            pushed: Vec::new(),
            writing: 0,
            requests: Some(to_threads),
            completions,
            threads: Vec::with_capacity(count),
        };
        for index in 0..count {
            let (memory, requests, done) = (Arc::clone(&memory), Arc::clone(&requests), done.clone());
            let thread = std::thread::Builder::new()
                .name(format!("memory-{index}"))
                .spawn(move || write_all(&memory, &requests, &done))
                .map_err(|source| EngineError::System { call: "clone", source })?;
            engine.threads.push(thread);
        }
        Ok(engine)
    }

    fn take_written(&mut self, completions: &mut Vec<Completion>) {
        while let Ok(completion) = self.completions.try_recv() {
            self.writing -= 1;
            completions.push(completion);
        }
    }

    /// Stays until something is done on either side, at most for `left_ns`.
    fn wait_for_either(
        &mut self,
        left_ns: Option<u64>,
        completions: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        if self.inner.in_flight() > 0 {
            let poll_ns = if self.writing > 0 { Some(POLL_NS) } else { None };
            let timeout_ns = [left_ns, poll_ns].into_iter().flatten().min();
            return self.inner.submit(Wait { completions: 1, timeout_ns }, completions);
        }
        // The threads live as long as the sender that `self` holds, so only the time can end this without a completion.
        let answer = match left_ns {
            None => self.completions.recv().map_err(RecvTimeoutError::from),
            Some(left_ns) => self.completions.recv_timeout(Duration::from_nanos(left_ns)),
        };
        if let Ok(completion) = answer {
            self.writing -= 1;
            completions.push(completion);
        }
        Ok(())
    }
}

/// What each thread does until no more requests can come.
fn write_all(memory: &MemoryFile, requests: &Mutex<Receiver<Request>>, done: &Sender<Completion>) {
    loop {
        let request = requests.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Request { token, offset, length, buffer, .. }) = request else { return };
        let data = buffer.as_ref().map_or(&[][..], |buffer| &buffer[..length as usize]);
        let result = match memory.write_at(data, offset) {
            // Never more than `length`, which is a `u32`.
            Ok(moved) => Ok(u32::try_from(moved).unwrap_or(length)),
            Err(errno) => Err(IoFailure(errno.raw_os_error())),
        };
        // Nobody listens any more once the engine is dropped.
        let _ = done.send(Completion { token, result, buffer });
    }
}

impl<E: Engine> Engine for MemoryFileEngine<E> {
    fn report(&self) -> EngineReport {
        let mut report = self.inner.report();
        report.features.push(format!("{} threads fill the pages of the file in memory", self.threads.len()));
        report
    }

    fn capacity(&self) -> u32 {
        self.inner.capacity()
    }

    fn in_flight(&self) -> u32 {
        self.tokens.in_flight()
    }

    fn push(&mut self, request: Request) {
        self.tokens.admit(&request);
        if request.op == RequestOp::Write && request.file == self.file {
            self.pushed.push(request);
        } else {
            self.inner.push(request);
        }
    }

    fn submit(&mut self, wait: Wait, completions: &mut Vec<Completion>) -> Result<(), EngineError> {
        let begun_ns = self.clock.now_ns();
        let before = completions.len();
        let wanted = wait.completions.min(self.in_flight()) as usize;
        for request in self.pushed.drain(..) {
            self.writing += 1;
            if let Some(requests) = &self.requests {
                // The threads hold the other end until this one is dropped.
                let _ = requests.send(request);
            }
        }
        self.inner.submit(Wait::NO, completions)?;
        self.take_written(completions);
        while completions.len() - before < wanted {
            let passed_ns = self.clock.now_ns() - begun_ns;
            let left_ns = wait.timeout_ns.map(|timeout_ns| timeout_ns.saturating_sub(passed_ns));
            if left_ns == Some(0) {
                break;
            }
            self.wait_for_either(left_ns, completions)?;
            self.take_written(completions);
        }
        for completion in &completions[before..] {
            self.tokens.release(completion.token);
        }
        Ok(())
    }

    fn calls(&self) -> u64 {
        self.inner.calls()
    }
}

impl<E> Drop for MemoryFileEngine<E> {
    fn drop(&mut self) {
        self.requests = None;
        for thread in self.threads.drain(..) {
            // A thread only ends in a panic where `write_all` has a fault; its message has been printed.
            let _ = thread.join();
        }
    }
}
