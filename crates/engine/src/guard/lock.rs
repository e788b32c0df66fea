//! Locks: two runs on one file exclude each other, and a file that another program has locked is left alone.
//!
//! Our own lock is an advisory `flock`: the kernel releases it when the process dies, and `/proc/locks` names
//! its holder. For other programs' locks we only look, and never wait. A file that we only read and did not
//! create is not locked at all, so that a database can lock its own files undisturbed. A block device needs
//! no lock either; it is opened exclusively.

use std::fs::{File, Metadata};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use iostall_host::{System, device_number};
use rustix::fs::{FlockOperation, flock, fstatfs};
use rustix::io::Errno;

use super::mark::made_by_iostall;
use super::refusal::{LockHolder, Refusal};
use crate::open::open_path;

/// Magic numbers of SMB, old and new. There, a lock blocks reads and writes through every other descriptor,
/// including our own.
const MANDATORY: [u32; 2] = [0xff53_4d42, 0xfe53_4d42];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mode {
    /// Others may read.
    Shared,
    Exclusive,
}

impl Mode {
    fn operation(self) -> FlockOperation {
        match self {
            Self::Shared => FlockOperation::NonBlockingLockShared,
            Self::Exclusive => FlockOperation::NonBlockingLockExclusive,
        }
    }
}

#[derive(Clone, Debug)]
pub struct FileLock {
    _held: Arc<Held>,
}

#[derive(Debug)]
struct Held {
    /// A descriptor of the same open file description, which owns the lock.
    file: File,
    inode: (u64, u64),
    mode: Mutex<Mode>,
}

impl Held {
    fn new(file: &File, inode: (u64, u64), mode: Mode) -> Result<Arc<Self>, Errno> {
        let file = File::from(rustix::io::fcntl_dupfd_cloexec(file, 0)?);
        flock(&file, mode.operation())?;
        Ok(Arc::new(Self { file, inode, mode: Mutex::new(mode) }))
    }

    fn raise(&self, mode: Mode) -> Result<(), Errno> {
        let mut present = self.mode.lock().unwrap_or_else(PoisonError::into_inner);
        if mode <= *present {
            return Ok(());
        }
        if let Err(errno) = flock(&self.file, mode.operation()) {
            // The failed upgrade released the old lock. Take it again, unless another process was faster.
            let _ = flock(&self.file, present.operation());
            return Err(errno);
        }
        *present = mode;
        Ok(())
    }
}

/// What this process has locked. The columns of a matrix may be one file, and the kernel treats two opens in
/// one process like two processes.
static HELD: Mutex<Vec<Weak<Held>>> = Mutex::new(Vec::new());

/// Locks a file that iostall created for as long as it is read, so that no other run writes to it or removes
/// it. `None`: the file is not ours and is read without a lock.
pub fn hold_for_reading(path: &Path, file: &File) -> Result<Option<FileLock>, Refusal> {
    let failed = |source| Refusal::System { path: path.to_owned(), action: "look at it", source };
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Ok(None);
    }
    let system = System::here();
    // Read through a separate descriptor: this one may be for direct I/O, which reads whole sectors only.
    if made_by_iostall(&open_path(file)).unwrap_or(false) {
        return take(&system, path, file, &metadata, Mode::Shared);
    }
    match flock_holder(&system, path, &metadata, Mode::Shared) {
        Some(holder) if holder.is_iostall => Err(Refusal::InUse { path: path.to_owned(), holder }),
        _ => Ok(None),
    }
}

pub(super) fn hold_for_writing(
    system: &System,
    path: &Path,
    file: &File,
    metadata: &Metadata,
) -> Result<Option<FileLock>, Refusal> {
    take(system, path, file, metadata, Mode::Exclusive)
}

/// Refuses a file or device that another process has locked, without taking a lock.
pub(super) fn check_unlocked(
    system: &System,
    path: &Path,
    file: &File,
    metadata: &Metadata,
) -> Result<(), Refusal> {
    // udev takes a brief shared lock on a device while it probes it.
    let wanted = if metadata.file_type().is_block_device() { Mode::Shared } else { Mode::Exclusive };
    let holder = record_lock_holder(system, file).or_else(|| flock_holder(system, path, metadata, wanted));
    match holder {
        Some(holder) => Err(Refusal::InUse { path: path.to_owned(), holder }),
        None => Ok(()),
    }
}

/// `None`: the file system has no usable locks.
fn take(
    system: &System,
    path: &Path,
    file: &File,
    metadata: &Metadata,
    mode: Mode,
) -> Result<Option<FileLock>, Refusal> {
    if locks_are_mandatory(file) {
        return Ok(None);
    }
    let inode = (metadata.dev(), metadata.ino());
    let mut all = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|held| held.strong_count() > 0);
    let known = all.iter().filter_map(Weak::upgrade).find(|held| held.inode == inode);
    let locked =
        if let Some(held) = known { held.raise(mode).map(|()| held) } else { Held::new(file, inode, mode) };
    match locked {
        Ok(held) => {
            all.push(Arc::downgrade(&held));
            Ok(Some(FileLock { _held: held }))
        }
        Err(Errno::WOULDBLOCK) => {
            let holder = flock_holder(system, path, metadata, mode).unwrap_or_default();
            Err(Refusal::InUse { path: path.to_owned(), holder })
        }
        // NFS without its lock service, FUSE without locks, and the like.
        Err(_) => Ok(None),
    }
}

fn locks_are_mandatory(file: &File) -> bool {
    let kind = fstatfs(file).map(|answer| u32::try_from(answer.f_type & 0xffff_ffff).unwrap_or(0));
    kind.is_ok_and(|kind| MANDATORY.contains(&kind))
}

/// Which process holds an `fcntl` lock on any part of the file, as databases and virtual machines do.
#[expect(unsafe_code, reason = "the library's safe form of this call is for locks that belong to a process")]
fn record_lock_holder(system: &System, file: &File) -> Option<LockHolder> {
    let (write, start) = (libc::F_WRLCK, libc::SEEK_SET);
    let mut asked = libc::flock {
        l_type: i16::try_from(write).ok()?,
        l_whence: i16::try_from(start).ok()?,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    // SAFETY: the descriptor is open during the call, and the kernel writes only to `asked`, the argument of
    // this command.
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut asked) };
    let is_locked = answer == 0 && i32::from(asked.l_type) != libc::F_UNLCK;
    // A lock that belongs to an open file description and not to a process has pid -1.
    is_locked
        .then(|| u32::try_from(asked.l_pid).map_or_else(|_| LockHolder::default(), |pid| holder(system, pid)))
}

/// Which other process holds a `flock` on the file that conflicts with `mode`. The device number comes from
/// the mount table, as `/proc/locks` shows it; the file's own number may be that of its subvolume.
fn flock_holder(system: &System, path: &Path, metadata: &Metadata, mode: Mode) -> Option<LockHolder> {
    let text = system.text("/proc/locks")?;
    let of_mount = system.mount_of(path).map(|mount| mount.number);
    let numbers = [Some(device_number(metadata.dev())), of_mount];
    let mut holders = text.lines().filter_map(parse_flock).filter(|lock| {
        let is_this =
            lock.inode == metadata.ino() && numbers.iter().flatten().any(|number| *number == lock.device);
        is_this && (lock.mode == Mode::Exclusive || mode == Mode::Exclusive)
    });
    let other = holders.find(|lock| lock.pid != std::process::id())?;
    Some(holder(system, other.pid))
}

fn holder(system: &System, pid: u32) -> LockHolder {
    if pid == 0 {
        // The process runs in another namespace.
        return LockHolder::default();
    }
    let program = system.line(format!("/proc/{pid}/comm"));
    let is_iostall =
        program.is_some() && program == system.line("/proc/self/comm") && pid != std::process::id();
    LockHolder { pid: Some(pid), program, is_iostall }
}

struct FlockLine {
    mode: Mode,
    pid: u32,
    device: String,
    inode: u64,
}

/// `1: FLOCK  ADVISORY  WRITE 708 fe:00:13547 0 EOF`; waiting locks have an arrow before the kind.
fn parse_flock(line: &str) -> Option<FlockLine> {
    let mut words = line.split_ascii_whitespace().skip(1);
    if words.next()? != "FLOCK" {
        return None;
    }
    let mode = match words.nth(1)? {
        "WRITE" => Mode::Exclusive,
        _ => Mode::Shared,
    };
    let pid = words.next()?.parse().unwrap_or(0);
    let mut place = words.next()?.split(':');
    let mut hexadecimal = || u32::from_str_radix(place.next()?, 16).ok();
    let device = format!("{}:{}", hexadecimal()?, hexadecimal()?);
    Some(FlockLine { mode, pid, device, inode: place.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::made_up;

    #[test]
    fn a_lock_is_found_in_the_systems_list_by_device_and_inode() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "x").unwrap();
        let metadata = std::fs::metadata(&path).unwrap();
        let (major, minor) = (rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev()));
        let place = format!("{major:02x}:{minor:02x}:{}", metadata.ino());
        let locks = format!(
            "1: POSIX  ADVISORY  WRITE 7 {place} 0 EOF\n2: -> FLOCK  ADVISORY  WRITE 8 {place} 0 EOF\n\
             3: FLOCK  ADVISORY  WRITE 9 ff:ff:1 0 EOF\n4: FLOCK  ADVISORY  READ 4242 {place} 0 EOF\nodd\n"
        );
        let (_root, system) = made_up(&[
            ("proc/locks", &locks),
            ("proc/4242/comm", "mysqld\n"),
            ("proc/self/comm", "iostall\n"),
        ]);
        let writer = flock_holder(&system, &path, &metadata, Mode::Exclusive).unwrap();
        assert_eq!((writer.pid, writer.is_iostall), (Some(4242), false));
        assert_eq!(writer.to_string(), "mysqld (process 4242), which has locked it");
        assert_eq!(flock_holder(&system, &path, &metadata, Mode::Shared), None);
        assert_eq!(holder(&system, 0).to_string(), "another program, which has locked it");
    }

    #[test]
    fn one_process_shares_its_lock_and_gives_it_up_with_the_last_holder() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let file = File::create_new(&path).unwrap();
        let metadata = file.metadata().unwrap();
        let system = System::here();
        let hold =
            || hold_for_writing(&system, &path, &File::open(&path).unwrap(), &metadata).unwrap().unwrap();
        let (first, second) = (hold(), hold());
        let other = File::open(&path).unwrap();
        let try_it = || flock(&other, FlockOperation::NonBlockingLockShared).is_ok();
        // A child process of another test shares our descriptors until it executes its own program.
        let is_free = || {
            (0..10_000).any(|_| {
                std::thread::yield_now();
                try_it()
            })
        };
        assert!(!try_it());
        drop(first);
        assert!(!try_it());
        drop(second);
        assert!(is_free());
        let refusal = hold_for_writing(&system, &path, &file, &metadata).unwrap_err();
        assert!(matches!(refusal, Refusal::InUse { .. }), "{refusal}");
    }
}
