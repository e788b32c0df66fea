//! What a job of a backup reads: extents of open files, or frames that a stage fills.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iostall_engine::FileIndex;

use crate::pipeline::{Extent, Frame, OrderedStage, Source, StageFailure, Step};
use crate::plan::Plan;
use crate::progress::Progress;

/// The file index of frames that come from no file.
pub(super) const NO_FILE: FileIndex = FileIndex(u16::MAX);

/// A source that knows how many steps it has given: each takes a sequence number.
pub(super) trait CountedSource: Source {
    fn steps(&self) -> u64;
}

pub(super) struct FileRead {
    path: PathBuf,
    size_bytes: u64,
    plan: Plan,
    pub(super) data_bytes: u64,
    data_end: u64,
    ended_at: Option<u64>,
}

impl FileRead {
    pub(super) fn new(path: PathBuf, size_bytes: u64, plan: Plan) -> Self {
        Self { path, size_bytes, plan, data_bytes: 0, data_end: 0, ended_at: None }
    }

    pub(super) fn stored_size(&self) -> u64 {
        self.ended_at.map_or(self.size_bytes, |ended_at| ended_at.max(self.data_end))
    }

    pub(super) fn has_shrunk(&self) -> bool {
        self.ended_at.is_some()
    }

    fn note(&mut self, offset: u64, length: u32) {
        self.data_bytes += u64::from(length);
        if length > 0 {
            self.data_end = self.data_end.max(offset + u64::from(length));
        }
    }
}

pub(super) struct FileBatch<'a> {
    first: u16,
    pub(super) files: Vec<FileRead>,
    at: usize,
    has_begun: bool,
    steps: u64,
    progress: &'a Progress,
}

impl<'a> FileBatch<'a> {
    pub(super) fn new(first: u16, files: Vec<FileRead>, progress: &'a Progress) -> Self {
        Self { first, files, at: 0, has_begun: false, steps: 0, progress }
    }

    fn file(&mut self, index: FileIndex) -> Option<&mut FileRead> {
        self.files.get_mut(usize::from(index.0.checked_sub(self.first)?))
    }
}

impl Source for FileBatch<'_> {
    fn next(&mut self) -> Option<Step> {
        loop {
            let file = self.files.get_mut(self.at)?;
            if !self.has_begun {
                self.has_begun = true;
                self.progress.begin_file(&file.path, file.size_bytes, "backing up");
            }
            match file.plan.next() {
                Some(Step::Read(extent) | Step::Fill(extent)) => {
                    self.steps += 1;
                    let index = u16::try_from(self.at).unwrap_or(u16::MAX);
                    return Some(Step::Read(Extent { file: FileIndex(self.first + index), ..extent }));
                }
                // What no frame covers is a hole.
                Some(Step::Hole { length, .. }) => self.progress.add_done(length),
                None => {
                    self.progress.end_file();
                    self.at += 1;
                    self.has_begun = false;
                }
            }
        }
    }

    fn was_read(&mut self, extent: &Extent) {
        if let Some(file) = self.file(extent.file) {
            file.note(extent.offset, extent.length);
        }
    }

    fn ended_early(&mut self, extent: &Extent, read_bytes: u32) -> bool {
        let Some(file) = self.file(extent.file) else { return false };
        file.note(extent.offset, read_bytes);
        let ended_at = extent.offset + u64::from(read_bytes);
        file.ended_at = Some(file.ended_at.map_or(ended_at, |earlier| earlier.min(ended_at)));
        true
    }
}

impl CountedSource for FileBatch<'_> {
    fn steps(&self) -> u64 {
        self.steps
    }
}

/// Frames that workers fill: number `i` with what the job's content has under `i`.
pub(super) struct Fills {
    lengths: Vec<u32>,
    at: usize,
}

impl Fills {
    pub(super) fn new(lengths: Vec<u32>) -> Self {
        Self { lengths, at: 0 }
    }
}

impl Source for Fills {
    fn next(&mut self) -> Option<Step> {
        let length = *self.lengths.get(self.at)?;
        let offset = self.at as u64;
        self.at += 1;
        Some(Step::Fill(Extent { file: NO_FILE, offset, length }))
    }
}

impl CountedSource for Fills {
    fn steps(&self) -> u64 {
        self.at as u64
    }
}

pub(super) struct StreamFills {
    read_bytes: u32,
    has_ended: Arc<AtomicBool>,
    steps: u64,
}

pub(super) struct StreamReader {
    stream: Box<dyn Read + Send>,
    name: String,
    read_bytes: u32,
    has_ended: Arc<AtomicBool>,
    pub(super) bytes: u64,
}

/// Both sides of a stream, which is read in pieces of `read_bytes`.
pub(super) fn stream(
    stream: Box<dyn Read + Send>,
    name: String,
    read_bytes: u32,
) -> (StreamFills, StreamReader) {
    let has_ended = Arc::new(AtomicBool::new(false));
    let fills = StreamFills::new(read_bytes, Arc::clone(&has_ended));
    (fills, StreamReader { stream, name, read_bytes, has_ended, bytes: 0 })
}

impl StreamFills {
    pub(super) fn new(read_bytes: u32, has_ended: Arc<AtomicBool>) -> Self {
        Self { read_bytes, has_ended, steps: 0 }
    }
}

impl Source for StreamFills {
    fn next(&mut self) -> Option<Step> {
        if self.has_ended.load(Ordering::Acquire) {
            return None;
        }
        self.steps += 1;
        Some(Step::Fill(Extent { file: NO_FILE, offset: 0, length: self.read_bytes }))
    }
}

impl CountedSource for StreamFills {
    fn steps(&self) -> u64 {
        self.steps
    }
}

impl OrderedStage for StreamReader {
    fn frame(&mut self, frame: &mut Frame) -> Result<(), StageFailure> {
        let room = &mut frame.room()[..self.read_bytes as usize];
        // Frames that were on their way when the stream ended stay empty.
        let read = if self.has_ended.load(Ordering::Acquire) {
            0
        } else {
            read_whole(&mut self.stream, room)
                .map_err(|error| format!("cannot read {}: {error}", self.name))?
        };
        if read < room.len() {
            self.has_ended.store(true, Ordering::Release);
        }
        let length = u32::try_from(read)?;
        frame.set_length(length);
        frame.set_origin(Extent { file: NO_FILE, offset: self.bytes, length });
        self.bytes += read as u64;
        Ok(())
    }

    fn hole(&mut self, _length: u64) {}
}

fn read_whole(stream: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
