//! Checks files on the media against a manifest, or two trees against each other.

mod trees;
mod unlisted;

use std::path::Path;

use iostall_engine::files::{self, FileKind};
use iostall_measure::{Clock as _, MonotonicClock};
use iostall_model::VerifyOutcome;
use iostall_model::transfer::Mismatch;

use crate::buffers::BufferSet;
use crate::copy::CopyError;
use crate::copy::read_back::Reader;
use crate::manifest::ManifestFile;
use crate::pipeline::{HashWanted, PipelineError};
use crate::progress::Progress;
use crate::rate::RateLimit;

pub use unlisted::unlisted_files;

/// Bytes per read: large, because no writes come in between.
const TRANSFER_BYTES: u32 = 4 << 20;
/// Reads in flight plus buffers being hashed.
const BUFFERS: u32 = 6;

pub struct Verifier<'a> {
    pub rate: Option<&'a RateLimit>,
    pub progress: &'a Progress,
}

impl Verifier<'_> {
    /// Reads every file of a manifest past the page cache and compares it.
    ///
    /// A missing, unreadable or different file is a mismatch; only a lack of memory or of an engine is an
    /// error. If cancelled, it returns what it found so far: files that are neither equal nor a mismatch were
    /// not checked.
    pub fn check_files(&self, files: &[ManifestFile]) -> Result<VerifyOutcome, CopyError> {
        for file in files {
            let bytes = files::stamp_of_path(&file.path).map_or(0, |stat| stat.size_bytes);
            self.progress.add_total(1, bytes);
        }
        let outcome = VerifyOutcome { files: files.len() as u64, ..VerifyOutcome::default() };
        self.check_each(files, outcome, |file, reader, bytes| {
            match check(file, reader, self.progress, bytes) {
                Err(error) if !error.is_cancelled() && !says_nothing_of_the_file(&error) => {
                    Ok(Some(mismatch(file, None, error.to_string())))
                }
                other => other,
            }
        })
    }

    /// Checks one file after another. If cancelled, the rest stays unchecked.
    fn check_each<T>(
        &self,
        items: &[T],
        mut outcome: VerifyOutcome,
        check: impl Fn(&T, &mut Reader<'_, MonotonicClock>, &mut u64) -> Result<Option<Mismatch>, CopyError>,
    ) -> Result<VerifyOutcome, CopyError> {
        let Self { rate, progress } = *self;
        let clock = MonotonicClock::new();
        let begun_ns = clock.now_ns();
        let mut buffers = BufferSet::new(BUFFERS, TRANSFER_BYTES)
            .map_err(CopyError::system("map buffers to check", Path::new("files")))?;
        for item in items {
            if progress.is_cancelled() {
                break;
            }
            let mut reader = Reader {
                buffers: &mut buffers,
                clock: &clock,
                progress,
                rate,
                transfer_bytes: TRANSFER_BYTES,
            };
            match check(item, &mut reader, &mut outcome.bytes) {
                Ok(None) => outcome.equal += 1,
                Ok(Some(mismatch)) => outcome.mismatches.push(mismatch),
                Err(error) if error.is_cancelled() => break,
                Err(error) => return Err(error),
            }
            progress.end_file();
        }
        outcome.elapsed_ns = clock.now_ns() - begun_ns;
        outcome.series = progress.series();
        Ok(outcome)
    }
}

fn says_nothing_of_the_file(error: &CopyError) -> bool {
    matches!(error, CopyError::Engine(_) | CopyError::Reading { cause: PipelineError::Engine(_), .. })
}

fn check(
    file: &ManifestFile,
    reader: &mut Reader<'_, MonotonicClock>,
    progress: &Progress,
    bytes: &mut u64,
) -> Result<Option<Mismatch>, CopyError> {
    let stat = files::stamp_of_path(&file.path).map_err(CopyError::system("find", &file.path))?;
    let size_bytes = match file.bytes {
        _ if stat.kind == FileKind::Regular => stat.size_bytes,
        // An image on a device ends where the list says.
        Some(bytes) if files::is_block_device(&file.path) => bytes,
        // Opening a pipe would wait for its writer.
        _ => return Ok(Some(mismatch(file, None, "is not a regular file, and is not read".to_owned()))),
    };
    progress.begin_file(&file.path, size_bytes, "checking");
    let block_bytes = (file.block_bytes > 0).then_some(file.block_bytes);
    let wanted = HashWanted { whole: Some(file.digest.kind()), block_bytes, frames: false };
    let found = reader.hashes(&file.path, size_bytes, wanted)?;
    *bytes += size_bytes;
    if found.whole.as_ref() == Some(&file.digest) {
        return Ok(None);
    }
    let blocks = found.blocks.iter().zip(&file.blocks);
    let differing = blocks.into_iter().position(|(found, expected)| found != expected);
    let shorter = file.bytes.filter(|expected| *expected != size_bytes);
    Ok(Some(match (differing, shorter) {
        (Some(block), _) => {
            let first = block as u64 * file.block_bytes;
            let end = (first + file.block_bytes).min(size_bytes);
            mismatch(file, Some(first), format!("first differs between bytes {first} and {end}"))
        }
        (None, Some(expected)) => mismatch(
            file,
            Some(expected.min(size_bytes)),
            format!("has {size_bytes} bytes instead of {expected}"),
        ),
        (None, None) => {
            let found = found.whole.map(|digest| digest.hex()).unwrap_or_default();
            let expected = file.digest.hex();
            mismatch(file, None, format!("has {} {found} instead of {expected}", file.digest.kind()))
        }
    }))
}

fn mismatch(file: &ManifestFile, first_offset: Option<u64>, message: String) -> Mismatch {
    Mismatch { path: file.path.display().to_string(), first_offset, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{BlockHashes, Hasher};
    use iostall_model::transfer::HashKind;

    fn entry(path: &std::path::Path, data: &[u8], blocks: bool) -> ManifestFile {
        let mut hasher = Hasher::new(HashKind::Blake3);
        hasher.update(data);
        let mut of_blocks = BlockHashes::new(4096);
        of_blocks.update(data);
        ManifestFile {
            path: path.to_owned(),
            bytes: Some(data.len() as u64),
            digest: hasher.finish(),
            blocks: if blocks { of_blocks.finish() } else { Vec::new() },
            block_bytes: if blocks { 4096 } else { 0 },
        }
    }

    #[test]
    fn files_that_the_list_does_not_have_are_found() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        for name in ["a", "extra", "sub/b", "sub/extra"] {
            std::fs::write(dir.path().join(name), name).unwrap();
        }
        let listed = ["./a", "sub/./b", "absent"].map(|name| entry(&dir.path().join(name), b"", false));
        let found = unlisted_files(dir.path(), &listed).unwrap();
        assert_eq!(found, ["extra", "sub/extra"].map(|name| dir.path().join(name)));
        unlisted_files(&dir.path().join("absent"), &listed).unwrap_err();
    }

    #[test]
    fn what_changed_is_found_and_where() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let data = vec![3u8; 50_000];
        let mut damaged = data.clone();
        damaged[20_000] ^= 4;
        std::fs::write(path("equal"), &data).unwrap();
        std::fs::write(path("damaged"), &damaged).unwrap();
        std::fs::write(path("short"), &data[..49_999]).unwrap();
        std::fs::create_dir(path("directory")).unwrap();
        let files = [
            entry(&path("equal"), &data, true),
            entry(&path("damaged"), &data, true),
            entry(&path("damaged"), &data, false),
            entry(&path("short"), &data, false),
            entry(&path("absent"), &data, true),
            entry(&path("directory"), &[], false),
        ];
        let progress = Progress::default();
        let outcome = Verifier { rate: None, progress: &progress }.check_files(&files).unwrap();
        assert_eq!((outcome.files, outcome.equal, outcome.mismatches.len()), (6, 1, 5));
        let offsets: Vec<_> = outcome.mismatches.iter().map(|mismatch| mismatch.first_offset).collect();
        assert_eq!(offsets, [Some(16_384), None, Some(49_999), None, None]);
        assert!(outcome.mismatches[2].message.contains("49999 bytes instead of 50000"));
        assert!(outcome.mismatches[3].message.contains("cannot find"));
        assert!(outcome.mismatches[4].message.contains("not a regular file"));
    }
}
