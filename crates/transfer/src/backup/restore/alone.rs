//! The parts of a restore, each without the others: reading stripes, decoding, and writing to the destination.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use iostall_engine::{Buffer, FileIndex, files};
use iostall_measure::{Clock as _, MonotonicClock, Nanos};

use super::batch::OpenFile;
use super::error::RestoreError;
use super::trial::{RestoreSample, Scratch, is_content, piece};
use crate::backup::codec::Decoder;
use crate::backup::read::{Damage, OpenSet, ReadChoice, ReadError, ReadShape, RunSource, run_job, runs};
use crate::backup::trial::{Limited, Trial, TrialLimit};
use crate::pipeline::{
    Extent, Frame, Job, PipelineError, Placement, Sink, Source, Stage, StageFailure, StageWorkers, Step,
};
use crate::progress::Progress;

/// The name of the file that the destination alone is measured with.
const NAME: &str = "destination";

/// Frames of a set in memory, so that parts can be measured without reading.
#[derive(Debug)]
pub struct Loaded {
    stored: Vec<Stored>,
    /// What is in them, one after another.
    plain: Vec<u8>,
}

#[derive(Debug)]
struct Stored {
    stripe: u16,
    frame: Vec<u8>,
}

/// A part that ended in this time.
fn of_time(bytes: u64, stored_bytes: u64, elapsed_ns: u64) -> Trial {
    let bytes_per_s = bytes as f64 * 1e9 / elapsed_ns.max(1) as f64;
    Trial { bytes_per_s, source_bytes: bytes, stored_bytes }
}

impl RestoreSample<'_> {
    /// Reads the stripes from this share of them on (0 to 1), and does nothing with what it reads. Its rate is that of stored
    /// bytes.
    pub fn read_alone(
        &self,
        choice: ReadChoice,
        from: f64,
        seconds: f64,
        cancel: &Arc<AtomicBool>,
    ) -> Result<Trial, RestoreError> {
        let set = self.set;
        let shape = ReadShape::of(set, false, choice);
        let mut buffers =
            shape.buffers().map_err(ReadError::system("map buffers for", Path::new("the stripes")))?;
        let stripes = set.stripes.iter().map(|open| (&open.stripe, open.records()));
        let all = runs(stripes, &shape, |_, record| is_content(record), |_, _| true);
        // From there to the end, and then again from the beginning.
        let mut part = piece(&all, from, self.bytes() / 2, &|_| 0);
        let (handles, aligns): (Vec<_>, Vec<_>) = set.stripes.iter().map(|open| open.stripe.handle()).unzip();
        let (clock, progress) = (MonotonicClock::new(), Progress::new(Arc::clone(cancel)));
        let (begun_ns, mut bytes) = (clock.now_ns(), 0);
        loop {
            let left_s = seconds - (clock.now_ns() - begun_ns) as f64 / 1e9;
            if bytes > 0 && left_s <= 0.0 {
                break;
            }
            let limit = TrialLimit { seconds: left_s, bytes: u64::MAX };
            let mut source = Limited::new(RunSource::new(&part, &[]), clock.clone(), limit);
            let job = Job {
                source: &mut source,
                stages: Vec::new(),
                sinks: Vec::new(),
                aligns: &aligns,
                reads_max: shape.depth,
                rate: None,
                progress: &progress,
            };
            let moved = run_job(job, &handles, &mut buffers)?.map_err(|error| failed(set, error))?;
            bytes += moved.read_bytes;
            if moved.read_bytes == 0 {
                break;
            }
            part.clone_from(&all);
        }
        Ok(of_time(bytes, bytes, clock.now_ns() - begun_ns))
    }

    /// Reads frames with up to `bytes` of content from all over the set into memory.
    pub fn load(&self, bytes: u64) -> Result<Loaded, RestoreError> {
        let set = self.set;
        let mut decoder = Decoder::new(set.manifest.set, set.keys.as_ref())?;
        let mut loaded = Loaded { stored: Vec::new(), plain: Vec::new() };
        let frames = set.stripes.iter().flat_map(|open| {
            open.records().iter().filter(|record| is_content(record)).map(move |one| (open, one))
        });
        let every = usize::try_from(self.bytes().div_ceil(bytes.max(1))).unwrap_or(usize::MAX).max(1);
        for (open, record) in frames.step_by(every) {
            let (stripe, damaged) = (&open.stripe, |fault| ReadError::Damaged(vec![fault]));
            let frame = stripe.frame(record).map_err(|fault| damaged(stripe.damage(fault)))?;
            let at = loaded.plain.len();
            loaded.plain.resize(at + record.plain_length as usize, 0);
            let found = decoder.decode(&mut frame.clone(), stripe.number(), &mut loaded.plain[at..]);
            let damage =
                |fault: String| Damage::of_frame(stripe.number(), &stripe.path, record, &set.manifest, fault);
            found.map_err(|fault| damaged(damage(fault.to_string())))?;
            loaded.stored.push(Stored { stripe: stripe.number(), frame });
        }
        Ok(loaded)
    }

    /// Decodes frames in memory on so many threads: checksums, decryption and decompression.
    pub fn decode_alone(
        &self,
        loaded: &mut Loaded,
        workers: u32,
        seconds: f64,
        cancel: &Arc<AtomicBool>,
    ) -> Result<Trial, RestoreError> {
        let set = self.set;
        let is_sealed = set.keys.is_some();
        let each = loaded.stored.len().div_ceil((workers as usize).max(1)).max(1);
        let (clock, total, stored) = (MonotonicClock::new(), AtomicU64::new(0), AtomicU64::new(0));
        let end_ns = clock.now_ns().saturating_add(Nanos::from_seconds(seconds).nanos());
        let begun_ns = clock.now_ns();
        let work = |frames: &mut [Stored]| -> Result<(), RestoreError> {
            let mut decoder = Decoder::new(set.manifest.set, set.keys.as_ref())?;
            let mut plain = vec![0; self.frame_bytes() as usize];
            let mut sealed = Vec::new();
            loop {
                for Stored { stripe, frame } in &mut *frames {
                    if cancel.load(Ordering::Relaxed) {
                        return Err(cancelled());
                    }
                    // Decrypting would leave another content, and what is only decompressed stays as it is.
                    let bytes = if is_sealed {
                        sealed.clone_from(frame);
                        &mut sealed
                    } else {
                        frame
                    };
                    let found = decoder.decode(bytes, *stripe, &mut plain).map(|(header, _)| header);
                    let header = found.map_err(|fault| {
                        ReadError::Pipeline(PipelineError::Stage { offset: 0, cause: fault.into() })
                    })?;
                    total.fetch_add(header.plain_length.into(), Ordering::Relaxed);
                    stored.fetch_add(header.stored_length.into(), Ordering::Relaxed);
                    if clock.now_ns() >= end_ns {
                        return Ok(());
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                loaded.stored.chunks_mut(each).map(|frames| scope.spawn(|| work(frames))).collect();
            threads.into_iter().try_for_each(|thread| match thread.join() {
                Ok(done) => done,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })?;
        Ok(of_time(total.into_inner(), stored.into_inner(), clock.now_ns() - begun_ns))
    }

    /// Writes what is in memory to a file of its own below `place`, makes it durable, and removes it.
    pub fn write_alone(
        &self,
        place: &Path,
        loaded: &Loaded,
        choice: ReadChoice,
        limit: TrialLimit,
        cancel: &Arc<AtomicBool>,
    ) -> Result<Trial, RestoreError> {
        let shape = ReadShape::of(self.set, true, choice);
        let mut buffers =
            shape.buffers().map_err(ReadError::system("map buffers for", Path::new("a restore")))?;
        let scratch = Scratch::below(place)?;
        let path = scratch.roots.main.temporary.join(NAME);
        let failed_to = |verb| RestoreError::system(verb, &path);
        let file = scratch.roots.main.root.make_file(OsStr::new(NAME)).map_err(failed_to("make"))?;
        file.set_len(limit.bytes).map_err(failed_to("make"))?;
        files::preallocate(&file, &(0..limit.bytes)).map_err(failed_to("make"))?;
        let open = OpenFile::new(0, 0, file)?;
        let (handle, align) = open.handle();
        let (clock, progress) = (MonotonicClock::new(), Progress::new(Arc::clone(cancel)));
        let begun_ns = clock.now_ns();
        let mut workers: Vec<Filler<'_>> = (0..shape.workers).map(|_| Filler(&loaded.plain)).collect();
        let steps = Pieces { length: shape.transfer_bytes(), at: 0, end: limit.bytes };
        let mut source = Limited::new(steps, clock.clone(), limit);
        let mut sink = InOrder { writes_max: shape.depth };
        let job = Job {
            source: &mut source,
            stages: vec![StageWorkers::any_order(workers.iter_mut().map(|worker| worker as &mut dyn Stage))],
            sinks: vec![&mut sink],
            aligns: &[align],
            reads_max: shape.depth,
            rate: None,
            progress: &progress,
        };
        let moved = run_job(job, &[handle], &mut buffers)?
            .map_err(|cause| RestoreError::Pipeline { path: path.clone(), cause })?;
        scratch.roots.sync()?;
        let elapsed_ns = clock.now_ns() - begun_ns;
        drop(open);
        scratch.remove()?;
        Ok(of_time(moved.written_bytes, 0, elapsed_ns))
    }
}

fn cancelled() -> RestoreError {
    ReadError::Pipeline(PipelineError::Cancelled).into()
}

fn failed(set: &OpenSet, error: PipelineError) -> ReadError {
    match error {
        PipelineError::Read { file, offset, cause, .. } => {
            ReadError::Damaged(vec![set.unreadable(file, offset, cause)])
        }
        other => ReadError::Pipeline(other),
    }
}

struct Pieces {
    length: u32,
    at: u64,
    end: u64,
}

impl Source for Pieces {
    fn next(&mut self) -> Option<Step> {
        let next = self.at + u64::from(self.length);
        if next > self.end {
            return None;
        }
        let extent = Extent { file: FileIndex(0), offset: self.at, length: self.length };
        self.at = next;
        Some(Step::Fill(extent))
    }
}

/// Fills them with content of the set: a device may treat zeros otherwise.
struct Filler<'m>(&'m [u8]);

impl Stage for Filler<'_> {
    fn apply(&mut self, frame: &mut Frame, _spare: &mut Buffer) -> Result<(), StageFailure> {
        let Extent { offset, length, .. } = frame.origin();
        let from = usize::try_from(offset)? % self.0.len().max(1);
        let mut around = [&self.0[from..], self.0].into_iter().chain(std::iter::repeat(self.0));
        let mut room = &mut frame.room()[..length as usize];
        while !room.is_empty() && !self.0.is_empty() {
            let bytes = around.next().unwrap_or_default();
            let fits = bytes.len().min(room.len());
            room[..fits].copy_from_slice(&bytes[..fits]);
            room = &mut room[fits..];
        }
        frame.set_length(length);
        Ok(())
    }
}

struct InOrder {
    writes_max: u32,
}

impl Sink for InOrder {
    fn writes_max(&self) -> u32 {
        self.writes_max
    }

    fn place(&mut self, frame: &mut Frame) -> Placement {
        let Extent { file, offset, .. } = frame.origin();
        Placement::Write { file, offset }
    }
}
