//! Errors of making a backup.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use iostall_engine::guard::Refusal;
use iostall_engine::{EngineError, OpenError};
use iostall_measure::foreign::shell_path;
use iostall_measure::{ByteCount, hinted};
use thiserror::Error;

use crate::backup::codec::KeyError;
use crate::backup::read::ReadError;
use crate::pipeline::{PipelineError, StageFailure};

const WHOLE: &str = "make a whole backup, without --base: the next one can be an increment on it";

hinted! {
    #[derive(Debug, Error)]
    pub enum CreateError {
        #[error("cannot {verb} {}: {source}", path.display())]
        System { verb: &'static str, path: PathBuf, source: io::Error }
            => (source.kind() == io::ErrorKind::PermissionDenied)
                .then_some("a backup needs everything of its source: run it as the owner of the files, or name less"),
        #[error(transparent)]
        Open(#[from] cause: OpenError),
        #[error(transparent)]
        Refused(#[from] refusal: Refusal) => refusal.hint(),
        #[error(transparent)]
        Key(#[from] error: KeyError) => error.hint(),
        #[error("the base: {0}")]
        Base(error: ReadError) => error.hint(),
        #[error("the base {} is not there", path.display())]
        MissingBase { path: PathBuf }
            => "name the manifest or the stripes of a backup, or directories with backups, which `iostall backup list DIR` shows",
        #[error("{} is a directory, and {} is not", directory.display(), file.display())]
        MixedBase { directory: PathBuf, file: PathBuf }
            => "with --base name the manifest and stripes of one backup, or only directories, of which the newest backup is taken",
        #[error("no whole backup of {source_text} is in {directories}")]
        NoBase { directories: String, source_text: String }
            => "make a whole backup first, without --base; an encrypted one is only seen with its key (--key-file), one of another source must be named itself, and a stream is found again by its --name only",
        #[error("{} has no digests to compare with: an older iostall made it", path.display())]
        NoDigests { path: PathBuf } => WHOLE,
        #[error("{} is gone: it was deleted while this increment was made", path.display())]
        BaseGone { path: PathBuf } => WHOLE,
        #[error("{} is an increment on {sets} others already", path.display())]
        LongChain { path: PathBuf, sets: usize } => WHOLE,
        #[error("the base is encrypted, and this increment would not be")]
        NotLocked => "encrypt it, too, with --encrypt-to or a passphrase",
        #[error("{0}")]
        Settings(cause: String),
        #[error("{} exists, and a backup replaces nothing", path.display())]
        Exists {
            path: PathBuf,
            /// All stripes that were named, if no manifest belongs to it, as after a backup that was killed.
            left_over: Option<Vec<PathBuf>>,
        }
            => left_over.as_deref().map_or_else(|| "name a new file for each stripe".to_owned(), |stripes| format!(
                "no manifest belongs to it: a backup that was killed at its end may have left it; \
                 `{}` writes the manifest if its set is whole, otherwise remove it",
                rebuild_of(stripes)
            )),
        #[error("{} cannot be locked: {why}", path.display())]
        NotLockable { path: PathBuf, why: &'static str }
            => "name objects of a bucket that has object lock enabled, or leave out --lock; nothing was written",
        #[error("{} and {} are the same file", one.display(), other.display())]
        SameTarget { one: PathBuf, other: PathBuf } => "name a file of its own for each stripe",
        #[error("{} lies inside {}: the backup would contain itself", target.display(), source_path.display())]
        IntoItself { target: PathBuf, source_path: PathBuf } => "name a place outside the source",
        #[error("two sources would be stored as {name}")]
        SameName { name: String } => "back them up separately, or name the directory above them",
        #[error("{} is a pipe, a socket or a character device", path.display())]
        Special { path: PathBuf } => "name files, directories or block devices, or - for standard input",
        #[error("{} is mounted or in use otherwise, and its image would mix states", path.display())]
        Held { path: PathBuf } => "unmount it, or back up a snapshot",
        #[error("{0}")]
        NoRoom(cause: Shortage)
            => "free space there, name more stripes on other file systems, or leave out --compress none; nothing was left",
        #[error("cannot read {}: {cause}", path.display())]
        Reading { path: PathBuf, cause: PipelineError },
        #[error("cannot write {}: {cause}", path.display())]
        Writing { path: PathBuf, cause: PipelineError } => is_full(cause)
                .then_some("free space there, or name a stripe on another file system; nothing of this backup was left"),
        #[error("cannot map {buffers} buffers of {bytes} bytes: {source}")]
        Buffers { buffers: u32, bytes: u32, source: io::Error } => "lower --buffers or --transfer",
        #[error(transparent)]
        Moving(cause: PipelineError),
        #[error("{0}")]
        Stage(cause: StageFailure),
        #[error("{named}: {cause}")]
        Live { named: String, cause: StageFailure },
        #[error(transparent)]
        Engine(#[from] error: EngineError),
        /// Everything but the manifest is there.
        #[error("the stripes are complete and durable, but the manifest {} could not be written: {source}", path.display())]
        Manifest { path: PathBuf, stripes: Vec<PathBuf>, source: io::Error } => match source.kind() {
            io::ErrorKind::AlreadyExists => format!(
                "something got this name meanwhile: look at {}, move it away, and `{}` writes the manifest; \
                 or back up to other names",
                shell_path(path),
                rebuild_of(stripes)
            ),
            _ => format!("`{}` writes it again", rebuild_of(stripes)),
        },
        #[error("cancelled; what had been written was removed")]
        Cancelled,
    }
}

impl CreateError {
    pub fn system<'p>(verb: &'static str, path: &'p Path) -> impl FnOnce(io::Error) -> Self + use<'p> {
        move |source| Self::System { verb, path: path.to_owned(), source }
    }

    pub fn standard_input(source: io::Error) -> Self {
        Self::System { verb: "use", path: "standard input".into(), source }
    }

    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled)
    }
}

fn is_full(cause: &PipelineError) -> bool {
    let PipelineError::Write { cause, .. } = cause else { return false };
    matches!(cause.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn rebuild_of(stripes: &[PathBuf]) -> String {
    let names: Vec<String> = stripes.iter().map(|path| shell_path(path)).collect();
    format!("iostall backup rebuild {}", names.join(" "))
}

/// A file system on which the stripes do not fit unless the sources shrink on their way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    pub directory: PathBuf,
    pub needed_bytes: u64,
    pub free_bytes: u64,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (needed, free) = (ByteCount(self.needed_bytes), ByteCount(self.free_bytes));
        write!(
            f,
            "{} has {free} free, and without compression its part of the backup takes {needed}",
            self.directory.display()
        )
    }
}
