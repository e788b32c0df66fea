//! Jobs on a simulated device: whatever it does, the stripes are whole or there is an error.

use std::collections::BTreeMap;
use std::sync::Arc;

use iostall_engine::sim::{Faults, SimConfig, SimDevice, SimEngine, SimFile};
use iostall_engine::{BufferPool, FileIndex, Pages};
use iostall_measure::ManualClock;
use iostall_model::backup::{SetId, StoredName};
use proptest::prelude::*;

use super::content;
use crate::backup::codec::{Compressor, Decoder};
use crate::backup::create::CreateOptions;
use crate::backup::create::base::Before;
use crate::backup::create::encode::{Content, EncodeJob, Encoder, Tagged};
use crate::backup::create::options::Shape;
use crate::backup::create::source::{FileBatch, FileRead};
use crate::backup::create::stripe::Stripe;
use crate::backup::create::writer::{JobParts, run_job};
use crate::backup::format::frame_block_bytes;
use crate::pipeline::{Moved, Pipeline, PipelineError};
use crate::plan::Plan;
use crate::progress::Progress;

const SET: SetId = SetId([7; 16]);
const STRIPES: u16 = 3;

fn shape() -> Shape {
    let options = CreateOptions {
        targets: (0..STRIPES).map(|index| format!("{index}").into()).collect(),
        frame_bytes: Some(64 << 10),
        transfer_bytes: Some(128 << 10),
        workers: Some(2),
        buffers: Some(10),
        ..CreateOptions::default()
    };
    Shape::of(&options).unwrap()
}

/// Stripes first, then files, as on a real engine.
struct Bench {
    device: SimDevice,
    data: Vec<Vec<u8>>,
    stripes: Vec<Stripe>,
}

impl Bench {
    /// Files of which only `there` bytes are left when they are read.
    fn new(seed: u64, sizes: &[usize], there: &[usize], space_bytes: Option<u64>, faults: Faults) -> Self {
        let empty = SimFile { size_bytes: 0, space_bytes, ..SimFile::default() };
        let file = |size: &usize| SimFile { size_bytes: *size as u64, ..SimFile::default() };
        let files = (0..STRIPES).map(|_| empty).chain(there.iter().map(file)).collect();
        let config = SimConfig { seed, files, faults, ..SimConfig::default() };
        let device = SimDevice::new(config, ManualClock::new());
        let data: Vec<_> = (1..).zip(sizes).map(|(at, size)| content(seed ^ at, *size)).collect();
        for (index, (data, there)) in (STRIPES..).zip(data.iter().zip(there)) {
            device.fill(FileIndex(index), 0, &data[..*there]);
        }
        let stripe = |number| Stripe::new(number, Some(FileIndex(number)), 4096, 4096, 2);
        Self { device, data, stripes: (0..STRIPES).map(stripe).collect() }
    }

    fn run(&mut self, compression: iostall_model::backup::Compression) -> Result<Moved, PipelineError> {
        let shape = shape();
        let (_, pool) = BufferPool::new(shape.buffers, shape.buffer_bytes, Pages::Small).unwrap();
        let engine = SimEngine::new(self.device.clone(), shape.buffers + 1);
        let mut pipeline = Pipeline::new(engine, self.device.clock().clone(), pool);
        let encoder = |_| Encoder::new(SET, shape, Compressor::new(compression).unwrap(), None);
        let mut encoders: Vec<_> = (0..shape.workers).map(encoder).collect();
        let tagged =
            |number| Tagged { number, name: StoredName::default(), inspect: None, before: Before::default() };
        let files = (1..=self.data.len() as u64).map(tagged).collect();
        let content = Content::Files { first: STRIPES, files };
        let job = Arc::new(EncodeJob { base: 5, content });
        let reads = self.data.iter().map(|data| {
            let size_bytes = data.len() as u64;
            FileRead::new("x".into(), size_bytes, Plan::whole(size_bytes, shape.transfer_bytes))
        });
        let progress = Progress::default();
        let mut source = FileBatch::new(STRIPES, reads.collect(), &progress);
        let aligns = vec![4096; usize::from(STRIPES) + self.data.len()];
        let (moved, _) = run_job(
            &mut pipeline,
            &job,
            JobParts {
                source: &mut source,
                reader: None,
                encoders: &mut encoders,
                stripes: &mut self.stripes,
                aligns: &aligns,
                reads_max: 3,
                rate: None,
                progress: &progress,
            },
        );
        assert_eq!(pipeline.into_buffers().len(), shape.buffers as usize, "a buffer was lost");
        for (read, data) in source.files.iter().zip(&mut self.data) {
            let stored = usize::try_from(read.stored_size()).unwrap();
            assert_eq!(read.has_shrunk(), moved.is_ok() && stored < data.len());
            if moved.is_ok() {
                data.truncate(stored);
            }
        }
        moved
    }

    /// The files, from the frames that the stripes say they have.
    fn read_back(&self) -> Vec<Vec<u8>> {
        let mut decoder = Decoder::new(SET, None).unwrap();
        let mut pieces: BTreeMap<(u64, u64), Vec<u8>> = BTreeMap::new();
        for (number, stripe) in (0..).zip(&self.stripes) {
            let image = self.device.live(FileIndex(number));
            assert_eq!(image.size_bytes(), if stripe.frames == 0 { 0 } else { stripe.end });
            let mut end = 4096;
            for record in &stripe.index {
                assert_eq!(record.position, end, "frames stand one after another");
                let whole = frame_block_bytes(record.stored_length, 4096);
                let mut frame = vec![0; usize::try_from(whole).unwrap()];
                assert_eq!(image.read(record.position, &mut frame), frame.len());
                let mut plain = vec![0; 64 << 10];
                let (header, plain) = decoder.decode(&mut frame, number, &mut plain).unwrap();
                assert!(record.is_of(&header));
                assert!(pieces.insert((header.file, header.offset), plain.to_vec()).is_none());
                end += whole;
            }
            assert_eq!(end, stripe.end);
        }
        let mut files = vec![Vec::new(); self.data.len()];
        for ((file, offset), plain) in pieces {
            let file = &mut files[usize::try_from(file).unwrap() - 1];
            assert_eq!(file.len() as u64, offset);
            file.extend_from_slice(&plain);
        }
        files
    }
}

fn compressions() -> impl Strategy<Value = iostall_model::backup::Compression> {
    use iostall_model::backup::Compression;
    prop::sample::select(vec![Compression::None, Compression::Zstd(1), Compression::Lz4])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    // Of a block that never moves as a whole, a transfer gives up: with more short requests that would happen by chance.
    #[test]
    fn short_reads_and_writes_neither_lose_nor_shift_a_byte(
        seed: u64,
        sizes in prop::collection::vec(0usize..700_000, 1..4),
        short in 0.0..0.4f64,
        compression in compressions(),
    ) {
        let faults = Faults { short_probability: short, ..Faults::default() };
        let mut bench = Bench::new(seed, &sizes, &sizes, None, faults);
        let moved = bench.run(compression).unwrap();
        prop_assert_eq!(moved.read_bytes, sizes.iter().sum::<usize>() as u64);
        prop_assert!(bench.read_back() == bench.data, "another content");
        let source: u64 = bench.stripes.iter().map(|stripe| stripe.source_bytes).sum();
        prop_assert_eq!(source, moved.read_bytes);
    }

    /// A database truncates its files while they are backed up: what there was is stored, and nothing else.
    #[test]
    fn a_file_that_became_shorter_is_stored_as_far_as_it_goes(
        seed: u64,
        sizes in prop::collection::vec((0usize..500_000, 0.0..1.2f64), 1..4),
        short in 0.0..0.4f64,
        compression in compressions(),
    ) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a small size")]
        let there: Vec<_> =
            sizes.iter().map(|(size, share)| ((*size as f64 * share) as usize).min(*size)).collect();
        let sizes: Vec<_> = sizes.into_iter().map(|(size, _)| size).collect();
        let faults = Faults { short_probability: short, ..Faults::default() };
        let mut bench = Bench::new(seed, &sizes, &there, None, faults);
        bench.run(compression).unwrap();
        let lengths: Vec<_> = bench.data.iter().map(Vec::len).collect();
        prop_assert_eq!(lengths, there);
        prop_assert!(bench.read_back() == bench.data, "another content");
    }

    #[test]
    fn a_failing_device_ends_the_job_with_its_error(seed: u64, at in 0u64..30, full: bool) {
        let faults = Faults { eio_at: if full { vec![] } else { vec![at] }, ..Faults::default() };
        let sizes = [600_000, 500_000];
        let mut bench = Bench::new(seed, &sizes, &sizes, full.then_some(36 * 4096), faults);
        match bench.run(iostall_model::backup::Compression::None) {
            Err(PipelineError::Read { file, cause, .. }) => {
                prop_assert!(file.0 >= STRIPES);
                prop_assert_eq!(cause.symbol(), "EIO");
            }
            Err(PipelineError::Write { file, cause, .. }) => {
                prop_assert!(file.0 < STRIPES);
                prop_assert_eq!(cause.symbol(), if full { "ENOSPC" } else { "EIO" });
            }
            Err(other) => prop_assert!(false, "{}", other),
            // The n-th request was never made.
            Ok(_) => prop_assert!(!full && bench.read_back() == bench.data),
        }
    }
}
