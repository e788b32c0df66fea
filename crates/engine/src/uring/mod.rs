//! The `io_uring` engine: one ring per worker, submit and wait in one call, completions read from shared
//! memory.

#![expect(unsafe_code, reason = "shares buffers with the kernel")]

mod raw;
mod register;
mod setup_flags;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use io_uring::squeue::{Entry, Flags};
use io_uring::types::{CancelBuilder, Fd, FsyncFlags, Timespec};
use io_uring::{IoUring, opcode};
use iostall_measure::{Clock, MonotonicClock};
use rustix::io::Errno;

use crate::buffer::{Buffer, BufferPool};
use crate::files::WRITE_RANGE_BACK;
use crate::report::EngineReport;
use crate::request::{
    Completion, Engine, EngineError, FileHandle, IoFailure, Request, RequestOp, Tokens, Wait,
};
use raw::RingHandle;
use register::RegisteredBuffers;

/// Largest ring that the kernel allows.
pub const CAPACITY_MAX: u32 = 32_768;

#[derive(Clone, Copy, Debug)]
pub struct UringConfig<'a> {
    /// Maximum number of requests in flight, 1 to [`CAPACITY_MAX`].
    pub capacity: u32,
    /// In the order of [`FileIndex`](crate::FileIndex). The engine keeps its own handle of each.
    pub files: &'a [FileHandle<'a>],
    /// The pool to register, which saves the kernel a page lookup per request. Buffers of other pools work
    /// too, unregistered.
    pub buffers: Option<&'a BufferPool>,
}

/// A ring and its requests in flight. Belongs to the thread that created it.
///
/// Dropping it cancels what can be cancelled and waits for the rest. A device that never answers blocks the
/// drop, because the kernel must not write to memory that has been freed.
pub struct UringEngine {
    ring: IoUring,
    handle: RingHandle,
    tokens: Tokens,
    /// Buffers of requests in flight, by token: the kernel has their addresses.
    buffers: Vec<Option<Buffer>>,
    registered_buffers: Option<RegisteredBuffers>,
    /// How an entry refers to each file: its index if files are registered, otherwise its descriptor.
    file_numbers: Vec<RawFd>,
    file_flags: Flags,
    /// Entries in the submission queue that the kernel has not taken.
    pushed: u32,
    /// Whether the kernel sets a flag in shared memory when an enter is needed to post completions.
    flags_pending_work: bool,
    /// Whether the kernel can wait for several completions and, after a time, for one.
    has_batch_wait: bool,
    clock: MonotonicClock,
    calls: u64,
    report: EngineReport,
    /// Kept open for entries that refer to them by descriptor.
    _files: Vec<OwnedFd>,
    /// The kernel rejects calls from any thread but the one that created the ring.
    not_send: PhantomData<*mut ()>,
}

enum Entered {
    Progress,
    TimedOut,
    /// The kernel accepts nothing more until completions have been posted.
    Full,
}

impl UringEngine {
    /// Creates a ring on the calling thread, with every feature that the kernel supports.
    ///
    /// [`EngineError::Unavailable`] if the kernel or a policy forbids rings, with what would allow them;
    /// [`EngineError::System`] if this one could not be created.
    pub fn new(config: &UringConfig<'_>) -> Result<Self, EngineError> {
        let system = |call, source| EngineError::System { call, source };
        if config.capacity == 0 || config.capacity > CAPACITY_MAX {
            let message =
                format!("a ring takes 1 to {CAPACITY_MAX} requests at once, not {}", config.capacity);
            return Err(system(
                "io_uring_setup",
                std::io::Error::new(std::io::ErrorKind::InvalidInput, message),
            ));
        }
        let mut report = EngineReport { name: "io_uring", ..EngineReport::default() };
        let (ring, flags_pending_work) = setup_flags::set_up(config.capacity, &mut report)?;
        let files = config
            .files
            .iter()
            .map(|file| file.0.try_clone_to_owned())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|source| system("fcntl(F_DUPFD_CLOEXEC)", source))?;
        let (file_numbers, file_flags) = register::files(&ring, &files, &mut report);
        let registered_buffers = config.buffers.and_then(|pool| register::buffers(&ring, pool, &mut report));
        let handle = RingHandle::new(ring.as_raw_fd(), &mut report);
        if let Some(pool) = config.buffers {
            pool.report_pages(&mut report);
        }
        Ok(Self {
            has_batch_wait: ring.params().is_feature_min_timeout(),
            ring,
            handle,
            tokens: Tokens::new(config.capacity, files.len()),
            buffers: (0..config.capacity).map(|_| None).collect(),
            registered_buffers,
            file_numbers,
            file_flags,
            pushed: 0,
            flags_pending_work,
            clock: MonotonicClock::new(),
            calls: 0,
            report,
            _files: files,
            not_send: PhantomData,
        })
    }

    /// The entry for a request that passed `Tokens::admit`.
    #[inline]
    fn entry(&self, request: &mut Request) -> Entry {
        let file = Fd(self.file_numbers[usize::from(request.file.0)]);
        let entry = match (request.op, request.buffer.as_mut()) {
            (RequestOp::Fdatasync, _) => opcode::Fsync::new(file).flags(FsyncFlags::DATASYNC).build(),
            (RequestOp::Fsync, _) => opcode::Fsync::new(file).build(),
            (RequestOp::SyncFileRange, _) => opcode::SyncFileRange::new(file, request.length)
                .offset(request.offset)
                .flags(WRITE_RANGE_BACK)
                .build(),
            (RequestOp::Read, buffer) => {
                let buffer = buffer.expect("admitted with a buffer");
                let (data, length, offset) = (buffer.data(), request.length, request.offset);
                match self.registered_buffers.as_ref().and_then(|registered| registered.index_of(buffer)) {
                    Some(index) => opcode::ReadFixed::new(file, data, length, index).offset(offset).build(),
                    None => opcode::Read::new(file, data, length).offset(offset).build(),
                }
            }
            (RequestOp::Write, buffer) => {
                let buffer = buffer.expect("admitted with a buffer");
                let (data, length, offset) = (buffer.data(), request.length, request.offset);
                match self.registered_buffers.as_ref().and_then(|registered| registered.index_of(buffer)) {
                    Some(index) => opcode::WriteFixed::new(file, data, length, index).offset(offset).build(),
                    None => opcode::Write::new(file, data, length).offset(offset).build(),
                }
            }
            (RequestOp::WriteThrough, buffer) => {
                let buffer = buffer.expect("admitted with a buffer");
                let write = opcode::Write::new(file, buffer.data(), request.length);
                write.offset(request.offset).rw_flags(libc::RWF_DSYNC).build()
            }
        };
        entry.flags(self.file_flags).user_data(u64::from(request.token))
    }

    #[inline]
    fn reap(&mut self, completions: &mut Vec<Completion>) -> u32 {
        let mut reaped = 0;
        for entry in self.ring.completion() {
            // The token that `push` put in.
            let token = u32::try_from(entry.user_data()).unwrap_or(u32::MAX);
            self.tokens.release(token);
            let result = u32::try_from(entry.result()).map_err(|_| IoFailure(-entry.result()));
            completions.push(Completion { token, result, buffer: self.buffers[token as usize].take() });
            reaped += 1;
        }
        reaped
    }

    /// Whether an enter would post more completions. With deferred task work the kernel posts only inside an
    /// enter; the flag tells whether one is needed.
    fn work_pending(&mut self) -> bool {
        let in_kernel = self.tokens.in_flight() - self.pushed;
        in_kernel > 0 && (!self.flags_pending_work || self.ring.submission().taskrun())
    }

    /// One call: hands over `to_submit` entries, then waits for `completions` no longer than `timeout_ns`, and for more than one
    /// of them no longer than `batch_ns`.
    fn enter(
        &mut self,
        to_submit: u32,
        completions: u32,
        timeout_ns: Option<u64>,
        batch_ns: Option<u64>,
    ) -> Result<Entered, EngineError> {
        self.calls += 1;
        let (timeout_ns, min_wait_us) = match batch_ns {
            Some(batch_ns) if self.has_batch_wait => {
                (timeout_ns, u32::try_from(batch_ns.div_ceil(1_000)).unwrap_or(u32::MAX))
            }
            // An older kernel can only give the whole wait up.
            Some(batch_ns) => (Some(timeout_ns.map_or(batch_ns, |timeout_ns| timeout_ns.min(batch_ns))), 0),
            None => (timeout_ns, 0),
        };
        match self.handle.enter(to_submit, completions, timeout_ns, min_wait_us) {
            Ok(submitted) => {
                self.pushed -= submitted;
                Ok(Entered::Progress)
            }
            Err(Errno::INTR) => Ok(Entered::Progress),
            Err(Errno::TIME) if batch_ns.is_some() => Ok(Entered::Progress),
            Err(Errno::TIME) => Ok(Entered::TimedOut),
            Err(Errno::AGAIN | Errno::BUSY) => Ok(Entered::Full),
            Err(errno) => Err(EngineError::System { call: "io_uring_enter", source: errno.into() }),
        }
    }

    /// Cancels what can be cancelled, and waits until the kernel has released every buffer.
    fn drain(&mut self) -> Result<(), EngineError> {
        let mut in_kernel = self.tokens.in_flight() - self.pushed;
        if in_kernel > 0 {
            // Only to be faster: kernels before 6.0 cannot cancel, and requests already at the device run to
            // their end.
            let _ = self.ring.submitter().register_sync_cancel(Some(Timespec::new()), CancelBuilder::any());
        }
        while in_kernel > 0 {
            in_kernel -= u32::try_from(self.ring.completion().count()).unwrap_or(in_kernel);
            if in_kernel > 0 {
                self.enter(0, 1, None, None)?;
            }
        }
        Ok(())
    }
}

impl Engine for UringEngine {
    fn report(&self) -> EngineReport {
        self.report.clone()
    }

    fn capacity(&self) -> u32 {
        self.tokens.capacity()
    }

    fn in_flight(&self) -> u32 {
        self.tokens.in_flight()
    }

    #[inline]
    fn push(&mut self, mut request: Request) {
        self.tokens.admit(&request);
        let entry = self.entry(&mut request);
        self.buffers[request.token as usize] = request.buffer;
        // SAFETY: the entry's address and length lie in a buffer that `buffers` now holds until the kernel
        // has completed the request (or, if the ring breaks, for ever: see `drop`), and nobody accesses its
        // content meanwhile. Moving a `Buffer` does not move its memory.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        assert!(pushed.is_ok(), "the submission queue has an entry for each request in flight");
        self.pushed += 1;
    }

    fn submit(&mut self, wait: Wait, completions: &mut Vec<Completion>) -> Result<(), EngineError> {
        let mut wanted = if wait.timeout_ns == Some(0) { 0 } else { wait.completions.min(self.in_flight()) };
        let mut reaped = self.reap(completions);
        if self.pushed == 0 && reaped >= wanted && !self.work_pending() {
            return Ok(());
        }
        let deadline_ns = match wait.timeout_ns {
            Some(timeout_ns) if reaped < wanted => Some(self.clock.now_ns().saturating_add(timeout_ns)),
            _ => None,
        };
        let mut timeout_ns = wait.timeout_ns;
        loop {
            let missing = wanted.saturating_sub(reaped);
            let batch_ns = wait.batch_ns.filter(|_| missing > 1);
            let entered = self.enter(self.pushed, missing, timeout_ns.filter(|_| missing > 0), batch_ns)?;
            reaped += self.reap(completions);
            if batch_ns.is_some() {
                // The batch's time is over: return what has completed, or wait for the first.
                wanted = 1;
            }
            match entered {
                Entered::TimedOut => return Ok(()),
                Entered::Progress => {}
                Entered::Full => {
                    if self.tokens.in_flight() == self.pushed {
                        let source = Errno::AGAIN.into();
                        return Err(EngineError::System { call: "io_uring_enter", source });
                    }
                    self.enter(0, 1, timeout_ns, None)?;
                    reaped += self.reap(completions);
                }
            }
            if self.pushed == 0 && reaped >= wanted {
                return Ok(());
            }
            if let Some(deadline_ns) = deadline_ns {
                let left_ns = deadline_ns.saturating_sub(self.clock.now_ns());
                if left_ns == 0 && self.pushed == 0 {
                    return Ok(());
                }
                timeout_ns = Some(left_ns);
            }
        }
    }

    fn calls(&self) -> u64 {
        self.calls
    }
}

impl Drop for UringEngine {
    fn drop(&mut self) {
        if self.drain().is_err() {
            // The ring is broken and the kernel may still write to these: leak them rather than reuse them.
            std::mem::forget(std::mem::take(&mut self.buffers));
        }
        self.handle.unregister();
        // The ring would release both, but later; files must be closed when their engine is gone.
        let submitter = self.ring.submitter();
        if self.file_flags.contains(Flags::FIXED_FILE) {
            let _ = submitter.unregister_files();
        }
        if self.registered_buffers.is_some() {
            let _ = submitter.unregister_buffers();
        }
    }
}

impl std::fmt::Debug for UringEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UringEngine")
            .field("tokens", &self.tokens)
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}
