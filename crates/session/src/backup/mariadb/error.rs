//! What goes wrong with a backup of MariaDB.

use std::io;
use std::path::{Path, PathBuf};

use iostall_connect::SourceError;
use iostall_measure::hinted;
use thiserror::Error;

hinted! {
    #[derive(Debug, Error)]
    #[non_exhaustive]
    pub enum MariadbBackupError {
        #[error(transparent)]
        Server(#[from] error: SourceError) => error.hint(),
        #[error("{server} is {version} ({comment}), and mariadb-backup reads the files of MariaDB only")]
        NotMariadb { server: String, version: String, comment: String }
            => "back up what its own tool writes (`mysqldump --all-databases --single-transaction | iostall backup create --to FILE -`), \
                its files while it is stopped, or a snapshot of its volume",
        #[error("there is no {name} in {looked}")]
        NoTool { name: &'static str, looked: String }
            => "install the package mariadb-backup, or name the directory of MariaDB's programs: --engine-dir /opt/mariadb/bin",
        #[error("{} is of {version}, and the server is {server}: only a program of the same series knows its files", program.display())]
        OtherTool { program: PathBuf, version: String, server: String }
            => format!(
                "install the mariadb-backup that belongs to {server}, or name its directory with --engine-dir"
            ),
        #[error("the files of {server} are not in {} of this machine", directory.display())]
        Elsewhere { server: String, directory: PathBuf }
            => "run iostall on the server's own host (in its container, if it has one), under its account or as root",
        #[error("cannot start {}", program.display())]
        Start { program: PathBuf, source: io::Error } => "--engine-dir names the directory of MariaDB's programs",
        #[error("cannot {verb} {}", path.display())]
        System { verb: &'static str, path: PathBuf, source: io::Error }
            => "see whether there is room in the directory of temporary files, or name another with TMPDIR",
        #[error("{program} {ended}: {said}")]
        Failed { program: &'static str, ended: String, said: String }
            => "nothing was left; the login needs RELOAD, PROCESS, LOCK TABLES and BINLOG MONITOR, and iostall the right to read the \
                server's files",
        #[error("the account {account} may not enter {}, where the files would be prepared", path.display())]
        Barred { account: String, path: PathBuf }
            => "restore to a place that it may enter, or add --no-prepare and prepare the files yourself",
        #[error("the stream of mariadb-backup has no file {name}, so nobody can tell where the backup ends")]
        NoEnd { name: &'static str } => "please report it, with the version of mariadb-backup",
        #[error("cancelled")]
        Cancelled => "run it again",
    }
}

impl MariadbBackupError {
    /// For `map_err`: a system call on `path` failed.
    pub(in crate::backup) fn system<'p>(
        verb: &'static str,
        path: &'p Path,
    ) -> impl FnOnce(io::Error) -> Self + use<'p> {
        move |source| Self::System { verb, path: path.to_owned(), source }
    }

    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled)
    }
}
