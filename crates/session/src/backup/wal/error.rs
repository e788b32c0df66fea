//! What goes wrong with an archive of the log.

use std::io;
use std::path::{Path, PathBuf};

use iostall_measure::foreign::shell_path;
use iostall_measure::hinted;
use iostall_transfer::backup::wal_file::WalFileError;
use thiserror::Error;

use super::name::CLUSTER_FILE;
use crate::error::of_use_case;

hinted! {
    #[derive(Debug, Error)]
    #[non_exhaustive]
    pub enum WalError {
        #[error("cannot {verb} {}", path.display())]
        System { verb: &'static str, path: PathBuf, source: io::Error } => system_hint(verb, path, source),
        #[error("{name:?} is no name of a file in PostgreSQL's log")]
        Name { name: String }
            => "let the server name it: archive_command = 'iostall backup wal archive %p --to DIR'",
        #[error("{} is no segment of PostgreSQL's log: {reason}", path.display())]
        NoSegment { path: PathBuf, reason: String }
            => "see the server's log and the kernel's for errors of this disk",
        #[error("{} is no archive of the log: there is no {CLUSTER_FILE} in it", directory.display())]
        NoArchive { directory: PathBuf } => "is it mounted? The first segment that is archived makes the file",
        #[error("{} has segments of an archive, but no {CLUSTER_FILE} that says which cluster they are of", directory.display())]
        NoCluster { directory: PathBuf } => made_in_an_empty_directory(),
        #[error("{} is not what iostall writes: {reason}", path.display())]
        ClusterFile { path: PathBuf, reason: String } => made_in_an_empty_directory(),
        #[error("{} is of the cluster {found}, and {} is the archive of {archive}", path.display(), directory.display())]
        OtherCluster { path: PathBuf, found: u64, directory: PathBuf, archive: u64 }
            => "give each cluster a directory of its own",
        #[error("{} is archived as {} already, with other content: both are kept", path.display(), archived.display())]
        OtherContent { path: PathBuf, archived: PathBuf }
            => "two servers write into one archive, such as a copy that was started with the settings of its original: \
                give the copy another directory, or archive_mode = off",
        #[error("{} is damaged", path.display())]
        Damaged { path: PathBuf, source: WalFileError } => archive_again(path),
        #[error("{} is the archived file {found:?} under another name", path.display())]
        OtherName { path: PathBuf, found: String } => archive_again(path),
        #[error("{} is no backup of a PostgreSQL", set.display())]
        NoPostgres { set: PathBuf } => "name one that `iostall backup create postgres://…` made",
        #[error("another iostall is writing {}", path.display())]
        Busy { path: PathBuf } => "wait for it; the server tries again",
        #[error("{} exists", path.display())]
        Exists { path: PathBuf } => "name a file that does not exist",
        #[error("{} cannot be received into: what a store has does not grow", place.display())]
        Grows { place: PathBuf }
            => "receive into a directory; archive_command = 'iostall backup wal archive %p --to s3://…' writes into a store",
        #[error("{} is a file of PostgreSQL's log that another program put there", path.display())]
        OfAnother { path: PathBuf } => "name an empty directory: iostall makes an archive of its own",
        #[error("{} is not a file that iostall made", path.display())]
        NotOurs { path: PathBuf } => format!("move {} away", shell_path(path)),
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn system_hint(verb: &str, path: &Path, error: &io::Error) -> Option<String> {
    if let Some(hint) = iostall_remote::hint(error) {
        return Some(hint.to_owned());
    }
    if is_full(error) {
        return Some(
            "the server keeps what is not archived, and tries again: make room, or remove what no backup needs with \
             `iostall backup prune --wal DIR`"
                .to_owned(),
        );
    }
    if error.kind() == io::ErrorKind::PermissionDenied {
        return Some("the account of the server must be able to use it".to_owned());
    }
    (verb == "look at")
        .then(|| format!("an archive is a directory that exists: `mkdir {}`, or mount it", shell_path(path)))
}

fn made_in_an_empty_directory() -> String {
    format!(
        "`iostall backup wal archive` makes it in an empty directory: archive there, and copy {CLUSTER_FILE} from it"
    )
}

fn archive_again(path: &Path) -> String {
    format!(
        "`iostall backup wal list --check DIR` names all that is damaged; where the server still has the segment, move {} \
         away and let it be archived again",
        shell_path(path)
    )
}

impl WalError {
    /// For `map_err`: a system call on `path` failed.
    pub(super) fn system<'p>(verb: &'static str, path: &'p Path) -> impl FnOnce(io::Error) -> Self + use<'p> {
        move |source| Self::System { verb, path: path.to_owned(), source }
    }

    /// For `map_err`: the archived file at `path` could not be read.
    pub(super) fn reading(path: &Path) -> impl FnOnce(WalFileError) -> Self + use<'_> {
        move |error| match error {
            WalFileError::System(source) => Self::System { verb: "read", path: path.to_owned(), source },
            source => Self::Damaged { path: path.to_owned(), source },
        }
    }

    pub(super) fn is_full_disk(&self) -> bool {
        matches!(self, Self::System { source, .. } if is_full(source))
    }
}

of_use_case!(WalError);
