//! Enters a ring by its registered index, which saves the kernel a descriptor lookup per call. The `io-uring`
//! crate offers it only on a handle that borrows the ring, so the two calls are made here.

use std::os::fd::RawFd;
use std::ptr;

use io_uring::EnterFlags;
use io_uring::types::{SubmitArgs, Timespec};
use iostall_measure::{Feature, Unavailable};
use rustix::io::Errno;

use crate::report::EngineReport;

/// `IORING_REGISTER_RING_FDS` and its opposite, from `linux/io_uring.h`.
const REGISTER_RING_FDS: libc::c_uint = 20;
const UNREGISTER_RING_FDS: libc::c_uint = 21;

/// `struct io_uring_rsrc_update` of `linux/io_uring.h`, the argument of both.
#[repr(C)]
struct RingUpdate {
    /// The index; all ones lets the kernel choose and write its choice here.
    offset: u32,
    reserved: u32,
    ring_fd: u64,
}

pub(super) struct RingHandle {
    ring_fd: RawFd,
    /// `None` if the kernel (before 5.18) has no registered rings.
    index: Option<u32>,
}

impl RingHandle {
    pub(super) fn new(ring_fd: RawFd, report: &mut EngineReport) -> Self {
        let mut update =
            RingUpdate { offset: u32::MAX, reserved: 0, ring_fd: u64::from(ring_fd.cast_unsigned()) };
        match register(ring_fd, REGISTER_RING_FDS, &mut update) {
            Ok(()) => {
                report.features.push("registered ring".into());
                Self { ring_fd, index: Some(update.offset) }
            }
            Err(errno) => {
                report.refused.push(Unavailable::new(Feature::RegisteredRing, errno));
                Self { ring_fd, index: None }
            }
        }
    }

    /// Submits up to `to_submit` entries, posts completions, and waits for `completions` of them, at most
    /// `timeout_ns`; after `min_wait_us` microseconds one is enough (0: never; kernel 6.12). Returns the
    /// number of entries taken.
    #[inline]
    pub(super) fn enter(
        &self,
        to_submit: u32,
        completions: u32,
        timeout_ns: Option<u64>,
        min_wait_us: u32,
    ) -> Result<u32, Errno> {
        let timespec;
        let args = SubmitArgs::new().min_wait_usec(min_wait_us);
        let with_time;
        let arg = match timeout_ns {
            None if min_wait_us == 0 => None,
            None => Some(&args),
            Some(timeout_ns) => {
                let nanoseconds = u32::try_from(timeout_ns % 1_000_000_000).unwrap_or(0);
                timespec = Timespec::new().sec(timeout_ns / 1_000_000_000).nsec(nanoseconds);
                with_time = args.timespec(&timespec);
                Some(&with_time)
            }
        };
        let mut flags = EnterFlags::GETEVENTS;
        let (arg, arg_bytes) = match arg {
            None => (ptr::null(), 0),
            Some(arg) => {
                flags |= EnterFlags::EXT_ARG;
                (ptr::from_ref(arg).cast::<libc::c_void>(), size_of::<SubmitArgs<'_, '_>>())
            }
        };
        let fd = match self.index {
            Some(index) => {
                flags |= EnterFlags::REGISTERED_RING;
                libc::c_long::from(index)
            }
            None => libc::c_long::from(self.ring_fd),
        };
        // SAFETY: `arg` is null with a size of zero, or points to arguments (and through them to a time) that
        // live to the end of this function. The entries taken were checked when they were pushed.
        let taken = unsafe {
            libc::syscall(libc::SYS_io_uring_enter, fd, to_submit, completions, flags.bits(), arg, arg_bytes)
        };
        u32::try_from(taken).map_err(|_| last_errno())
    }

    /// Releases the index: a thread has only 16.
    pub(super) fn unregister(&mut self) {
        if let Some(index) = self.index.take() {
            let mut update = RingUpdate { offset: index, reserved: 0, ring_fd: 0 };
            let _ = register(self.ring_fd, UNREGISTER_RING_FDS, &mut update);
        }
    }
}

fn register(ring_fd: RawFd, operation: libc::c_uint, update: &mut RingUpdate) -> Result<(), Errno> {
    let one: libc::c_uint = 1;
    // SAFETY: both operations read and write exactly one `RingUpdate`, which is borrowed for the call.
    let done =
        unsafe { libc::syscall(libc::SYS_io_uring_register, ring_fd, operation, ptr::from_mut(update), one) };
    if done == 1 { Ok(()) } else { Err(last_errno()) }
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}
