//! Why a restore ended.

use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::guard::Refusal;
use iostall_engine::{EngineError, OpenError};
use iostall_measure::ByteCount;
use iostall_measure::foreign::shell_path;
use iostall_measure::hinted;
use iostall_model::backup::StoredName;
use thiserror::Error;

use crate::backup::codec::KeyError;
use crate::backup::read::{Damage, ReadError};
use crate::pipeline::{PipelineError, StageFailure};

const NO_ROOM: &str = "free space there, or restore to another file system, or only a part with --only; nothing of this restore was left";

hinted! {
    /// Why a set was not restored. In every case nothing has its final name.
    #[derive(Debug, Error)]
    #[non_exhaustive]
    pub enum RestoreError {
        #[error(transparent)]
        Read(#[from] error: ReadError) => error.hint(),
        #[error("cannot {verb} {}: {source}", path.display())]
        System { verb: &'static str, path: PathBuf, source: io::Error } => is_full(source).then_some(NO_ROOM),
        #[error("writing {name}: {source}")]
        Writing { name: StoredName, source: io::Error } => is_full(source).then_some(NO_ROOM),
        #[error(transparent)]
        Open(#[from] cause: OpenError),
        #[error(transparent)]
        Refused(#[from] refusal: Refusal) => refusal.hint(),
        #[error("{} is not empty", path.display())]
        NotEmpty { path: PathBuf } => replace(path),
        #[error("{} exists", path.display())]
        Exists { path: PathBuf } => replace(path),
        #[error("{} is in the way: {what}", path.display())]
        InTheWay { path: PathBuf, what: &'static str },
        #[error("another restore is writing to {}", path.display())]
        Busy { path: PathBuf } => "wait until it ends, or restore to another place",
        #[error(
            "{} has {} free, and the restore needs {}",
            directory.display(), ByteCount(*free_bytes), ByteCount(*needed_bytes)
        )]
        NoRoom { directory: PathBuf, needed_bytes: u64, free_bytes: u64 } => NO_ROOM,
        #[error("{} is a block device, which takes one file, and more than that is to be restored", device.display())]
        ManyOntoDevice { device: PathBuf } => "name the image alone with --only",
        #[error(
            "the image has {size_bytes} bytes, and the device {} has {device_bytes}",
            device.display()
        )]
        DeviceTooSmall { device: PathBuf, device_bytes: u64, size_bytes: u64 },
        #[error("the set has no file or directory {name}")]
        NotInSet { name: StoredName }
            => "name it as it is in the set, without the directory that was backed up",
        #[error(
            "the set has the name {name:?}, which would be written outside the destination, or through a link"
        )]
        UnsafeName { name: String },
        #[error("writing to {}: {cause}", path.display())]
        Pipeline { path: PathBuf, cause: PipelineError },
        /// All of it is restored and durable, but not where it should be.
        #[error("{} is restored and durable, but is still called {}: {source}", target.display(), temporary.display())]
        NotNamed { target: PathBuf, temporary: PathBuf, source: io::Error }
            => format!("mv -T {} {}", shell_path(temporary), shell_path(target)),
        #[error("cannot remove {}, which a trial made", path.display())]
        TrialLeft { path: PathBuf },
        /// What was to be done with the files before they get their name failed.
        #[error("{0}")]
        NotFinished(cause: StageFailure),
        #[error("{name} has only what changed since its base, and no whole file can be made of it alone")]
        OnlyPart { name: StoredName }
            => "restore all of the increment to a new place (without --only), and take the file from there",
        /// A part of a file of an increment that the server has made.
        #[error("{name} cannot be put together: {cause}")]
        Increment { name: StoredName, cause: String },
        #[error(transparent)]
        Engine(#[from] error: EngineError) => error.hint(),
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn replace(path: &Path) -> String {
    format!("restore to a new place, or add --overwrite {} to replace what is there", shell_path(path))
}

impl From<KeyError> for RestoreError {
    fn from(error: KeyError) -> Self {
        Self::Read(error.into())
    }
}

impl RestoreError {
    pub fn system<'p>(verb: &'static str, path: &'p Path) -> impl FnOnce(io::Error) -> Self + use<'p> {
        move |source| Self::System { verb, path: path.to_owned(), source }
    }

    pub(super) fn writing(name: &StoredName) -> impl FnOnce(io::Error) -> Self + use<> {
        let name = name.clone();
        move |source| Self::Writing { name, source }
    }

    pub fn damage(&self) -> &[Damage] {
        match self {
            Self::Read(error) => error.damage(),
            _ => &[],
        }
    }

    pub fn is_cancelled(&self) -> bool {
        match self {
            Self::Read(error) => error.is_cancelled(),
            Self::Pipeline { cause, .. } => matches!(cause, PipelineError::Cancelled),
            _ => false,
        }
    }

    /// Whether everything is restored all the same, under another name.
    pub fn is_whole(&self) -> bool {
        matches!(self, Self::NotNamed { .. })
    }
}
