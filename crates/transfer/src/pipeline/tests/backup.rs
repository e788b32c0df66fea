//! A backup in small: sources of two files, a stage that compresses, three stripes; and the way back.

use std::collections::BTreeMap;

use iostall_engine::sim::{Faults, SimConfig, SimDevice, SimEngine, SimFile};
use iostall_engine::{Buffer, BufferPool, FileIndex, Pages};
use iostall_measure::ManualClock;

use super::content;
use crate::hash::piece_hash;
use crate::pipeline::*;
use crate::progress::Progress;

/// Two files to read, three to write.
pub(super) const SOURCES: u16 = 2;
pub(super) const SINKS: u16 = 3;
pub(super) const RAW_BYTES: u32 = 4096;
/// Sequence, file, offset, length of the data, length as stored, XXH3 of the data.
pub(super) const HEADER_BYTES: usize = 40;
pub(super) const BUFFER_BYTES: u32 = 8192;
pub(super) const ALIGN: u32 = 512;

/// Pieces of all sources, file after file.
pub(super) struct Pieces {
    pub(super) files: Vec<u64>,
    pub(super) at: (usize, u64),
}

impl Pieces {
    pub(super) fn new(sizes: &[usize]) -> Self {
        Self { files: sizes.iter().map(|size| *size as u64).collect(), at: (0, 0) }
    }
}

impl Source for Pieces {
    fn next(&mut self) -> Option<Step> {
        let (mut file, mut offset) = self.at;
        while offset >= *self.files.get(file)? {
            (file, offset) = (file + 1, 0);
        }
        let length = (self.files[file] - offset).min(RAW_BYTES.into());
        self.at = (file, offset + length);
        let index = FileIndex(u16::try_from(file).unwrap());
        Some(Step::Read(Extent { file: index, offset, length: u32::try_from(length).unwrap() }))
    }
}

/// What stands before the bytes of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Header {
    pub(super) sequence: u64,
    pub(super) origin: Extent,
    pub(super) stored: u32,
    pub(super) hash: u64,
}

impl Header {
    pub(super) fn put(&self, into: &mut [u8]) {
        let Extent { file, offset, length } = self.origin;
        for (at, value) in [
            self.sequence,
            file.0.into(),
            offset,
            u64::from(length) << 32 | u64::from(self.stored),
            self.hash,
        ]
        .iter()
        .enumerate()
        {
            into[at * 8..at * 8 + 8].copy_from_slice(&value.to_le_bytes());
        }
    }

    pub(super) fn get(from: &[u8]) -> Self {
        let value = |at: usize| u64::from_le_bytes(from[at * 8..at * 8 + 8].try_into().unwrap());
        let lengths = value(3);
        let origin = Extent {
            file: FileIndex(u16::try_from(value(1)).unwrap()),
            offset: value(2),
            length: u32::try_from(lengths >> 32).unwrap(),
        };
        let stored = u32::try_from(lengths & 0xffff_ffff).unwrap();
        Self { sequence: value(0), origin, stored, hash: value(4) }
    }
}

/// Compresses each frame behind a header of its own.
pub(super) struct Compress {
    pub(super) fails_at: Option<u64>,
}

impl Stage for Compress {
    fn apply(&mut self, frame: &mut Frame, spare: &mut Buffer) -> Result<(), StageFailure> {
        if self.fails_at == Some(frame.sequence()) {
            return Err("no more".into());
        }
        let stored = zstd::bulk::compress_to_buffer(frame.bytes(), &mut spare[HEADER_BYTES..], 1)?;
        let stored = u32::try_from(stored)?;
        let hash = piece_hash(frame.bytes());
        Header { sequence: frame.sequence(), origin: frame.origin(), stored, hash }.put(spare);
        frame.replace(spare, u32::try_from(HEADER_BYTES)? + stored);
        Ok(())
    }
}

/// Makes the frame what it was, and says where it came from.
pub(super) struct Decompress;

impl Stage for Decompress {
    fn apply(&mut self, frame: &mut Frame, spare: &mut Buffer) -> Result<(), StageFailure> {
        let header = Header::get(frame.bytes());
        let stored = &frame.bytes()[HEADER_BYTES..HEADER_BYTES + header.stored as usize];
        let length = zstd::bulk::decompress_to_buffer(stored, &mut spare[..])?;
        if piece_hash(&spare[..length]) != header.hash {
            return Err("another checksum".into());
        }
        frame.replace(spare, u32::try_from(length)?);
        frame.set_origin(header.origin);
        Ok(())
    }
}

/// Appends frames to one stripe.
pub(super) struct Stripe {
    pub(super) file: FileIndex,
    pub(super) end: u64,
    pub(super) written: Vec<Written>,
    pub(super) durable: Vec<Written>,
    pub(super) checkpoint_bytes: Option<u64>,
}

impl Stripe {
    pub(super) fn all(checkpoint_bytes: Option<u64>) -> Vec<Self> {
        let stripe = |index| Self {
            file: FileIndex(SOURCES + index),
            end: 0,
            written: Vec::new(),
            durable: Vec::new(),
            checkpoint_bytes,
        };
        (0..SINKS).map(stripe).collect()
    }
}

impl Sink for Stripe {
    fn writes_max(&self) -> u32 {
        2
    }

    fn place(&mut self, frame: &mut Frame) -> Placement {
        let offset = self.end;
        self.end += (frame.bytes().len() as u64).next_multiple_of(ALIGN.into());
        Placement::Write { file: self.file, offset }
    }

    fn was_written(&mut self, written: &Written) {
        self.written.push(*written);
    }

    fn checkpoint(&self) -> Option<Checkpoint> {
        Some(Checkpoint { file: self.file, interval_bytes: self.checkpoint_bytes? })
    }

    fn is_durable(&mut self, frames: &[Written]) -> std::io::Result<()> {
        self.durable.extend_from_slice(frames);
        Ok(())
    }
}

pub(super) struct Bench {
    pub(super) device: SimDevice,
    pub(super) data: Vec<Vec<u8>>,
}

impl Bench {
    pub(super) fn new(seed: u64, sizes: &[usize], space_bytes: Option<u64>, faults: Faults) -> Self {
        let sources = sizes.iter().map(|size| SimFile { size_bytes: *size as u64, ..SimFile::default() });
        let empty = SimFile { size_bytes: 0, space_bytes, ..SimFile::default() };
        let files: Vec<_> = sources.chain((0..SINKS).map(|_| empty)).collect();
        let config = SimConfig { seed, files, faults, ..SimConfig::default() };
        let device = SimDevice::new(config, ManualClock::new());
        // Some of it compresses well, some not at all.
        let mixed = |at: usize, size: usize| {
            let mut data = content(seed ^ at as u64, size);
            let every_other = data.chunks_mut(1000).enumerate().filter(|(index, _)| index % 3 != 0);
            every_other.for_each(|(index, part)| part.fill(index.to_le_bytes()[0]));
            data
        };
        let data: Vec<_> = sizes.iter().enumerate().map(|(at, size)| mixed(at, *size)).collect();
        for (index, data) in (0..).zip(&data) {
            device.fill(FileIndex(index), 0, data);
        }
        Self { device, data }
    }

    pub(super) fn pipeline(&self, buffers: u32) -> Pipeline<SimEngine, ManualClock> {
        let (_, pool) = BufferPool::new(buffers, BUFFER_BYTES, Pages::Small).unwrap();
        let engine = SimEngine::new(self.device.clone(), buffers + u32::from(SINKS));
        Pipeline::new(engine, self.device.clock().clone(), pool)
    }

    pub(super) fn sizes(&self) -> Vec<usize> {
        self.data.iter().map(Vec::len).collect()
    }
}

pub(super) const ALIGNS: [u32; 5] = [1, 1, ALIGN, ALIGN, ALIGN];

pub(super) fn job<'a>(
    source: &'a mut dyn Source,
    stages: Vec<StageWorkers<'a>>,
    sinks: Vec<&'a mut dyn Sink>,
    progress: &'a Progress,
) -> Job<'a> {
    Job { source, stages, sinks, aligns: &ALIGNS, reads_max: 4, rate: None, progress }
}

pub(super) fn backup(
    bench: &Bench,
    pipeline: &mut Pipeline<SimEngine, ManualClock>,
    stripes: &mut [Stripe],
    workers: &mut [Compress],
    progress: &Progress,
) -> Result<Moved, PipelineError> {
    let mut source = Pieces::new(&bench.sizes());
    let on_caller = workers.len() == 1;
    let stage = StageWorkers::any_order(workers.iter_mut().map(|worker| worker as &mut dyn Stage));
    let stage = if on_caller { stage.on_caller() } else { stage };
    let sinks = stripes.iter_mut().map(|stripe| stripe as &mut dyn Sink).collect();
    pipeline.run(job(&mut source, vec![stage], sinks, progress))
}

pub(super) fn compressors(count: usize, fails_at: Option<u64>) -> Vec<Compress> {
    (0..count).map(|_| Compress { fails_at }).collect()
}

/// Reads the stripes frame by frame, without the pipeline, and puts the files together again.
pub(super) fn read_back(bench: &Bench, stripes: &[Stripe]) -> Vec<Vec<u8>> {
    let mut frames = BTreeMap::new();
    for written in stripes.iter().flat_map(|stripe| &stripe.written) {
        let mut stored = vec![0; written.at.length as usize];
        bench.device.live(written.at.file).read(written.at.offset, &mut stored);
        let header = Header::get(&stored);
        assert_eq!((header.sequence, header.origin), (written.sequence, written.origin));
        let data = zstd::bulk::decompress(&stored[HEADER_BYTES..], RAW_BYTES as usize).unwrap();
        assert!(frames.insert(header.sequence, (header.origin, data)).is_none(), "a frame twice");
    }
    let mut files = vec![Vec::new(); usize::from(SOURCES)];
    for (origin, data) in frames.into_values() {
        let file = &mut files[usize::from(origin.file.0)];
        // In the order of their numbers they are in the order of the source.
        assert_eq!((file.len() as u64, data.len()), (origin.offset, origin.length as usize));
        file.extend_from_slice(&data);
    }
    files
}

/// Frames of stripes, wherever they lie.
pub(super) struct Stored(pub(super) std::collections::VecDeque<Extent>);

impl Source for Stored {
    fn next(&mut self) -> Option<Step> {
        self.0.pop_front().map(Step::Read)
    }
}

/// Writes frames to where they say they came from.
pub(super) struct InPlace;

impl Sink for InPlace {
    fn writes_max(&self) -> u32 {
        4
    }

    fn place(&mut self, frame: &mut Frame) -> Placement {
        let Extent { file, offset, .. } = frame.origin();
        Placement::Write { file, offset }
    }
}
