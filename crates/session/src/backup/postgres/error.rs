//! What goes wrong with a backup of PostgreSQL.

use std::io;
use std::path::{Path, PathBuf};

use iostall_connect::SourceError;
use iostall_connect::postgres::BackupSessionError;
use thiserror::Error;

/// Why a server could not be backed up.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PostgresBackupError {
    #[error(transparent)]
    Session(#[from] BackupSessionError),
    #[error("the files of {server} are not in {} of this machine: {reason}", directory.display())]
    Elsewhere { server: String, directory: PathBuf, reason: String },
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is no control file of PostgreSQL, or is being damaged: its checksum does not fit", path.display())]
    Control { path: PathBuf },
    #[error(
        "the server described its backup in a way that iostall does not know: there is no {what} in {label:?}"
    )]
    Label { what: &'static str, label: String },
    #[error("{name} is missing in {}: the backup cannot become consistent without it", directory.display())]
    NoLog { name: String, directory: PathBuf },
    #[error("{} is a part of a tablespace that iostall cannot name: {reason}", path.display())]
    Tablespace { path: PathBuf, reason: &'static str },
    #[error("cancelled")]
    Cancelled,
}

impl PostgresBackupError {
    /// Whether the user ended it.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled | Self::Session(BackupSessionError::Cancelled))
    }

    pub(super) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + use<'_> {
        move |source| Self::Read { path: path.to_owned(), source }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Session(error) => error.hint(),
            Self::Elsewhere { .. } => {
                "run iostall on the server's own host (in its container, if it has one), and name the server that runs there".into()
            }
            Self::Read { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "run iostall under the account of the server, or as root".into()
            }
            Self::Read { .. } | Self::Control { .. } => "see the server's log and the kernel's for errors of this disk".into(),
            Self::Label { .. } => "please report it, with the server's version".into(),
            Self::NoLog { .. } => {
                "the server removed it although a slot kept it: raise max_slot_wal_keep_size, and start again".into()
            }
            Self::Tablespace { .. } => "see where its link leads to (pg_tblspc)".into(),
            Self::Cancelled => "the server has left backup mode; run it again".into(),
        }
    }
}

impl From<SourceError> for PostgresBackupError {
    fn from(error: SourceError) -> Self {
        Self::Session(error.into())
    }
}
