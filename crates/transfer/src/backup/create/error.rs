//! Errors of making a backup.

use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::guard::Refusal;
use iostall_engine::{EngineError, OpenError};
use iostall_measure::foreign::shell_path;
use thiserror::Error;

use super::shortage::Shortage;
use crate::backup::codec::KeyError;
use crate::backup::read::ReadError;
use crate::pipeline::{PipelineError, StageFailure};

#[derive(Debug, Error)]
pub enum CreateError {
    #[error("cannot {verb} {}: {source}", path.display())]
    System { verb: &'static str, path: PathBuf, source: io::Error },
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The set that the backup should be an increment on cannot be read.
    #[error("the base: {0}")]
    Base(ReadError),
    #[error("the base {} is not there", path.display())]
    MissingBase { path: PathBuf },
    #[error("{} is a directory, and {} is not", directory.display(), file.display())]
    MixedBase { directory: PathBuf, file: PathBuf },
    #[error("no whole backup of {source_text} is in {directories}")]
    NoBase { directories: String, source_text: String },
    #[error("{} has no digests to compare with: an older iostall made it", path.display())]
    NoDigests { path: PathBuf },
    #[error("{} is gone: it was deleted while this increment was made", path.display())]
    BaseGone { path: PathBuf },
    #[error("{} is an increment on {sets} others already", path.display())]
    LongChain { path: PathBuf, sets: usize },
    #[error("the base is encrypted, and this increment would not be")]
    NotLocked,
    #[error("{0}")]
    Settings(String),
    #[error("{} exists, and a backup replaces nothing", path.display())]
    Exists {
        path: PathBuf,
        /// All stripes that were named, if no manifest belongs to it, as after a backup that was killed.
        left_over: Option<Vec<PathBuf>>,
    },
    #[error("{} cannot be locked: {why}", path.display())]
    NotLockable { path: PathBuf, why: &'static str },
    #[error("{} and {} are the same file", one.display(), other.display())]
    SameTarget { one: PathBuf, other: PathBuf },
    #[error("{} lies inside {}: the backup would contain itself", target.display(), source_path.display())]
    IntoItself { target: PathBuf, source_path: PathBuf },
    #[error("two sources would be stored as {name}")]
    SameName { name: String },
    #[error("{} is a pipe, a socket or a character device", path.display())]
    Special { path: PathBuf },
    #[error("{} is mounted or in use otherwise, and its image would mix states", path.display())]
    Held { path: PathBuf },
    #[error("{0}")]
    NoRoom(Shortage),
    #[error("cannot read {}: {cause}", path.display())]
    Reading { path: PathBuf, cause: PipelineError },
    #[error("cannot write {}: {cause}", path.display())]
    Writing { path: PathBuf, cause: PipelineError },
    #[error("cannot map {buffers} buffers of {bytes} bytes: {source}")]
    Buffers { buffers: u32, bytes: u32, source: io::Error },
    #[error(transparent)]
    Moving(PipelineError),
    /// A file could not be read, or a stream.
    #[error("{0}")]
    Stage(StageFailure),
    #[error("{named}: {cause}")]
    Live { named: String, cause: StageFailure },
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Everything but the manifest is there.
    #[error("the stripes are complete and durable, but the manifest {} could not be written: {source}", path.display())]
    Manifest { path: PathBuf, stripes: Vec<PathBuf>, source: io::Error },
    #[error("cancelled; what had been written was removed")]
    Cancelled,
}

impl CreateError {
    /// For `map_err`: a system call on `path` failed.
    pub fn system<'p>(verb: &'static str, path: &'p Path) -> impl FnOnce(io::Error) -> Self + use<'p> {
        move |source| Self::System { verb, path: path.to_owned(), source }
    }

    pub fn standard_input(source: io::Error) -> Self {
        Self::System { verb: "use", path: "standard input".into(), source }
    }

    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled)
    }

    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Refused(refusal) => return Some(refusal.hint()),
            Self::Key(error) => return error.hint(),
            Self::Base(error) => return error.hint(),
            Self::MissingBase { .. } => {
                "name the manifest or the stripes of a backup, or directories with backups, which `iostall backup list DIR` shows"
            }
            Self::MixedBase { .. } => {
                "with --base name the manifest and stripes of one backup, or only directories, of which the newest backup is taken"
            }
            Self::NoBase { .. } => {
                "make a whole backup first, without --base; an encrypted one is only seen with its key (--key-file), and one of another source or host must be named itself"
            }
            Self::NoDigests { .. } | Self::LongChain { .. } | Self::BaseGone { .. } => {
                "make a whole backup, without --base: the next one can be an increment on it"
            }
            Self::NotLocked => "encrypt it, too, with --encrypt-to or a passphrase",
            Self::Exists { left_over: Some(stripes), .. } => {
                return Some(format!(
                    "no manifest belongs to it: a backup that was killed at its end may have left it; \
                     `{}` writes the manifest if its set is whole, otherwise remove it",
                    rebuild_of(stripes)
                ));
            }
            Self::Exists { .. } => "name a new file for each stripe",
            Self::NotLockable { .. } => {
                "name objects of a bucket that has object lock enabled, or leave out --lock; nothing was written"
            }
            Self::SameTarget { .. } => "name a file of its own for each stripe",
            Self::IntoItself { .. } => "name a place outside the source",
            Self::SameName { .. } => "back them up separately, or name the directory above them",
            Self::Special { .. } => "name files, directories or block devices, or - for standard input",
            Self::NoRoom(_) => {
                "free space there, name more stripes on other file systems, or leave out --compress none; nothing was left"
            }
            Self::Held { .. } => "unmount it, or back up a snapshot",
            Self::Writing { cause: PipelineError::Write { cause, .. }, .. }
                if matches!(cause.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) =>
            {
                "free space there, or name a stripe on another file system; nothing of this backup was left"
            }
            Self::Buffers { .. } => "lower --buffers or --transfer",
            Self::Manifest { path, stripes, source } if source.kind() == io::ErrorKind::AlreadyExists => {
                return Some(format!(
                    "something got this name meanwhile: look at {}, move it away, and `{}` writes the manifest; \
                     or back up to other names",
                    shell_path(path),
                    rebuild_of(stripes)
                ));
            }
            Self::Manifest { stripes, .. } => {
                return Some(format!("`{}` writes it again", rebuild_of(stripes)));
            }
            Self::System { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "a backup needs everything of its source: run it as the owner of the files, or name less"
            }
            _ => return None,
        };
        Some(text.to_owned())
    }
}

fn rebuild_of(stripes: &[PathBuf]) -> String {
    let names: Vec<String> = stripes.iter().map(|path| shell_path(path)).collect();
    format!("iostall backup rebuild {}", names.join(" "))
}
