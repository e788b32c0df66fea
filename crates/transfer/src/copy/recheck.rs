//! Checks that the source is unchanged after it was last read.

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use iostall_engine::Access;
use iostall_engine::files::{self, FileStamp, Loss, Writers};
use iostall_measure::clock::utc_now;
use iostall_measure::{Caching, Clock as _, MonotonicClock};
use iostall_model::transfer::{HashKind, VerifyMode};

use super::context::CopyContext;
use super::endpoint::Endpoint;
use super::error::CopyError;
use super::journal::has_journal;
use super::log::CopyLog;
use super::mover::Mover;
use super::part::Part;
use super::resume::kept_where_cancelled;
use super::steady::unproven_ns;
use crate::hash::Digest;
use crate::pipeline::HashWanted;
use crate::plan::Plan;

/// How often the content is compared again because other attributes of the source changed. If they changed
/// every minute, a large file would be compared forever.
const COMPARISONS: u32 = 3;
/// Bytes of a hole that are read at a time.
const HOLE_BYTES: usize = 1 << 20;

/// Ensures that every further write changes the modification time of the source; records whether others could
/// write to it.
pub(super) fn expect_no_writers(from: &Endpoint, clock: &MonotonicClock, log: &mut CopyLog) {
    let writers = files::writers(from.file());
    if writers == Writers::Some {
        log.in_use.push(from.path().to_owned());
    }
    if writers != Writers::None {
        // Writing through a mapping to a page that is already dirty would not update the modification time.
        files::write_back(from.file(), &(0..from.stat.size_bytes));
    }
    let wait_ns = unproven_ns(from.stat.modified_ns, utc_now().as_nanosecond());
    clock.sleep_until(clock.now_ns() + wait_ns);
}

/// An unfinished file with all its content, and the source that it must still match.
pub(super) struct Recheck<'c, 'a> {
    pub(super) context: &'c CopyContext<'a>,
    pub(super) from: &'c Endpoint,
    pub(super) part: &'c Part,
    pub(super) target: &'c Path,
}

impl Recheck<'_, '_> {
    /// Copies the source's metadata to the unfinished file and makes it durable. If only the mode, an
    /// attribute or a name of the source has changed meanwhile, the copy is still good; but since the
    /// modification time can be set back, the content is compared once more.
    pub(super) fn complete(
        &self,
        mover: &mut Mover<'_>,
        log: &mut CopyLog,
        copied: Copied<'_>,
    ) -> Result<Vec<Loss>, CopyError> {
        let Self { context, from, part, target } = self;
        let mut stat = from.stat;
        let mut comparisons = 0;
        loop {
            let mut losses = files::copy_metadata(from.file(), &stat, part.file());
            let begun_ns = context.clock.now_ns();
            part.file().sync_all().map_err(CopyError::system("make durable", part.path()))?;
            log.sync_ns += context.clock.now_ns() - begun_ns;
            let now = unmodified(from, target)?;
            if now.changed_ns == stat.changed_ns {
                return Ok(losses);
            }
            if comparisons == COMPARISONS {
                let cause = "it kept changing while the file was copied".to_owned();
                losses.push(Loss { what: "the last of the metadata".to_owned(), cause });
                return Ok(losses);
            }
            comparisons += 1;
            if !self.is_same_content(mover, copied)? {
                return Err(changed(from, target, "its content was modified, and its time set back"));
            }
            stat = FileStamp { accessed_ns: from.stat.accessed_ns, ..now };
        }
    }

    fn is_same_content(&self, mover: &mut Mover<'_>, copied: Copied<'_>) -> Result<bool, CopyError> {
        let Self { context, from, part, target } = self;
        let size_bytes = from.stat.size_bytes;
        let (known, kind) = match copied {
            // Blocks are shared at one instant, whatever the source holds now.
            Copied::Shared => return Ok(true),
            Copied::Moved(Some(digest)) => (Some(digest), digest.kind()),
            Copied::Moved(None) => (None, HashKind::default()),
        };
        let passes = if known.is_some() { 1 } else { 2 };
        context.progress.add_total(0, size_bytes * passes);
        context.progress.begin_file(target, size_bytes, "comparing again");
        let mut digest_of = |file: &File, path: &Path| {
            let wanted = HashWanted { whole: Some(kind), ..HashWanted::default() };
            let hashes = Endpoint::reopen(file, path, Access::Read, Caching::Direct)
                .and_then(|file| mover.hashes_of(&file, size_bytes, wanted))
                .map_err(|error| kept_where_cancelled(error, from.path(), target))?;
            Ok::<_, CopyError>(hashes.whole)
        };
        let now = digest_of(from.file(), from.path())?;
        match known {
            Some(known) => Ok(now.as_ref() == Some(known)),
            None => Ok(now == digest_of(part.file(), part.path())?),
        }
    }
}

/// The ranges of a source that hold data. With `--verify` its holes are read as well: that they are zeros is then seen, and not
/// what the file system says.
pub(super) fn data_of(context: &CopyContext<'_>, from: &Endpoint) -> Result<Vec<Range<u64>>, CopyError> {
    let (path, size_bytes) = (from.path(), from.stat.size_bytes);
    let data =
        files::data_ranges(from.file(), size_bytes).map_err(CopyError::system("look for holes in", path))?;
    if context.options.verify != VerifyMode::ReadBack {
        return Ok(data);
    }
    let file = File::open(path).map_err(CopyError::system("open", path))?;
    let mut buffer = vec![0; HOLE_BYTES];
    for hole in Plan::new(size_bytes, &data, &[], 1).holes() {
        for at in hole.clone().step_by(HOLE_BYTES) {
            if context.progress.is_cancelled() {
                return Err(CopyError::cancelled(path, path, false));
            }
            let length = usize::try_from(hole.end - at).unwrap_or(HOLE_BYTES).min(HOLE_BYTES);
            let read =
                files::read_at(&file, &mut buffer[..length], at).map_err(CopyError::system("read", path))?;
            let is_zero = |piece: &[u8]| piece.iter().fold(0, |all, byte| all | byte) == 0;
            if !buffer[..read].chunks(4096).all(is_zero) {
                return Ok(std::iter::once(0..size_bytes).collect());
            }
        }
        files::drop_read(&file, &hole);
    }
    Ok(data)
}

#[derive(Clone, Copy)]
pub(super) enum Copied<'a> {
    Shared,
    /// It was moved; with its checksum if one was computed.
    Moved(Option<&'a Digest>),
}

/// The current stamp of the source, if its content is the same as when it was opened (by size and time) and
/// it still has its name.
fn unmodified(from: &Endpoint, target: &Path) -> Result<FileStamp, CopyError> {
    let now = files::stamp(from.file()).map_err(CopyError::system("look at", from.path()))?;
    if let Some(how) = now.content_change_since(&from.stat) {
        return Err(changed(from, target, how));
    }
    match files::stamp_of_path(from.path()) {
        Ok(named) if named.is_same_file(&from.stat) => Ok(now),
        Ok(_) => Err(changed(from, target, "another file has taken its name")),
        Err(_) => Err(changed(from, target, "its name is gone")),
    }
}

/// With a journal, the next attempt can keep what the source still has in common with the copy.
fn changed(from: &Endpoint, target: &Path, how: &'static str) -> CopyError {
    CopyError::SourceChanged { path: from.path().to_owned(), how, kept: has_journal(target) }
}

/// Checks by open handle and by name that the content of the source is unchanged.
pub(super) fn source_is_unmodified(from: &Endpoint) -> Result<(), CopyError> {
    match unmodified(from, from.path()) {
        Err(CopyError::SourceChanged { path, how, .. }) => {
            Err(CopyError::SourceChanged { path, how, kept: false })
        }
        other => other.map(drop),
    }
}
