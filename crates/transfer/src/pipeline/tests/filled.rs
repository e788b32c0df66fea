//! Frames that come from a stage, and files that end earlier than they did.

use iostall_engine::sim::SimConfig;
use iostall_engine::{Buffer, FileIndex};
use proptest::prelude::*;

use super::{Bench, OneFile, PIECE, content};
use crate::pipeline::*;
use crate::plan::{Plan, SOURCE, TARGET};
use crate::progress::Progress;

/// Frames number `at` of the content, which a stage puts into them.
struct Parts {
    at: u64,
    count: u64,
}

impl Source for Parts {
    fn next(&mut self) -> Option<Step> {
        let origin = Extent { file: FileIndex(9), offset: self.at * u64::from(PIECE), length: PIECE };
        self.at += 1;
        (self.at <= self.count).then_some(Step::Fill(origin))
    }
}

struct Filler(Vec<u8>);

impl Stage for Filler {
    fn apply(&mut self, frame: &mut Frame, _: &mut Buffer) -> Result<(), StageFailure> {
        assert!(frame.bytes().is_empty());
        let origin = frame.origin();
        let at = usize::try_from(origin.offset)?;
        let part = &self.0[at..(at + PIECE as usize).min(self.0.len())];
        frame.room()[..part.len()].copy_from_slice(part);
        let length = u32::try_from(part.len())?;
        frame.set_length(length);
        frame.set_origin(Extent { length, ..origin });
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// A backup had no way to send thousands of small files through the pipeline but one read request for each.
    #[test]
    fn what_a_stage_puts_into_frames_is_written_and_counted_as_read(
        seed: u64, size in 1usize..100_000, buffers in 4u32..9, workers in 1usize..3,
    ) {
        let bench = Bench::new(seed, 0, SimConfig::default());
        let data = content(seed, size);
        let mut pipeline = bench.pipeline(buffers);
        let mut parts = Parts { at: 0, count: (size as u64).div_ceil(PIECE.into()) };
        let mut fillers: Vec<_> = (0..workers).map(|_| Filler(data.clone())).collect();
        let stage = StageWorkers::any_order(fillers.iter_mut().map(|filler| filler as &mut dyn Stage));
        let (progress, mut sink) = (Progress::default(), OneFile::default());
        let moved = pipeline.run(Job {
            source: &mut parts,
            stages: vec![stage],
            sinks: vec![&mut sink],
            aligns: &[512, 512],
            reads_max: 3,
            rate: None,
            progress: &progress,
        }).unwrap();
        prop_assert_eq!(moved.read_bytes, size as u64);
        prop_assert_eq!(progress.now().bytes_done, size as u64);
        prop_assert!(bench.target(size) == data, "another content");
        prop_assert_eq!(pipeline.into_buffers().len(), buffers as usize);
    }

    /// A database truncated a table while it was backed up, and the whole backup failed.
    #[test]
    fn a_source_that_expects_it_gets_what_is_left_of_a_file(
        seed: u64, planned in 1u64..80_000, left in 0.0..1.0f64, short in 0.0..0.5f64, buffers in 1u32..8,
    ) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a small size")]
        let size = (planned as f64 * left) as usize;
        let bench = Bench::new(seed, size, super::faults(short, &[]));
        let mut pipeline = bench.pipeline(buffers);
        let mut source = Shrinking(Plan::whole(planned, PIECE), Vec::new());
        let (progress, mut sink) = (Progress::default(), SkipsEmpty);
        let moved = pipeline.run(Job {
            source: &mut source,
            stages: Vec::new(),
            sinks: vec![&mut sink],
            aligns: &[512, 512],
            reads_max: 3,
            rate: None,
            progress: &progress,
        }).unwrap();
        prop_assert_eq!(moved.read_bytes, size as u64);
        prop_assert_eq!(progress.now().bytes_done, planned);
        prop_assert!(bench.target(size) == bench.data, "another content");
        let ends: Vec<_> = source.1.iter().map(|(offset, read)| offset + u64::from(*read)).collect();
        prop_assert_eq!(ends.iter().min().copied(), Some(size as u64));
        prop_assert_eq!(pipeline.into_buffers().len(), buffers as usize);
    }
}

struct Shrinking(Plan, Vec<(u64, u32)>);

impl Source for Shrinking {
    fn next(&mut self) -> Option<Step> {
        self.0.next()
    }

    fn ended_early(&mut self, extent: &Extent, read_bytes: u32) -> bool {
        assert_eq!(extent.file, SOURCE);
        self.1.push((extent.offset, read_bytes));
        true
    }
}

struct SkipsEmpty;

impl Sink for SkipsEmpty {
    fn writes_max(&self) -> u32 {
        2
    }

    fn place(&mut self, frame: &mut Frame) -> Placement {
        if frame.bytes().is_empty() {
            return Placement::Skip;
        }
        Placement::Write { file: TARGET, offset: frame.origin().offset }
    }
}
