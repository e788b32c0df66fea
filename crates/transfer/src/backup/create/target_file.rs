//! A stripe as a file of this machine: made under a temporary name, which it loses when all are durable.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use iostall_engine::files::{self, FileKind, UnfinishedFile, path_bytes, path_from_bytes};
use iostall_engine::{Access, OpenOptions, OpenTarget, open_target};
use iostall_measure::Caching;
use iostall_model::backup::SetId;

use super::error::CreateError;
use crate::backup::format::StripeHeader;

pub(super) const NAME_BYTES_MAX: usize = 255;
/// What a temporary name has beside the name: a point before it, and the set and `.partial` after it.
pub(super) const PARTIAL_BYTES: usize = 1 + 1 + 32 + PARTIAL_SUFFIX.len();
const PARTIAL_SUFFIX: &str = ".partial";
pub(super) const MARKS: [&[u8]; 2] = [b"IOSTRIPE", b"IOSMANIF"];
pub(super) const MARK_BYTES: u64 = 8;

/// A stripe on its way to its name. It is removed unless it was completed.
pub(super) struct TargetFile {
    pub(super) target: PathBuf,
    at: PathBuf,
    /// Through the page cache, and locked.
    pub(super) file: File,
    pub(super) open: OpenTarget,
    pub(super) header_bytes: u64,
    listed: UnfinishedFile,
    is_complete: bool,
}

/// Whether a file begins like a part of a backup; also one that is too short to tell.
pub(super) fn begins_with_mark(path: &Path) -> io::Result<bool> {
    let mut begin = Vec::new();
    files::open_in_shared_directory(path)?.take(MARK_BYTES).read_to_end(&mut begin)?;
    Ok(MARKS.iter().any(|mark| mark.starts_with(&begin)))
}

pub(super) fn partial_path(target: &Path, set: SetId) -> PathBuf {
    let mut name = vec![b'.'];
    name.extend_from_slice(path_bytes(Path::new(target.file_name().unwrap_or_default())));
    name.extend_from_slice(format!(".{set}{PARTIAL_SUFFIX}").as_bytes());
    target.with_file_name(path_from_bytes(name))
}

/// Removes what backups to `target` that were killed have left under temporary names; returns their bytes.
pub(super) fn remove_left_over(target: &Path) -> u64 {
    let name = path_bytes(Path::new(target.file_name().unwrap_or_default()));
    let is_partial = |found: &[u8]| {
        let set = found
            .strip_prefix(b".")
            .and_then(|rest| rest.strip_prefix(name))
            .and_then(|rest| rest.strip_prefix(b"."))
            .and_then(|rest| rest.strip_suffix(PARTIAL_SUFFIX.as_bytes()));
        set.is_some_and(|set| set.len() == 32 && set.iter().all(u8::is_ascii_hexdigit))
    };
    let Ok(entries) = std::fs::read_dir(directory_of(target)) else { return 0 };
    let mut bytes = 0;
    for entry in entries.flatten().filter(|entry| is_partial(path_bytes(Path::new(&entry.file_name())))) {
        bytes += remove_dead(&entry.path()).unwrap_or(0);
    }
    bytes
}

/// Removes a stripe or a manifest under a temporary name unless a living process has it.
pub(in crate::backup) fn remove_dead(path: &Path) -> io::Result<u64> {
    let file = files::open_to_lock(path)?;
    let there = files::stamp(&file)?;
    if there.kind != FileKind::Regular || there.links != 1 {
        return Ok(0);
    }
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(0),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    if !begins_with_mark(path)? {
        return Ok(0);
    }
    std::fs::remove_file(path)?;
    Ok(there.allocated_bytes)
}

/// Writes a file under a temporary name, makes it durable, and gives it its name.
pub(super) fn write_new(path: &Path, set: SetId, bytes: &[u8]) -> io::Result<()> {
    let partial = partial_path(path, set);
    let mut file = files::create_new_private(&partial)?;
    let listed = UnfinishedFile::at(&partial);
    // Only says that somebody has it; where there are no locks, nothing can.
    let _ = file.try_lock();
    let written = file
        .write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| files::rename_new(&partial, path))
        .and_then(|()| files::sync_directory(directory_of(path)));
    listed.finish();
    if written.is_err() {
        // Already failing; the name says what it is.
        let _ = std::fs::remove_file(&partial);
    }
    written
}

impl TargetFile {
    pub(super) fn create(target: &Path, set: SetId, header: &StripeHeader) -> Result<Self, CreateError> {
        let at = partial_path(target, set);
        let file = files::create_new_private(&at).map_err(CreateError::system("create", &at))?;
        let listed = UnfinishedFile::at(&at);
        let opened = Self::begin(&at, &file, header);
        if opened.is_err() {
            let _ = std::fs::remove_file(&at);
        }
        let open = opened?;
        let target = target.to_owned();
        Ok(Self { target, at, file, open, header_bytes: header.bytes(), listed, is_complete: false })
    }

    fn begin(at: &Path, file: &File, header: &StripeHeader) -> Result<OpenTarget, CreateError> {
        let failed = |verb| CreateError::system(verb, at);
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) if files::has_no_locks(&error) => {}
            Err(TryLockError::Error(error)) => return Err(failed("lock")(error)),
            Err(TryLockError::WouldBlock) => return Err(failed("lock")(io::ErrorKind::WouldBlock.into())),
        }
        files::write_all_at(file, &header.encode(), 0).map_err(failed("write"))?;
        let options =
            OpenOptions { access: Access::Write, caching: Caching::Direct, ..OpenOptions::default() };
        let open = open_target(at, &options)?;
        let ours = files::stamp(file).map_err(failed("look at"))?;
        let opened = files::stamp(&open).map_err(failed("look at"))?;
        if opened.is_same_file(&ours) {
            Ok(open)
        } else {
            Err(failed("open")(io::ErrorKind::NotFound.into()))
        }
    }

    pub(super) fn rename(&mut self) -> io::Result<()> {
        files::rename_new(&self.at, &self.target)?;
        self.at.clone_from(&self.target);
        self.listed.finish();
        self.listed = UnfinishedFile::at(&self.target);
        Ok(())
    }

    /// Gives it its length, beyond which room may have been reserved.
    pub(super) fn set_length(&self, length: u64) -> Result<(), CreateError> {
        let failed = || CreateError::system("set the length of", &self.at);
        if self.file.metadata().map_err(failed())?.len() > length {
            self.file.set_len(length).map_err(failed())?;
        }
        Ok(())
    }

    pub(super) fn complete(&mut self) {
        self.is_complete = true;
        self.listed.finish();
    }
}

impl Drop for TargetFile {
    fn drop(&mut self) {
        let is_ours = || {
            let ours = files::stamp(&self.file).ok();
            files::stamp_of_link(&self.at)
                .is_ok_and(|there| ours.is_some_and(|ours| ours.is_same_file(&there)))
        };
        if !self.is_complete && is_ours() {
            // Already failing; what stays is recognisable by its name.
            let _ = std::fs::remove_file(&self.at);
        }
    }
}

pub(in crate::backup) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A stripe that has less than this is soon done.
const BEGIN_BYTES: u64 = 16 << 20;
const STEP_BYTES_MAX: u64 = 256 << 20;
/// Where there is less room than so many steps for each stripe, what is reserved for one may be missing for another.
const FREE_STEPS: u64 = 4;

pub(super) struct RoomFile {
    pub(super) file: File,
    pub(super) directory: PathBuf,
}

/// Reserves room on a thread of its own: a file system lets a reservation wait for all writes to the file.
pub(super) struct RoomAhead {
    asks: Sender<Ask>,
    thread: Option<JoinHandle<()>>,
}

enum Ask {
    Reserve { stripe: usize, range: Range<u64> },
    End,
}

pub(super) struct RoomOfStripe {
    stripe: usize,
    asks: Sender<Ask>,
    reserved: u64,
}

impl RoomAhead {
    /// For stripes whose writes bypass the page cache; others get their room from the page cache. `None` if there is no
    /// thread: then nothing is reserved.
    pub(super) fn start(stripes: Vec<Option<RoomFile>>) -> Option<Self> {
        if stripes.iter().all(Option::is_none) {
            return None;
        }
        let (asks, asked) = channel();
        let work = move || {
            let mut stripes = stripes;
            let count = stripes.iter().flatten().count() as u64;
            while let Ok(Ask::Reserve { stripe, range }) = asked.recv() {
                let Some(room) = stripes.get_mut(stripe) else { continue };
                let reserved = room.as_ref().is_some_and(|room| room.reserve(&range, count));
                if !reserved {
                    *room = None;
                }
            }
        };
        let thread = std::thread::Builder::new().name("room".to_owned()).spawn(work).ok()?;
        Some(Self { asks, thread: Some(thread) })
    }

    pub(super) fn of_stripe(&self, stripe: usize) -> RoomOfStripe {
        RoomOfStripe { stripe, asks: self.asks.clone(), reserved: 0 }
    }
}

impl Drop for RoomAhead {
    fn drop(&mut self) {
        // The thread may be gone already, and then nothing is reserved any more either.
        let _ = self.asks.send(Ask::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl RoomFile {
    /// Whether it could. Only a help: a write without it succeeds too, or says why not.
    fn reserve(&self, range: &Range<u64>, stripes: u64) -> bool {
        let wanted = (range.end - range.start).saturating_mul(FREE_STEPS).saturating_mul(stripes);
        files::free_bytes(&self.directory).is_ok_and(|free| free > wanted)
            && files::preallocate(&self.file, range).unwrap_or(false)
    }
}

impl RoomOfStripe {
    pub(super) fn ends_at(&mut self, end: u64) {
        if let Some(range) = wanted(end, self.reserved) {
            self.reserved = range.end;
            let _ = self.asks.send(Ask::Reserve { stripe: self.stripe, range });
        }
    }
}

/// What to reserve next for a stripe that ends at `end`, if it is time.
fn wanted(end: u64, reserved: u64) -> Option<Range<u64>> {
    let step = end.min(STEP_BYTES_MAX);
    let from = end.max(reserved);
    (end >= BEGIN_BYTES && from - end < step / 2).then(|| from..from + step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_reserved_in_steps_that_grow_with_the_stripe() {
        assert_eq!(wanted(BEGIN_BYTES - 4096, 0), None, "a small backup needs none");
        assert_eq!(wanted(BEGIN_BYTES, 0), Some(BEGIN_BYTES..2 * BEGIN_BYTES));
        assert_eq!(wanted(BEGIN_BYTES + 4096, 2 * BEGIN_BYTES), None);
        let most = 10 * STEP_BYTES_MAX;
        assert_eq!(wanted(most, most + 4096), Some(most + 4096..most + 4096 + STEP_BYTES_MAX));
        assert_eq!(wanted(most, most + STEP_BYTES_MAX), None);
    }

    #[test]
    fn what_is_reserved_is_there_when_the_thread_has_ended() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stripe");
        let file = File::create(&path).unwrap();
        let stripe = RoomFile { file: file.try_clone().unwrap(), directory: directory.path().to_owned() };
        let room = RoomAhead::start(vec![None, Some(stripe)]).unwrap();
        let mut of_none = room.of_stripe(0);
        of_none.ends_at(BEGIN_BYTES);
        let mut of_stripe = room.of_stripe(1);
        of_stripe.ends_at(BEGIN_BYTES);
        of_stripe.ends_at(BEGIN_BYTES + 4096);
        drop(room);
        let reserved = file.metadata().unwrap().len();
        assert!(
            reserved == 2 * BEGIN_BYTES || reserved == 0,
            "{reserved}: all of it, or where there is little room nothing"
        );
        assert!(RoomAhead::start(vec![None]).is_none());
    }
}
