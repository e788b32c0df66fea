//! Registers files and buffers with a ring, so that no request looks them up.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use io_uring::IoUring;
use io_uring::squeue::Flags;
use iostall_measure::{Feature, Unavailable};
use rustix::process::{Resource, getrlimit};

use crate::buffer::{Buffer, BufferPool};
use crate::report::EngineReport;

/// The largest piece of memory that the kernel registers as one, and the most pieces per ring.
const PIECE_BYTES_MAX: usize = 1 << 30;
const PIECE_COUNT_MAX: usize = 1 << 14;

/// Registers `files`; returns how entries refer to them, and with which flag.
pub(super) fn files(ring: &IoUring, files: &[OwnedFd], report: &mut EngineReport) -> (Vec<RawFd>, Flags) {
    let descriptors: Vec<RawFd> = files.iter().map(AsRawFd::as_raw_fd).collect();
    if descriptors.is_empty() {
        return (descriptors, Flags::empty());
    }
    match ring.submitter().register_files(&descriptors) {
        Ok(()) => {
            report.features.push("registered files".into());
            ((0..).take(descriptors.len()).collect(), Flags::FIXED_FILE)
        }
        Err(error) => {
            report.refused.push(Unavailable::new(Feature::RegisteredFiles, error));
            (descriptors, Flags::empty())
        }
    }
}

pub(super) struct RegisteredBuffers {
    pool: BufferPool,
    /// A piece ends between two buffers, because a request may not cross its end.
    slots_per_piece: u32,
}

impl RegisteredBuffers {
    /// The piece that `buffer` lies in; `None` if it belongs to another pool.
    #[inline]
    pub(super) fn index_of(&self, buffer: &Buffer) -> Option<u16> {
        if !self.pool.owns(buffer) {
            return None;
        }
        if buffer.index() < self.slots_per_piece {
            return Some(0);
        }
        u16::try_from(buffer.index() / self.slots_per_piece).ok()
    }
}

/// Registers `pool`, in several pieces if it exceeds the size of one.
pub(super) fn buffers(
    ring: &IoUring,
    pool: &BufferPool,
    report: &mut EngineReport,
) -> Option<RegisteredBuffers> {
    let mut refuse = |cause: String| {
        report.refused.push(Unavailable::new(Feature::RegisteredBuffers, cause));
        None
    };
    let Some(pieces) = Pieces::of(pool.used_bytes(), pool.slot_bytes()) else {
        return refuse(format!(
            "{} bytes in {} each cannot be cut to the kernel's measure",
            pool.used_bytes(),
            pool.slot_bytes()
        ));
    };
    let start = pool.start().as_ptr();
    let iovecs: Vec<libc::iovec> = pieces
        .ranges()
        .map(|(offset, bytes)| libc::iovec { iov_base: start.wrapping_add(offset).cast(), iov_len: bytes })
        .collect();
    // SAFETY: the memory stays mapped while registered: `RegisteredBuffers` keeps the pool, and the engine
    // keeps that and unregisters it when dropped. Access to the content is checked for each request.
    match unsafe { ring.submitter().register_buffers(&iovecs) } {
        Ok(()) => {
            report.features.push("registered buffers".into());
            Some(RegisteredBuffers { pool: pool.clone(), slots_per_piece: pieces.slots_per_piece })
        }
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOMEM | libc::EPERM)) => {
            let limit = match getrlimit(Resource::Memlock).current {
                Some(bytes) => format!("{} KiB", bytes / 1024),
                None => "unlimited".into(),
            };
            refuse(format!(
                "{error}: locked memory is limited to {limit}; raise it with `ulimit -l {}` or more",
                pool.mapped_bytes() / 1024
            ))
        }
        Err(error) => refuse(error.to_string()),
    }
}

struct Pieces {
    slots_per_piece: u32,
    piece_bytes: usize,
    used_bytes: usize,
}

impl Pieces {
    fn of(used_bytes: usize, slot_bytes: usize) -> Option<Self> {
        let slots = PIECE_BYTES_MAX / slot_bytes;
        let piece_bytes = slots * slot_bytes;
        if slots == 0 || used_bytes.div_ceil(piece_bytes) > PIECE_COUNT_MAX {
            return None;
        }
        Some(Self { slots_per_piece: u32::try_from(slots).ok()?, piece_bytes, used_bytes })
    }

    fn ranges(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.used_bytes)
            .step_by(self.piece_bytes)
            .map(|offset| (offset, self.piece_bytes.min(self.used_bytes - offset)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_buffer_lies_whole_in_the_piece_that_its_index_names(
            pages in 1usize..40_000, count in 1usize..200_000, pick in 0.0..1.0f64,
        ) {
            let slot_bytes = pages * 4096;
            let used_bytes = slot_bytes * count;
            let pieces = Pieces::of(used_bytes, slot_bytes);
            prop_assume!(pieces.is_some());
            let pieces = pieces.unwrap();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below `count`")]
            let index = (pick * count as f64) as usize;
            let (offset, bytes) = pieces.ranges().nth(index / pieces.slots_per_piece as usize).unwrap();
            prop_assert!(offset <= index * slot_bytes);
            prop_assert!((index + 1) * slot_bytes <= offset + bytes);
            prop_assert!(bytes <= PIECE_BYTES_MAX);
            prop_assert_eq!(pieces.ranges().map(|(_, bytes)| bytes).sum::<usize>(), used_bytes);
        }
    }

    #[test]
    fn a_buffer_longer_than_a_piece_is_not_registered() {
        assert!(Pieces::of(4 << 30, 2 << 30).is_none());
        assert!(Pieces::of(2 << 30, 1 << 30).is_some());
    }
}
