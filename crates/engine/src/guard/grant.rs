//! Checks whether a target may be written, and grants it.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use iostall_host::{System, device_number};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::block_device::check_unused;
use super::consent::{Named, WriteConsent};
use super::database;
use super::lock::{FileLock, check_unlocked, hold_for_writing};
use super::place::{check_new_file_on, same_inode};
use super::refusal::{GrantReason, Refusal};
use super::regular_file;
use super::signature;
use crate::open::open_path;

/// Permission to write one target. It holds the descriptor that was checked, open for reading and writing
/// without direct I/O, so that what is written is what was checked: reopen it only through `/proc/self/fd`.
/// Another run that wants the same target is refused for as long as the grant lives.
#[derive(Debug)]
pub struct WriteGrant {
    file: File,
    path: PathBuf,
    reason: GrantReason,
    _lock: Option<FileLock>,
}

impl WriteGrant {
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The open target, without the grant.
    pub fn into_file(self) -> File {
        self.file
    }

    /// A path to reopen it by, even if its own path now refers to something else.
    pub fn open_path(&self) -> PathBuf {
        open_path(&self.file)
    }

    pub fn size_bytes(&self) -> io::Result<u64> {
        let size_bytes = io::Seek::seek(&mut &self.file, io::SeekFrom::End(0))?;
        io::Seek::rewind(&mut &self.file)?;
        Ok(size_bytes)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether iostall created the file, in this run or before. Only such files are removed.
    pub fn is_made_by_iostall(&self) -> bool {
        matches!(self.reason, GrantReason::Created | GrantReason::MadeByIostall)
    }

    /// Removes the file if its path still refers to it; a file that another program put in its place stays.
    pub fn remove(&self) -> io::Result<()> {
        let there = match std::fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            there => there?,
        };
        if same_inode(&there, &self.file.metadata()?) { std::fs::remove_file(&self.path) } else { Ok(()) }
    }

    pub fn reason(&self) -> &GrantReason {
        &self.reason
    }
}

/// Opens the target for writing if allowed. Creates it if it does not exist.
///
/// Refusals that no flag overrides come first, so that the user does not try flags in vain.
pub fn check_write(path: &Path, consent: &WriteConsent) -> Result<WriteGrant, Refusal> {
    check_write_on(&System::here(), path, consent)
}

fn check_write_on(system: &System, path: &Path, consent: &WriteConsent) -> Result<WriteGrant, Refusal> {
    let resolved = match std::fs::canonicalize(path) {
        Ok(resolved) => resolved,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return create(system, path, consent),
        Err(source) => return Err(failed(path, "follow the path")(source)),
    };
    // Before opening, because opening some devices already makes them act.
    let seen = std::fs::symlink_metadata(&resolved).map_err(failed(&resolved, "look at it"))?;
    let kind = seen.file_type();
    if let Some(kind) = refused_kind(&seen) {
        return Err(Refusal::Kind { path: resolved, kind });
    }
    if kind.is_block_device() {
        check_unused(system, &resolved, &device_number(seen.rdev()))?;
    }
    let exclusive = if kind.is_block_device() { OFlags::EXCL } else { OFlags::empty() };
    let file = open(&resolved, exclusive)?;
    let metadata = file.metadata().map_err(failed(&resolved, "look at it"))?;
    if !same_inode(&seen, &metadata) || kind != metadata.file_type() {
        return Err(Refusal::Replaced { path: resolved });
    }
    // No longer needed, and with it io_uring would return EAGAIN instead of waiting for the device.
    let flags = fcntl_getfl(&file).map_err(|error| failed(&resolved, "look at it")(error.into()))?;
    fcntl_setfl(&file, flags - OFlags::NONBLOCK)
        .map_err(|error| failed(&resolved, "open it for writing")(error.into()))?;
    if kind.is_block_device() {
        check_unlocked(system, &resolved, &file, &metadata)?;
        let reason = check_device(&resolved, &file, &metadata, consent)?;
        return Ok(WriteGrant { file, path: resolved, reason, _lock: None });
    }
    let reason = regular_file::check(system, &resolved, &file, &metadata, consent)?;
    let lock = hold_for_writing(system, &resolved, &file, &metadata)?;
    check_still_there(&resolved, &metadata)?;
    Ok(WriteGrant { file, path: resolved, reason, _lock: lock })
}

/// The previous owner may have removed the file just before we got the lock.
fn check_still_there(path: &Path, opened: &Metadata) -> Result<(), Refusal> {
    match std::fs::symlink_metadata(path) {
        Ok(there) if same_inode(&there, opened) => Ok(()),
        _ => Err(Refusal::Replaced { path: path.to_owned() }),
    }
}

fn refused_kind(metadata: &Metadata) -> Option<&'static str> {
    let kind = metadata.file_type();
    if kind.is_file() || kind.is_block_device() {
        None
    } else if kind.is_dir() {
        Some("directory")
    } else if kind.is_fifo() {
        Some("FIFO")
    } else if kind.is_char_device() {
        Some("character device")
    } else if kind.is_socket() {
        Some("socket")
    } else {
        // A link appeared where the resolved path had none.
        Some("symbolic link")
    }
}

/// Never through a link that appeared after the path was resolved, and without waiting for a pipe's other
/// end.
fn open(path: &Path, more: OFlags) -> Result<File, Refusal> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | more).bits().cast_signed();
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).map_err(|source| {
        if source.kind() == io::ErrorKind::ResourceBusy {
            return Refusal::Busy { path: path.to_owned() };
        }
        failed(path, "open it for writing")(source)
    })
}

fn create(system: &System, path: &Path, consent: &WriteConsent) -> Result<WriteGrant, Refusal> {
    check_new_file_on(system, path)?;
    if std::fs::symlink_metadata(path).is_ok() {
        return Err(Refusal::DanglingLink { path: path.to_owned() });
    }
    let name =
        path.file_name().ok_or_else(|| failed(path, "create it")(io::ErrorKind::InvalidFilename.into()))?;
    let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let parent = std::fs::canonicalize(parent).map_err(failed(parent, "find the directory"))?;
    let path = parent.join(name);
    if let Some(found) = database::recognise_directory(&parent)
        && !consent.names_new_file(&path)
    {
        return Err(Refusal::DatabaseDirectory { path, found });
    }
    // `create_new` also refuses a link or file that has appeared in the meantime.
    let created = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
    let file = created.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => Refusal::Replaced { path: path.clone() },
        _ => failed(&path, "create it")(source),
    })?;
    let metadata = file.metadata().map_err(failed(&path, "look at it"))?;
    let lock = hold_for_writing(system, &path, &file, &metadata)?;
    Ok(WriteGrant { file, path, reason: GrantReason::Created, _lock: lock })
}

fn check_device(
    path: &Path,
    file: &File,
    metadata: &Metadata,
    consent: &WriteConsent,
) -> Result<GrantReason, Refusal> {
    let target = Named { path, metadata };
    let size_bytes = io::Seek::seek(&mut &*file, io::SeekFrom::End(0))
        .and_then(|size_bytes| io::Seek::rewind(&mut &*file).map(|()| size_bytes))
        .map_err(failed(path, "measure it"))?;
    let found = signature::find(file, size_bytes).map_err(failed(path, "look for signatures"))?;
    match (found.is_empty(), consent.destroys_signature(&target)) {
        (true, true) => Ok(GrantReason::Overwrite),
        (true, false) if consent.overwrites(&target) => Ok(GrantReason::Overwrite),
        (true, false) => Err(Refusal::DeviceNotNamed { path: path.to_owned() }),
        (false, true) => Ok(GrantReason::DestroySignatures(found)),
        (false, false) => Err(Refusal::Signatures { path: path.to_owned(), found }),
    }
}

fn failed(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Refusal {
    let path = path.to_owned();
    move |source| Refusal::System { path, action, source }
}
