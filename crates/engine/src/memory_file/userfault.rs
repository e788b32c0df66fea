//! `userfaultfd(2)`, as much of it as putting pages into a shared mapping takes.
//!
//! Structures, numbers and flags are those of `linux/userfaultfd.h`, a stable interface of the kernel.

#![expect(unsafe_code, reason = "makes ioctls and maps a file whose memory is never touched from here")]

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr;

use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use rustix::mm::{Advice, MapFlags, ProtFlags, UserfaultfdFlags, madvise, mmap, munmap, userfaultfd};

const GROUP: u8 = 0xaa;
const API: u64 = 0xaa;
const REGISTER_MISSING: u64 = 1;
/// Bit of `UFFDIO_COPY` in what registering answers.
const CAN_COPY: u64 = 1 << 3;
/// Nobody waits for a page, so nobody is to be woken.
const COPY_WITHOUT_WAKE: u64 = 1;
/// Only faults of user space are handled: what a process without privileges may ask for. Since Linux 5.11.
const USER_MODE_ONLY: u32 = 1;
/// How often in a row a call may be interrupted without having moved anything.
const TRIES_MAX: u32 = 100;

#[repr(C)]
struct AskApi {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct Register {
    start: u64,
    bytes: u64,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct Copy {
    to: u64,
    from: u64,
    bytes: u64,
    mode: u64,
    copied: i64,
}

const ASK_API: Opcode = opcode::read_write::<AskApi>(GROUP, 0x3f);
const REGISTER: Opcode = opcode::read_write::<Register>(GROUP, 0x00);
const COPY: Opcode = opcode::read_write::<Copy>(GROUP, 0x03);

/// A shared mapping of a file in which missing pages can be filled.
#[derive(Debug)]
pub(super) struct Pages {
    start: *mut u8,
    bytes: usize,
    faults: OwnedFd,
}

// SAFETY: the mapping is bound to no thread, and this type never reads or writes through its address: the kernel
// fills pages, each call whole or not at all.
unsafe impl Send for Pages {}
// SAFETY: as for `Send`; two calls that fill one page are settled by the kernel (the second is refused).
unsafe impl Sync for Pages {}

impl Pages {
    /// Maps the first `bytes` of `file`, a multiple of the page size that the file (rounded up) must reach.
    /// Fails where the kernel or a policy has no userfaultfd for this process or none for such a file.
    pub(super) fn map(file: BorrowedFd<'_>, bytes: usize) -> io::Result<Self> {
        let flags = UserfaultfdFlags::CLOEXEC | UserfaultfdFlags::from_bits_retain(USER_MODE_ONLY);
        // SAFETY: a new descriptor; no memory is registered with it yet.
        let faults = unsafe { userfaultfd(flags) }?;
        let mut api = AskApi { api: API, features: 0, ioctls: 0 };
        // SAFETY: the number and the structure belong together, see `linux/userfaultfd.h`.
        unsafe { ioctl(&faults, Updater::<ASK_API, _>::new(&mut api)) }?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice touches nothing that exists.
        let start = unsafe { mmap(ptr::null_mut(), bytes, access, MapFlags::SHARED, file, 0) }?;
        let pages = Self { start: start.cast(), bytes, faults };
        let mut register =
            Register { start: start as u64, bytes: bytes as u64, mode: REGISTER_MISSING, ioctls: 0 };
        // SAFETY: as above; the range is our own mapping, which nobody touches, so nobody ever waits for a fault.
        unsafe { ioctl(pages.faults.as_fd(), Updater::<REGISTER, _>::new(&mut register)) }?;
        if register.ioctls & CAN_COPY == 0 {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(pages)
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Fills missing pages from `offset` with `data`, both whole pages within the mapping, and answers how many
    /// bytes were filled: fewer than there are where a page is there already or none can be had.
    pub(super) fn fill(&self, offset: usize, data: &[u8]) -> usize {
        let (mut filled, mut tries) = (0, 0);
        while filled < data.len() && tries < TRIES_MAX {
            let rest = &data[filled..];
            let mut copy = Copy {
                to: (self.start as usize + offset + filled) as u64,
                from: rest.as_ptr() as u64,
                bytes: rest.len() as u64,
                mode: COPY_WITHOUT_WAKE,
                copied: 0,
            };
            // SAFETY: the kernel reads `rest`, which is borrowed for the call, and writes to pages of the file through
            // a range it checks against the registration; `copy` is the structure of this number.
            let answer = unsafe { ioctl(self.faults.as_fd(), Updater::<COPY, _>::new(&mut copy)) };
            match answer {
                Ok(()) => filled = data.len(),
                // Interrupted by a change of the address space, or stopped after a part of the way.
                Err(Errno::AGAIN) => {
                    let moved = usize::try_from(copy.copied).unwrap_or(0);
                    filled += moved;
                    tries = if moved > 0 { 0 } else { tries + 1 };
                }
                Err(_) => break,
            }
        }
        self.forget(offset, filled);
        filled
    }

    /// The pages stay in the file; this process need not be charged for seeing them.
    fn forget(&self, offset: usize, bytes: usize) {
        debug_assert!(offset + bytes <= self.bytes, "{bytes} bytes at {offset} of {}", self.bytes);
        // SAFETY: the range is inside our mapping, whose memory nobody here refers to; of a shared mapping only the
        // view is dropped, never data. A refusal costs memory accounting and nothing else.
        let _ = unsafe { madvise(self.start.add(offset).cast(), bytes, Advice::LinuxDontNeed) };
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours alone and its last user is gone with `self`.
        let _ = unsafe { munmap(self.start.cast(), self.bytes) };
    }
}
