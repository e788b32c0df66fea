//! A stripe as a file of this machine: made under a temporary name, which it loses when all are durable.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileKind, UnfinishedFile, path_bytes, path_from_bytes};
use iostall_engine::{Access, OpenOptions, OpenTarget, open_target};
use iostall_measure::Caching;
use iostall_model::backup::SetId;

use super::error::CreateError;
use crate::backup::format::StripeHeader;

/// Longest name on common file systems, bytes.
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

    /// Gives it its name, unless something else has it by now.
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
