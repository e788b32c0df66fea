//! Options of a backup, and what is made of them.

use std::path::PathBuf;
use std::sync::Arc;

use iostall_model::backup::{BackupSettings, Compression, ObjectLock};

use super::base::Base;
use super::error::CreateError;
use crate::backup::codec::{Lock, compressed_bytes_max};
use crate::backup::format::{
    BLOCK_BYTES_MIN, FRAME_BYTES_MAX, FRAME_BYTES_MIN, STRIPES_MAX, TAG_BYTES, frame_block_bytes,
};
use crate::rate::RateLimit;

/// Unit of checksum and compression, unless the user chooses: large enough for the compressor, small enough for one file to be
/// restored alone.
const FRAME_BYTES: u32 = 1 << 20;
/// One request to the source: large requests are what a device reads fastest.
const TRANSFER_BYTES: u32 = 4 << 20;
/// Reads in flight that keep a device busy, also one behind a network.
const READS: u32 = 8;
/// Threads that read small files, which wait for the file system and not for the CPU.
const FILLERS: u32 = 4;

#[derive(Clone, Debug, Default)]
pub struct CreateOptions {
    /// One file for each stripe; none writes nothing, to measure everything but the targets.
    pub targets: Vec<PathBuf>,
    pub compression: Compression,
    pub frame_bytes: Option<u32>,
    pub transfer_bytes: Option<u32>,
    pub buffers: Option<u32>,
    pub workers: Option<u32>,
    pub rate: Option<Arc<RateLimit>>,
    pub limit_bytes_per_second: Option<u64>,
    /// Who can read the backup; everybody if `None`.
    pub lock: Option<Lock>,
    /// Until when a store keeps everything from those who would delete it.
    pub object_lock: Option<ObjectLock>,
    /// Only what differs from this set is stored.
    pub base: Option<Arc<Base>>,
    pub tool_version: String,
    /// Name of this machine, for the record: two machines may back up the same path to one place.
    pub host: String,
}

impl CreateOptions {
    pub fn settings(&self) -> Result<BackupSettings, CreateError> {
        Ok(Shape::of(self)?.settings(self))
    }

    pub fn memory_bytes(&self) -> Result<u64, CreateError> {
        let shape = Shape::of(self)?;
        Ok(u64::from(shape.buffers) * u64::from(shape.buffer_bytes))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) block_bytes: u32,
    pub(super) frame_bytes: u32,
    pub(super) transfer_bytes: u32,
    /// One request to the source; less than a transfer only under a low rate limit.
    pub(super) read_bytes: u32,
    pub(super) buffer_bytes: u32,
    pub(super) buffers: u32,
    pub(super) workers: u32,
    pub(super) fillers: u32,
    pub(super) reads_max: u32,
    pub(super) writes_max: u32,
    /// Stripes, or workers if there are more: each gets its part even of little.
    pub(super) shares: u32,
}

impl Shape {
    pub(super) fn of(options: &CreateOptions) -> Result<Self, CreateError> {
        let refused = |message: String| Err(CreateError::Settings(message));
        let stripes = u32::try_from(options.targets.len()).unwrap_or(u32::MAX);
        if stripes > STRIPES_MAX.into() {
            return refused(format!("a backup has at most {STRIPES_MAX} stripes, and {stripes} were named"));
        }
        let of_base = options.base.as_ref().map(|base| base.frame_bytes);
        let frame_bytes = options.frame_bytes.or(of_base).unwrap_or(FRAME_BYTES);
        if let Some(other) = of_base.filter(|other| *other != frame_bytes) {
            return refused(format!(
                "frames of {frame_bytes} bytes: an increment has those of its base, {other} bytes"
            ));
        }
        if options.lock.is_none() && options.base.as_ref().is_some_and(|base| base.is_encrypted) {
            return Err(CreateError::NotLocked);
        }
        if !frame_bytes.is_power_of_two() || !(FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&frame_bytes) {
            return refused(format!(
                "a frame of {frame_bytes} bytes: it must be a power of two from 64K to 64M"
            ));
        }
        let transfer_bytes = options.transfer_bytes.unwrap_or(TRANSFER_BYTES.max(frame_bytes));
        if transfer_bytes == 0
            || transfer_bytes > FRAME_BYTES_MAX
            || !transfer_bytes.is_multiple_of(frame_bytes)
        {
            return refused(format!(
                "a transfer of {transfer_bytes} bytes: it must be a multiple of the frame ({frame_bytes} bytes), at most 64M"
            ));
        }
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let processors = u32::try_from(processors).unwrap_or(1);
        let workers = options.workers.unwrap_or(processors.min(64));
        // A worker holds a frame and its spare buffer.
        let usual = READS + workers.max(FILLERS) * 2 + stripes.max(4) + 2;
        let buffers = options.buffers.unwrap_or(usual);
        if workers == 0 || workers > 1024 || buffers > 4096 || buffers < workers.saturating_mul(2) + 1 {
            return refused(format!(
                "{buffers} buffers for {workers} workers: there must be at least one worker, and two buffers for each and one more"
            ));
        }
        let read_bytes = match &options.rate {
            None => transfer_bytes,
            Some(rate) => transfer_bytes.min(rate.request_bytes_max()),
        };
        // Frames that are cut off by requests would not line up with those of the base.
        let whole = (read_bytes / frame_bytes).max(1) * frame_bytes;
        let read_bytes = if options.base.is_some() { whole } else { read_bytes };
        let block_bytes = BLOCK_BYTES_MIN;
        Ok(Self {
            block_bytes,
            frame_bytes,
            transfer_bytes,
            read_bytes,
            buffer_bytes: buffer_bytes(options.compression, frame_bytes, transfer_bytes, block_bytes),
            buffers,
            workers,
            fillers: workers.max(FILLERS).min((buffers - 1) / 2),
            reads_max: READS.min(buffers),
            writes_max: (buffers / stripes.max(1)).clamp(2, 8),
            shares: stripes.max(workers),
        })
    }

    /// Bytes of a request to large files that have `bytes` together: less than a transfer where that would leave stripes and
    /// workers without any.
    pub(super) fn read_bytes_of(&self, bytes: u64) -> u32 {
        let share = u32::try_from(bytes / u64::from(self.shares)).unwrap_or(u32::MAX);
        let whole = share / self.frame_bytes * self.frame_bytes;
        self.read_bytes.min(whole.max(self.frame_bytes))
    }

    /// Bytes of a bundle of small files: a frame, unless a rate asks for less.
    pub(super) fn bundle_bytes(&self) -> u32 {
        self.frame_bytes.min(self.read_bytes)
    }

    pub(super) fn bundles_per_transfer(&self, bundles: usize) -> usize {
        let share = bundles / self.shares as usize;
        share.clamp(1, (self.read_bytes / self.frame_bytes).max(1) as usize)
    }

    /// Frames in one transfer: the step between sequence numbers.
    pub(super) fn frames_per_transfer(&self) -> u32 {
        self.transfer_bytes / self.frame_bytes
    }

    /// Files up to this size share a frame with others, bytes.
    pub(super) fn small_bytes(&self) -> u64 {
        u64::from(self.frame_bytes / 4)
    }

    pub(super) fn settings(&self, options: &CreateOptions) -> BackupSettings {
        BackupSettings {
            stripes: u16::try_from(options.targets.len()).unwrap_or(u16::MAX),
            block_bytes: self.block_bytes,
            frame_bytes: self.frame_bytes,
            transfer_bytes: self.transfer_bytes,
            buffer_count: self.buffers,
            workers: self.workers,
            compression: options.compression,
            encrypted: options.lock.is_some(),
            limit_bytes_per_second: options.limit_bytes_per_second,
        }
    }
}

/// Room for a transfer whose frames are all stored as they are, and for the compressor to try the last one.
fn buffer_bytes(compression: Compression, frame_bytes: u32, transfer_bytes: u32, block_bytes: u32) -> u32 {
    let frame = frame_block_bytes(frame_bytes + TAG_BYTES, block_bytes);
    let whole = frame * u64::from(transfer_bytes / frame_bytes);
    let slack = compressed_bytes_max(compression, frame_bytes) - frame_bytes;
    u32::try_from(whole + u64::from(slack)).unwrap_or(u32::MAX).next_multiple_of(block_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(change: impl FnOnce(&mut CreateOptions)) -> Result<Shape, CreateError> {
        let mut options = CreateOptions::default();
        change(&mut options);
        Shape::of(&options)
    }

    #[test]
    fn a_buffer_has_room_for_a_transfer_that_does_not_shrink() {
        for compression in [Compression::None, Compression::Zstd(1), Compression::Lz4] {
            let shape = shape(|options| options.compression = compression).unwrap();
            // Four frames of 1 MiB, each with its header in a block of its own.
            assert!(shape.buffer_bytes >= (4 << 20) + 4 * 4096);
            assert_eq!(shape.buffer_bytes % 4096, 0);
            assert_eq!(shape.frames_per_transfer(), 4);
        }
        assert_eq!(shape(|options| options.frame_bytes = Some(8 << 20)).unwrap().transfer_bytes, 8 << 20);
    }

    #[test]
    fn settings_that_cannot_work_are_refused_in_words() {
        let refused = |change: fn(&mut CreateOptions)| shape(change).unwrap_err().to_string();
        assert!(refused(|options| options.frame_bytes = Some(100_000)).contains("power of two"));
        assert!(refused(|options| options.frame_bytes = Some(1 << 27)).contains("64M"));
        assert!(refused(|options| options.transfer_bytes = Some(3 << 19)).contains("multiple of the frame"));
        assert!(refused(|options| options.workers = Some(0)).contains("at least one worker"));
        let few = refused(|options| (options.workers, options.buffers) = (Some(4), Some(8)));
        assert!(few.contains("8 buffers for 4 workers"), "{few}");
        let many = refused(|options| options.targets = vec!["x".into(); 65]);
        assert!(many.contains("at most 64 stripes"), "{many}");
    }

    /// The story: eight frames were backed up onto four stripes, and one of them got five: a request of 4 MiB is four frames.
    #[test]
    fn of_little_every_stripe_and_every_worker_gets_a_part() {
        let shape = shape(|options| {
            options.targets = (0..4).map(|number| format!("{number}").into()).collect();
            options.workers = Some(2);
        });
        let shape = shape.unwrap();
        assert_eq!(shape.read_bytes_of(8 << 20), 2 << 20);
        assert_eq!(shape.read_bytes_of(1), 1 << 20, "a frame at least");
        assert_eq!(shape.read_bytes_of(1 << 40), 4 << 20);
        assert_eq!([0, 3, 8, 100].map(|bundles| shape.bundles_per_transfer(bundles)), [1, 1, 2, 4]);
    }

    /// A transfer that gives way has small requests on both sides, because a commit waits behind a whole one.
    #[test]
    fn a_transfer_that_gives_way_has_small_requests() {
        let shape =
            shape(|options| options.rate = Some(Arc::new(RateLimit::adjustable(1 << 30, 4)))).unwrap();
        assert_eq!((shape.read_bytes_of(1 << 40), shape.bundle_bytes()), (256 << 10, 256 << 10));
        assert_eq!(shape.bundles_per_transfer(1000), 1);
    }

    /// A limit of 1 MB/s with requests of 4 MiB would read for an instant and stand still for four seconds.
    #[test]
    fn a_low_limit_makes_requests_small() {
        let shape = shape(|options| options.rate = Some(Arc::new(RateLimit::new(1_000_000)))).unwrap();
        assert!(shape.read_bytes <= 100_000 && shape.read_bytes % 4096 == 0);
    }
}
