//! Jobs of a restore: bundles first, then large files, some at a time.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::Path;

use iostall_engine::files;
use iostall_engine::{Access, FileHandle, FileIndex, OpenOptions, OpenTarget, open_again};
use iostall_measure::MonotonicClock;
use iostall_remote::EngineFile;

use super::error::RestoreError;
use super::stage::{Destination, IS_WRITTEN, RestoreStage, StageError};
use super::tree::{Opening, Tree};
use crate::backup::format::{FrameKind, IndexRecord};
use crate::backup::read::{
    ChainStripe, Damage, OpenSet, ReadError, ReadShape, Run, RunSource, StripeRead, add_reads, entry_of,
    run_job, runs,
};
use crate::backup::trial::{Limited, TrialLimit};
use crate::buffers::BufferSet;
use crate::pipeline::{Frame, Job, PipelineError, Placement, Sink, Stage, StageWorkers, Written};
use crate::progress::{Progress, StripeCounter};
use crate::rate::RateLimit;

/// Files that are written at once. Each takes two descriptors, and processes are usually allowed 1024.
const FILES_AT_ONCE: usize = 192;
/// Requests of direct writes are multiples of this.
const WRITE_ALIGN: u32 = 4096;

pub(super) struct Writing<'w> {
    set: &'w OpenSet,
    tree: &'w Tree<'w>,
    shape: ReadShape,
    buffers: BufferSet,
    rate: Option<&'w RateLimit>,
    progress: &'w Progress,
    /// The stripes of the set and of what it is based on, and what is in them.
    sources: Vec<ChainStripe<'w>>,
    records: Vec<&'w [IndexRecord]>,
    counters: Vec<StripeCounter>,
    /// Of a trial: how long each job may take. Its files have only the part of their length that it writes.
    seconds_max: Option<f64>,
    pub(super) stripes: Vec<StripeRead>,
}

pub(super) struct OpenFile {
    index: usize,
    /// The offset that is written to its beginning: 0, but for a part in a trial.
    from: u64,
    buffered: File,
    direct: OpenTarget,
    align: u32,
}

impl OpenFile {
    pub(super) fn new(index: usize, from: u64, buffered: File) -> Result<Self, RestoreError> {
        let direct = open_again(&buffered, &OpenOptions { access: Access::Write, ..OpenOptions::default() })?;
        let align = if files::is_direct(&direct) { WRITE_ALIGN } else { 1 };
        Ok(Self { index, from, buffered, direct, align })
    }

    pub(super) fn handle(&self) -> (EngineFile<'_>, u32) {
        (FileHandle::from(self.direct.file()).into(), self.align)
    }
}

impl<'w> Writing<'w> {
    pub(super) fn new(
        set: &'w OpenSet,
        tree: &'w Tree<'w>,
        shape: ReadShape,
        rate: Option<&'w RateLimit>,
        progress: &'w Progress,
    ) -> Result<Self, RestoreError> {
        let buffers =
            shape.buffers().map_err(RestoreError::system("map buffers for", Path::new("a restore")))?;
        let sources: Vec<_> = set.all_stripes().collect();
        let records = sources.iter().map(|one| one.open.records()).collect();
        let counters = progress.count_stripes(sources.len());
        let stripes = vec![StripeRead::default(); sources.len()];
        let seconds_max = None;
        Ok(Self {
            set,
            tree,
            shape,
            buffers,
            rate,
            progress,
            sources,
            records,
            counters,
            seconds_max,
            stripes,
        })
    }

    /// Ends each job that begins from now on after so many seconds.
    pub(super) fn limit(&mut self, seconds: f64) {
        self.seconds_max = Some(seconds);
    }

    fn runs(
        &self,
        wanted: impl Fn(usize, &IndexRecord) -> bool,
        join: impl Fn(&IndexRecord, &IndexRecord) -> bool,
    ) -> Vec<Run> {
        let stripes = self.sources.iter().map(|one| &one.open.stripe).zip(self.records.iter().copied());
        runs(stripes, &self.shape, wanted, join)
    }

    /// Small files and ends of files, which workers write while they decode. A restore of everything also checks the entries,
    /// so that it has seen every frame.
    pub(super) fn bundle_runs(&self, checks_entries: bool) -> Vec<Run> {
        let is_wanted = |stripe: usize, record: &IndexRecord| match (record.kind, self.sources[stripe].number)
        {
            (FrameKind::Bundle, 0) => true,
            (FrameKind::Bundle, base) => {
                let pieces = self.set.chain.in_frame(base, record.sequence);
                pieces.iter().any(|piece| self.tree.plan.files.contains_key(&piece.file))
            }
            (FrameKind::Entries | FrameKind::Digests | FrameKind::Bases, number) => {
                checks_entries && number == 0
            }
            (FrameKind::Data | FrameKind::Index | FrameKind::End, _) => false,
        };
        self.runs(is_wanted, |_, _| true)
    }

    pub(super) fn bundles(&mut self, runs: &[Run]) -> Result<(), RestoreError> {
        self.job(runs, &[])
    }

    pub(super) fn data_runs(&self) -> Vec<Run> {
        let is_wanted = |stripe: usize, record: &IndexRecord| {
            let file = self.file_in(stripe, record);
            file.is_some_and(|file| self.tree.plan.files.contains_key(&file))
        };
        let follows = |one: &IndexRecord, next: &IndexRecord| {
            one.file == next.file && one.offset + u64::from(one.plain_length) == next.offset
        };
        self.runs(is_wanted, follows)
    }

    pub(super) fn data(&mut self, runs: Vec<Run>) -> Result<(), RestoreError> {
        let mut of_files: BTreeMap<u64, Vec<Run>> = BTreeMap::new();
        for run in runs {
            of_files.entry(self.file_of(&run)).or_default().push(run);
        }
        let mut of_files: Vec<_> = of_files.into_iter().collect();
        for batch in of_files.chunks_mut(FILES_AT_ONCE) {
            batch.iter_mut().try_for_each(|(file, runs)| self.check_extents(*file, runs))?;
            let mut opening = Opening::new(self.tree);
            let files = batch.iter().map(|(file, runs)| self.open(*file, runs, &mut opening));
            let files = files.collect::<Result<Vec<_>, _>>()?;
            let mut runs: Vec<Run> = batch.iter().flat_map(|(_, runs)| runs.iter().copied()).collect();
            runs.sort_by_key(|run| (run.position, run.stripe));
            self.job(&runs, &files)?;
            for file in &files {
                self.tree.finish_file(file.index, &file.buffered)?;
                self.progress.end_file();
            }
        }
        Ok(())
    }

    pub(super) fn file_of(&self, run: &Run) -> u64 {
        self.file_in(run.stripe, self.first(run)).unwrap_or_default()
    }

    /// The file of this set that a frame of data has a part of; `None` if it has none.
    fn file_in(&self, stripe: usize, record: &IndexRecord) -> Option<u64> {
        let source = &self.sources[stripe];
        source.file_of(&self.set.chain, record)
    }

    fn first(&self, run: &Run) -> &IndexRecord {
        &self.records[run.stripe][run.first]
    }

    /// Two frames must not write to one place: then one is missing elsewhere, though the sum is right.
    fn check_extents(&self, file: u64, runs: &mut [Run]) -> Result<(), RestoreError> {
        runs.sort_by_key(|run| self.first(run).offset);
        let size_bytes = entry_of(&self.set.manifest, file).map_or(0, |entry| entry.size_bytes);
        let mut end = 0;
        for run in runs {
            let record = self.first(run);
            let next = record.offset.saturating_add(run.plain_length.into());
            if record.offset < end || next > size_bytes {
                let message = "the frame lies outside its file, or over another frame";
                let damage = self.sources[run.stripe].damage_of(record, message);
                return Err(ReadError::Damaged(vec![damage]).into());
            }
            end = next;
        }
        Ok(())
    }

    fn open(&self, file: u64, runs: &[Run], opening: &mut Opening<'_>) -> Result<OpenFile, RestoreError> {
        let index = self.tree.plan.files.get(&file).copied().unwrap_or_default();
        let entry = self.tree.plan.all[index].entry;
        let buffered = opening.open(index)?;
        if !self.tree.has_lengths() {
            return OpenFile::new(index, 0, buffered);
        }
        let (from, length, is_dense) = match self.seconds_max {
            None => (0, entry.size_bytes, entry.data_bytes == entry.size_bytes),
            Some(_) => self.part(runs),
        };
        // Writes beyond the end of a file wait for each other.
        let grown = buffered.set_len(length).and_then(|()| {
            if is_dense {
                files::preallocate(&buffered, &(0..length))?;
            }
            Ok(())
        });
        grown.map_err(RestoreError::writing(&entry.name))?;
        OpenFile::new(index, from, buffered)
    }

    /// The part of a file that these runs, in the order of their offsets, are in: where it begins, how long it is, and whether
    /// it is not much longer than they are together.
    fn part(&self, runs: &[Run]) -> (u64, u64, bool) {
        let align = u64::from(WRITE_ALIGN);
        let end_of = |run: &Run| self.first(run).offset + u64::from(run.plain_length);
        let from = runs.first().map_or(0, |run| self.first(run).offset / align * align);
        let length = runs.last().map_or(from, end_of) - from;
        let together: u64 = runs.iter().map(|run| u64::from(run.plain_length)).sum();
        (from, length, length / 2 <= together)
    }

    fn job(&mut self, runs: &[Run], open: &[OpenFile]) -> Result<(), RestoreError> {
        if runs.is_empty() {
            return Ok(());
        }
        let stripes = self.sources.len();
        let place = |at: usize| FileIndex(u16::try_from(stripes + at).unwrap_or(u16::MAX));
        let number = |file: &OpenFile| self.tree.plan.all[file.index].entry.number;
        let destinations: HashMap<u64, Destination> = (0..)
            .zip(open)
            .map(|(at, file)| {
                (number(file), Destination { file: place(at), align: file.align, from: file.from })
            })
            .collect();
        let mut stages = (0..self.shape.workers)
            .map(|_| {
                RestoreStage::new(
                    self.set,
                    &self.sources,
                    &self.records,
                    runs,
                    Opening::new(self.tree),
                    &destinations,
                )
            })
            .collect::<Result<Vec<_>, RestoreError>>()?;
        let mut sink = InPlace {
            tree: self.tree,
            first: place(0).0,
            files: open.iter().map(|file| file.index).collect(),
            writes_max: self.shape.depth,
            excess: None,
        };
        let of_stripes = self.sources.iter().map(|one| one.open.stripe.handle());
        let of_files = open.iter().map(OpenFile::handle);
        let (handles, aligns): (Vec<_>, Vec<_>) = of_stripes.chain(of_files).unzip();
        let limit = TrialLimit { seconds: self.seconds_max.unwrap_or(f64::INFINITY), bytes: u64::MAX };
        let mut source = Limited::new(RunSource::new(runs, &self.counters), MonotonicClock::new(), limit);
        let job = Job {
            source: &mut source,
            stages: vec![StageWorkers::any_order(stages.iter_mut().map(|stage| stage as &mut dyn Stage))],
            sinks: if open.is_empty() { Vec::new() } else { vec![&mut sink] },
            aligns: &aligns,
            reads_max: self.shape.depth,
            rate: self.rate,
            progress: self.progress,
        };
        let done = run_job(job, &handles, &mut self.buffers)?;
        let moved = done.map_err(|error| self.explain(error, open))?;
        add_reads(&mut self.stripes, runs, &moved);
        if let Some(index) = sink.excess {
            let name = &self.tree.plan.all[index].entry.name;
            let message = format!("the set has more bytes of {name} than the manifest says");
            let damage = Damage::of_file(None, &self.set.manifest_path, message);
            return Err(ReadError::Damaged(vec![damage]).into());
        }
        Ok(())
    }

    fn explain(&self, error: PipelineError, open: &[OpenFile]) -> RestoreError {
        match error {
            PipelineError::Stage { offset, cause } => match cause.downcast::<StageError>() {
                Ok(error) => match *error {
                    StageError::Damage(damage) => ReadError::Damaged(vec![*damage]).into(),
                    StageError::Restore(error) => *error,
                },
                Err(cause) => ReadError::Pipeline(PipelineError::Stage { offset, cause }).into(),
            },
            PipelineError::Read { file, offset, cause, .. } if usize::from(file.0) < self.sources.len() => {
                let source = &self.sources[usize::from(file.0)];
                ReadError::Damaged(vec![source.unreadable(offset, cause)]).into()
            }
            PipelineError::Write { file, cause, .. } => {
                let at = usize::from(file.0).checked_sub(self.sources.len());
                let file =
                    at.and_then(|at| open.get(at)).map(|file| &self.tree.plan.all[file.index].entry.name);
                RestoreError::Writing { name: file.cloned().unwrap_or_default(), source: cause.into() }
            }
            other => ReadError::Pipeline(other).into(),
        }
    }
}

struct InPlace<'t> {
    tree: &'t Tree<'t>,
    first: u16,
    files: Vec<usize>,
    writes_max: u32,
    excess: Option<usize>,
}

impl Sink for InPlace<'_> {
    fn writes_max(&self) -> u32 {
        self.writes_max
    }

    fn place(&mut self, frame: &mut Frame) -> Placement {
        if frame.checksum() == IS_WRITTEN {
            return Placement::Skip;
        }
        let origin = frame.origin();
        Placement::Write { file: origin.file, offset: origin.offset }
    }

    fn was_written(&mut self, written: &Written) {
        let at = usize::from(written.at.file.0.saturating_sub(self.first));
        let Some(index) = self.files.get(at).copied() else { return };
        if !self.tree.note_written(index, written.origin.length.into()) {
            self.excess = Some(index);
        }
    }
}
