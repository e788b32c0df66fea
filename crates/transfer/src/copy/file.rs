//! One large file: through the pipeline into an unfinished destination, made durable, checked, then named.

use std::os::fd::AsFd as _;
use std::path::Path;

use iostall_engine::files;
use iostall_engine::{Access, Engine as _, FileIndex};
use iostall_host as host;
use iostall_measure::Clock as _;
use iostall_model::outcome::EngineUse;
use iostall_model::transfer::{Reflink, VerifyMode};

use super::Copier;
use super::behind::DropBehind;
use super::beside::journal_path;
use super::error::CopyError;
use super::journal::{FileJournal, remove_journal};
use super::log::CopiedFile;
use super::part::{Part, Replace, directory_of};
use super::read_back::{Reader, compare};
use super::recheck::Copied;
use super::resume::{clear_holes, joined, kept_where_cancelled};
use super::side::Side;
use super::target::check_target;
use crate::pipeline::{
    Behind, FileHashes, HashStage, HashWanted, Job, Journal, Pipeline, PipelineError, Written,
};
use crate::plan::Plan;
use crate::rig::Rig;
use crate::shape::{Shape, ShapeReason};

/// Blocks by which a difference is found, bytes.
pub(super) const BLOCK_BYTES: u64 = 1 << 20;

/// What has been put into an unfinished destination.
#[derive(Default)]
pub(super) struct Filled {
    hashes: FileHashes,
    hole_bytes: u64,
    kept_bytes: u64,
    is_clone: bool,
}

impl Filled {
    /// All of it was read and written.
    pub(super) fn moved(hashes: FileHashes) -> Self {
        Self { hashes, ..Self::default() }
    }
}

impl Copier<'_> {
    /// Copies the regular file `source` to the name `target`.
    ///
    /// On any error `target` is what it was before. What had been written is removed, or kept under the name of
    /// an unfinished destination where a journal makes it worth going on from.
    pub fn copy_file(&mut self, source: &Path, target: &Path) -> Result<(), CopyError> {
        let from = Side::open(source, Access::Read, self.options.source_caching)?;
        check_target(source, &from.stamp, target, self.options.overwrite, &self.destinations)?;
        self.progress.begin_file(target, from.stamp.size_bytes, "copying");
        self.expect_no_writers(&from);
        let part = Part::acquire(target, from.stamp.uid)?;
        match self.fill_and_check(&from, &part, target) {
            Ok(Some(filled)) => {
                part.publish(self.replace())?;
                // The journal has done its work; one that stays is overruled by the finished file.
                let _ = remove_journal(target);
                self.note(&from, target, filled);
                Ok(())
            }
            Ok(None) => {
                let _ = remove_journal(target);
                Ok(())
            }
            Err(error) => {
                if error.keeps_the_part() {
                    part.keep();
                } else {
                    let _ = remove_journal(target);
                }
                Err(error)
            }
        }
    }

    /// What becomes of files that are at the destination.
    pub(super) fn replace(&self) -> Replace<'_> {
        if self.options.overwrite { Replace::Older(&self.named, &self.destinations) } else { Replace::Never }
    }

    pub(super) fn note(&mut self, from: &Side, target: &Path, filled: Filled) {
        let bytes = from.stamp.size_bytes;
        self.progress.end_file();
        self.log.counts.files += 1;
        self.log.counts.reflinked_files += u64::from(filled.is_clone);
        self.log.counts.resumed_files += u64::from(filled.kept_bytes > 0);
        self.log.bytes += bytes;
        self.log.hole_bytes += filled.hole_bytes;
        self.log.kept_bytes += filled.kept_bytes;
        let FileHashes { whole: digest, blocks } = filled.hashes;
        self.log.files.push(CopiedFile {
            path: target.to_owned(),
            bytes,
            digest,
            blocks,
            block_bytes: BLOCK_BYTES,
        });
    }

    /// `None` where the destination was read back and differs.
    fn fill_and_check(
        &mut self,
        from: &Side,
        part: &Part,
        target: &Path,
    ) -> Result<Option<Filled>, CopyError> {
        let mut filled = self.fill(from, part, target)?;
        let size_bytes = from.stamp.size_bytes;
        part.file().set_len(size_bytes).map_err(CopyError::system("set the size of", part.path()))?;
        let copied =
            if filled.is_clone { Copied::Shared } else { Copied::Moved(filled.hashes.whole.as_ref()) };
        // After the last read of it: a change before this moment is in the copy only in part.
        let losses = self.complete(from, part, target, copied)?;
        self.log.losses.extend(losses.into_iter().map(|loss| (target.to_owned(), loss)));
        if self.options.verify == VerifyMode::None
            || (filled.is_clone && self.options.verify == VerifyMode::OnTheFly)
        {
            return Ok(Some(filled));
        }
        if self.options.verify == VerifyMode::ReadBack || filled.is_clone {
            let begun_ns = self.clock.now_ns();
            self.progress.begin_file(target, size_bytes, "reading back");
            let found = self
                .read_back(part.path(), size_bytes)
                .map_err(|error| kept_where_cancelled(error, from.path(), target))?;
            self.log.verify_ns += self.clock.now_ns() - begun_ns;
            // Reading has moved its access time. That it cannot be set was told when it was set first.
            let _ = files::set_times(part.file(), &from.stamp);
            if filled.is_clone {
                // One set of blocks: there is nothing to compare it with, but a checksum to give.
                filled.hashes = found;
            } else if let Some(mismatch) =
                compare(target, from.path(), part.path(), &filled.hashes, &found, BLOCK_BYTES)
            {
                self.log.mismatches.push(mismatch);
                return Ok(None);
            }
            self.log.verified_files += 1;
        }
        Ok(Some(filled))
    }

    /// Puts the data into the unfinished destination, by whatever way is best.
    fn fill(&mut self, from: &Side, part: &Part, target: &Path) -> Result<Filled, CopyError> {
        let size_bytes = from.stamp.size_bytes;
        if self.options.reflink != Reflink::Never && size_bytes > 0 {
            if files::clone_blocks(from.file(), part.file())
                .map_err(CopyError::system("share blocks with", part.path()))?
            {
                self.progress.add_done(size_bytes);
                return Ok(Filled { is_clone: true, ..Filled::default() });
            }
            if self.options.reflink == Reflink::Always {
                return Err(CopyError::NoReflink { from: from.path().to_owned(), to: target.to_owned() });
            }
        }
        let to = Side::open(part.path(), Access::ReadWrite, self.options.target_caching)?;
        let same_device = self.share_a_device(from.path(), from.stamp.device, part.path(), to.stamp.device);
        self.prepare_rig(same_device, from.path())?;
        let kept = self.kept_pieces(from, &to, target)?;
        if kept.is_empty() {
            part.file().set_len(0).map_err(CopyError::system("empty", part.path()))?;
        }
        let data = files::data_ranges(from.file(), size_bytes)
            .map_err(CopyError::system("look for holes in", from.path()))?;
        let ranges = joined(&kept);
        if kept.is_empty() && data.first() == Some(&(0..size_bytes)) {
            self.tune(from, &to)?;
            self.prepare_rig(same_device, from.path())?;
        }
        let mut plan = Plan::new(size_bytes, &data, &ranges, self.shape().transfer_bytes);
        let hole_bytes = plan.hole_bytes();
        if !kept.is_empty() {
            clear_holes(part.file(), &plan.holes()).map_err(CopyError::system("clear", part.path()))?;
        }
        if self.options.verify == VerifyMode::None {
            plan = plan.without_kept();
            self.progress.add_done(0);
        }
        self.reserve(&plan, &to)?;
        let journal = self.begin_journal(from, target, &kept)?;
        let hashes = self.move_data(from, &to, target, plan, journal, same_device)?;
        let kept_bytes = ranges.iter().map(|range| range.end - range.start).sum();
        Ok(Filled { hashes, hole_bytes, kept_bytes, is_clone: false })
    }

    /// Room for everything that will be written, so that a full file system is met before the first byte.
    fn reserve(&mut self, plan: &Plan, to: &Side) -> Result<(), CopyError> {
        let begun_ns = self.clock.now_ns();
        let ranges = plan.ranges_to_write();
        let in_memory = host::file_system_of(to.path()).is_some_and(|found| found.kind == "tmpfs");
        if in_memory {
            // Reserving there means zeroing memory that is written over at once: only ask whether it fits.
            let wanted: u64 = ranges.iter().map(|range| range.end - range.start).sum();
            let free = files::free_bytes(directory_of(to.path()))
                .map_err(CopyError::system("ask for free space at", to.path()))?;
            if wanted > free.saturating_add(to.stamp.allocated_bytes) {
                let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
                return Err(CopyError::system("reserve room for", to.path())(full));
            }
        } else {
            for range in &ranges {
                let reserved = files::preallocate(to.file(), range)
                    .map_err(CopyError::system("reserve room for", to.path()))?;
                if !reserved {
                    break;
                }
            }
        }
        self.log.prepare_ns += self.clock.now_ns() - begun_ns;
        Ok(())
    }

    fn begin_journal(
        &self,
        from: &Side,
        target: &Path,
        kept: &[Written],
    ) -> Result<Option<FileJournal>, CopyError> {
        let interval_bytes = self.options.checkpoint_bytes;
        let is_short = kept.is_empty() && from.stamp.size_bytes < interval_bytes.saturating_mul(2);
        if interval_bytes == 0 || is_short {
            return Ok(None);
        }
        let path = journal_path(target);
        let journal = FileJournal::begin(target, &from.stamp, kept, interval_bytes)
            .map_err(CopyError::system("write the journal", &path))?;
        Ok(Some(journal))
    }

    pub(super) fn move_data(
        &mut self,
        from: &Side,
        to: &Side,
        target: &Path,
        plan: Plan,
        mut journal: Option<FileJournal>,
        same_device: bool,
    ) -> Result<FileHashes, CopyError> {
        let wanted = self.wanted(journal.is_some());
        let hashes = if wanted.is_nothing() {
            None
        } else {
            Some(HashStage::new(wanted).map_err(CopyError::system("start a thread to hash", from.path()))?)
        };
        let shape = self.shape();
        let why = self.shape_reason();
        let Some((_, rig)) = &mut self.rig else { unreachable!("prepared before") };
        let engine = rig.engine(&[from.file().as_fd(), to.file().as_fd()])?;
        let granted = engine.report();
        let mut behind = DropBehind::new(from.to_drop(), to.to_drop());
        let mut pipeline = Pipeline::new(engine, self.clock.clone(), rig.lend());
        let moved = pipeline.run(Job {
            source: FileIndex(0),
            target: Some(FileIndex(1)),
            plan,
            source_align: from.align,
            target_align: to.align,
            reads_max: shape.reads_max,
            writes_max: shape.writes_max,
            hashes,
            rate: self.options.rate.as_deref(),
            journal: journal.as_mut().map(|journal| journal as &mut dyn Journal),
            behind: behind.as_mut().map(|behind| behind as &mut dyn Behind),
            progress: self.progress,
        });
        rig.take_back(pipeline.into_buffers()).map_err(CopyError::system("map buffers for", from.path()))?;
        self.log.shape.get_or_insert_with(|| {
            let mut described = shape.describe(same_device, why);
            described.source_caching = from.caching();
            described.target_caching = to.caching();
            described.caching_reasons = [from, to]
                .iter()
                .filter_map(|side| Some(format!("{}: {}", side.path().display(), side.reason()?)))
                .collect();
            described.engine = EngineUse {
                name: granted.name.to_owned(),
                features: granted.features,
                refused: granted.refused,
            };
            described
        });
        moved.map(|moved| moved.hashes).map_err(|cause| {
            let worth_keeping = !matches!(cause, PipelineError::SourceShrank { .. });
            let kept = worth_keeping && journal.is_some_and(|journal| journal.has_pieces());
            CopyError::Moving { from: from.path().to_owned(), to: target.to_owned(), cause, kept }
        })
    }

    /// The checksums of a file, from the media.
    pub(super) fn read_back(&mut self, path: &Path, size_bytes: u64) -> Result<FileHashes, CopyError> {
        let wanted = self.wanted(false);
        self.hashes_of(path, size_bytes, wanted)
    }

    /// Those checksums of a file that are wanted, from the media.
    pub(super) fn hashes_of(
        &mut self,
        path: &Path,
        size_bytes: u64,
        wanted: HashWanted,
    ) -> Result<FileHashes, CopyError> {
        self.prepare_rig(true, path)?;
        let transfer_bytes = self.shape().transfer_bytes;
        let Some((_, rig)) = &mut self.rig else { unreachable!("prepared just now") };
        let mut reader = Reader {
            rig,
            clock: &self.clock,
            progress: self.progress,
            rate: self.options.rate.as_deref(),
            transfer_bytes,
        };
        reader.hashes(path, size_bytes, wanted)
    }

    fn wanted(&self, journaled: bool) -> HashWanted {
        let verified = self.options.verify != VerifyMode::None;
        HashWanted {
            whole: verified.then_some(self.options.hash),
            block_bytes: (self.options.verify == VerifyMode::ReadBack).then_some(BLOCK_BYTES),
            pieces: journaled,
        }
    }

    pub(super) fn shape(&self) -> Shape {
        match &self.rig {
            Some((shape, _)) => *shape,
            None => self.choose_shape(true),
        }
    }

    fn shape_reason(&self) -> ShapeReason {
        match self.tuned {
            Some(_) => ShapeReason::Measured,
            None if self.options.transfer_bytes.is_some() || self.options.depth.is_some() => {
                ShapeReason::Asked
            }
            None => ShapeReason::Usual,
        }
    }

    pub(super) fn choose_shape(&self, same_device: bool) -> Shape {
        let options = self.options;
        if let Some(tuned) = self.tuned {
            return tuned;
        }
        let mut shape = Shape::choose(same_device, self.is_hashed(), options.transfer_bytes, options.depth);
        if let Some(rate) = &options.rate {
            shape.transfer_bytes = shape.transfer_bytes.min(rate.request_bytes_max());
        }
        shape
    }

    /// Maps the buffers when they are first needed, and again where another pair of devices wants others.
    pub(super) fn prepare_rig(&mut self, same_device: bool, path: &Path) -> Result<(), CopyError> {
        let shape = self.choose_shape(same_device);
        if self.rig.as_ref().is_none_or(|(mapped, _)| *mapped != shape) {
            let rig = Rig::new(shape.buffer_count(), shape.transfer_bytes)
                .map_err(CopyError::system("map buffers for", path))?;
            self.rig = Some((shape, rig));
        }
        Ok(())
    }
}
