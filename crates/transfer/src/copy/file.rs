//! Copies one large file: through the pipeline into an unfinished file, made durable, verified, then renamed.

use std::path::Path;

use iostall_engine::files;
use iostall_engine::{Access, open_path};
use iostall_host as host;
use iostall_measure::{Caching, Clock as _};
use iostall_model::transfer::{Reflink, VerifyMode};

use super::beside::journal_path;
use super::context::CopyContext;
use super::endpoint::Endpoint;
use super::entry::Entry;
use super::error::CopyError;
use super::journal::{DurableRange, FileJournal, durable_bytes, remove_journal};
use super::log::{CopyLog, Filled};
use super::mover::{Mover, Transfer};
use super::part::{Part, directory_of};
use super::read_back::{BLOCK_BYTES, compare};
use super::recheck::{Copied, Recheck, data_of, expect_no_writers};
use super::resume::{clear_holes, joined, kept_where_cancelled, resumed_ranges};
use super::target::check_target;
use crate::pipeline::FileHashes;
use crate::plan::Plan;

pub(super) struct FileCopier<'c, 'a> {
    pub(super) context: &'c CopyContext<'a>,
    pub(super) mover: &'c mut Mover<'a>,
    pub(super) log: &'c mut CopyLog,
}

/// A file being copied: its source, the unfinished file, and its final name.
struct Unfinished<'f> {
    from: &'f Endpoint,
    part: &'f Part,
    target: &'f Path,
}

impl FileCopier<'_, '_> {
    /// Copies the regular file `source` to the name `target`.
    ///
    /// On any error `target` stays as it was. What had been written is removed, or kept under its temporary
    /// name if a journal makes it worth resuming.
    pub(super) fn copy(&mut self, source: &Path, target: &Path) -> Result<(), CopyError> {
        let options = self.context.options;
        let from = Endpoint::open(source, Access::Read, options.source_caching)?;
        check_target(source, &from.stat, target, options.overwrite, &self.context.destinations)?;
        self.context.progress.begin_file(target, from.stat.size_bytes, "copying");
        expect_no_writers(&from, &self.context.clock, self.log);
        let part = Part::acquire(target, from.stat.uid)?;
        match self.fill_and_check(&Unfinished { from: &from, part: &part, target }) {
            Ok(Some(filled)) => {
                part.publish(self.context.replace())?;
                // The journal is no longer needed; if it stays, the finished file takes precedence.
                let _ = remove_journal(target);
                self.context.progress.end_file();
                self.log.add_large_file(target, from.stat.size_bytes, filled);
                Ok(())
            }
            Ok(None) => {
                let _ = remove_journal(target);
                Ok(())
            }
            Err(error) => {
                if error.keeps_the_part() {
                    self.log.unfinished_bytes += durable_bytes(target, &from.stat);
                    part.keep();
                } else {
                    let _ = remove_journal(target);
                }
                Err(error)
            }
        }
    }

    /// Copies a file of the inventory; a failure is recorded, unless it ends the copy.
    pub(super) fn copy_or_note(&mut self, entry: &Entry) -> Result<(), CopyError> {
        if self.context.progress.is_cancelled() {
            // Files that share blocks with the source bypass the pipeline, which would notice the
            // cancellation.
            return Err(CopyError::cancelled(&entry.source(), &entry.target(), false));
        }
        let copied = self.copy(&entry.source(), &entry.target());
        self.log.note(self.context.options, || entry.paths(), copied)
    }

    /// `None` if the destination was read back and differs.
    fn fill_and_check(&mut self, file: &Unfinished<'_>) -> Result<Option<Filled>, CopyError> {
        let Unfinished { from, part, target } = *file;
        let mut filled = self.fill(file)?;
        part.file()
            .set_len(from.stat.size_bytes)
            .map_err(CopyError::system("set the size of", part.path()))?;
        let copied =
            if filled.is_clone { Copied::Shared } else { Copied::Moved(filled.hashes.whole.as_ref()) };
        // After the last read of the source: an earlier change would be only partly in the copy.
        let recheck = Recheck { context: self.context, from, part, target };
        let losses = recheck.complete(self.mover, self.log, copied)?;
        self.log.losses.extend(losses.into_iter().map(|loss| (target.to_owned(), loss)));
        match self.context.options.verify {
            VerifyMode::None => Ok(Some(filled)),
            VerifyMode::OnTheFly => {
                self.log.verified_files += u64::from(!filled.is_clone);
                Ok(Some(filled))
            }
            VerifyMode::ReadBack => Ok(self.is_read_back(file, &mut filled)?.then_some(filled)),
        }
    }

    fn is_read_back(&mut self, file: &Unfinished<'_>, filled: &mut Filled) -> Result<bool, CopyError> {
        let Unfinished { from, part, target } = *file;
        let found = Endpoint::reopen(part.file(), part.path(), Access::Read, Caching::Direct)
            .and_then(|copy| self.read_again(target, &copy, from.stat.size_bytes))
            .map_err(|error| kept_where_cancelled(error, from.path(), target))?;
        // Reading has changed its access time. A failure to set times was recorded the first time.
        let _ = files::set_times(part.file(), &from.stat);
        if filled.is_clone {
            // Both share their blocks: nothing to compare, but a checksum to report.
            filled.hashes = found;
            return Ok(self.log.note_compared(None));
        }
        let differs =
            compare(target, from.path(), &open_path(part.file()), &filled.hashes, &found, BLOCK_BYTES);
        Ok(self.log.note_compared(differs))
    }

    /// Reads the copy from the media and returns its checksums; `shown` is its name in the progress display.
    pub(super) fn read_again(
        &mut self,
        shown: &Path,
        copy: &Endpoint,
        size_bytes: u64,
    ) -> Result<FileHashes, CopyError> {
        let begun_ns = self.context.clock.now_ns();
        self.context.progress.begin_file(shown, size_bytes, "reading back");
        let found = self.mover.read_back(copy, size_bytes)?;
        self.log.verify_ns += self.context.clock.now_ns() - begun_ns;
        Ok(found)
    }

    fn fill(&mut self, file: &Unfinished<'_>) -> Result<Filled, CopyError> {
        if self.share_blocks(file)? {
            return Ok(Filled { is_clone: true, ..Filled::default() });
        }
        let Unfinished { from, part, target } = *file;
        let (options, size_bytes) = (self.context.options, from.stat.size_bytes);
        let to = Endpoint::reopen(part.file(), part.path(), Access::ReadWrite, options.target_caching)?;
        let same_device =
            self.mover.devices.share(from.path(), from.stat.device, part.path(), to.stat.device);
        let resumed = resumed_ranges(self.context, self.mover, from, &to, target, same_device)?;
        if resumed.is_empty() {
            part.file().set_len(0).map_err(CopyError::system("empty", part.path()))?;
        }
        let data = data_of(self.context, from)?;
        if resumed.is_empty() && data.first() == Some(&(0..size_bytes)) {
            self.mover.tune(from, &to)?;
        }
        let ranges = joined(&resumed);
        let mut plan = Plan::new(size_bytes, &data, &ranges, self.mover.shape(same_device).transfer_bytes);
        let hole_bytes = plan.hole_bytes();
        if !resumed.is_empty() {
            clear_holes(part.file(), &plan.holes()).map_err(CopyError::system("clear", part.path()))?;
        }
        if options.verify == VerifyMode::None {
            plan = plan.without_resumed();
        }
        self.reserve(&plan, &to)?;
        let journal = self.begin_journal(from, target, &resumed)?;
        let hashes = self.mover.run(Transfer { from, to: &to, target, plan, journal, same_device })?;
        let kept_bytes = ranges.iter().map(|range| range.end - range.start).sum();
        Ok(Filled { hashes, hole_bytes, kept_bytes, is_clone: false })
    }

    fn share_blocks(&self, file: &Unfinished<'_>) -> Result<bool, CopyError> {
        let Unfinished { from, part, target } = *file;
        let (reflink, size_bytes) = (self.context.options.reflink, from.stat.size_bytes);
        if reflink == Reflink::Never || size_bytes == 0 {
            return Ok(false);
        }
        let is_shared = files::clone_blocks(from.file(), part.file())
            .map_err(CopyError::system("share blocks with", part.path()))?;
        if is_shared {
            self.context.progress.add_done(size_bytes);
        } else if reflink == Reflink::Always {
            return Err(CopyError::NoReflink { from: from.path().to_owned(), to: target.to_owned() });
        }
        Ok(is_shared)
    }

    /// Reserves space for everything to be written, so that a full file system fails before the first byte.
    fn reserve(&mut self, plan: &Plan, to: &Endpoint) -> Result<(), CopyError> {
        let begun_ns = self.context.clock.now_ns();
        let ranges = plan.ranges_to_write();
        let in_memory = host::file_system_of(to.path()).is_some_and(|found| found.kind == "tmpfs");
        if in_memory {
            // Reserving there zeroes memory that is overwritten at once, so only check whether it fits.
            let wanted: u64 = ranges.iter().map(|range| range.end - range.start).sum();
            let free = files::free_bytes(directory_of(to.path()))
                .map_err(CopyError::system("ask for free space at", to.path()))?;
            if wanted > free.saturating_add(to.stat.allocated_bytes) {
                let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
                return Err(CopyError::system("reserve room for", to.path())(full));
            }
        } else {
            for range in &ranges {
                let reserved = files::preallocate(to.file(), range)
                    .map_err(CopyError::system("reserve room for", to.path()))?;
                if !reserved {
                    break;
                }
            }
        }
        self.log.prepare_ns += self.context.clock.now_ns() - begun_ns;
        Ok(())
    }

    fn begin_journal(
        &self,
        from: &Endpoint,
        target: &Path,
        resumed: &[DurableRange],
    ) -> Result<Option<FileJournal>, CopyError> {
        let interval_bytes = self.context.options.checkpoint_bytes;
        let is_short = resumed.is_empty() && from.stat.size_bytes < interval_bytes.saturating_mul(2);
        if interval_bytes == 0 || is_short {
            return Ok(None);
        }
        let path = journal_path(target);
        let journal = FileJournal::begin(target, &from.stat, resumed, interval_bytes)
            .map_err(CopyError::system("write the journal", &path))?;
        Ok(Some(journal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copy::CopyOptions;
    use crate::copy::tests::{Room, content, options};
    use crate::pipeline::HashWanted;
    use crate::progress::Progress;

    /// The copy was read back by its name. Whoever owned the directory put a link to the source there: the source was compared
    /// with itself, and a spoilt copy passed for verified.
    #[test]
    fn what_was_written_is_read_back_whatever_has_its_name_by_now() {
        let room = Room::new();
        let (source, target) = (room.write("from", 300_000), room.path("to"));
        let options = CopyOptions { verify: VerifyMode::ReadBack, ..options() };
        let progress = Progress::default();
        let context = CopyContext::new(&options, &progress);
        let mut mover = Mover::new(&options, &progress, &context.clock);
        let from = Endpoint::open(&source, Access::Read, Caching::Direct).unwrap();
        let wanted =
            HashWanted { whole: Some(options.hash), block_bytes: Some(BLOCK_BYTES), ..HashWanted::default() };
        let hashes = mover.hashes_of(&from, 300_000, wanted).unwrap();
        let part = Part::acquire(&target, files::effective_user()).unwrap();
        let mut spoilt = content(300_000);
        spoilt[200_000] ^= 1;
        files::write_all_at(part.file(), &spoilt, 0).unwrap();
        std::fs::remove_file(part.path()).unwrap();
        std::os::unix::fs::symlink(&source, part.path()).unwrap();
        let mut log = CopyLog::default();
        let mut copier = FileCopier { context: &context, mover: &mut mover, log: &mut log };
        let mut filled = Filled { hashes, ..Filled::default() };
        let file = Unfinished { from: &from, part: &part, target: &target };
        assert!(!copier.is_read_back(&file, &mut filled).unwrap());
        assert_eq!(log.mismatches[0].first_offset, Some(200_000));
    }
}
