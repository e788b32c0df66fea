//! Why a use case could not be carried out, and what the user can do about it.

use std::io;
use std::path::PathBuf;

use iostall_engine::guard::{FreeSpaceError, Refusal};
use iostall_engine::{EngineError, InputError, OpenError};
use iostall_load::prepare::{PrepareError, SIZE_ALIGN};
use iostall_load::profile::ProfileFileError;
use iostall_load::{OverrideError, PresetError, ProfileError, RunError};
use iostall_store::StoreError;
use iostall_transfer::CopyError;
use iostall_transfer::manifest::ManifestError;
use thiserror::Error;

/// Why a use case could not be carried out.
#[derive(Debug, Error)]
pub enum SessionError {
    /// Stopped before there was anything to keep.
    #[error("interrupted before anything was measured; what was made for the run is removed")]
    Interrupted,
    /// Two names of one file or device.
    #[error("{} and {} are one and the same", one.display(), other.display())]
    NamedTwice {
        /// The name that came first.
        one: PathBuf,
        /// The one after it.
        other: PathBuf,
    },
    /// A target is bound to a name that nobody asks for.
    #[error("no role of the profile {profile:?} asks for a target {name:?}")]
    NotAskedFor {
        /// The profile.
        profile: String,
        /// The name.
        name: String,
        /// Names that roles do ask for.
        known: Vec<String>,
    },
    /// What has the name of the scratch file is somebody else's.
    #[error("{} is in the way: iostall did not make it", crate::targets::SCRATCH_NAME)]
    ScratchInTheWay,
    /// A target may not be written, or not be read just now.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A file does not fit.
    #[error(transparent)]
    FreeSpace(#[from] FreeSpaceError),
    /// The scratch file would be on nothing that is known.
    #[error("cannot find the file system of this directory")]
    NoFileSystem,
    /// A new file could not be marked.
    #[error("cannot mark {} as ours", path.display())]
    Mark {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file could not be made.
    #[error("cannot make {}", path.display())]
    Make {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: PrepareError,
    },
    /// A target could not be opened.
    #[error(transparent)]
    Open(OpenError),
    /// A target could not be described.
    #[error("cannot look at {}", path.display())]
    Look {
        /// The target.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A target without a byte.
    #[error("{} is empty: there is nothing to read", path.display())]
    Empty {
        /// The target.
        path: PathBuf,
    },
    /// The engine that was asked for cannot be had.
    #[error(transparent)]
    EngineUnavailable(EngineError),
    /// A span could not be run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The priority of the process could not be lowered.
    #[error("cannot stand back for others")]
    Priority(#[source] io::Error),
    /// A copy could not be begun, or was ended.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// The name of a manifest says another checksum than was asked for.
    #[error("--manifest {}", path.display())]
    ManifestHash {
        /// The manifest.
        path: PathBuf,
        /// What does not go together.
        source: ManifestError,
    },
    /// The memory of the process could not be limited.
    #[error("cannot limit the memory of this process")]
    MemoryLimit {
        /// The limit.
        limit_bytes: u64,
        /// Why not.
        source: io::Error,
    },
    /// There is no memory for a packet.
    #[error("cannot map a packet")]
    MapPacket(#[source] io::Error),
    /// A file that grows would be a device.
    #[error("{} is a block device: a paced writing grows a file", path.display())]
    PacedDevice {
        /// The device.
        path: PathBuf,
    },
    /// The file of a paced write could not be made.
    #[error("cannot make {}", path.display())]
    MakePaced {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A packet that the file system does not take past the page cache.
    #[error(
        "--packet {packet_bytes}: on this file system, a packet of the method {method} must be a multiple of {align} bytes"
    )]
    PacketAlignment {
        /// Bytes of a packet.
        packet_bytes: u32,
        /// The method.
        method: &'static str,
        /// What it must be a multiple of.
        align: u32,
    },
    /// No method could write anything.
    #[error("nothing could be written: {causes}")]
    NothingWritten {
        /// What each said.
        causes: String,
    },
    /// A profile without a role.
    #[error("the profile has no role")]
    NoRole,
    /// A profile that cannot be run.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A profile that could not be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A preset that is not there.
    #[error(transparent)]
    Preset(#[from] PresetError),
    /// Settings that do not go over a profile's.
    #[error(transparent)]
    Override(#[from] OverrideError),
    /// Targets and profiles that are no sides of a comparison.
    #[error("{paths} files and {profiles} profiles do not make pairs")]
    NoPairs {
        /// How many targets.
        paths: usize,
        /// How many profiles.
        profiles: usize,
    },
    /// No stopped matrix to go on from.
    #[error("there is no stopped matrix with these settings and targets to go on from")]
    NothingToResume,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system refused something.
    #[error(transparent)]
    System(#[from] io::Error),
}

impl SessionError {
    /// What the user can do about it, where there is something.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NamedTwice { .. } => "name it once, by one of its names (`stat` shows what both lead to)",
            Self::NotAskedFor { known, .. } if known.is_empty() => {
                "its roles all work on the files named without --target"
            }
            Self::NotAskedFor { known, .. } => {
                return Some(format!("its roles ask for: {}", known.join(", ")));
            }
            Self::ScratchInTheWay => "name a FILE to load, or run in another directory",
            Self::Refused(refusal) => return Some(refusal.hint()),
            Self::FreeSpace(FreeSpaceError::TooLittle { fits_bytes, .. }) => {
                let fits = fits_bytes / SIZE_ALIGN * SIZE_ALIGN;
                return Some(format!("a size of {fits} bytes would fit (--size {fits}, -c{fits})"));
            }
            Self::Open(_) => "name a file or block device that may be read",
            Self::Empty { .. } => "name a file with data, or one that is not there and iostall makes it",
            Self::EngineUnavailable(error) => error.hint().unwrap_or("leave --engine out to use threads"),
            Self::Preset(_) => "`iostall presets` tells what each is for",
            Self::NoPairs { .. } => "name one file, or as many as there are profiles",
            Self::NothingToResume => {
                "`iostall runs` lists what was kept; leave --resume out to begin a new one"
            }
            Self::Input(error) => return error.hint(),
            Self::Store(error) => return error.hint(),
            Self::Copy(error) => return error.hint(),
            Self::ManifestHash { .. } => {
                "leave --hash out, or give the list a name that says nothing else; nothing was copied"
            }
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
                "make room, or name a file on another file system; `ulimit -f` shows a limit on the size of files"
            }
            Self::Run(error) => return error.hint().map(str::to_owned),
            Self::Interrupted
            | Self::FreeSpace(_)
            | Self::NoFileSystem
            | Self::Mark { .. }
            | Self::Make { .. }
            | Self::Look { .. }
            | Self::NoRole
            | Self::Priority(_)
            | Self::MapPacket(_)
            | Self::MakePaced { .. }
            | Self::Profile(_)
            | Self::Override(_)
            | Self::System(_) => return None,
        };
        Some(hint.to_owned())
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
