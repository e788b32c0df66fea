//! Errors of a copy.

use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::guard::Refusal;
use iostall_engine::{EngineError, OpenError};
use iostall_measure::ByteCount;
use iostall_model::transfer::Undone;
use thiserror::Error;

use crate::pipeline::PipelineError;

/// Why a file or a tree could not be copied. In every case no destination has its final name unless it is
/// complete.
#[derive(Debug, Error)]
pub enum CopyError {
    #[error("cannot {verb} {}: {source}", path.display())]
    System {
        /// The action that failed, to complete "cannot …".
        verb: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("No space left in {} for this copy: {} are free, and {} are needed", directory.display(), ByteCount(*free_bytes), ByteCount(*needed_bytes))]
    NoRoom { directory: PathBuf, free_bytes: u64, needed_bytes: u64 },
    #[error("{} has {}, and the file system of {} takes files of at most {}", path.display(), ByteCount(*size_bytes), directory.display(), ByteCount(*largest_bytes))]
    TooLarge { path: PathBuf, size_bytes: u64, directory: PathBuf, largest_bytes: u64 },
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("copying {} to {}: {cause}", from.display(), to.display())]
    Moving {
        from: PathBuf,
        to: PathBuf,
        cause: PipelineError,
        /// Whether the unfinished file is kept for `--resume`.
        kept: bool,
    },
    #[error("checking {}: {cause}", path.display())]
    Reading { path: PathBuf, cause: PipelineError },
    #[error("{} exists", path.display())]
    Exists { path: PathBuf },
    #[error("{} and {} are the same file", from.display(), to.display())]
    SameFile { from: PathBuf, to: PathBuf },
    #[error("{} lies inside {}: the copy would contain itself", to.display(), from.display())]
    IntoItself { from: PathBuf, to: PathBuf },
    #[error("{} is {} again: a loop of links or mounts", path.display(), ancestor.display())]
    Loop { path: PathBuf, ancestor: PathBuf },
    #[error("{} changed while it was copied: {how}", path.display())]
    SourceChanged {
        path: PathBuf,
        how: &'static str,
        /// Whether the unfinished file is kept for `--resume`.
        kept: bool,
    },
    #[error("{} is being written by another process", path.display())]
    Busy { path: PathBuf },
    #[error("{} is in the way: {what}", path.display())]
    PartNotOurs { path: PathBuf, what: &'static str },
    #[error("{} cannot share its blocks with {}: they are on different file systems, or the file system does not support it", from.display(), to.display())]
    NoReflink { from: PathBuf, to: PathBuf },
    #[error("{} is a device, a pipe or a socket", path.display())]
    Special { path: PathBuf },
    /// The copy is complete and durable; only the final rename failed.
    #[error("cannot rename the copy to {}: {cause}; it is complete and durable under the name {}", target.display(), part.display())]
    NotNamed { part: PathBuf, target: PathBuf, cause: Box<CopyError> },
    #[error("{} was named as a device to write to, and the destination {} is no block device", named.display(), destination.display())]
    NoDevice { named: PathBuf, destination: PathBuf },
    /// Nothing has been written to the device.
    #[error("{} has {device_bytes} bytes, and {} has {image_bytes}", device.display(), source_file.display())]
    DeviceTooSmall { source_file: PathBuf, image_bytes: u64, device: PathBuf, device_bytes: u64 },
    #[error("{} contains only part of {}: {cause}", device.display(), source_file.display())]
    DeviceUnfinished { source_file: PathBuf, device: PathBuf, cause: Box<CopyError> },
    /// A file that a mirror or a move would remove stays.
    #[error("{} was not removed: {how}", path.display())]
    NotRemoved { path: PathBuf, how: &'static str },
    /// A name of another kind cannot be replaced while something in it stays.
    #[error("{} was not replaced by what the source has there: {} {why}", path.display(), inside.display())]
    InTheWay { path: PathBuf, inside: PathBuf, why: &'static str },
    /// A move has not copied it, so it stays.
    #[error("{} was not moved: {how}", path.display())]
    NotMoved { path: PathBuf, how: &'static str },
    #[error("{} is in the list, and the copy does not come to it", path.display())]
    NotReached { path: PathBuf },
    /// What a mirror or a move would have removed; everything was copied.
    #[error("{cause}")]
    Stays { path: PathBuf, what: Undone, cause: Box<CopyError> },
    /// Everything has arrived but for this: the sources have the only copy of it.
    #[error("the sources stay: {} does not have the {what} of its source", path.display())]
    MetadataLost { path: PathBuf, what: String },
    /// The consent to delete must name the destination.
    #[error("--delete {} is not the destination {}", named.display(), destination.display())]
    DeletesElsewhere { named: PathBuf, destination: PathBuf },
    /// A source that is empty is more likely one that is not mounted.
    #[error("{} has no file, and everything in {} would be deleted", from.display(), to.display())]
    EmptySource { from: PathBuf, to: PathBuf },
    #[error("{message}")]
    Names { message: String },
}

impl CopyError {
    pub fn system<'p>(verb: &'static str, path: &'p Path) -> impl FnOnce(io::Error) -> Self + use<'p> {
        move |source| Self::System { verb, path: path.to_owned(), source }
    }

    /// The user cancelled the copy of `from`; the unfinished file is `kept` or not.
    pub(super) fn cancelled(from: &Path, to: &Path, kept: bool) -> Self {
        Self::Moving { from: from.to_owned(), to: to.to_owned(), cause: PipelineError::Cancelled, kept }
    }

    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::System { path, .. }
            | Self::Reading { path, .. }
            | Self::Exists { path }
            | Self::Loop { path, .. }
            | Self::SourceChanged { path, .. }
            | Self::Busy { path }
            | Self::PartNotOurs { path, .. }
            | Self::Special { path }
            | Self::TooLarge { path, .. }
            | Self::NotRemoved { path, .. }
            | Self::NotMoved { path, .. }
            | Self::InTheWay { path, .. }
            | Self::MetadataLost { path, .. }
            | Self::NotReached { path }
            | Self::Stays { path, .. }
            | Self::Open(OpenError::Refused { path, .. } | OpenError::Kind { path, .. }) => Some(path),
            Self::Moving { from, .. }
            | Self::SameFile { from, .. }
            | Self::IntoItself { from, .. }
            | Self::NoReflink { from, .. }
            | Self::EmptySource { from, .. } => Some(from),
            Self::NotNamed { target, .. } => Some(target),
            Self::NoDevice { destination, .. } | Self::DeletesElsewhere { destination, .. } => {
                Some(destination)
            }
            Self::NoRoom { directory, .. } => Some(directory),
            Self::DeviceTooSmall { source_file, .. } | Self::DeviceUnfinished { source_file, .. } => {
                Some(source_file)
            }
            Self::Refused(_) | Self::Engine(_) | Self::Names { .. } => None,
        }
    }

    /// The same about something that would have been removed.
    pub(super) fn stays(self, what: Undone, path: &Path) -> Self {
        if self.is_cancelled() {
            return self;
        }
        Self::Stays { path: path.to_owned(), what, cause: Box::new(self) }
    }

    pub fn undone(&self) -> Undone {
        match self {
            Self::Stays { what, .. } => *what,
            Self::MetadataLost { .. } => Undone::Removed,
            _ => Undone::Copied,
        }
    }

    pub fn is_cancelled(&self) -> bool {
        if let Self::DeviceUnfinished { cause, .. } = self {
            return cause.is_cancelled();
        }
        matches!(
            self,
            Self::Moving { cause: PipelineError::Cancelled, .. }
                | Self::Reading { cause: PipelineError::Cancelled, .. }
        )
    }

    /// Whether the whole copy must stop: cancelled, the destination full or in use by another copy, or no
    /// engine.
    pub(super) fn ends_the_copy(&self) -> bool {
        match self {
            _ if self.is_of_a_full_destination() => true,
            Self::Moving { cause, .. } | Self::Reading { cause, .. } => {
                matches!(cause, PipelineError::Cancelled | PipelineError::Engine(_))
            }
            // Another copy to the same place: if both continued, each would own some of the files.
            Self::Engine(_) | Self::Busy { .. } => true,
            _ => false,
        }
    }

    fn is_of_a_full_destination(&self) -> bool {
        matches!(self.write_failed(), Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
    }

    fn write_failed(&self) -> Option<io::ErrorKind> {
        match self {
            Self::System { source, .. } | Self::Moving { cause: PipelineError::Journal(source), .. } => {
                Some(source.kind())
            }
            Self::Moving { cause: PipelineError::Write { cause, .. }, .. } => Some(cause.kind()),
            _ => None,
        }
    }

    /// Whether the same may succeed later: the cause is outside, such as a share that is away for a while or a
    /// file that was being written to.
    pub(super) fn may_pass(&self) -> bool {
        if self.ends_the_copy() {
            return false;
        }
        matches!(
            self,
            Self::System { .. }
                | Self::Open(_)
                | Self::Moving { .. }
                | Self::Reading { .. }
                | Self::SourceChanged { .. }
        )
    }

    pub(super) fn keeps_the_part(&self) -> bool {
        matches!(self, Self::Moving { kept: true, .. } | Self::SourceChanged { kept: true, .. })
    }

    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NotNamed { part, target, .. } => {
                return Some(format!(
                    "check what is using that name; then `mv --no-clobber {} {}` finishes the copy, or copy again",
                    quoted(part),
                    quoted(target)
                ));
            }
            Self::Refused(refusal) => return Some(refused_hint(refusal)),
            Self::NoRoom { .. } => "free space there, or copy less at a time; nothing was copied",
            Self::NoDevice { .. } => {
                "name the device in both places: `iostall copy --to-device DEVICE FILE DEVICE`"
            }
            Self::DeviceTooSmall { .. } => "name a larger device; nothing was written",
            Self::DeviceUnfinished { .. } => {
                "the device's earlier content is lost; the same command starts again from the beginning"
            }
            Self::TooLarge { .. } => "copy it to another file system, or split it",
            Self::Exists { .. } => {
                "--overwrite replaces it once the new file is complete; --resume keeps it if size and time match the source"
            }
            Self::Moving { kept: true, .. } => {
                "what was written is kept: the same command resumes from there, or with --no-resume starts over"
            }
            Self::Moving { cause: PipelineError::Cancelled, .. } => {
                "of an unfinished file below twice --checkpoint nothing is kept: the same command copies it anew, and leaves the finished ones"
            }
            Self::SourceChanged { kept: true, .. } => {
                "stop what writes to it, or copy a snapshot; what was written is kept, and --resume reuses the parts that are still the same"
            }
            Self::SourceChanged { .. } => {
                "stop what writes to it, or copy a snapshot; a database has its own backup command"
            }
            Self::Stays { cause, .. } => return cause.hint(),
            Self::NotReached { .. } => {
                "it lies behind a link (--symlinks follow goes there), in a directory that is left out, or on another file system"
            }
            Self::MetadataLost { .. } => {
                "the copy is complete but for that: if it does not matter, remove the sources yourself"
            }
            Self::NotRemoved { .. } => "the copy itself is complete; the same command finishes the rest",
            Self::InTheWay { .. } => IN_THE_WAY,
            Self::DeletesElsewhere { .. } => {
                "--delete names the directory in which files may be deleted: the destination, as it is typed there"
            }
            Self::EmptySource { .. } => "check that the source is mounted; nothing was copied or deleted",
            Self::PartNotOurs { .. } => "remove it if nobody needs it, and copy again",
            Self::NoReflink { .. } => "--reflink auto copies where blocks cannot be shared",
            Self::Special { .. } => {
                "--specials keep creates a new one, skip leaves out those inside directories; a block device that is the only source is copied as an image"
            }
            _ if self.is_of_a_full_destination() => {
                "free space on the destination; files with their final name are complete, and --resume copies the rest"
            }
            _ if self.write_failed() == Some(io::ErrorKind::FileTooLarge) => {
                "`ulimit -f` shows whether the shell limits the size of files, and `ulimit -f unlimited` lifts that"
            }
            Self::System { source, path, .. } if source.kind() == io::ErrorKind::NotFound => {
                if is_remote(path) { REMOTE } else { NO_SUCH_NAME }
            }
            Self::System { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "run as a user who may read the source and write to the directory of the destination"
            }
            Self::SameFile { .. } | Self::IntoItself { .. } => "choose a destination outside the source",
            Self::Loop { .. } => "--one-file-system leaves out mounts, --symlinks keep does not follow links",
            Self::Busy { .. } => "wait until the other copy has ended, or choose another destination",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

fn quoted(path: &Path) -> String {
    let shown = path.display().to_string();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+,:@%".contains(&byte);
    if shown.bytes().all(is_plain) { shown } else { format!("'{}'", shown.replace('\'', r"'\''")) }
}

fn refused_hint(refusal: &Refusal) -> String {
    match refusal {
        Refusal::DeviceNotNamed { path } => format!(
            "`--to-device {}` writes the source onto it as an image; what is on it is then lost",
            quoted(path)
        ),
        Refusal::NoDirectory { path } if is_remote(path) => REMOTE.to_owned(),
        other => other.hint(),
    }
}

const IN_THE_WAY: &str =
    "move that elsewhere or remove it, and copy again; until then this mirror deletes nothing";
const NO_SUCH_NAME: &str = "check the name: a relative one starts at the current directory, and the destination directory must exist";
const REMOTE: &str = "a copy takes files of this machine: `iostall copy FILE - | ssh HOST 'cat > FILE'`, and the other way round with `-` as the source";

/// Whether a name is written as one of another machine's: `host:`, `user@host:/file`, `https://…`.
fn is_remote(path: &Path) -> bool {
    let name = path.to_string_lossy();
    name.split('/').next().is_some_and(|first| first.len() > 1 && first.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(kind: io::ErrorKind) -> CopyError {
        CopyError::system("write", Path::new("/data/t"))(kind.into())
    }

    fn hint(error: &CopyError) -> String {
        error.hint().unwrap_or_default()
    }

    /// A copy that failed for want of room told its user to look at `ulimit`, and one of a file that was written to said
    /// nothing of what had been kept.
    #[test]
    fn every_cause_has_the_advice_that_helps_with_it_and_no_other() {
        for (kind, wanted) in [
            (io::ErrorKind::StorageFull, "free space"),
            (io::ErrorKind::QuotaExceeded, "free space"),
            (io::ErrorKind::FileTooLarge, "ulimit -f"),
            (io::ErrorKind::NotFound, "check the name"),
            (io::ErrorKind::PermissionDenied, "run as a user"),
        ] {
            assert!(hint(&system(kind)).contains(wanted), "{kind:?}: {}", hint(&system(kind)));
        }
        assert_eq!(system(io::ErrorKind::Other).hint(), None);
        let changed = |kept| CopyError::SourceChanged { path: "/data/t".into(), how: "it grew", kept };
        assert!(hint(&changed(true)).contains("--resume") && !hint(&changed(false)).contains("--resume"));
        assert!(hint(&changed(false)).contains("copy a snapshot"));
        let (path, from, to) = (PathBuf::from("/a"), PathBuf::from("/b"), PathBuf::from("/c"));
        assert!(hint(&CopyError::Exists { path: path.clone() }).contains("--overwrite"));
        assert!(hint(&CopyError::Special { path: path.clone() }).contains("--specials"));
        assert!(hint(&CopyError::Busy { path }).contains("other copy"));
        assert!(
            hint(&CopyError::NoReflink { from: from.clone(), to: to.clone() }).contains("--reflink auto")
        );
        assert!(hint(&CopyError::SameFile { from, to }).contains("outside the source"));
        let (path, directory) = (PathBuf::from("/a/big"), PathBuf::from("/b"));
        let too_large = CopyError::TooLarge { path, size_bytes: 5 << 30, directory, largest_bytes: 4 << 30 };
        assert!(hint(&too_large).contains("another file system"), "not `ulimit`, which is not in the way");
    }

    #[test]
    fn a_full_destination_ends_the_copy_and_a_missing_file_does_not() {
        assert!(system(io::ErrorKind::StorageFull).ends_the_copy());
        assert!(CopyError::Busy { path: "/a".into() }.ends_the_copy());
        assert!(!system(io::ErrorKind::NotFound).ends_the_copy());
        assert!(CopyError::cancelled(Path::new("/a"), Path::new("/b"), true).ends_the_copy());
        assert!(CopyError::cancelled(Path::new("/a"), Path::new("/b"), true).keeps_the_part());
        assert!(!CopyError::cancelled(Path::new("/a"), Path::new("/b"), false).keeps_the_part());
    }
}
