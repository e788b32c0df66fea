//! How frames are shared out over sinks: evenly where they are equally fast, and by what they take where one is slow.

use std::collections::{BTreeSet, VecDeque};

use iostall_engine::sim::{Faults, SimEngine};
use iostall_engine::{
    BufferPool, Completion, Engine, EngineError, EngineReport, FileIndex, Pages, Request, Wait,
};

use super::backup::*;
use crate::pipeline::*;
use crate::progress::Progress;

fn lengths(stripes: &[Stripe]) -> Vec<usize> {
    stripes.iter().map(|stripe| stripe.written.len()).collect()
}

/// The story: of eight frames on four stripes one stripe got five. Frames came one by one, each time all stripes were idle, and
/// the first one was asked first.
#[test]
fn frames_that_come_one_by_one_are_shared_evenly() {
    let bench = Bench::new(3, &[12 * RAW_BYTES as usize, 0], None, Faults::default());
    let mut stripes = Stripe::all(None);
    // One buffer circulates, and the worker has the other.
    let mut pipeline = bench.pipeline(2);
    let moved =
        backup(&bench, &mut pipeline, &mut stripes, &mut compressors(1, None), &Progress::default()).unwrap();
    let lengths = lengths(&stripes);
    assert!(lengths.iter().all(|length| (3..=5).contains(length)), "{lengths:?}");
    assert!(read_back(&bench, &stripes) == bench.data);
    for (file, stripe) in moved.files[usize::from(SOURCES)..].iter().zip(&stripes) {
        assert!(file.busy_ns > 0);
        assert_eq!(file.bytes, stripe.end, "with what alignment adds");
    }
    assert_eq!(moved.files[0].bytes, 12 * u64::from(RAW_BYTES));
}

/// A device on which one file is slow: its requests complete after so many others.
struct OneSlow {
    inner: SimEngine,
    slow: FileIndex,
    after: u32,
    tokens: BTreeSet<u32>,
    held: VecDeque<(u32, Completion)>,
}

impl Engine for OneSlow {
    fn report(&self) -> EngineReport {
        self.inner.report()
    }

    fn capacity(&self) -> u32 {
        self.inner.capacity()
    }

    fn in_flight(&self) -> u32 {
        self.inner.in_flight() + u32::try_from(self.held.len()).unwrap()
    }

    fn push(&mut self, request: Request) {
        if request.file == self.slow {
            self.tokens.insert(request.token);
        }
        self.inner.push(request);
    }

    fn submit(&mut self, wait: Wait, completions: &mut Vec<Completion>) -> Result<(), EngineError> {
        let mut new = Vec::new();
        if self.inner.in_flight() > 0 {
            self.inner.submit(wait, &mut new)?;
        } else if let Some((left, _)) = self.held.front_mut() {
            // Nothing else is left to wait for.
            *left = 0;
        }
        for completion in new {
            if self.tokens.remove(&completion.token) {
                self.held.push_back((self.after, completion));
            } else {
                self.held.iter_mut().for_each(|(left, _)| *left = left.saturating_sub(1));
                completions.push(completion);
            }
        }
        while let Some((_, completion)) = self.held.pop_front_if(|(left, _)| *left == 0) {
            completions.push(completion);
        }
        Ok(())
    }

    fn calls(&self) -> u64 {
        0
    }
}

/// One stripe lies on a disk that is twenty times slower. It must get what it can take, and the others the rest.
#[test]
fn a_slow_stripe_takes_less_and_holds_nobody() {
    let bench = Bench::new(4, &[120 * RAW_BYTES as usize, 0], None, Faults::default());
    let (_, pool) = BufferPool::new(12, BUFFER_BYTES, Pages::Small).unwrap();
    let inner = SimEngine::new(bench.device.clone(), 12 + u32::from(SINKS));
    let slow = FileIndex(SOURCES + 1);
    let engine = OneSlow { inner, slow, after: 40, tokens: BTreeSet::new(), held: VecDeque::new() };
    let mut pipeline = Pipeline::new(engine, bench.device.clock().clone(), pool);
    let (mut stripes, mut source) = (Stripe::all(None), Pieces::new(&bench.sizes()));
    let mut stage = Compress { fails_at: None };
    let stages = vec![StageWorkers::any_order([&mut stage as &mut dyn Stage]).on_caller()];
    let sinks = stripes.iter_mut().map(|stripe| stripe as &mut dyn Sink).collect();
    let moved = pipeline.run(job(&mut source, stages, sinks, &Progress::default())).unwrap();
    let lengths = lengths(&stripes);
    assert!(lengths[1] > 0 && lengths[1] * 5 < lengths[0], "{lengths:?}");
    assert!(lengths[0].abs_diff(lengths[2]) * 4 < lengths[0], "the fast ones share the rest: {lengths:?}");
    assert!(read_back(&bench, &stripes) == bench.data);
    let busy: Vec<u64> = moved.files[usize::from(SOURCES)..].iter().map(|file| file.busy_ns).collect();
    assert!(busy[1] > busy[0] && busy[1] > busy[2], "the slow one is the busy one: {busy:?}");
}
