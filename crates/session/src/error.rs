//! Errors of use cases, with hints.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::guard::{FreeSpaceError, Refusal};
use iostall_engine::nvme::EraseError;
use iostall_engine::{EngineError, InputError, OpenError};
use iostall_load::prepare::{PrepareError, SIZE_ALIGN};
use iostall_load::profile::ProfileFileError;
use iostall_load::{OverrideError, PresetError, ProfileError, RunError};
use iostall_measure::ByteCount;
use iostall_measure::foreign::shell_path;
use iostall_measure::hinted;
use iostall_store::StoreError;
use iostall_transfer::CopyError;
use iostall_transfer::backup::create::CreateError;
use iostall_transfer::backup::read::ReadError;
use iostall_transfer::copy::FileListError;
use iostall_transfer::manifest::ManifestError;
use thiserror::Error;

use crate::give_way::GiveWayError;
use crate::output::LogFileError;

/// An error of a use case that has a type for its own errors, with what the user can do about it.
#[derive(Debug)]
pub struct UseCaseError {
    error: Box<dyn StdError + Send + Sync>,
    hint: Option<String>,
}

impl UseCaseError {
    pub(crate) fn new(error: impl StdError + Send + Sync + 'static, hint: Option<String>) -> Self {
        Self { error: Box::new(error), hint }
    }
}

impl fmt::Display for UseCaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl StdError for UseCaseError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.error.source()
    }
}

/// Makes a use case's own error a [`SessionError`] with its hint.
macro_rules! of_use_case {
    ($error:ty) => {
        impl From<$error> for $crate::error::SessionError {
            fn from(error: $error) -> Self {
                let hint = error.hint();
                Self::OfUseCase($crate::error::UseCaseError::new(error, hint))
            }
        }
    };
}
pub(crate) use of_use_case;

hinted! {
    #[derive(Debug, Error)]
    pub enum SessionError {
        #[error("interrupted before anything was measured; files created for the run were removed")]
        Interrupted,
        #[error("{} and {} are the same file or device", one.display(), other.display())]
        NamedTwice { one: PathBuf, other: PathBuf }
            => "name it only once (`stat` shows that both are the same)",
        #[error("no role of the profile {profile:?} asks for a target {name:?}")]
        NotAskedFor { profile: String, name: String, known: Vec<String> }
            => of_those(known, "its roles ask for", "its roles all work on the files named without --target"),
        #[error("{name} is in the way: iostall did not make it")]
        ScratchInTheWay { name: &'static str } => "name a FILE to load, or run in another directory",
        #[error(transparent)]
        Refused(#[from] refusal: Refusal) => refusal.hint(),
        #[error(transparent)]
        FreeSpace(#[from] error: FreeSpaceError) => hint_about_space(error),
        #[error("cannot find the file system of this directory")]
        NoFileSystem,
        #[error("cannot mark {} as ours", path.display())]
        Mark { path: PathBuf, source: io::Error },
        #[error("cannot make {}", path.display())]
        Make { path: PathBuf, source: PrepareError },
        #[error(transparent)]
        Open(cause: OpenError) => "name a file or block device that may be read",
        #[error("cannot look at {}", path.display())]
        Look { path: PathBuf, source: io::Error } => "check the name, and whether you may read it",
        #[error("{} is empty: there is nothing to read", path.display())]
        Empty { path: PathBuf } => "name a file with data, or a new file for iostall to create",
        #[error("{} cannot be purged", path.display())]
        CannotPurge { path: PathBuf }
            => "only devices that can discard, and files that iostall made on a file system with holes: leave out --purge",
        #[error("{} was not erased", path.display())]
        NotErased {
            path: PathBuf,
            #[source]
            cause: EraseError,
        } => hint_about_erasing(cause),
        #[error(transparent)]
        EngineUnavailable(error: EngineError) => error.hint().unwrap_or("leave --engine out to use threads"),
        #[error(transparent)]
        Run(#[from] error: RunError) => error.hint(),
        #[error("cannot lower the priority")]
        Priority(#[source] cause: io::Error),
        #[error(transparent)]
        Copy(#[from] error: CopyError) => error.hint(),
        #[error(transparent)]
        Backup(#[from] error: CreateError) => error.hint(),
        #[error("standard input can be read only once, and trying settings reads a source many times")]
        TuneStream => "name a file or a directory with content like that of the stream",
        #[error("{named} is a server or a database, and settings are tried on files")]
        TuneDatabase { named: String }
            => "name its data directory: it is only read, and the server may go on; then put its address into the line that is printed",
        #[error("{} is an increment, and restores are tried with whole sets", named.display())]
        TuneIncrement { named: PathBuf }
            => "name the set that it is based on: what suits one suits the other",
        #[error("{} has nothing to read", named.display())]
        TuneEmpty { named: PathBuf } => "name files with data",
        #[error(
            "{} has {} free: trying settings there needs {}, of which a quarter is written at a time",
            directory.display(), ByteCount(*free_bytes), ByteCount(*wanted_bytes)
        )]
        TuneSpace { directory: PathBuf, free_bytes: u64, wanted_bytes: u64 }
            => "free space there, or name another target",
        #[error(
            "the buffers take {} as it is, and {} is the most for them",
            ByteCount(*wanted_bytes), ByteCount(*memory_bytes)
        )]
        TuneMemory { wanted_bytes: u64, memory_bytes: u64 }
            => "--memory allows more; a smaller --transfer, --buffers or --depth takes less",
        #[error(transparent)]
        ReadBackup(#[from] error: ReadError) => error.hint(),
        #[error(transparent)]
        OfUseCase(error: UseCaseError) => error.hint.clone(),
        #[error("the backup has no tablespace {}", wanted.display())]
        NoTablespace { wanted: PathBuf, known: Vec<String> }
            => of_those(known, "it has", "it records none: leave out --tablespace"),
        #[error("--manifest {}", path.display())]
        ManifestHash { path: PathBuf, source: ManifestError }
            => "leave out --hash, or choose a name for the list that does not contradict it; nothing was copied",
        #[error("cannot use the manifest {}", path.display())]
        Manifest { path: PathBuf, source: ManifestError }
            => "--hash xxh3|blake3|sha256|md5|crc32c sets the algorithm of a list",
        #[error("{0}")]
        NoManifest(cause: InputError) => MANIFEST_HINT,
        #[error("cannot use the list {}", path.display())]
        FileList { path: PathBuf, source: FileListError }
            => "it has one name a line, each below the source directory",
        #[error(transparent)]
        Log(#[from] cause: LogFileError) => "name another file for the log",
        #[error(transparent)]
        GiveWay(#[from] error: GiveWayError) => error.hint(),
        #[error("cannot limit the memory of this process")]
        MemoryLimit { limit_bytes: u64, source: io::Error }
            => format!("`systemd-run --scope -p MemoryMax={limit_bytes} iostall write …` does the same"),
        #[error("cannot map a packet")]
        MapPacket(#[source] cause: io::Error),
        #[error("{} is a block device: a paced write needs a file that it can extend", path.display())]
        PacedDevice { path: PathBuf } => "name a file on it, or use `iostall load` for the device itself",
        #[error("cannot make {}", path.display())]
        MakePaced { path: PathBuf, source: io::Error },
        #[error(
            "--packet {packet_bytes}: on this file system, a packet of the method {method} must be a multiple of {align} bytes"
        )]
        PacketAlignment {
            packet_bytes: u32,
            method: &'static str,
            align: u32,
        }
            => format!("--packet {} is the next one, or --methods buffered", packet_bytes.next_multiple_of(*align)),
        #[error("nothing could be written: {causes}")]
        NothingWritten { causes: String }
            => "free space, or name a file on another file system; `ulimit -f` shows a limit on the size of files",
        #[error("{} is not a directory", path.display())]
        NoDirectory { path: PathBuf } => directory_for_a_log(path),
        #[error("{} is no PostgreSQL data directory that this user can read: it has no PG_VERSION", path.display())]
        NoDataDirectory { path: PathBuf }
            => "`SHOW data_directory` says where it is; the user of the server can read it",
        #[error("{} is in the way: iostall did not make it", path.display())]
        SegmentInTheWay { path: PathBuf }
            => "move it away, or name another directory on the same file system",
        #[error(transparent)]
        SegmentSpace(cause: FreeSpaceError)
            => "free some space, or name another file system: each log has 16 MiB, and a full disk would stop the database",
        #[error("nothing was committed: {causes}")]
        NothingCommitted { causes: String } => "`dmesg` may say more; --methods chooses others",
        #[error("the profile has no role")]
        NoRole,
        #[error(transparent)]
        Profile(#[from] cause: ProfileError),
        #[error(transparent)]
        Input(#[from] error: InputError) => error.hint(),
        #[error(transparent)]
        Preset(#[from] cause: PresetError) => "`iostall profile list` describes them",
        #[error(transparent)]
        Override(#[from] cause: OverrideError),
        #[error("{paths} files and {profiles} profiles cannot be paired")]
        NoPairs { paths: usize, profiles: usize } => "name one file, or as many as there are profiles",
        #[error(transparent)]
        Store(#[from] error: StoreError) => error.hint(),
        #[error(transparent)]
        System(#[from] cause: io::Error),
    }
}

/// For a manifest that cannot be read.
const MANIFEST_HINT: &str = "`iostall copy --manifest FILE` writes one; lists from md5sum, sha256sum, b3sum or xxhsum work too; `iostall verify TREE TREE` compares two directories";

/// What else to do, or to wait for.
fn hint_about_erasing(cause: &EraseError) -> &'static str {
    match cause {
        EraseError::NotNvme => {
            "format and sanitize are for whole NVMe drives, such as /dev/nvme1n1: --purge discard, or erase it before (SATA: `hdparm \
             --sanitize-block-erase`, SAS: `sg_sanitize --block`) and leave out --purge"
        }
        EraseError::Unsupported => {
            "`nvme id-ctrl` shows what it has (oacs, sanicap): --purge discard, or another method"
        }
        EraseError::OtherNamespaces(_) => {
            "`nvme list-ns --all` shows them: --purge discard is for this one alone"
        }
        EraseError::Interrupted => {
            "`nvme sanitize-log` shows how far it is; the drive serves nothing before it is done"
        }
        EraseError::Failed => {
            "`nvme sanitize-log` says more; the drive may serve nothing until another sanitize succeeds"
        }
        EraseError::Command(_) => "run it as root; `dmesg` may say more",
    }
}

/// The size that would fit, or another place where none does.
fn hint_about_space(error: &FreeSpaceError) -> Option<String> {
    let FreeSpaceError::TooLittle { fits_bytes, .. } = error else { return None };
    if *fits_bytes < SIZE_ALIGN {
        return Some("make room there, or name a file in another directory".to_owned());
    }
    let fits = fits_bytes / SIZE_ALIGN * SIZE_ALIGN;
    Some(format!("a size of {fits} bytes would fit (--size {fits}, -c{fits})"))
}

/// For a name that is none of those that there are.
fn of_those(known: &[String], those: &str, of_none: &str) -> String {
    if known.is_empty() { of_none.to_owned() } else { format!("{those}: {}", known.join(", ")) }
}

fn directory_for_a_log(path: &Path) -> String {
    match path.parent().filter(|_| path.is_file()) {
        Some(parent) if parent != Path::new("") => {
            format!("the log is made in a directory: name {}", shell_path(parent))
        }
        Some(_) => "the log is made in a directory: name . for this one".to_owned(),
        None => "name a directory on the file system to be measured; `iostall load` measures a device itself"
            .to_owned(),
    }
}

impl From<ProfileFileError> for SessionError {
    fn from(error: ProfileFileError) -> Self {
        match error {
            ProfileFileError::Input(error) => Self::Input(error),
            ProfileFileError::Profile(error) => Self::Profile(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The story: on a small volume the hint was that "a size of 0 bytes would fit (--size 0)".
    #[test]
    fn where_nothing_fits_no_size_is_advised() {
        let hint = |fits_bytes| {
            let (directory, wanted_bytes, free_bytes) = ("/wal".into(), 16 << 20, 1 << 20);
            let error = FreeSpaceError::TooLittle {
                directory,
                wanted_bytes,
                free_bytes,
                floor_bytes: 1 << 30,
                fits_bytes,
            };
            SessionError::FreeSpace(error).hint().unwrap()
        };
        assert_eq!(hint(100), "make room there, or name a file in another directory");
        assert!(hint(1 << 20).contains("--size 1048576"), "{}", hint(1 << 20));
    }
}
