//! Why a drill could not be held.

use std::io;
use std::path::{Path, PathBuf};

use iostall_measure::ByteCount;
use iostall_measure::foreign::shell_path;
use iostall_transfer::backup::catalog::ScanError;
use iostall_transfer::backup::read::ReadError;
use iostall_transfer::backup::restore::RestoreError;
use thiserror::Error;

use crate::backup::mariadb::MariadbBackupError;
use crate::backup::wal::PointError;

/// Why a drill could not be held. What is wrong with the backup itself is in its outcome.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DrillError {
    #[error(transparent)]
    Scan(#[from] ScanError),
    #[error("name either the files of one set or directories with sets, not both")]
    FilesAndDirectories,
    #[error("--source chooses among the sets in directories, and {} is a file", path.display())]
    NothingToChoose { path: PathBuf },
    #[error("there is no whole backup{} in {directories}", of(source_text.as_ref()))]
    NoSet { directories: String, source_text: Option<String> },
    #[error("cannot {verb} {}", path.display())]
    System { verb: &'static str, path: PathBuf, source: io::Error },
    #[error("{} has {} free, and the restored files need {}", directory.display(), ByteCount(*free_bytes), ByteCount(*needed_bytes))]
    NoSpace { directory: PathBuf, free_bytes: u64, needed_bytes: u64 },
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Restore(#[from] RestoreError),
    #[error(transparent)]
    Mariadb(#[from] MariadbBackupError),
    #[error(transparent)]
    Point(#[from] PointError),
    #[error("there is no PostgreSQL {major} in {looked}")]
    NoEngine { major: String, looked: String },
    #[error("{} is PostgreSQL {found}, and the backup is of {major}", directory.display())]
    OtherEngine { directory: PathBuf, found: String, major: String },
    #[error("a database server does not run as root, and this machine has no account {name:?} for it")]
    NoAccount { name: String },
    #[error("--user {name}: only root can start a server under another account")]
    NotRoot { name: String },
    #[error("the account {account} may not enter {}, where the server would be started", path.display())]
    Barred { account: String, path: PathBuf },
    #[error("cannot start {}", program.display())]
    Start { program: PathBuf, source: io::Error },
    #[error("--check asks a server, and there is neither PostgreSQL nor MariaDB in this backup")]
    NothingToAsk,
}

fn of(source: Option<&String>) -> String {
    source.map_or_else(String::new, |source| format!(" of {source}"))
}

impl DrillError {
    /// For `map_err`: a system call on `path` failed.
    pub(super) fn system<'p>(verb: &'static str, path: &'p Path) -> impl FnOnce(io::Error) -> Self + use<'p> {
        move |source| Self::System { verb, path: path.to_owned(), source }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Read(error) => return error.hint(),
            Self::Restore(error) => return error.hint(),
            Self::FilesAndDirectories | Self::NothingToChoose { .. } => {
                "directories mean the newest whole set in them".into()
            }
            Self::NoSet { directories, .. } => format!(
                "`iostall backup list {directories}` shows what is there; name all directories that the stripes are in"
            ),
            Self::NoSpace { .. } => "--scratch names a directory on a larger file system".into(),
            Self::NoEngine { major, .. } => format!(
                "install PostgreSQL {major}, or name the directory of its programs: --engine-dir /opt/pg{major}/bin"
            ),
            Self::OtherEngine { major, .. } => {
                format!(
                    "only PostgreSQL {major} itself can recover these files: name its programs with --engine-dir"
                )
            }
            Self::NoAccount { .. } => "--user names an account that is not root's".into(),
            Self::NotRoot { .. } => "leave --user out, or run the drill as root".into(),
            Self::Barred { path, .. } => format!(
                "--scratch names a directory that it may enter, such as /var/tmp; or `chmod o+x {}`",
                shell_path(path)
            ),
            Self::Mariadb(error) => error.hint(),
            Self::Point(error) => return error.hint(),
            Self::Start { .. } => "--engine-dir names the directory of the server's programs".into(),
            Self::NothingToAsk => "leave --check out".into(),
            Self::Scan(_) | Self::System { .. } => return None,
        })
    }
}
