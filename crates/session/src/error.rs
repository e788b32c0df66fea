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

/// Why a use case could not be carried out.
#[derive(Debug, Error)]
pub enum SessionError {
    #[error("interrupted before anything was measured; files created for the run were removed")]
    Interrupted,
    #[error("{} and {} are the same file or device", one.display(), other.display())]
    NamedTwice { one: PathBuf, other: PathBuf },
    #[error("no role of the profile {profile:?} asks for a target {name:?}")]
    NotAskedFor { profile: String, name: String, known: Vec<String> },
    #[error("{} is in the way: iostall did not make it", crate::targets::SCRATCH_NAME)]
    ScratchInTheWay,
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    FreeSpace(#[from] FreeSpaceError),
    #[error("cannot find the file system of this directory")]
    NoFileSystem,
    #[error("cannot mark {} as ours", path.display())]
    Mark { path: PathBuf, source: io::Error },
    #[error("cannot make {}", path.display())]
    Make { path: PathBuf, source: PrepareError },
    #[error(transparent)]
    Open(OpenError),
    #[error("cannot look at {}", path.display())]
    Look { path: PathBuf, source: io::Error },
    #[error("{} is empty: there is nothing to read", path.display())]
    Empty { path: PathBuf },
    #[error("{} cannot be purged", path.display())]
    CannotPurge { path: PathBuf },
    #[error("{} was not erased", path.display())]
    NotErased {
        path: PathBuf,
        #[source]
        cause: EraseError,
    },
    #[error(transparent)]
    EngineUnavailable(EngineError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("cannot lower the priority")]
    Priority(#[source] io::Error),
    #[error(transparent)]
    Copy(#[from] CopyError),
    #[error(transparent)]
    Backup(#[from] CreateError),
    #[error("standard input can be read only once, and trying settings reads a source many times")]
    TuneStream,
    #[error("{named} is a server or a database, and settings are tried on files")]
    TuneDatabase { named: String },
    #[error("{} is an increment, and restores are tried with whole sets", named.display())]
    TuneIncrement { named: PathBuf },
    #[error("{} has nothing to read", named.display())]
    TuneEmpty { named: PathBuf },
    #[error(
        "{} has {} free: trying settings there needs {}, of which a quarter is written at a time",
        directory.display(), ByteCount(*free_bytes), ByteCount(*wanted_bytes)
    )]
    TuneSpace { directory: PathBuf, free_bytes: u64, wanted_bytes: u64 },
    #[error(
        "the buffers take {} as it is, and {} is the most for them",
        ByteCount(*wanted_bytes), ByteCount(*memory_bytes)
    )]
    TuneMemory { wanted_bytes: u64, memory_bytes: u64 },
    #[error(transparent)]
    ReadBackup(#[from] ReadError),
    #[error(transparent)]
    OfUseCase(UseCaseError),
    #[error("the backup has no tablespace {}", wanted.display())]
    NoTablespace { wanted: PathBuf, known: Vec<String> },
    #[error("--manifest {}", path.display())]
    ManifestHash { path: PathBuf, source: ManifestError },
    #[error("cannot use the manifest {}", path.display())]
    Manifest { path: PathBuf, source: ManifestError },
    #[error("{0}")]
    NoManifest(InputError),
    #[error("cannot use the list {}", path.display())]
    FileList { path: PathBuf, source: FileListError },
    #[error(transparent)]
    Log(#[from] LogFileError),
    #[error(transparent)]
    GiveWay(#[from] GiveWayError),
    #[error("cannot limit the memory of this process")]
    MemoryLimit { limit_bytes: u64, source: io::Error },
    #[error("cannot map a packet")]
    MapPacket(#[source] io::Error),
    #[error("{} is a block device: a paced write needs a file that it can extend", path.display())]
    PacedDevice { path: PathBuf },
    #[error("cannot make {}", path.display())]
    MakePaced { path: PathBuf, source: io::Error },
    #[error(
        "--packet {packet_bytes}: on this file system, a packet of the method {method} must be a multiple of {align} bytes"
    )]
    PacketAlignment {
        packet_bytes: u32,
        method: &'static str,
        /// The required multiple.
        align: u32,
    },
    #[error("nothing could be written: {causes}")]
    NothingWritten { causes: String },
    #[error("{} is not a directory", path.display())]
    NoDirectory { path: PathBuf },
    #[error("{} is no PostgreSQL data directory that this user can read: it has no PG_VERSION", path.display())]
    NoDataDirectory { path: PathBuf },
    #[error("{} is in the way: iostall did not make it", path.display())]
    SegmentInTheWay { path: PathBuf },
    #[error(transparent)]
    SegmentSpace(FreeSpaceError),
    #[error("nothing was committed: {causes}")]
    NothingCommitted { causes: String },
    #[error("the profile has no role")]
    NoRole,
    #[error(transparent)]
    Profile(#[from] ProfileError),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Preset(#[from] PresetError),
    #[error(transparent)]
    Override(#[from] OverrideError),
    #[error("{paths} files and {profiles} profiles cannot be paired")]
    NoPairs { paths: usize, profiles: usize },
    #[error("there is no interrupted matrix with these settings and targets to resume")]
    NothingToResume,
    /// The newest matrix of these settings was not stopped.
    #[error(
        "the newest matrix with these settings and targets, run {number}, is complete: nothing is left to measure"
    )]
    ResumeComplete {
        /// Its number.
        number: u32,
    },
    /// A stopped matrix was measured on something else.
    #[error(
        "run {number} cannot be resumed: the {what} was {then} and is {now}, and one table must not mix the two"
    )]
    ResumeDiffers {
        /// Its number.
        number: u32,
        /// What differs.
        what: String,
        /// What it was in that run.
        then: String,
        /// What it is.
        now: String,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    System(#[from] io::Error),
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

impl SessionError {
    /// What the user can do about it, if anything.
    pub fn hint(&self) -> Option<String> {
        let of_group = self
            .hint_about_a_log()
            .or_else(|| self.hint_about_a_name())
            .or_else(|| self.hint_about_tuning().map(str::to_owned));
        if let Some(hint) = of_group {
            return Some(hint);
        }
        let hint = match self {
            Self::NamedTwice { .. } => "name it only once (`stat` shows that both are the same)",
            Self::ScratchInTheWay => "name a FILE to load, or run in another directory",
            Self::Refused(refusal) => return Some(refusal.hint()),
            Self::FreeSpace(error) => return hint_about_space(error),
            Self::Look { .. } => "check the name, and whether you may read it",
            Self::Open(_) => "name a file or block device that may be read",
            Self::Empty { .. } => "name a file with data, or a new file for iostall to create",
            Self::EngineUnavailable(error) => error.hint().unwrap_or("leave --engine out to use threads"),
            Self::CannotPurge { .. } => {
                "only devices that can discard, and files that iostall made on a file system with holes: leave out --purge"
            }
            Self::NotErased { cause, .. } => hint_about_erasing(cause),
            Self::Preset(_) => "`iostall profile list` describes them",
            Self::NoPairs { .. } => "name one file, or as many as there are profiles",
            Self::NothingToResume | Self::ResumeComplete { .. } => {
                "`iostall runs` lists the stored runs; leave out --resume to start a new one"
            }
            Self::ResumeDiffers { .. } => "leave --resume out to measure all cells alike",
            Self::Input(error) => return error.hint(),
            Self::Store(error) => return error.hint(),
            Self::Copy(error) => return error.hint(),
            Self::Backup(error) => return error.hint(),
            Self::ReadBackup(error) => return error.hint(),
            Self::OfUseCase(error) => return error.hint.clone(),
            Self::ManifestHash { .. } => {
                "leave out --hash, or choose a name for the list that does not contradict it; nothing was copied"
            }
            Self::Manifest { .. } => "--hash xxh3|blake3|sha256|md5|crc32c sets the algorithm of a list",
            Self::NoManifest(_) => MANIFEST_HINT,
            Self::FileList { .. } => "it has one name a line, each below the source directory",
            Self::Log(_) => "name another file for the log",
            Self::GiveWay(error) => return Some(error.hint()),
            Self::MemoryLimit { limit_bytes, .. } => {
                return Some(format!(
                    "`systemd-run --scope -p MemoryMax={limit_bytes} iostall write …` does the same"
                ));
            }
            Self::PacedDevice { .. } => "name a file on it, or use `iostall load` for the device itself",
            Self::PacketAlignment { packet_bytes, align, .. } => {
                let next = packet_bytes.next_multiple_of(*align);
                return Some(format!("--packet {next} is the next one, or --methods buffered"));
            }
            Self::NothingWritten { .. } => {
                "free space, or name a file on another file system; `ulimit -f` shows a limit on the size of files"
            }
            Self::Run(error) => return error.hint().map(str::to_owned),
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// Hints for a name that is none of those that there are.
    fn hint_about_a_name(&self) -> Option<String> {
        let (known, of_none, those) = match self {
            Self::NotAskedFor { known, .. } => {
                (known, "its roles all work on the files named without --target", "its roles ask for")
            }
            Self::NoTablespace { known, .. } => (known, "it records none: leave out --tablespace", "it has"),
            _ => return None,
        };
        Some(if known.is_empty() { of_none.to_owned() } else { format!("{those}: {}", known.join(", ")) })
    }

    /// Hints for `backup tune`.
    fn hint_about_tuning(&self) -> Option<&'static str> {
        Some(match self {
            Self::TuneStream => "name a file or a directory with content like that of the stream",
            Self::TuneDatabase { .. } => {
                "name its data directory: it is only read, and the server may go on; then put its address into the line that is printed"
            }
            Self::TuneIncrement { .. } => "name the set that it is based on: what suits one suits the other",
            Self::TuneEmpty { .. } => "name files with data",
            Self::TuneSpace { .. } => "free space there, or name another target",
            Self::TuneMemory { .. } => {
                "--memory allows more; a smaller --transfer, --buffers or --depth takes less"
            }
            _ => return None,
        })
    }

    /// Hints for commits to a log.
    fn hint_about_a_log(&self) -> Option<String> {
        Some(match self {
            Self::NoDirectory { path } => match path.parent().filter(|_| path.is_file()) {
                Some(parent) if parent != Path::new("") => {
                    format!("the log is made in a directory: name {}", shell_path(parent))
                }
                Some(_) => "the log is made in a directory: name . for this one".to_owned(),
                None => "name a directory on the file system to be measured; `iostall load` measures a device itself"
                    .to_owned(),
            },
            Self::NoDataDirectory { .. } => {
                "`SHOW data_directory` says where it is; the user of the server can read it".to_owned()
            }
            Self::SegmentInTheWay { .. } => {
                "move it away, or name another directory on the same file system".to_owned()
            }
            Self::SegmentSpace(_) => {
                "free some space, or name another file system: each log has 16 MiB, and a full disk would stop the database"
                    .to_owned()
            }
            Self::NothingCommitted { .. } => "`dmesg` may say more; --methods chooses others".to_owned(),
            _ => return None,
        })
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
