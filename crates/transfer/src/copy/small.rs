//! Small files: plain reads and writes by a few threads, synced and renamed in batches.
//!
//! The cost of a small file is in its name and inode, not its data. Syncing each one would cost a device
//! flush per file; so one call per file system makes a batch of unfinished files durable, and only then are
//! they renamed.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, PoisonError};
use std::thread::ScopedJoinHandle;

use iostall_engine::files::{self, Loss, Writers};
use iostall_engine::open_path;
use iostall_measure::Clock as _;
use iostall_model::transfer::{Mismatch, VerifyMode};

use super::context::CopyContext;
use super::entry::Entry;
use super::error::CopyError;
use super::log::{CopyFailure, CopyLog, CopyRecord};
use super::part::Part;
use super::places::FileSystems;
use super::steady::read_steady;
use crate::hash::{Digest, Hasher};

const BATCH_FILES_MAX: usize = 16_384;
/// File descriptors reserved for everything else.
const OTHER_FILES: u64 = 128;
const BATCH_BYTES: u64 = 1 << 30;
pub(super) struct SmallFiles<'a> {
    pub(super) context: &'a CopyContext<'a>,
    pub(super) file_systems: &'a FileSystems,
    pub(super) records: Option<SyncSender<CopyRecord>>,
}

/// An unfinished small file. It stays open, and therefore locked, until it is renamed or removed: otherwise
/// another copy to the same name could take its place and be renamed instead.
struct Unfinished {
    entry: Entry,
    part: Part,
    digest: Option<Digest>,
}

/// Largest batch: two are in progress at a time, with all their files open.
fn batch_files_max() -> usize {
    let each = files::raise_open_file_limit().saturating_sub(OTHER_FILES) / 2;
    usize::try_from(each).unwrap_or(usize::MAX).clamp(16, BATCH_FILES_MAX)
}

/// The entries in groups that share one sync.
pub(super) fn batches(entries: impl Iterator<Item = Entry>) -> impl Iterator<Item = Vec<Entry>> {
    let files_max = batch_files_max();
    let mut entries = entries.peekable();
    iter::from_fn(move || {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        let fits = |batch: &[Entry], bytes: u64| {
            batch.is_empty() || (batch.len() < files_max && bytes <= BATCH_BYTES)
        };
        while let Some(entry) = entries.next_if(|entry| fits(&batch, bytes + entry.size_bytes())) {
            bytes += entry.size_bytes();
            batch.push(entry);
        }
        (!batch.is_empty()).then_some(batch)
    })
}

/// A file of a batch that has been written, with what to log about it.
struct Written {
    part: Unfinished,
    losses: Vec<Loss>,
    is_in_use: bool,
}

/// A batch whose files are written but neither durable nor renamed.
#[derive(Default)]
pub(super) struct WrittenBatch {
    parts: Vec<Unfinished>,
    losses: Vec<(PathBuf, Loss)>,
    in_use: Vec<PathBuf>,
    failures: Vec<CopyFailure>,
}

impl SmallFiles<'_> {
    /// Copies all batches and passes each finished one to `note`; a failure of one file is logged with its
    /// batch. Whatever ends it, a full device or a signal, the files written by then are synced and renamed,
    /// and nothing unfinished is left. Only where another process writes to the same place, they are removed.
    ///
    /// While one batch is being synced, the next is written: a sync waits for the device, occupies one CPU
    /// with file system work, and leaves the others idle.
    pub(super) fn copy_batches(
        &self,
        batches: impl Iterator<Item = Vec<Entry>>,
        mut note: impl FnMut(CopyLog),
    ) -> Result<(), CopyError> {
        std::thread::scope(|scope| {
            let mut before: Option<ScopedJoinHandle<'_, _>> = None;
            let mut result = Ok(());
            for batch in batches {
                if let Some(entry) = batch.first() {
                    let bytes = batch.iter().map(Entry::size_bytes).sum();
                    let directory = entry.target_directory();
                    self.context.progress.begin_file(directory, bytes, "copying small files in");
                }
                let (written, ended) = self.write_batch(&batch);
                if let Some(before) = before.take() {
                    result = noted(before, &mut note);
                }
                result = result.and(ended);
                before = Some(scope.spawn(move || self.finish_batch(written)));
                if result.is_err() {
                    break;
                }
            }
            result.and(before.map_or(Ok(()), |last| noted(last, &mut note)))
        })
    }

    /// Writes the unfinished files of one batch, or as many as it can.
    fn write_batch(&self, batch: &[Entry]) -> (WrittenBatch, Result<(), CopyError>) {
        let unfinished = Mutex::new(Vec::with_capacity(batch.len()));
        let (failures, ended) = self.for_each(
            batch,
            |entry| entry,
            |buffer, entry| {
                let written = self.write_part(buffer, entry)?;
                unfinished.lock().unwrap_or_else(PoisonError::into_inner).push(written);
                Ok(())
            },
        );
        let mut whole =
            WrittenBatch { parts: Vec::with_capacity(batch.len()), failures, ..WrittenBatch::default() };
        for Written { part, losses, is_in_use } in
            unfinished.into_inner().unwrap_or_else(PoisonError::into_inner)
        {
            whole.losses.extend(losses.into_iter().map(|loss| (part.entry.target(), loss)));
            whole.in_use.extend(is_in_use.then(|| part.entry.source()));
            whole.parts.push(part);
        }
        if matches!(ended, Err(CopyError::Busy { .. })) {
            // The other copy may end well and say so: what we name now would be in its place.
            whole.parts.clear();
        }
        (whole, ended)
    }

    /// Makes a batch durable, verifies it if requested, and renames its files.
    fn finish_batch(&self, batch: WrittenBatch) -> (CopyLog, Result<(), CopyError>) {
        let WrittenBatch { parts, losses, in_use, failures } = batch;
        let records = self.records.clone();
        let mut log = CopyLog { failures, losses, in_use, records, ..CopyLog::default() };
        let begun_ns = self.context.clock.now_ns();
        let synced = self.file_systems.sync();
        log.sync_ns += self.context.clock.now_ns() - begun_ns;
        // Anything not renamed by the end of this function is removed with the list.
        let finished = synced.and_then(|()| self.finish(&parts, &mut log));
        (log, finished)
    }

    /// Verifies the durable files, if requested, and renames each. What was renamed is logged, whatever
    /// happens to the others.
    fn finish(&self, parts: &[Unfinished], log: &mut CopyLog) -> Result<(), CopyError> {
        let mismatches = Mutex::new(Vec::new());
        let (mut failures, ended) = self.for_each(
            parts,
            |part| &part.entry,
            |buffer, part| {
                let found = self.check_and_name(buffer, part)?;
                mismatches.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
                Ok(())
            },
        );
        log.failures.append(&mut failures);
        log.mismatches.append(&mut mismatches.into_inner().unwrap_or_else(PoisonError::into_inner));
        let checked = self.context.options.verify == VerifyMode::ReadBack;
        for Unfinished { entry, part, digest } in parts.iter().filter(|part| part.part.has_its_name()) {
            log.verified_files += u64::from(checked);
            log.add_small_file(part.target(), entry.size_bytes(), digest.as_ref());
        }
        ended
    }

    /// Runs `work` on every item with several threads. A failure of one item is returned with the others; an
    /// error that ends the copy stops all threads.
    ///
    /// Each thread starts in its own section and then helps with the others. Items are in tree order, so
    /// threads mostly create names in different directories and do not compete for one directory's lock.
    fn for_each<'i, T: Sync>(
        &self,
        items: &'i [T],
        entry_of: impl Fn(&'i T) -> &'i Entry + Sync,
        work: impl Fn(&mut Vec<u8>, &'i T) -> Result<(), CopyError> + Sync,
    ) -> (Vec<CopyFailure>, Result<(), CopyError>) {
        let workers = (self.context.options.workers.max(1) as usize).min(items.len().max(1));
        let sections: Vec<(&[T], AtomicUsize)> = items
            .chunks(items.len().div_ceil(workers).max(1))
            .map(|part| (part, AtomicUsize::new(0)))
            .collect();
        let stop = AtomicBool::new(false);
        let (failures, ended) = (Mutex::new(Vec::new()), Mutex::new(None));
        let failed = |item: &'i T, error: CopyError| {
            if self.context.options.continues_after(&error) {
                let failure = CopyFailure::of(entry_of(item), error);
                failures.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
            } else {
                stop.store(true, Ordering::Relaxed);
                ended.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        };
        std::thread::scope(|scope| {
            for own in 0..sections.len() {
                let (sections, stop, failed, work) = (&sections, &stop, &failed, &work);
                scope.spawn(move || {
                    let mut buffer = Vec::new();
                    for (part, next) in sections[own..].iter().chain(&sections[..own]) {
                        while !stop.load(Ordering::Relaxed)
                            && let Some(item) = part.get(next.fetch_add(1, Ordering::Relaxed))
                        {
                            if let Err(error) = work(&mut buffer, item) {
                                failed(item, error);
                            }
                        }
                    }
                });
            }
        });
        let ended = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
        (failures.into_inner().unwrap_or_else(PoisonError::into_inner), ended.map_or(Ok(()), Err))
    }

    fn write_part(&self, buffer: &mut Vec<u8>, entry: &Entry) -> Result<Written, CopyError> {
        let (source, target, stat) = (&entry.source(), &entry.target(), &entry.stat());
        if !self.context.wait_for_rate(stat.size_bytes) {
            return Err(CopyError::cancelled(source, target, false));
        }
        let from = File::open(source).map_err(CopyError::system("open", source))?;
        let (now, writers) = read_steady(&from, source, stat, buffer, &self.context.clock)?;
        let part = Part::create(target, stat.mode)?;
        part.file().write_all(buffer).map_err(CopyError::system("write", part.path()))?;
        let losses = files::copy_metadata(&from, &now, part.file());
        let bytes = buffer.len() as u64;
        self.context.progress.note_moved(self.context.clock.now_ns(), bytes, bytes);
        self.context.progress.add_done(bytes);
        let hashed = self.context.options.verify != VerifyMode::None;
        let digest = hashed.then(|| self.digest(buffer));
        let part = Unfinished { entry: entry.clone(), part, digest };
        Ok(Written { part, losses, is_in_use: writers == Writers::Some })
    }

    fn digest(&self, data: &[u8]) -> Digest {
        let mut hasher = Hasher::new(self.context.options.hash);
        hasher.update(data);
        hasher.finish()
    }

    fn check_and_name(&self, buffer: &mut Vec<u8>, part: &Unfinished) -> Result<Option<Mismatch>, CopyError> {
        let path = part.part.path();
        if self.context.options.verify == VerifyMode::ReadBack {
            if !self.context.wait_to_read_back(part.entry.size_bytes()) {
                return Err(CopyError::cancelled(&part.entry.source(), part.part.target(), false));
            }
            // Not by its name, which whoever owns the directory can give to the source.
            let written = open_path(part.part.file());
            files::drop_from_cache(&written).map_err(CopyError::system("drop from the page cache", path))?;
            buffer.clear();
            let mut copy = File::open(&written).map_err(CopyError::system("open", path))?;
            copy.read_to_end(buffer).map_err(CopyError::system("read", path))?;
            if Some(self.digest(buffer)) != part.digest {
                return Ok(Some(differs(&part.entry.source(), part.part.target(), buffer)));
            }
            // Reading has changed its access time. A failure to set times was recorded the first time.
            let _ = files::set_times(part.part.file(), &part.entry.stat());
        }
        part.part.name(self.context.replace())?;
        self.context.progress.end_file();
        Ok(None)
    }
}

fn noted(
    batch: ScopedJoinHandle<'_, (CopyLog, Result<(), CopyError>)>,
    note: &mut impl FnMut(CopyLog),
) -> Result<(), CopyError> {
    let (log, finished) = batch.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    note(log);
    finished
}

/// The mismatch for a small file that was read back different.
fn differs(source: &Path, target: &Path, found: &[u8]) -> Mismatch {
    let expected = std::fs::read(source).unwrap_or_default();
    let at = expected.iter().zip(found).position(|(one, other)| one != other);
    let first_offset =
        at.or_else(|| (expected.len() != found.len()).then(|| expected.len().min(found.len())));
    let message = match first_offset {
        Some(at) => format!("the destination differs from the source, first at byte {at}"),
        None => "the destination has another checksum than the source".to_owned(),
    };
    Mismatch { path: target.display().to_string(), first_offset: first_offset.map(|at| at as u64), message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copy::CopyOptions;
    use crate::copy::entry::{Action, Location};
    use crate::copy::tests::{Room, options};
    use crate::progress::Progress;

    fn entry(size_bytes: u64) -> Entry {
        let stat = files::stamp_of_path(Path::new("/")).unwrap();
        let stat = files::FileStamp { size_bytes, ..stat };
        Entry::new(Location::of_root(Path::new("/a"), Path::new("/b")), &stat, Action::File)
    }

    fn lengths(sizes: &[u64]) -> Vec<usize> {
        batches(sizes.iter().map(|size| entry(*size))).map(|batch| batch.len()).collect()
    }

    /// The copy was read back by its name, which whoever owned the directory gave to the source meanwhile.
    #[test]
    fn a_small_file_is_read_back_whatever_has_its_name_by_now() {
        let room = Room::new();
        let (source, target) = (room.write("from", 1000), room.path("to"));
        let options = CopyOptions { verify: VerifyMode::ReadBack, ..options() };
        let progress = Progress::default();
        let context = CopyContext::new(&options, &progress);
        let file_systems = FileSystems::of(iter::once(room.path(""))).unwrap();
        let workers = SmallFiles { context: &context, file_systems: &file_systems, records: None };
        let stat = files::stamp_of_path(&source).unwrap();
        let entry = Entry::new(Location::of_root(&source, &target), &stat, Action::File);
        let written = workers.write_part(&mut Vec::new(), &entry).unwrap().part;
        files::write_all_at(written.part.file(), b"spoilt", 500).unwrap();
        std::fs::remove_file(written.part.path()).unwrap();
        std::os::unix::fs::symlink(&source, written.part.path()).unwrap();
        let found = workers.check_and_name(&mut Vec::new(), &written).unwrap();
        assert_eq!(found.and_then(|differs| differs.first_offset), Some(500));
        assert!(!target.exists());
    }

    /// Each batch costs a sync of the whole file system. With a batch for each file, a tree of small ones took as many flushes of the
    /// device as it had files.
    #[test]
    fn files_share_a_batch_and_its_sync_until_they_have_a_gibibyte_together() {
        assert_eq!(lengths(&[4096; 16]), [16]);
        assert_eq!(lengths(&[BATCH_BYTES / 2, BATCH_BYTES / 2, 1, 5]), [2, 2]);
        assert_eq!(lengths(&[BATCH_BYTES + 1, 1]), [1, 1]);
        assert!(lengths(&[]).is_empty());
    }
}
