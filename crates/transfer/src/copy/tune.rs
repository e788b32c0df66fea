//! Choosing sizes and depths by measuring: the beginning of the file is copied with each of a few shapes.

use iostall_engine::Engine as _;
use iostall_engine::FileIndex;
use iostall_measure::Clock as _;
use std::os::fd::AsFd as _;

use super::Copier;
use super::error::CopyError;
use super::side::Side;
use crate::pipeline::{Job, Pipeline};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::rig::Rig;
use crate::shape::{Shape, TUNING_STEPS};

/// How often each shape is tried: the first read of a place may have filled a cache below us.
const ROUNDS: u32 = 2;
/// A file is worth measuring for when it has this many samples in it.
const SAMPLES_IN_FILE: u64 = 32;
/// Smallest and largest sample, bytes.
const SAMPLE_BYTES: (u64, u64) = (8 << 20, 256 << 20);

impl Copier<'_> {
    /// Measures once, on the first file that is large enough, and keeps the fastest shape. What is written meanwhile
    /// are the file's own bytes in their own places, and they are written again by the copy.
    pub(super) fn tune(&mut self, from: &Side, to: &Side) -> Result<(), CopyError> {
        let sample_bytes = (from.stamp.size_bytes / SAMPLES_IN_FILE).min(SAMPLE_BYTES.1);
        if !self.options.tune || self.tuned.is_some() || sample_bytes < SAMPLE_BYTES.0 {
            return Ok(());
        }
        let usual = self.choose_shape(true);
        let mut best: Option<(u64, Shape)> = None;
        for round in 0..ROUNDS {
            for (transfer_bytes, depth) in TUNING_STEPS {
                if self.progress.is_cancelled() {
                    return Ok(());
                }
                let shape = Shape { transfer_bytes, reads_max: depth, writes_max: depth, ..usual };
                let taken_ns = self.try_shape(from, to, shape, sample_bytes)?;
                if round > 0 && best.is_none_or(|(least_ns, _)| taken_ns < least_ns) {
                    best = Some((taken_ns, shape));
                }
            }
        }
        self.tuned = best.map(|(_, shape)| shape);
        Ok(())
    }

    /// How long a sample takes with one shape, nanoseconds.
    fn try_shape(&self, from: &Side, to: &Side, shape: Shape, sample_bytes: u64) -> Result<u64, CopyError> {
        let path = from.path();
        let mut rig = Rig::new(shape.buffer_count(), shape.transfer_bytes)
            .map_err(CopyError::system("map buffers for", path))?;
        let engine = rig.engine(&[from.file().as_fd(), to.file().as_fd()])?;
        debug_assert!(engine.capacity() > shape.buffer_count());
        // Its own: what is tried is not what is done.
        let progress = Progress::default();
        let mut pipeline = Pipeline::new(engine, self.clock.clone(), rig.lend());
        let begun_ns = self.clock.now_ns();
        let moved = pipeline.run(Job {
            source: FileIndex(0),
            target: Some(FileIndex(1)),
            plan: Plan::whole(sample_bytes, shape.transfer_bytes),
            source_align: from.align,
            target_align: to.align,
            reads_max: shape.reads_max,
            writes_max: shape.writes_max,
            hashes: None,
            rate: None,
            journal: None,
            behind: None,
            progress: &progress,
        });
        let taken_ns = self.clock.now_ns() - begun_ns;
        moved.map_err(|cause| CopyError::Moving {
            from: path.to_owned(),
            to: to.path().to_owned(),
            cause,
            kept: false,
        })?;
        Ok(taken_ns)
    }
}
