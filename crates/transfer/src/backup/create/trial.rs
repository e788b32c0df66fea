//! A piece of a backup that is thrown away, to see how fast the whole would be. It takes the path of a backup up to its names:
//! the same reads, workers and stripes, whose files are removed and whose uploads are given up at the end of the trial, however that ends.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use iostall_engine::OpenTarget;
use iostall_measure::{Clock as _, MonotonicClock};
use iostall_model::backup::StoredName;

use super::base::Before;
use super::encode::{Content, Part, Tagged};
use super::error::CreateError;
use super::options::{CreateOptions, Shape};
use super::run::{new_set, stripe_header};
use super::sample::{Sample, SampleRead};
use super::small;
use super::source::{CountedSource, FileBatch, Fills};
use super::targets::Targets;
use super::writer::SetWriter;
use crate::backup::codec::{FileKey, Sealer};
use crate::backup::format::FrameKind;
use crate::backup::trial::{Limited, Phase, Shared, Trial, TrialLimit, rate};
use crate::pipeline::{Source, Step};
use crate::progress::Progress;

#[derive(Clone, Copy, Debug)]
pub enum Feed<'a> {
    /// From the source, beginning at this share of it (0 to 1).
    Source(&'a Sample, f64),
    /// From memory, again and again.
    Memory(&'a [Vec<u8>]),
}

/// Moves data as a backup with `options` would, within `limit`, and leaves nothing.
pub fn trial(
    options: &CreateOptions,
    feed: Feed<'_>,
    limit: TrialLimit,
    cancel: Arc<AtomicBool>,
) -> Result<Trial, CreateError> {
    let shape = Shape::of(options)?;
    let set = new_set()?;
    // Nobody will read it, so nobody needs its key.
    let sealer = match options.lock {
        Some(_) => Some(Sealer::new(&FileKey::random()?.keys_of(set))?),
        None => None,
    };
    let settings = shape.settings(options);
    let header = |stripe| stripe_header(set, stripe, &settings, 0, None);
    let is_to_null = options.targets.is_empty();
    let targets = if is_to_null { None } else { Some(Targets::create_trial(set, &options.targets, header)?) };
    let progress = Progress::new(cancel);
    let writer = SetWriter::new(set, shape, options, sealer, targets, &progress)?;
    let mut run = Run { writer, shape, limit, progress: &progress, clock: MonotonicClock::new() };
    let phases = match feed {
        Feed::Source(sample, from) => run.source(sample, from)?,
        Feed::Memory(pieces) => vec![run.memory(pieces)?],
    };
    run.finish(&phases)
}

struct Run<'a> {
    writer: SetWriter<'a>,
    shape: Shape,
    limit: TrialLimit,
    progress: &'a Progress,
    clock: MonotonicClock,
}

impl Run<'_> {
    fn source(&mut self, sample: &Sample, from: f64) -> Result<Vec<Phase>, CreateError> {
        let small_share = sample.small_share(self.shape.small_bytes());
        let parts = Shared::of(small_share, self.limit.seconds);
        let (shares, seconds) = (parts.shares, parts.seconds);
        if shares.iter().all(|share| *share > 0.0) {
            self.limit.bytes /= 2;
        }
        let mut phases = Vec::with_capacity(2);
        if shares[0] > 0.0 {
            let bytes = self.small(sample, from, seconds[0])?;
            phases.push(Phase { share: shares[0], ..bytes });
        }
        if shares[1] > 0.0 {
            let bytes = self.large(sample, from, seconds[1])?;
            phases.push(Phase { share: shares[1], ..bytes });
        }
        Ok(phases)
    }

    fn small(&mut self, sample: &Sample, from: f64, seconds: f64) -> Result<Phase, CreateError> {
        let files = sample.small_files(self.shape.small_bytes(), from, self.limit.bytes);
        let transfers = small::plan(files, &self.shape);
        let length =
            |bundles: &Vec<Vec<small::SmallFile>>| bundles.iter().flatten().map(|file| file.size_bytes).sum();
        let rounds = Rounds::new(transfers.iter().map(length).collect());
        let content = Content::Small { transfers, results: Mutex::default() };
        self.moved(content, rounds, &[], (self.shape.fillers, seconds))
    }

    fn large(&mut self, sample: &Sample, from: f64, seconds: f64) -> Result<Phase, CreateError> {
        let (small_bytes, read_bytes) = (self.shape.small_bytes(), self.shape.read_bytes);
        let opened = sample.large_files(small_bytes, from, (self.limit.bytes, read_bytes))?;
        let (opens, reads): (Vec<OpenTarget>, Vec<_>) =
            opened.into_iter().map(|SampleRead { open, read }| (open, read)).unzip();
        let handles: Vec<&OpenTarget> = opens.iter().collect();
        let first = self.writer.first_file();
        let tagged =
            |number| Tagged { number, name: StoredName::default(), inspect: None, before: Before::default() };
        let files = (1..).take(handles.len()).map(tagged).collect();
        let batch = FileBatch::new(first, reads, self.progress);
        self.moved(Content::Files { first, files }, batch, &handles, (self.shape.workers, seconds))
    }

    /// Frames that need no reading, so that only what comes after it is measured.
    fn memory(&mut self, pieces: &[Vec<u8>]) -> Result<Phase, CreateError> {
        let frame_bytes = self.shape.frame_bytes as usize;
        let frames = pieces.iter().flat_map(|piece| piece.chunks(frame_bytes));
        let part = |(offset, bytes): (u64, &[u8])| Part {
            kind: FrameKind::Data,
            file: 1,
            offset: offset * frame_bytes as u64,
            stripe: 0,
            bytes: bytes.to_vec(),
            before: Before::default(),
        };
        let parts: Vec<Part> = (0..).zip(frames).map(part).collect();
        let rounds = Rounds::new(parts.iter().map(Part::source_bytes).collect());
        self.moved(Content::Parts(parts), rounds, &[], (self.shape.workers, self.limit.seconds))
    }

    fn moved(
        &mut self,
        content: Content,
        source: impl CountedSource,
        files: &[&OpenTarget],
        (workers, seconds): (u32, f64),
    ) -> Result<Phase, CreateError> {
        let before = self.source_bytes();
        let mut source = Limited::new(source, self.clock.clone(), TrialLimit { seconds, ..self.limit });
        self.writer.run(content, &mut source, None, files, workers)?;
        let end_ns = self.clock.now_ns();
        let elapsed_ns = source.begun_ns().map_or(0, |begun_ns| end_ns - begun_ns);
        Ok(Phase { share: 1.0, bytes: self.source_bytes() - before, elapsed_ns })
    }

    fn source_bytes(&self) -> u64 {
        self.writer.stripes().iter().map(|stripe| stripe.source_bytes).sum()
    }

    fn finish(mut self, phases: &[Phase]) -> Result<Trial, CreateError> {
        let begun_ns = self.clock.now_ns();
        self.writer.sync()?;
        let sync_ns = self.clock.now_ns() - begun_ns;
        let source_bytes = self.source_bytes();
        Ok(Trial {
            bytes_per_s: rate(phases, sync_ns),
            source_bytes,
            stored_bytes: self.writer.stripes().iter().map(|stripe| stripe.end).sum(),
        })
    }
}

impl<S: CountedSource> CountedSource for Limited<S> {
    fn steps(&self) -> u64 {
        self.source().steps()
    }
}

struct Rounds {
    fills: Fills,
    lengths: Vec<u32>,
    steps: u64,
}

impl Rounds {
    fn new(lengths: Vec<u32>) -> Self {
        Self { fills: Fills::new(lengths.clone()), lengths, steps: 0 }
    }
}

impl Source for Rounds {
    fn next(&mut self) -> Option<Step> {
        let step = self.fills.next().or_else(|| {
            self.fills = Fills::new(self.lengths.clone());
            self.fills.next()
        })?;
        self.steps += 1;
        Some(step)
    }
}

impl CountedSource for Rounds {
    fn steps(&self) -> u64 {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::sync::atomic::Ordering;

    use iostall_model::backup::Compression;

    use super::*;
    use crate::backup::codec::Lock;
    use crate::backup::create::tests::{content, names_in, options};
    use crate::backup::create::{SourceRequest, prepare};

    const LIMIT: TrialLimit = TrialLimit { seconds: 0.05, bytes: 4 << 20 };

    fn sources(at: &Path) -> Sample {
        let data = at.join("data");
        std::fs::create_dir(&data).unwrap();
        std::fs::write(data.join("large"), content(1, 900_000)).unwrap();
        for number in 0..20_u64 {
            std::fs::write(data.join(format!("small-{number:02}")), content(number, 9_000)).unwrap();
        }
        Sample::of(&prepare(vec![SourceRequest::Path(data)], &[], &Progress::default()).unwrap())
    }

    fn two(at: &Path) -> Vec<PathBuf> {
        ["a.iob", "b.iob"].map(|name| at.join(name)).to_vec()
    }

    /// The story: a tuner that leaves gigabytes beside the backups fills the disk that it was to make faster.
    #[test]
    fn a_trial_moves_small_and_large_files_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let sample = sources(dir.path());
        for lock in [None, Some(Lock::Passphrase("x".to_owned().into()))] {
            let options = CreateOptions { lock, ..options(&two(dir.path())) };
            let moved = trial(&options, Feed::Source(&sample, 0.7), LIMIT, Arc::default()).unwrap();
            assert!(moved.bytes_per_s > 0.0 && moved.source_bytes >= 64 << 10, "{moved:?}");
            assert!(moved.stored_bytes > 0, "{moved:?}");
            assert!(moved.source_bytes <= LIMIT.bytes + (1 << 20), "{moved:?}");
            assert_eq!(names_in(dir.path()), ["data"]);
        }
    }

    #[test]
    fn parts_are_measured_alone_and_a_file_that_is_there_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let pieces = vec![content(3, 1 << 20)];
        let measure = |targets: &[PathBuf], compression| {
            let options = CreateOptions { compression, ..options(targets) };
            trial(&options, Feed::Memory(&pieces), LIMIT, Arc::default()).unwrap()
        };
        let compressed = measure(&[], Compression::Zstd(1));
        assert!(compressed.stored_bytes < compressed.source_bytes, "{compressed:?}");
        // A target is measured beside the stripe that somebody may have there already.
        std::fs::write(dir.path().join("a.iob"), "mine").unwrap();
        let left = format!(".a.iob.{}.partial", "7".repeat(32));
        std::fs::write(dir.path().join(&left), b"IOSTRIPE of a killed backup").unwrap();
        let written = measure(&two(dir.path()), Compression::None);
        assert!(written.stored_bytes >= written.source_bytes, "{written:?}");
        assert_eq!(names_in(dir.path()), [left, "a.iob".to_owned()]);
        assert_eq!(std::fs::read(dir.path().join("a.iob")).unwrap(), b"mine");
    }

    #[test]
    fn a_trial_that_is_cancelled_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let sample = sources(dir.path());
        let cancel = Arc::new(AtomicBool::new(false));
        cancel.store(true, Ordering::Relaxed);
        let error = trial(&options(&two(dir.path())), Feed::Source(&sample, 0.0), LIMIT, cancel).unwrap_err();
        assert!(error.is_cancelled(), "{error}");
        assert_eq!(names_in(dir.path()), ["data"]);
    }
}
