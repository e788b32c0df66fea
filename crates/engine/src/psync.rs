//! Blocking calls: `pread`, `pwrite` and the sync calls. On the caller's thread at a queue depth of one,
//! otherwise one thread per request.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use iostall_measure::clock::wait_while;
use rustix::io::{Errno, ReadWriteFlags};

use crate::files::write_range_back;
use crate::report::EngineReport;
use crate::request::{
    Completion, Engine, EngineError, FileHandle, IoFailure, Request, RequestOp, Tokens, Wait,
};

/// Blocking calls. Dropping it waits for calls in progress and discards the rest.
#[derive(Debug)]
pub struct PsyncEngine {
    tokens: Tokens,
    pushed: Vec<Request>,
    calls: u64,
    caller: Caller,
}

#[derive(Debug)]
enum Caller {
    /// The submitting thread makes the call, so latency includes no thread switch.
    Itself {
        files: Vec<OwnedFd>,
    },
    Threads {
        shared: Arc<Shared>,
        threads: Vec<JoinHandle<()>>,
    },
}

#[derive(Debug)]
struct Shared {
    files: Vec<OwnedFd>,
    waiting: Mutex<Waiting>,
    work_or_end: Condvar,
    done: Mutex<Vec<Done>>,
    one_done: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    requests: VecDeque<Request>,
    ended: bool,
}

#[derive(Debug)]
struct Done {
    completion: Completion,
    calls: u64,
}

impl PsyncEngine {
    /// An engine for `capacity` requests in flight on `files`, of which it keeps its own handles.
    ///
    /// [`EngineError::System`] if a handle or a thread cannot be created.
    pub fn new(capacity: u32, files: &[FileHandle<'_>]) -> Result<Self, EngineError> {
        let files = files
            .iter()
            .map(|file| file.0.try_clone_to_owned())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|source| EngineError::System { call: "fcntl(F_DUPFD_CLOEXEC)", source })?;
        let tokens = Tokens::new(capacity, files.len());
        let caller = if capacity <= 1 { Caller::Itself { files } } else { Caller::threads(capacity, files)? };
        Ok(Self { tokens, pushed: Vec::with_capacity(capacity as usize), calls: 0, caller })
    }
}

impl Caller {
    fn threads(count: u32, files: Vec<OwnedFd>) -> Result<Self, EngineError> {
        let shared = Arc::new(Shared {
            files,
            waiting: Mutex::default(),
            work_or_end: Condvar::new(),
            done: Mutex::default(),
            one_done: Condvar::new(),
        });
        let mut threads = Vec::with_capacity(count as usize);
        for index in 0..count {
            let of_thread = Arc::clone(&shared);
            let started = std::thread::Builder::new()
                .name(format!("psync-{index}"))
                // The threads need little stack, and there may be thousands.
                .stack_size(64 * 1024)
                .spawn(move || of_thread.work());
            match started {
                Ok(thread) => threads.push(thread),
                Err(source) => {
                    shared.end(threads);
                    return Err(EngineError::System { call: "clone", source });
                }
            }
        }
        Ok(Self::Threads { shared, threads })
    }
}

impl Shared {
    fn work(&self) {
        while let Some(request) = self.next() {
            let done = carry_out(request, &self.files);
            lock(&self.done).push(done);
            self.one_done.notify_one();
        }
    }

    fn next(&self) -> Option<Request> {
        let mut waiting = self
            .work_or_end
            .wait_while(lock(&self.waiting), |waiting| waiting.requests.is_empty() && !waiting.ended)
            .unwrap_or_else(PoisonError::into_inner);
        if waiting.ended { None } else { waiting.requests.pop_front() }
    }

    fn hand_over(&self, requests: &mut Vec<Request>) {
        let count = requests.len();
        lock(&self.waiting).requests.extend(requests.drain(..));
        for _ in 0..count {
            self.work_or_end.notify_one();
        }
    }

    /// Processes requests until `wanted` have completed or the limits of `wait` are over.
    fn wait_as(&self, wanted: usize, wait: Wait) -> MutexGuard<'_, Vec<Done>> {
        let Some(batch_ns) = wait.batch_ns.filter(|_| wanted > 1) else {
            return self.wait(wanted, wait.timeout_ns);
        };
        let batch_ns = wait.timeout_ns.map_or(batch_ns, |timeout_ns| timeout_ns.min(batch_ns));
        let done = self.wait(wanted, Some(batch_ns));
        if !done.is_empty() {
            return done;
        }
        drop(done);
        self.wait(1, wait.timeout_ns.map(|timeout_ns| timeout_ns.saturating_sub(batch_ns)))
    }

    /// Returns completions once there are `wanted`, or at the timeout.
    fn wait(&self, wanted: usize, timeout_ns: Option<u64>) -> MutexGuard<'_, Vec<Done>> {
        let done = lock(&self.done);
        match timeout_ns {
            Some(0) => done,
            None => self
                .one_done
                .wait_while(done, |done| done.len() < wanted)
                .unwrap_or_else(PoisonError::into_inner),
            Some(timeout_ns) => {
                wait_while(&self.one_done, done, Duration::from_nanos(timeout_ns), |done| done.len() < wanted)
            }
        }
    }

    fn end(&self, threads: Vec<JoinHandle<()>>) {
        lock(&self.waiting).ended = true;
        self.work_or_end.notify_all();
        for thread in threads {
            // A thread panics only if `carry_out` has a bug; its message has been printed.
            let _ = thread.join();
        }
    }
}

/// No thread leaves the lists half changed, so they are consistent even behind a poisoned lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn carry_out(mut request: Request, files: &[OwnedFd]) -> Done {
    let file = &files[usize::from(request.file.0)];
    let length = request.length as usize;
    let mut calls = 0;
    let result = loop {
        calls += 1;
        let moved = match (request.op, request.buffer.as_mut()) {
            (RequestOp::Fdatasync, _) => rustix::fs::fdatasync(file).map(|()| 0),
            (RequestOp::Fsync, _) => rustix::fs::fsync(file).map(|()| 0),
            (RequestOp::SyncFileRange, _) => {
                let end = request.offset.saturating_add(u64::from(request.length));
                write_range_back(file, &(request.offset..end)).map(|()| 0)
            }
            (RequestOp::Read, buffer) => {
                let buffer = buffer.expect("admitted with a buffer");
                rustix::io::pread(file, &mut buffer[..length], request.offset)
            }
            (RequestOp::Write, buffer) => {
                let buffer = buffer.expect("admitted with a buffer");
                rustix::io::pwrite(file, &buffer[..length], request.offset)
            }
            (RequestOp::WriteThrough, buffer) => {
                let buffer = buffer.expect("admitted with a buffer");
                let data = [IoSlice::new(&buffer[..length])];
                rustix::io::pwritev2(file, &data, request.offset, ReadWriteFlags::DSYNC)
            }
        };
        match moved {
            Err(Errno::INTR) => {}
            // At most `length`, which is a `u32`.
            Ok(moved) => break Ok(u32::try_from(moved).unwrap_or(request.length)),
            Err(errno) => break Err(IoFailure(errno.raw_os_error())),
        }
    };
    Done { completion: Completion { token: request.token, result, buffer: request.buffer }, calls }
}

impl Engine for PsyncEngine {
    fn report(&self) -> EngineReport {
        let feature = match &self.caller {
            Caller::Itself { .. } => "on the calling thread".into(),
            Caller::Threads { threads, .. } => format!("{} threads", threads.len()),
        };
        EngineReport { name: "psync", features: vec![feature], refused: Vec::new() }
    }

    fn capacity(&self) -> u32 {
        self.tokens.capacity()
    }

    fn in_flight(&self) -> u32 {
        self.tokens.in_flight()
    }

    fn push(&mut self, request: Request) {
        self.tokens.admit(&request);
        self.pushed.push(request);
    }

    fn submit(&mut self, wait: Wait, completions: &mut Vec<Completion>) -> Result<(), EngineError> {
        let wanted = wait.completions.min(self.in_flight());
        let mut give_back = |done: Done| {
            self.calls += done.calls;
            self.tokens.release(done.completion.token);
            completions.push(done.completion);
        };
        match &self.caller {
            Caller::Itself { files } => {
                self.pushed.drain(..).for_each(|request| give_back(carry_out(request, files)));
            }
            Caller::Threads { shared, .. } => {
                shared.hand_over(&mut self.pushed);
                shared.wait_as(wanted as usize, wait).drain(..).for_each(give_back);
            }
        }
        Ok(())
    }

    fn calls(&self) -> u64 {
        self.calls
    }
}

impl Drop for PsyncEngine {
    fn drop(&mut self) {
        if let Caller::Threads { shared, threads } = &mut self.caller {
            shared.end(std::mem::take(threads));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_measure::{Clock, MonotonicClock};

    fn shared() -> Arc<Shared> {
        match Caller::threads(0, Vec::new()).unwrap() {
            Caller::Threads { shared, .. } => shared,
            Caller::Itself { .. } => panic!("threads were asked for"),
        }
    }

    fn done(token: u32) -> Done {
        Done { completion: Completion { token, result: Ok(0), buffer: None }, calls: 1 }
    }

    #[test]
    fn a_wait_ends_with_its_time_and_takes_what_is_there() {
        let shared = shared();
        lock(&shared.done).push(done(3));
        let clock = MonotonicClock::new();
        let taken = shared.wait(2, Some(3_000_000)).drain(..).count();
        assert!(clock.now_ns() >= 3_000_000);
        assert_eq!(taken, 1);
        assert!(shared.wait(1, Some(0)).is_empty());
    }

    #[test]
    fn a_wait_without_a_time_ends_with_the_completion() {
        let shared = shared();
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            lock(&of_thread.done).push(done(0));
            of_thread.one_done.notify_one();
        });
        assert_eq!(shared.wait(1, None).len(), 1);
        thread.join().unwrap();
    }
}
