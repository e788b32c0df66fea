//! Whether the source is still what was copied, after the last read of it.

use std::path::Path;

use iostall_engine::files::{self, FileStamp, Loss, Writers};
use iostall_measure::Clock as _;
use iostall_measure::clock::utc_now;
use iostall_model::transfer::HashKind;

use super::Copier;
use super::error::CopyError;
use super::journal::has_journal;
use super::part::Part;
use super::resume::kept_where_cancelled;
use super::side::Side;
use super::steady::unproven_ns;
use crate::hash::Digest;
use crate::pipeline::HashWanted;

/// How often the content is compared again because somebody changed something else of the source. Who changes it every minute
/// would have a large file compared for ever.
const COMPARISONS: u32 = 3;

impl Copier<'_> {
    /// Makes the time of modification of the source one that every further write changes; notes who else could write to it.
    pub(super) fn expect_no_writers(&mut self, from: &Side) {
        let writers = files::writers(from.file());
        if writers == Writers::Some {
            self.log.in_use.push(from.path().to_owned());
        }
        if writers != Writers::None {
            // A page that is dirty already could be written to through a mapping and would not give the file a new time.
            files::write_back(from.file(), &(0..from.stamp.size_bytes));
        }
        let wait_ns = unproven_ns(from.stamp.modified_ns, utc_now().as_nanosecond());
        self.clock.sleep_until(self.clock.now_ns() + wait_ns);
    }

    /// Gives the unfinished destination what the source has beside its content, and makes it durable. Who changes the mode, an
    /// attribute or a name of the source meanwhile has not spoilt the copy: but since the time of modification can be set
    /// back, the content is compared once more.
    pub(super) fn complete(
        &mut self,
        from: &Side,
        part: &Part,
        target: &Path,
        copied: Copied<'_>,
    ) -> Result<Vec<Loss>, CopyError> {
        let mut stamp = from.stamp;
        let mut comparisons = 0;
        loop {
            let mut losses = files::copy_metadata(from.file(), &stamp, part.file());
            let begun_ns = self.clock.now_ns();
            part.file().sync_all().map_err(CopyError::system("make durable", part.path()))?;
            self.log.sync_ns += self.clock.now_ns() - begun_ns;
            let now = unmodified(from, target)?;
            if now.changed_ns == stamp.changed_ns {
                return Ok(losses);
            }
            if comparisons == COMPARISONS {
                let cause = "it was changed again and again while the file was copied".to_owned();
                losses.push(Loss { what: "the last of the metadata".to_owned(), cause });
                return Ok(losses);
            }
            comparisons += 1;
            if !self.is_same_content(from, part, target, copied)? {
                return Err(changed(from, target, "its content was modified, and its time set back"));
            }
            stamp = FileStamp { accessed_ns: from.stamp.accessed_ns, ..now };
        }
    }

    /// Whether the source still has what was copied of it.
    fn is_same_content(
        &mut self,
        from: &Side,
        part: &Part,
        target: &Path,
        copied: Copied<'_>,
    ) -> Result<bool, CopyError> {
        let size_bytes = from.stamp.size_bytes;
        let (known, kind) = match copied {
            // What shares its blocks was taken in one moment, whatever is in the source by now.
            Copied::Shared => return Ok(true),
            Copied::Moved(Some(digest)) => (Some(digest), digest.kind()),
            Copied::Moved(None) => (None, HashKind::default()),
        };
        let passes = if known.is_some() { 1 } else { 2 };
        self.progress.add_total(0, size_bytes * passes);
        self.progress.begin_file(target, size_bytes, "comparing again");
        let mut digest_of = |path: &Path| {
            let wanted = HashWanted { whole: Some(kind), ..HashWanted::default() };
            let hashes = self
                .hashes_of(path, size_bytes, wanted)
                .map_err(|error| kept_where_cancelled(error, from.path(), target))?;
            Ok::<_, CopyError>(hashes.whole)
        };
        let now = digest_of(from.path())?;
        match known {
            Some(known) => Ok(now.as_ref() == Some(known)),
            None => Ok(now == digest_of(part.path())?),
        }
    }
}

/// How the content came into the unfinished destination.
#[derive(Clone, Copy)]
pub(super) enum Copied<'a> {
    /// Blocks are shared.
    Shared,
    /// It was moved; with its checksum, where one was made.
    Moved(Option<&'a Digest>),
}

/// The source as it is now, if it has the content that it was opened with, as far as size and time tell, and still its name.
fn unmodified(from: &Side, target: &Path) -> Result<FileStamp, CopyError> {
    let now = files::stamp(from.file()).map_err(CopyError::system("look at", from.path()))?;
    if let Some(how) = now.content_change_since(&from.stamp) {
        return Err(changed(from, target, how));
    }
    match files::stamp_of_path(from.path()) {
        Ok(named) if named.is_same_file(&from.stamp) => Ok(now),
        Ok(_) => Err(changed(from, target, "another file has taken its name")),
        Err(_) => Err(changed(from, target, "its name is gone")),
    }
}

/// With a journal the next try finds what the source still has in common with what was copied.
fn changed(from: &Side, target: &Path, how: &'static str) -> CopyError {
    CopyError::SourceChanged { path: from.path().to_owned(), how, kept: has_journal(target) }
}

/// Whether the content of the source is still what it was, by its open handle and by its name.
pub(super) fn source_is_unmodified(from: &Side) -> Result<(), CopyError> {
    match unmodified(from, from.path()) {
        Err(CopyError::SourceChanged { path, how, .. }) => {
            Err(CopyError::SourceChanged { path, how, kept: false })
        }
        other => other.map(drop),
    }
}
