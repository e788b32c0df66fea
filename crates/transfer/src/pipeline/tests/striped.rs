//! Frames that change their length, shared out over several sinks: what a backup does with the pipeline.

use std::sync::{Condvar, Mutex};

use iostall_engine::sim::Faults;
use iostall_engine::{Buffer, FileIndex};
use iostall_model::transfer::HashKind;
use proptest::prelude::*;

use super::backup::*;
use crate::hash::Hasher;
use crate::pipeline::*;
use crate::plan::Plan;
use crate::progress::Progress;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_compressed_and_striped_reads_back_in_order(
        seed: u64,
        sizes in prop::array::uniform2(0usize..150_000),
        short in 0.0..0.6f64,
        buffers in 4u32..12,
        workers in 1usize..4,
    ) {
        let faults = Faults { short_probability: short, ..Faults::default() };
        let bench = Bench::new(seed, &sizes, None, faults);
        let mut pipeline = bench.pipeline(buffers);
        let mut stripes = Stripe::all(None);
        let progress = Progress::default();
        let moved =
            backup(&bench, &mut pipeline, &mut stripes, &mut compressors(workers, None), &progress).unwrap();
        prop_assert!(read_back(&bench, &stripes) == bench.data, "the stripes hold something else");
        prop_assert_eq!(moved.read_bytes, (sizes[0] + sizes[1]) as u64);
        prop_assert_eq!(progress.now().bytes_done, moved.read_bytes);
        // No buffer more than there were, and none lost, the workers' spare ones included.
        let mut indices: Vec<_> = pipeline.into_buffers().iter().map(Buffer::index).collect();
        indices.sort_unstable();
        prop_assert_eq!(indices, (0..buffers).collect::<Vec<_>>());
    }

    /// The first failure is what is told, wherever it happens, and the job ends with every buffer back.
    #[test]
    fn a_failure_in_any_part_ends_all_parts_with_its_cause(
        seed: u64,
        sizes in prop::array::uniform2(20_000usize..60_000),
        part in 0u8..3,
        at in 0u64..20,
        workers in 1usize..4,
    ) {
        let faults = Faults { eio_at: if part == 0 { vec![at] } else { vec![] }, ..Faults::default() };
        let bench = Bench::new(seed, &sizes, (part == 1).then_some(512), faults);
        let mut pipeline = bench.pipeline(8);
        let mut stripes = Stripe::all(Some(8192));
        let fails_at = (part == 2).then_some(at % 5);
        let mut workers = compressors(workers, fails_at);
        let copied = backup(&bench, &mut pipeline, &mut stripes, &mut workers, &Progress::default());
        match (part, copied) {
            (
                0,
                Err(
                    PipelineError::Read { cause, .. }
                    | PipelineError::Write { cause, .. }
                    | PipelineError::Sync(cause),
                ),
            ) => prop_assert_eq!(cause.symbol(), "EIO"),
            // The n-th request was never made.
            (0, Ok(_)) => prop_assert!(read_back(&bench, &stripes) == bench.data),
            (1, Err(PipelineError::Write { cause, .. })) => prop_assert_eq!(cause.symbol(), "ENOSPC"),
            (2, Err(PipelineError::Stage { cause, .. })) => prop_assert_eq!(cause.to_string(), "no more"),
            (part, other) => prop_assert!(false, "part {part}: {other:?}"),
        }
        prop_assert_eq!(pipeline.into_buffers().len(), 8);
        // What a sink was told to be durable is, whatever happened after.
        let durable = bench.device.crash(seed ^ 3);
        for frame in stripes.iter().flat_map(|stripe| &stripe.durable) {
            let mut stored = vec![0; frame.at.length as usize];
            durable[usize::from(frame.at.file.0)].read(frame.at.offset, &mut stored);
            prop_assert_eq!(Header::get(&stored).sequence, frame.sequence);
            prop_assert!(zstd::bulk::decompress(&stored[HEADER_BYTES..], RAW_BYTES as usize).is_ok());
        }
    }

    /// A restore is the same pipeline the other way: three stripes in, two files out, each frame where it belongs.
    #[test]
    fn stripes_are_restored_by_the_pipeline_itself(seed: u64, sizes in prop::array::uniform2(1usize..80_000)) {
        let bench = Bench::new(seed, &sizes, None, Faults::default());
        let mut stripes = Stripe::all(None);
        let mut workers = compressors(2, None);
        backup(&bench, &mut bench.pipeline(8), &mut stripes, &mut workers, &Progress::default()).unwrap();
        // Where the sources were is what a crash left there: nothing of them.
        for (file, size) in (0..SOURCES).zip(&sizes) {
            bench.device.fill(FileIndex(file), 0, &vec![0xee; *size]);
        }
        let stored = stripes.iter().flat_map(|stripe| &stripe.written).map(|written| written.at).collect();
        let (mut source, mut files) = (Stored(stored), InPlace);
        let (mut one, mut other) = (Decompress, Decompress);
        let workers: [&mut dyn Stage; 2] = [&mut one, &mut other];
        let progress = Progress::default();
        let restore = job(&mut source, vec![StageWorkers::any_order(workers)], vec![&mut files], &progress);
        bench.pipeline(6).run(restore).unwrap();
        for (file, data) in (0..SOURCES).zip(&bench.data) {
            let mut restored = vec![0; data.len()];
            bench.device.live(FileIndex(file)).read(0, &mut restored);
            prop_assert!(restored == *data, "file {file} differs");
        }
    }
}

/// The first worker waits until the second is through with a later frame.
struct Late<'a> {
    waits: bool,
    had: Vec<u64>,
    has_begun: &'a Signal,
    later_is_through: &'a Signal,
}

/// Said once, and waited for.
#[derive(Default)]
struct Signal(Mutex<bool>, Condvar);

impl Signal {
    fn say(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }

    fn wait(&self) {
        drop(self.1.wait_while(self.0.lock().unwrap(), |said| !*said).unwrap());
    }
}

impl Stage for Late<'_> {
    fn apply(&mut self, frame: &mut Frame, _spare: &mut Buffer) -> Result<(), StageFailure> {
        self.had.push(frame.sequence());
        if self.waits {
            self.has_begun.say();
            self.later_is_through.wait();
        } else {
            // Else it might be given all of them.
            self.has_begun.wait();
            self.later_is_through.say();
        }
        Ok(())
    }
}

/// Notes the order in which frames reach it.
#[derive(Default)]
struct Order(Vec<u64>);

impl OrderedStage for Order {
    fn frame(&mut self, frame: &mut Frame) -> Result<(), StageFailure> {
        self.0.push(frame.sequence());
        Ok(())
    }

    fn hole(&mut self, _length: u64) {}
}

/// A backup whose checksum is of the stored bytes would be of frames in any order, had the order not been restored.
#[test]
fn frames_overtake_each_other_in_a_stage_and_are_in_order_in_the_next() {
    let bench = Bench::new(5, &[40_000, 40_000], None, Faults::default());
    let (begun, through) = (Signal::default(), Signal::default());
    let mut first = Late { waits: true, had: Vec::new(), has_begun: &begun, later_is_through: &through };
    let mut second = Late { waits: false, had: Vec::new(), has_begun: &begun, later_is_through: &through };
    let (mut order, mut source, mut stripes) =
        (Order::default(), Pieces::new(&bench.sizes()), Stripe::all(None));
    let workers: [&mut dyn Stage; 2] = [&mut first, &mut second];
    let stages = vec![StageWorkers::any_order(workers), StageWorkers::in_order(&mut order)];
    let sinks = stripes.iter_mut().map(|stripe| stripe as &mut dyn Sink).collect();
    let progress = Progress::default();
    bench.pipeline(8).run(job(&mut source, stages, sinks, &progress)).unwrap();
    assert_eq!(order.0, (0..20).collect::<Vec<_>>());
}

/// A backup lists the checksum of each file beside what it stores of it: the one needs order and holes, the other neither.
#[test]
fn a_file_is_hashed_in_order_with_its_holes_and_compressed_in_any_order() {
    let bench = Bench::new(12, &[70_000, 0], None, Faults { short_probability: 0.3, ..Faults::default() });
    let mut expected = bench.data[0].clone();
    expected[20_480..49_152].fill(0);
    let mut source = Plan::new(70_000, &[0..20_480, 49_152..70_000], &[], RAW_BYTES);
    let wanted = HashWanted { whole: Some(HashKind::Md5), ..HashWanted::default() };
    let (mut checksums, mut workers) = (Checksums::new(wanted), compressors(3, None));
    let compression = StageWorkers::any_order(workers.iter_mut().map(|worker| worker as &mut dyn Stage));
    let stages = vec![StageWorkers::in_order(&mut checksums).on_threads(), compression];
    let mut stripes = Stripe::all(None);
    let sinks = stripes.iter_mut().map(|stripe| stripe as &mut dyn Sink).collect();
    let progress = Progress::default();
    let moved = bench.pipeline(9).run(job(&mut source, stages, sinks, &progress)).unwrap();
    assert_eq!((moved.read_bytes, moved.hole_bytes), (41_328, 28_672));
    let mut md5 = Hasher::new(HashKind::Md5);
    md5.update(&expected);
    assert_eq!(checksums.finish().whole, Some(md5.finish()));
    assert_eq!(stripes.iter().map(|stripe| stripe.written.len()).sum::<usize>(), 11);
}

/// Says when a frame is written.
struct Says<'a>(Stripe, &'a Signal);

impl Sink for Says<'_> {
    fn writes_max(&self) -> u32 {
        1
    }
    fn place(&mut self, frame: &mut Frame) -> Placement {
        self.0.place(frame)
    }
    fn was_written(&mut self, written: &Written) {
        self.0.was_written(written);
        self.1.say();
    }
}

#[test]
fn frames_finish_out_of_order_and_are_written_as_they_finish() {
    let bench = Bench::new(6, &[8192, 0], None, Faults::default());
    let (begun, through, is_written) = (Signal::default(), Signal::default(), Signal::default());
    // The first frame stays in its stage until the second is written, or all of it would hang.
    let mut first = Late { waits: true, had: Vec::new(), has_begun: &begun, later_is_through: &is_written };
    let mut second = Late { waits: false, had: Vec::new(), has_begun: &begun, later_is_through: &through };
    let (mut source, [stripe, ..]) =
        (Pieces::new(&bench.sizes()), <[Stripe; 3]>::try_from(Stripe::all(None)).ok().unwrap());
    let mut sink = Says(stripe, &is_written);
    let workers: [&mut dyn Stage; 2] = [&mut first, &mut second];
    let progress = Progress::default();
    let stages = vec![StageWorkers::any_order(workers)];
    bench.pipeline(6).run(job(&mut source, stages, vec![&mut sink as &mut dyn Sink], &progress)).unwrap();
    let written = &sink.0.written;
    let at = |sequence| written.iter().find(|frame| frame.sequence == sequence).unwrap().at.offset;
    // The engine may have read either of them first.
    assert!(at(second.had[0]) < at(first.had[0]), "the second worker was through first: {written:?}");
}

/// One stripe on a slow disk held up the others when frames were dealt out in turn.
#[test]
fn a_sink_that_takes_less_gets_fewer_frames() {
    struct Slow(Stripe);
    impl Sink for Slow {
        fn writes_max(&self) -> u32 {
            1
        }
        fn place(&mut self, frame: &mut Frame) -> Placement {
            self.0.place(frame)
        }
        fn was_written(&mut self, written: &Written) {
            self.0.was_written(written);
        }
    }
    let bench = Bench::new(7, &[400_000, 0], None, Faults::default());
    let [one, other, _] = <[Stripe; 3]>::try_from(Stripe::all(None)).ok().unwrap();
    let (mut slow, mut fast, mut source) = (Slow(one), other, Pieces::new(&bench.sizes()));
    let mut stage = Compress { fails_at: None };
    let stages = vec![StageWorkers::any_order([&mut stage as &mut dyn Stage]).on_caller()];
    let progress = Progress::default();
    let sinks: Vec<&mut dyn Sink> = vec![&mut slow, &mut fast];
    bench.pipeline(12).run(job(&mut source, stages, sinks, &progress)).unwrap();
    assert!(slow.0.written.len() < fast.written.len());
    assert!(read_back(&bench, &[slow.0, fast]) == bench.data);
}

/// Takes frames only in turn: what a tape or an upload of parts does.
struct InTurn(Stripe, u64);

impl Sink for InTurn {
    fn writes_max(&self) -> u32 {
        1
    }

    fn place(&mut self, frame: &mut Frame) -> Placement {
        if frame.sequence() != self.1 {
            return Placement::Later;
        }
        self.1 += 1;
        self.0.place(frame)
    }
}

#[test]
fn a_sink_may_take_frames_in_turn_and_none_that_takes_nothing_hangs() {
    for (first, buffers) in [(0, 4), (0, 7), (3, 5)] {
        let bench = Bench::new(8, &[90_000, 10_000], None, Faults::default());
        let [stripe, ..] = <[Stripe; 3]>::try_from(Stripe::all(None)).ok().unwrap();
        let (mut sink, mut source) = (InTurn(stripe, first), Pieces::new(&bench.sizes()));
        let mut workers = compressors(3, None);
        let stage = StageWorkers::any_order(workers.iter_mut().map(|worker| worker as &mut dyn Stage));
        let progress = Progress::default();
        let mut pipeline = bench.pipeline(buffers);
        let moved = pipeline.run(job(&mut source, vec![stage], vec![&mut sink], &progress));
        match moved {
            Ok(_) => assert_eq!((first, sink.1), (0, 25)),
            Err(PipelineError::NoSink { .. }) => assert!(first > 0),
            Err(other) => panic!("{other}"),
        }
        assert_eq!(pipeline.into_buffers().len(), buffers as usize);
    }
}

#[test]
fn a_cancelled_backup_ends_with_its_threads_and_gives_its_buffers_back() {
    struct CancelAt<'a>(&'a std::sync::atomic::AtomicBool);
    impl Stage for CancelAt<'_> {
        fn apply(&mut self, frame: &mut Frame, _spare: &mut Buffer) -> Result<(), StageFailure> {
            if frame.sequence() == 5 {
                self.0.store(true, std::sync::atomic::Ordering::Relaxed);
            }
            Ok(())
        }
    }
    let cancel = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let bench = Bench::new(9, &[400_000, 0], None, Faults::default());
    let (mut stripes, mut source) = (Stripe::all(None), Pieces::new(&bench.sizes()));
    let mut stage = CancelAt(&cancel);
    let progress = Progress::new(cancel.clone());
    let sinks = stripes.iter_mut().map(|stripe| stripe as &mut dyn Sink).collect();
    let mut pipeline = bench.pipeline(6);
    let stages = vec![StageWorkers::any_order([&mut stage as &mut dyn Stage])];
    let error = pipeline.run(job(&mut source, stages, sinks, &progress)).unwrap_err();
    assert!(matches!(error, PipelineError::Cancelled), "{error}");
    assert_eq!(pipeline.into_buffers().len(), 6);
}

/// A panic in a worker's thread took the frame with it, and whoever waited for the frame waited for ever.
#[test]
fn a_worker_that_panics_ends_the_job_and_hangs_nobody() {
    struct Panics;
    impl Stage for Panics {
        fn apply(&mut self, frame: &mut Frame, _spare: &mut Buffer) -> Result<(), StageFailure> {
            assert_ne!(frame.sequence(), 2, "meant to");
            Ok(())
        }
    }
    let bench = Bench::new(10, &[100_000, 0], None, Faults::default());
    let (mut stripes, mut source) = (Stripe::all(None), Pieces::new(&bench.sizes()));
    let (mut one, mut other) = (Panics, Panics);
    let progress = Progress::default();
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let workers: [&mut dyn Stage; 2] = [&mut one, &mut other];
        let sinks = stripes.iter_mut().map(|stripe| stripe as &mut dyn Sink).collect();
        let stages = vec![StageWorkers::any_order(workers)];
        bench.pipeline(6).run(job(&mut source, stages, sinks, &progress))
    }));
    assert!(ended.is_err());
}

/// However slow the sinks are, no more is read than fits into the buffers.
#[test]
fn a_slow_sink_holds_the_source_back() {
    struct Counts {
        read: std::cell::Cell<u32>,
    }
    struct Counting<'a>(Pieces, &'a Counts);
    impl Source for Counting<'_> {
        fn next(&mut self) -> Option<Step> {
            self.0.next()
        }
        fn was_read(&mut self, _extent: &Extent) {
            self.1.read.set(self.1.read.get() + 1);
        }
    }
    struct Bounded<'a>(Stripe, &'a Counts, u32);
    impl Sink for Bounded<'_> {
        fn writes_max(&self) -> u32 {
            1
        }
        fn place(&mut self, frame: &mut Frame) -> Placement {
            self.0.place(frame)
        }
        fn was_written(&mut self, written: &Written) {
            self.0.was_written(written);
            let in_memory = self.1.read.get() - u32::try_from(self.0.written.len()).unwrap();
            self.2 = self.2.max(in_memory);
        }
    }
    let bench = Bench::new(11, &[800_000, 0], None, Faults::default());
    let counts = Counts { read: std::cell::Cell::new(0) };
    let [stripe, ..] = <[Stripe; 3]>::try_from(Stripe::all(None)).ok().unwrap();
    let mut source = Counting(Pieces::new(&bench.sizes()), &counts);
    let mut sink = Bounded(stripe, &counts, 0);
    let mut stage = Compress { fails_at: None };
    let progress = Progress::default();
    let stages = vec![StageWorkers::any_order([&mut stage as &mut dyn Stage]).on_caller()];
    bench.pipeline(5).run(job(&mut source, stages, vec![&mut sink], &progress)).unwrap();
    assert_eq!(counts.read.get(), 196);
    assert!((2..=4).contains(&sink.2), "{} frames in 4 buffers", sink.2);
}
