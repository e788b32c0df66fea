//! Files that come in one stream, those of several mixed, as mariadb-backup and PostgreSQL write them. They are packed into frames while they are
//! read: a large file has frames of its own, and small ones share one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iostall_model::backup::{FileKind, FileMetadata, StoredName};

use super::base::{Base, Before};
use super::encode::Content;
use super::error::CreateError;
use super::item::{Inspect, OnChange, join};
use super::ledger::Ledger;
use super::options::Shape;
use super::packing::{PackedFrame, Packing};
use super::source::{NO_FILE, StreamFills};
use super::writer::SetWriter;
use crate::backup::format::Piece;
use crate::backup::streamed_files::{Ahead, StreamedEntry, StreamedFiles};
use crate::pipeline::{Extent, Frame, OrderedStage, StageFailure};
use crate::progress::Progress;

/// Mode of the directories that files of the stream are in, as a database server makes them.
const DIRECTORY_MODE: u32 = 0o700;
/// Bits that let the group read a file, and enter a directory.
const GROUP_READS: u32 = 0o040;
const GROUP_ENTERS: u32 = 0o050;

pub(super) struct FileStream {
    pub(super) stream: Box<dyn StreamedFiles>,
    pub(super) prefix: StoredName,
    pub(super) source: u32,
    pub(super) metadata: FileMetadata,
    pub(super) inspect: Option<Arc<dyn Inspect>>,
    pub(super) base: Option<Arc<Base>>,
}

#[derive(Default)]
pub(super) struct Stored {
    pub(super) files: u64,
    pub(super) directories: u64,
    pub(super) links: u64,
}

/// Stores all entries of the stream, and the directories that they are in.
pub(super) fn store(
    input: FileStream,
    writer: &mut SetWriter<'_>,
    ledger: &mut Ledger,
    shape: &Shape,
    progress: &Progress,
) -> Result<Stored, CreateError> {
    let FileStream { stream, prefix, source, metadata, inspect, base } = input;
    let has_ended = Arc::new(AtomicBool::new(false));
    let packing = Arc::new(Packing::default());
    let mut fills = StreamFills::new(shape.read_bytes, Arc::clone(&has_ended));
    let mut reader = FilesReader {
        stream,
        first_number: ledger.next_number(),
        prefix: &prefix,
        base,
        inspect,
        packing: Arc::clone(&packing),
        has_ended,
        shape: *shape,
        files: Vec::new(),
        bytes: 0,
        progress,
    };
    writer.run(Content::Packed(packing), &mut fills, Some(&mut reader), &[], shape.workers)?;
    let entries = std::mem::take(&mut reader.files);
    let mut counts = Stored::default();
    let mut add = |name: &StoredName, kind: FileKind, metadata| {
        *match kind {
            FileKind::Directory => &mut counts.directories,
            FileKind::Symlink { .. } => &mut counts.links,
            _ => &mut counts.files,
        } += 1;
        let attributes = Some(Vec::new());
        ledger.add(join(&prefix, name), kind, source, metadata, attributes, OnChange::Expected)
    };
    let of_entry = |file: &StreamedFile| {
        add(&file.entry.name, file.entry.kind.clone(), file.entry.metadata.unwrap_or(metadata))
    };
    let numbers: Vec<u64> = entries.iter().map(of_entry).collect();
    for (directory, metadata) in missing_directories(&entries, metadata) {
        add(&directory, FileKind::Directory, metadata);
    }
    for (number, file) in numbers.into_iter().zip(&entries) {
        ledger.stored(number, file.size_bytes, file.data_bytes, None);
    }
    Ok(counts)
}

/// The directories that entries are in and that are no entries themselves. Whoever owns what is in one owns it, too: restored by root,
/// it would be root's, and a server could not enter it. Entries without metadata have `usual`.
fn missing_directories(files: &[StreamedFile], usual: FileMetadata) -> BTreeMap<StoredName, FileMetadata> {
    let mut directories = BTreeMap::new();
    for file in files {
        let inside = file.entry.metadata.unwrap_or(usual);
        let enters = if inside.mode & GROUP_READS == 0 { 0 } else { GROUP_ENTERS };
        let own = FileMetadata { mode: DIRECTORY_MODE | enters, ..inside };
        let name = file.entry.name.as_bytes();
        let ends = name.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        for end in ends {
            directories.entry(StoredName(name[..end].to_vec())).or_insert(own);
        }
    }
    for file in files {
        directories.remove(&file.entry.name);
    }
    directories
}

struct StreamedFile {
    entry: StreamedEntry,
    size_bytes: u64,
    /// Without holes.
    data_bytes: u64,
    before: Before,
}

struct FilesReader<'a> {
    stream: Box<dyn StreamedFiles>,
    /// Of the stream's first file in the set.
    first_number: u64,
    prefix: &'a StoredName,
    base: Option<Arc<Base>>,
    inspect: Option<Arc<dyn Inspect>>,
    packing: Arc<Packing>,
    has_ended: Arc<AtomicBool>,
    shape: Shape,
    files: Vec<StreamedFile>,
    bytes: u64,
    progress: &'a Progress,
}

impl FilesReader<'_> {
    fn fill(&mut self, room: &mut [u8]) -> Result<Vec<PackedFrame>, StageFailure> {
        let (mut frames, mut at) = (Vec::new(), 0);
        loop {
            match self.stream.ahead()? {
                None => {
                    self.has_ended.store(true, Ordering::Release);
                    return Ok(frames);
                }
                Some(Ahead::Begins) => {
                    let entry = self.stream.entry(self.files.len());
                    let entry = entry.ok_or("the stream does not know what has begun")?;
                    self.progress.begin_file(Path::new(&entry.name.to_string()), 0, "backing up");
                    let before = Before::of(self.base.as_ref(), &join(self.prefix, &entry.name));
                    self.files.push(StreamedFile { entry, size_bytes: 0, data_bytes: 0, before });
                }
                Some(Ahead::Ends { file, size_bytes }) => {
                    self.files[file].size_bytes = size_bytes;
                    self.progress.end_file();
                }
                Some(Ahead::Content { file, offset, left }) => {
                    let piece = Piece {
                        file: self.first_number + file as u64,
                        offset,
                        length: u32::try_from(left).unwrap_or(u32::MAX),
                    };
                    let Some(limit) = room_for(&mut frames, &piece, &self.shape, room.len() - at) else {
                        return Ok(frames);
                    };
                    let into = &mut room[at..at + limit];
                    let length = self.stream.read(into)?;
                    let read = &into[..length];
                    if let Some(inspect) = &self.inspect {
                        inspect.inspect(&self.files[file].entry.name, offset, read);
                    }
                    self.files[file].data_bytes += length as u64;
                    at += length;
                    if let Some(frame) = frames.last_mut() {
                        // What was cut between two pages goes on in the next frame.
                        let is_cut = length < limit;
                        let length = u32::try_from(length).unwrap_or(u32::MAX);
                        frame.push(Piece { length, ..piece }, &self.files[file].before, is_cut);
                    }
                }
            }
        }
    }
}

/// How many bytes of the content `ahead` go into the last frame, after one was begun for it if it does not belong into that which
/// is there. `None` if the transfer is full, of which `left` bytes are not used.
fn room_for(frames: &mut Vec<PackedFrame>, ahead: &Piece, shape: &Shape, left: usize) -> Option<usize> {
    let wanted = ahead.length as usize;
    let is_small = u64::from(ahead.length) <= shape.small_bytes();
    if let Some(room) = frames.last().and_then(|open| open.room_for(ahead, is_small)) {
        return Some(room.min(wanted));
    }
    let capacity = shape.bundle_bytes() as usize;
    if left < capacity || frames.len() >= shape.frames_per_transfer() as usize {
        return None;
    }
    let begun = PackedFrame::new(capacity, shape.frame_bytes, is_small);
    let room = begun.room_for(ahead, is_small)?;
    frames.push(begun);
    Some(room.min(wanted))
}

impl OrderedStage for FilesReader<'_> {
    fn frame(&mut self, frame: &mut Frame) -> Result<(), StageFailure> {
        let sequence = frame.sequence();
        let room = &mut frame.room()[..self.shape.read_bytes as usize];
        // Transfers that were on their way when the stream ended stay empty.
        let frames = if self.has_ended.load(Ordering::Acquire) {
            Vec::new()
        } else {
            self.fill(room).inspect_err(|_| self.has_ended.store(true, Ordering::Release))?
        };
        let length = u32::try_from(frames.iter().map(PackedFrame::bytes).sum::<usize>())?;
        frame.set_length(length);
        frame.set_origin(Extent { file: NO_FILE, offset: self.bytes, length });
        self.bytes += u64::from(length);
        self.packing.put(sequence, frames);
        Ok(())
    }

    fn hole(&mut self, _length: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::create::CreateOptions;

    fn shape(frame_bytes: u32, transfer_bytes: u32) -> Shape {
        let options = CreateOptions {
            frame_bytes: Some(frame_bytes),
            transfer_bytes: Some(transfer_bytes),
            workers: Some(1),
            ..CreateOptions::default()
        };
        Shape::of(&options).unwrap()
    }

    /// Packs whole pieces of content one after another into one transfer; returns the frames, and how many pieces did not fit.
    fn pack(pieces: &[(u64, u64, u32)], shape: &Shape) -> (Vec<PackedFrame>, usize) {
        let (mut frames, mut at) = (Vec::new(), 0);
        for (index, (file, offset, length)) in pieces.iter().enumerate() {
            let (mut offset, mut left) = (*offset, *length);
            while left > 0 {
                let ahead = Piece { file: *file, offset, length: left };
                let room = shape.read_bytes as usize - at;
                let Some(limit) = room_for(&mut frames, &ahead, shape, room) else {
                    return (frames, pieces.len() - index);
                };
                let length = u32::try_from(limit).unwrap();
                frames.last_mut().unwrap().push(Piece { length, ..ahead }, &Before::default(), false);
                (at, offset, left) = (at + limit, offset + u64::from(length), left - length);
            }
        }
        (frames, 0)
    }

    fn files(frames: &[PackedFrame]) -> Vec<Vec<u64>> {
        frames.iter().map(|frame| frame.pieces().iter().map(|piece| piece.file).collect()).collect()
    }

    /// A damaged frame names its file only if it has no other: parts of a table must not share one.
    #[test]
    fn a_large_file_has_frames_of_its_own_and_small_ones_share() {
        let shape = shape(1 << 16, 1 << 18);
        let (frames, left) = pack(&[(1, 0, 100), (2, 0, 200), (3, 0, 100_000), (4, 0, 5)], &shape);
        assert_eq!((files(&frames), left), (vec![vec![1, 2], vec![3], vec![3], vec![4]], 0));
        assert_eq!(frames.iter().map(PackedFrame::bytes).collect::<Vec<_>>(), [300, 65_536, 34_464, 5]);
    }

    #[test]
    fn what_follows_in_the_same_file_is_one_piece() {
        let shape = shape(1 << 16, 1 << 18);
        let (frames, _) = pack(&[(1, 0, 20_000), (1, 20_000, 20_000), (2, 0, 7), (2, 7, 8)], &shape);
        let pieces: Vec<_> = frames.iter().map(|frame| frame.pieces().to_vec()).collect();
        let piece = |file, offset, length| Piece { file, offset, length };
        assert_eq!(pieces, [vec![piece(1, 0, 40_000)], vec![piece(2, 0, 15)]]);
    }

    /// The story: the log of a server came between two parts of a table, and the increments of that table began anew behind it,
    /// each night somewhere else.
    #[test]
    fn frames_end_at_the_same_places_of_a_file_whatever_comes_between() {
        let shape = shape(1 << 16, 1 << 19);
        let ends = |pieces: &[(u64, u64, u32)]| {
            let (frames, left) = pack(pieces, &shape);
            assert_eq!(left, 0);
            let of_table = frames.iter().flat_map(PackedFrame::pieces).filter(|piece| piece.file == 1);
            of_table.map(|piece| piece.offset + u64::from(piece.length)).collect::<Vec<_>>()
        };
        assert_eq!(ends(&[(1, 0, 200_000)]), [65_536, 131_072, 196_608, 200_000]);
        let between = [(1, 0, 70_000), (2, 0, 30_000), (1, 70_000, 130_000)];
        assert_eq!(ends(&between), [65_536, 70_000, 131_072, 196_608, 200_000]);
    }

    #[test]
    fn no_frame_and_no_transfer_holds_more_than_it_can() {
        let shape = shape(1 << 16, 1 << 18);
        let many: Vec<_> = (1..2000).map(|file| (file, 0, 1 + u32::try_from(file % 900).unwrap())).collect();
        let (frames, left) = pack(&many, &shape);
        assert!(left > 0 && frames.len() == 4);
        assert!(frames.iter().all(|frame| frame.encoded_bytes() <= 1 << 16));
        // With a rate of its own a transfer is smaller than a frame.
        let slow = Shape { read_bytes: 8192, ..shape };
        let (frames, left) = pack(&[(1, 0, 5000), (2, 0, 20_000)], &slow);
        assert_eq!((files(&frames), left), (vec![vec![1]], 1));
    }
}
