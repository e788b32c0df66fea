//! A piece of a restore that is thrown away, to see how fast the whole would be. It takes the path of a restore up to its names:
//! the same reads, workers and writes, into a directory that is removed at the end of the trial, however that ends.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use iostall_engine::guard::WriteConsent;
use iostall_measure::{Clock as _, MonotonicClock};

use super::batch::Writing;
use super::error::RestoreError;
use super::plan::Plan;
use super::roots::{Onto, Roots};
use super::tree::Tree;
use crate::backup::format::{FrameKind, IndexRecord};
use crate::backup::read::{OpenSet, OpenStripe, ReadChoice, ReadShape, Run};
use crate::backup::trial::{Phase, Shared, Trial, TrialLimit, rate};
use crate::progress::Progress;

/// What is made below the place for trials, with a temporary name.
const NAME: &str = "iostall-restore-tune";
/// A trial that ends so near to its time is not gone on with.
const NEARLY: f64 = 0.8;
/// Large files that one trial has open at most.
const OPEN_MAX: usize = 64;

/// A set of which pieces are restored, again and again, and thrown away.
pub struct RestoreSample<'s> {
    pub(super) set: &'s OpenSet,
    plan: Plan<'s>,
    /// Content of frames with small files, and of all.
    small_bytes: u64,
    bytes: u64,
    stored_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreShape {
    /// Reads in flight, and as many writes.
    pub depth: u32,
    pub workers: u32,
    pub transfer_bytes: u32,
    pub buffer_count: u32,
    pub memory_bytes: u64,
}

/// The directory of trials below a place. It is removed when this is dropped.
pub(super) struct Scratch {
    pub(super) roots: Roots,
    is_removed: bool,
}

impl Scratch {
    pub(super) fn below(place: &Path) -> Result<Self, RestoreError> {
        let roots = Roots::prepare(&place.join(NAME), None, &WriteConsent::default(), &[])?;
        Ok(Self { roots, is_removed: false })
    }

    pub(super) fn remove(mut self) -> Result<(), RestoreError> {
        self.is_removed = true;
        if self.roots.abandon() {
            return Ok(());
        }
        Err(RestoreError::TrialLeft { path: self.roots.main.temporary.clone() })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.is_removed {
            // Already failing with another error.
            self.roots.abandon();
        }
    }
}

pub(super) fn is_content(record: &IndexRecord) -> bool {
    matches!(record.kind, FrameKind::Data | FrameKind::Bundle)
}

impl<'s> RestoreSample<'s> {
    pub fn of(set: &'s OpenSet) -> Result<Self, RestoreError> {
        set.check_usable()?;
        let plan = Plan::new(&set.manifest, &[])?;
        let records = || set.stripes.iter().flat_map(OpenStripe::records).filter(|record| is_content(record));
        let sum = |of: fn(&IndexRecord) -> u32| records().map(|record| u64::from(of(record))).sum();
        let small = records().filter(|record| record.kind == FrameKind::Bundle);
        Ok(Self {
            set,
            plan,
            small_bytes: small.map(|record| u64::from(record.plain_length)).sum(),
            bytes: sum(|record| record.plain_length),
            stored_bytes: sum(|record| record.stored_length),
        })
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn stored_share(&self) -> f64 {
        self.stored_bytes as f64 / (self.bytes as f64).max(1.0)
    }

    /// Bytes of its frames: requests are multiples of it.
    pub fn frame_bytes(&self) -> u32 {
        self.set.manifest.settings.frame_bytes
    }

    pub fn shape(&self, choice: ReadChoice) -> RestoreShape {
        let shape = ReadShape::of(self.set, true, choice);
        RestoreShape {
            depth: shape.depth,
            workers: shape.workers,
            transfer_bytes: shape.transfer_bytes(),
            buffer_count: shape.buffer_count(),
            memory_bytes: shape.memory_bytes(),
        }
    }

    /// Restores pieces into a directory of its own below `place`, within `limit`, and leaves nothing. The first is at this share
    /// of the set (0 to 1).
    pub fn trial(
        &self,
        place: &Path,
        choice: ReadChoice,
        from: f64,
        limit: TrialLimit,
        cancel: &Arc<AtomicBool>,
    ) -> Result<Trial, RestoreError> {
        let shape = ReadShape::of(self.set, true, choice);
        let (mut all, mut spent_ns) = (Pass::default(), 0);
        let limit_ns = limit.seconds * 1e9;
        // A small set is restored as often as there is time.
        while all.bytes() == 0 || (spent_ns as f64) < limit_ns * NEARLY {
            let seconds = (limit_ns - spent_ns as f64) / 1e9;
            let scratch = Scratch::below(place)?;
            let pass = self.pass(&scratch.roots, &shape, from, TrialLimit { seconds, ..limit }, cancel)?;
            scratch.remove()?;
            spent_ns += pass.elapsed_ns().max(1);
            all.add(&pass);
            if pass.bytes() == 0 {
                break;
            }
        }
        let source_bytes = all.bytes();
        Ok(Trial { bytes_per_s: rate(&all.phases, all.sync_ns), source_bytes, stored_bytes: all.read_bytes })
    }

    fn pass(
        &self,
        roots: &Roots,
        shape: &ReadShape,
        from: f64,
        limit: TrialLimit,
        cancel: &Arc<AtomicBool>,
    ) -> Result<Pass, RestoreError> {
        let (clock, progress) = (MonotonicClock::new(), Progress::new(Arc::clone(cancel)));
        let Shared { shares, seconds } =
            Shared::of(self.small_bytes as f64 / (self.bytes as f64).max(1.0), limit.seconds);
        let both = shares.iter().all(|share| *share > 0.0);
        let bytes = if both { limit.bytes / 2 } else { limit.bytes };
        let tree = Tree::new(&self.plan, Onto::Directories(roots));
        tree.make_directories()?;
        let mut writing = Writing::new(self.set, &tree, *shape, None, &progress)?;
        let mut pass = Pass::default();
        for (number, (share, seconds)) in shares.into_iter().zip(seconds).enumerate() {
            if share <= 0.0 {
                continue;
            }
            writing.limit(seconds);
            let (begun_ns, before) = (clock.now_ns(), progress.now().bytes_done);
            if number == 0 {
                writing.bundles(&piece(&writing.bundle_runs(false), from, bytes, &|_| 0))?;
            } else {
                writing.data(piece(&writing.data_runs(), from, bytes, &|run| writing.file_of(run)))?;
            }
            let moved = progress.now().bytes_done - before;
            pass.phases[number] = Phase { share, bytes: moved, elapsed_ns: clock.now_ns() - begun_ns };
        }
        pass.read_bytes = writing.stripes.iter().map(|stripe| stripe.bytes).sum();
        let begun_ns = clock.now_ns();
        roots.sync()?;
        pass.sync_ns = clock.now_ns() - begun_ns;
        Ok(pass)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Pass {
    phases: [Phase; 2],
    sync_ns: u64,
    read_bytes: u64,
}

impl Pass {
    fn bytes(&self) -> u64 {
        self.phases.iter().map(|phase| phase.bytes).sum()
    }

    fn elapsed_ns(&self) -> u64 {
        self.phases.iter().map(|phase| phase.elapsed_ns).sum::<u64>() + self.sync_ns
    }

    fn add(&mut self, other: &Self) {
        for (phase, other) in self.phases.iter_mut().zip(&other.phases) {
            phase.share = other.share;
            phase.bytes += other.bytes;
            phase.elapsed_ns += other.elapsed_ns;
        }
        self.sync_ns += other.sync_ns;
        self.read_bytes += other.read_bytes;
    }
}

/// Adjacent runs with up to `bytes` of content and of few files, at the place `from` (0 to 1) of those where so much follows.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a number is one")]
pub(super) fn piece(runs: &[Run], from: f64, bytes: u64, file_of: &dyn Fn(&Run) -> u64) -> Vec<Run> {
    let total: u64 = runs.iter().map(|run| u64::from(run.plain_length)).sum();
    let begin = (total.saturating_sub(bytes) as f64 * from.clamp(0.0, 1.0)) as u64;
    let (mut before, mut taken) = (0, 0);
    let mut files = Vec::new();
    let mut piece = Vec::new();
    for run in runs {
        let length = u64::from(run.plain_length);
        before += length;
        if before <= begin {
            continue;
        }
        let file = file_of(run);
        let is_new = !files.contains(&file);
        if !piece.is_empty() && (taken + length > bytes || is_new && files.len() == OPEN_MAX) {
            break;
        }
        files.extend(is_new.then_some(file));
        taken += length;
        piece.push(*run);
    }
    piece
}
