//! Why a drill could not be held.

use std::io;
use std::path::{Path, PathBuf};

use iostall_measure::ByteCount;
use iostall_measure::foreign::shell_path;
use iostall_measure::hinted;
use iostall_transfer::backup::catalog::ScanError;
use iostall_transfer::backup::read::ReadError;
use iostall_transfer::backup::restore::RestoreError;
use thiserror::Error;

use crate::backup::mariadb::MariadbBackupError;
use crate::backup::wal::PointError;

hinted! {
    #[derive(Debug, Error)]
    #[non_exhaustive]
    pub enum DrillError {
        #[error(transparent)]
        Scan(#[from] error: ScanError),
        #[error("name either the files of one set or directories with sets, not both")]
        FilesAndDirectories => "directories mean the newest whole set in them",
        #[error("--source chooses among the sets in directories, and {} is a file", path.display())]
        NothingToChoose { path: PathBuf } => "directories mean the newest whole set in them",
        #[error("there is no whole backup{} in {directories}", of(source_text.as_ref()))]
        NoSet { directories: String, source_text: Option<String> } => format!(
            "`iostall backup list {directories}` shows what is there; name all directories that the stripes are in"
        ),
        #[error("cannot {verb} {}", path.display())]
        System { verb: &'static str, path: PathBuf, source: io::Error },
        #[error("{} has {} free, and the restored files need {}", directory.display(), ByteCount(*free_bytes), ByteCount(*needed_bytes))]
        NoSpace { directory: PathBuf, free_bytes: u64, needed_bytes: u64 }
            => "--scratch names a directory on a larger file system",
        #[error(transparent)]
        Read(#[from] error: ReadError) => error.hint(),
        #[error(transparent)]
        Restore(#[from] error: RestoreError) => error.hint(),
        #[error(transparent)]
        Mariadb(#[from] error: MariadbBackupError) => error.hint(),
        #[error(transparent)]
        Point(#[from] error: PointError) => error.hint(),
        #[error("there is no PostgreSQL {major} in {looked}")]
        NoEngine { major: String, looked: String } => format!(
            "install PostgreSQL {major}, or name the directory of its programs: --engine-dir /opt/pg{major}/bin"
        ),
        #[error("{} is PostgreSQL {found}, and the backup is of {major}", directory.display())]
        OtherEngine { directory: PathBuf, found: String, major: String } => format!(
            "only PostgreSQL {major} itself can recover these files: name its programs with --engine-dir"
        ),
        #[error("a database server does not run as root, and this machine has no account {name:?} for it")]
        NoAccount { name: String } => "--user names an account that is not root's",
        #[error("--user {name}: only root can start a server under another account")]
        NotRoot { name: String } => "leave --user out, or run the drill as root",
        #[error("the account {account} may not enter {}, where the server would be started", path.display())]
        Barred { account: String, path: PathBuf } => format!(
            "--scratch names a directory that it may enter, such as /var/tmp; or `chmod o+x {}`",
            shell_path(path)
        ),
        #[error("cannot start {}", program.display())]
        Start { program: PathBuf, source: io::Error }
            => "--engine-dir names the directory of the server's programs",
        #[error("--check asks a server, and there is neither PostgreSQL nor MariaDB in this backup")]
        NothingToAsk => "leave --check out",
    }
}

fn of(source: Option<&String>) -> String {
    source.map_or_else(String::new, |source| format!(" of {source}"))
}

impl DrillError {
    /// For `map_err`: a system call on `path` failed.
    pub(super) fn system<'p>(verb: &'static str, path: &'p Path) -> impl FnOnce(io::Error) -> Self + use<'p> {
        move |source| Self::System { verb, path: path.to_owned(), source }
    }
}
