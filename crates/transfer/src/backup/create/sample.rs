//! What of a source short trials read: the same files as a backup, beginning at another place each time, so that none of them
//! finds in a cache what the one before has read.

use std::path::PathBuf;

use iostall_engine::files::{self, FileStamp};
use iostall_engine::{Access, OpenOptions, OpenTarget, open_target};
use iostall_measure::Caching;
use iostall_model::backup::StoredName;

use super::base::Before;
use super::error::CreateError;
use super::item::{PreparedSource, What};
use super::open::{open, ranges_of};
use super::small::{SmallFile, SmallSource};
use super::source::FileRead;
use crate::plan::Plan;

/// Large files that one trial has open: it ends before it has read more of them.
const OPEN_MAX: usize = 64;
/// Small files that one trial reads before it reads them again.
const SMALL_MAX: usize = 20_000;

#[derive(Clone, Debug, Default)]
pub struct Sample {
    files: Vec<SampleFile>,
    bytes: u64,
}

#[derive(Clone, Debug)]
struct SampleFile {
    path: PathBuf,
    size_bytes: u64,
    /// An image of a device is never bundled, however small.
    is_device: bool,
}

impl SampleFile {
    fn is_small(&self, small_bytes: u64) -> bool {
        !self.is_device && self.size_bytes <= small_bytes
    }
}

pub(super) struct SampleRead {
    pub(super) open: OpenTarget,
    pub(super) read: FileRead,
}

impl Sample {
    /// Of the items of sources. Streams are left out, because they can be read only once.
    pub fn of(sources: &[PreparedSource]) -> Self {
        let items = sources.iter().flat_map(|source| source.items.iter().chain(&source.last));
        let files: Vec<SampleFile> = items
            .filter_map(|item| match &item.what {
                What::File { path, size_bytes } if *size_bytes > 0 => {
                    Some(SampleFile { path: path.clone(), size_bytes: *size_bytes, is_device: false })
                }
                What::BlockDevice { path, size_bytes } => {
                    Some(SampleFile { path: path.clone(), size_bytes: *size_bytes, is_device: true })
                }
                _ => None,
            })
            .collect();
        let bytes = files.iter().map(|file| file.size_bytes).sum();
        Self { files, bytes }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn small_share(&self, small_bytes: u64) -> f64 {
        let small = self.files.iter().filter(|file| file.is_small(small_bytes));
        small.map(|file| file.size_bytes).sum::<u64>() as f64 / (self.bytes as f64).max(1.0)
    }

    /// Small files from the place `from` (0 to 1) on, with up to `bytes`.
    pub(super) fn small_files(&self, small_bytes: u64, from: f64, bytes: u64) -> Vec<SmallFile> {
        let small: Vec<&SampleFile> = self.files.iter().filter(|file| file.is_small(small_bytes)).collect();
        let begin = place(small.len() as u64, from);
        let mut left = bytes;
        let around = small.iter().cycle().skip(usize::try_from(begin).unwrap_or(0)).take(small.len());
        let within = around.take(SMALL_MAX).take_while(|file| {
            let fits = left > 0;
            left = left.saturating_sub(file.size_bytes);
            fits
        });
        let file = |(number, file): (u64, &&SampleFile)| SmallFile {
            number,
            name: StoredName::default(),
            from: SmallSource::Path(file.path.clone()),
            size_bytes: u32::try_from(file.size_bytes).unwrap_or(u32::MAX),
            inspect: None,
            before: Before::default(),
        };
        (1..).zip(within).map(file).collect()
    }

    /// Opens large files from the place `from` (0 to 1) on, again from the beginning if there are no more, with up to `bytes`.
    pub(super) fn large_files(
        &self,
        small_bytes: u64,
        from: f64,
        (bytes, read_bytes): (u64, u32),
    ) -> Result<Vec<SampleRead>, CreateError> {
        let large: Vec<&SampleFile> = self.files.iter().filter(|file| !file.is_small(small_bytes)).collect();
        let total: u64 = large.iter().map(|file| file.size_bytes).sum();
        let mut begin = place(total, from);
        let mut first = 0;
        while large.get(first).is_some_and(|file| begin >= file.size_bytes) {
            begin -= large[first].size_bytes;
            first += 1;
        }
        begin = begin / u64::from(read_bytes.max(1)) * u64::from(read_bytes.max(1));
        let (mut reads, mut planned) = (Vec::new(), 0);
        for file in large.iter().cycle().skip(first).take(OPEN_MAX) {
            if planned >= bytes {
                break;
            }
            let begin = std::mem::take(&mut begin);
            // A running server removes files.
            let Some((open, stamp)) = open(&file.path)? else { continue };
            let (read, length) = read_from(&open, &stamp, begin, read_bytes)?;
            planned += length;
            reads.push(SampleRead { open, read });
        }
        Ok(reads)
    }

    /// Reads up to `count` pieces of `piece_bytes` each from places all over the source. A piece goes on with the next file
    /// where one ends.
    pub fn load(&self, count: usize, piece_bytes: usize) -> Result<Vec<Vec<u8>>, CreateError> {
        let whole = self.bytes.div_ceil((piece_bytes as u64).max(1));
        let count = count.min(usize::try_from(whole).unwrap_or(count)).max(1);
        let from = |number: usize| place(self.bytes, number as f64 / count as f64);
        let pieces = (0..count).map(|number| self.piece(from(number), piece_bytes));
        let mut pieces = pieces.collect::<Result<Vec<_>, _>>()?;
        pieces.retain(|piece| !piece.is_empty());
        Ok(pieces)
    }

    fn piece(&self, from: u64, bytes: usize) -> Result<Vec<u8>, CreateError> {
        let (mut piece, mut before) = (Vec::with_capacity(bytes), 0);
        for file in &self.files {
            let begin = from.max(before) - before;
            before += file.size_bytes;
            if piece.len() == bytes {
                break;
            }
            if begin < file.size_bytes {
                append(file, begin, bytes, &mut piece)?;
            }
        }
        Ok(piece)
    }
}

fn append(file: &SampleFile, begin: u64, bytes: usize, piece: &mut Vec<u8>) -> Result<(), CreateError> {
    let options = OpenOptions { access: Access::Read, caching: Caching::Buffered, ..OpenOptions::default() };
    // What is gone or may not be read is said by the first trial, which treats it as a backup does.
    let Ok(open) = open_target(&file.path, &options) else { return Ok(()) };
    let mut at = piece.len();
    let wanted = usize::try_from(file.size_bytes - begin).unwrap_or(usize::MAX).min(bytes - at);
    piece.resize(at + wanted, 0);
    let mut offset = begin;
    while at < piece.len() {
        let read = files::read_at(open.file(), &mut piece[at..], offset)
            .map_err(CreateError::system("read", &file.path))?;
        if read == 0 {
            break;
        }
        at += read;
        offset += read as u64;
    }
    piece.truncate(at);
    Ok(())
}

/// The part of a file from `begin` on, without its holes, and how long it is.
fn read_from(
    open: &OpenTarget,
    stamp: &FileStamp,
    begin: u64,
    read_bytes: u32,
) -> Result<(FileRead, u64), CreateError> {
    let ranges = ranges_of(open, stamp)?;
    let rest: Vec<_> = ranges
        .iter()
        .map(|range| range.start.max(begin)..range.end)
        .filter(|range| !range.is_empty())
        .collect();
    let length = rest.iter().map(|range| range.end - range.start).sum();
    let plan = Plan::new(open.size_bytes, &rest, &[], read_bytes);
    Ok((FileRead::new(open.path.clone(), open.size_bytes, plan), length))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a number is one")]
fn place(all: u64, share: f64) -> u64 {
    ((all as f64 * share.clamp(0.0, 1.0)) as u64).min(all.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::create::{SourceRequest, prepare};
    use crate::pipeline::Source as _;
    use crate::progress::Progress;

    fn sample(sizes: &[(&str, usize)]) -> (tempfile::TempDir, Sample) {
        let dir = tempfile::tempdir().unwrap();
        for (number, (name, size)) in (1_u8..).zip(sizes) {
            std::fs::write(dir.path().join(name), vec![number; *size]).unwrap();
        }
        let sources =
            prepare(vec![SourceRequest::Path(dir.path().to_owned())], &[], &Progress::default()).unwrap();
        let sample = Sample::of(&sources);
        (dir, sample)
    }

    #[test]
    fn a_trial_begins_at_its_place_and_goes_round() {
        let (_dir, sample) = sample(&[("a", 100_000), ("b", 300_000), ("small", 1_000), ("empty", 0)]);
        assert_eq!(sample.bytes(), 401_000);
        assert!((sample.small_share(2_000) - 1.0 / 401.0).abs() < 1e-9);
        let reads = sample.large_files(2_000, 0.5, (500_000, 65_536)).unwrap();
        // Half of 400,000 bytes is at 100,000 of b, and 65,536 is the multiple below it.
        let names: Vec<_> = reads.iter().map(|one| one.open.path.file_name().unwrap().to_owned()).collect();
        assert_eq!(names, ["b", "a", "b"]);
        let progress = Progress::default();
        let reads = reads.into_iter().map(|one| one.read).collect();
        let mut batch = super::super::source::FileBatch::new(0, reads, &progress);
        let mut moved = 0;
        while let Some(crate::pipeline::Step::Read(extent)) = batch.next() {
            moved += u64::from(extent.length);
        }
        assert_eq!(moved, 300_000 - 65_536 + 100_000 + 300_000);
        assert_eq!(sample.small_files(2_000, 0.9, 5_000).len(), 1);
        assert!(sample.large_files(1 << 20, 0.0, (1 << 20, 65_536)).unwrap().is_empty());
    }

    #[test]
    fn pieces_come_from_all_over_the_source_and_go_on_where_a_file_ends() {
        let (dir, sample) = sample(&[("a", 10_000), ("b", 30_000)]);
        let pieces = sample.load(4, 10_000).unwrap();
        assert_eq!(
            pieces.iter().map(|piece| (piece[0], piece.len())).collect::<Vec<_>>(),
            [(1, 10_000), (2, 10_000), (2, 10_000), (2, 10_000)]
        );
        let one = sample.load(8, 1 << 20).unwrap();
        assert_eq!((one.len(), one[0].len(), one[0][0], one[0][39_999]), (1, 40_000, 1, 2));
        std::fs::remove_file(dir.path().join("a")).unwrap();
        assert_eq!(sample.load(1, 1 << 20).unwrap()[0].len(), 30_000);
    }
}
