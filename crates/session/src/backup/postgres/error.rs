//! What goes wrong with a backup of PostgreSQL.

use std::io;
use std::path::{Path, PathBuf};

use iostall_connect::SourceError;
use iostall_connect::postgres::{BackupSessionError, ReplicationError};
use thiserror::Error;

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
    #[error(transparent)]
    Replication(#[from] ReplicationError),
    #[error("{server} cannot be read through its files ({files}), nor through replication: {replication}")]
    Neither { server: String, files: String, replication: Box<ReplicationError> },
    #[error("the server can make no increment: {why}")]
    NoIncrement { why: String },
    #[error("the server's {name} is {text:?}, which iostall does not know")]
    Setting { name: &'static str, text: String },
    #[error("the server has not sent all of the backup: {what} is missing")]
    NotWhole { what: &'static str },
    #[error("cancelled")]
    Cancelled,
}

impl PostgresBackupError {
    pub fn is_cancelled(&self) -> bool {
        matches!(
            self,
            Self::Cancelled
                | Self::Session(BackupSessionError::Cancelled)
                | Self::Replication(ReplicationError::Cancelled)
        )
    }

    /// Whether the files are not to be had, while the server may still send them.
    pub(super) fn is_about_files(&self) -> bool {
        match self {
            Self::Elsewhere { .. } | Self::Session(BackupSessionError::Denied { .. }) => true,
            Self::Session(BackupSessionError::Server(error)) => matches!(error, SourceError::Login { .. }),
            Self::Read { source, .. } => source.kind() == io::ErrorKind::PermissionDenied,
            _ => false,
        }
    }

    pub(super) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + use<'_> {
        move |source| Self::Read { path: path.to_owned(), source }
    }

    pub fn hint(&self) -> String {
        match self {
            Self::Session(error) => error.hint(),
            Self::Elsewhere { .. } => {
                "run iostall on the server's own host (in its container, if it has one), and name the server that runs there; or \
                 leave out --through files"
                    .into()
            }
            Self::Read { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "run iostall under the account of the server, or as root".into()
            }
            Self::Read { .. } | Self::Control { .. } => "see the server's log and the kernel's for errors of this disk".into(),
            Self::Replication(error) => error.hint(),
            Self::Neither { replication, .. } => replication.hint(),
            Self::NoIncrement { .. } => {
                "an increment through replication needs PostgreSQL 17 or later with summarize_wal = on (no restart needed), and a base that was \
                 made through replication: make a whole backup without --base; where its files are here, --through files compares them"
                    .into()
            }
            Self::NotWhole { .. } => "see the server's log, and start again".into(),
            Self::Label { .. } | Self::Setting { .. } => "please report it, with the server's version".into(),
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
