//! The directory that a backup is restored to for a drill.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use iostall_engine::files::{self, OpenDirectory, path_bytes};
use iostall_host::Account;

use super::error::DrillError;

/// A server needs room beside the restored files: for its log, and for what recovery writes.
const BESIDE_BYTES: u64 = 256 << 20;
const LOG_TAIL_BYTES: usize = 64 << 10;
/// The longest path of a socket, with the zero behind it.
const SOCKET_PATH_MAX: usize = 107;
const SOCKET_NAME_BYTES: usize = "/.s.PGSQL.5432".len();
/// What a server is allowed: everybody who can reach its socket, whose directory is the account's own.
const ACCESS: &str = "local all all trust\n";
/// For a set whose settings were not in its data directory. A prepared transaction in the log needs its place.
const SETTINGS: &str = "max_prepared_transactions = 1000\n";

/// A directory of a drill's own, which is removed when it is dropped, if it was not ended before.
pub(super) struct Scratch {
    /// Absolute.
    path: PathBuf,
    sockets: PathBuf,
    /// Both, open since they were made: what has their names later may be another account's.
    made: Vec<OpenDirectory>,
    is_done: bool,
    /// The server's messages. Opened before the directory belongs to another account, which could put a link there.
    log: Option<File>,
}

impl Scratch {
    /// Makes one in `directory` for the set `name`, whose files have `bytes`.
    pub(super) fn create(directory: &Path, name: &str, bytes: u64) -> Result<Self, DrillError> {
        let real = directory.canonicalize().map_err(DrillError::system("use", directory))?;
        let free_bytes = files::free_bytes(&real).map_err(DrillError::system("look at", &real))?;
        let needed_bytes = bytes.saturating_add(BESIDE_BYTES);
        if free_bytes < needed_bytes {
            return Err(DrillError::NoSpace { directory: real, free_bytes, needed_bytes });
        }
        let own = format!("iostall-drill-{name}-{}", std::process::id());
        let path = real.join(&own);
        let make =
            |path: &Path| files::create_new_directory_private(path).map_err(DrillError::system("make", path));
        make(&path)?;
        let inside = path.join("s");
        let fits = path_bytes(&inside).len() + SOCKET_NAME_BYTES <= SOCKET_PATH_MAX;
        let sockets = if fits { inside } else { std::env::temp_dir().join(own) };
        // From here on it is removed whatever happens.
        let mut scratch = Self { path, sockets, made: Vec::new(), is_done: false, log: None };
        make(&scratch.sockets)?;
        for path in [&scratch.path, &scratch.sockets] {
            let opened = OpenDirectory::open(path).map_err(DrillError::system("use", path))?;
            scratch.made.push(opened);
        }
        make(&scratch.restored())?;
        scratch.write("access", ACCESS)?;
        scratch.write("names", "")?;
        scratch.write("settings", SETTINGS)?;
        let log = scratch.file("log");
        let opened = files::open_or_create_private(&log).map_err(DrillError::system("write", &log))?;
        scratch.log = Some(opened);
        Ok(scratch)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), DrillError> {
        let path = self.file(name);
        let written = files::create_new_private(&path).and_then(|mut file| {
            use std::io::Write as _;
            file.write_all(text.as_bytes())
        });
        written.map_err(DrillError::system("write", &path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn restored(&self) -> PathBuf {
        self.path.join("restored")
    }

    pub(super) fn sockets(&self) -> &Path {
        &self.sockets
    }

    /// One of the files that a server is started with: `access`, `names` or `settings`; or `log`, its messages.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(super) fn log(&self) -> Result<Stdio, DrillError> {
        let path = self.file("log");
        match self.log.as_ref().map(File::try_clone).transpose() {
            Ok(log) => Ok(log.map_or_else(Stdio::null, Stdio::from)),
            Err(source) => Err(DrillError::System { verb: "write", path, source }),
        }
    }

    pub(super) fn log_tail(&self) -> String {
        let Some(log) = &self.log else { return String::new() };
        let size = log.metadata().map_or(0, |metadata| metadata.len());
        let mut tail = vec![0; LOG_TAIL_BYTES];
        let read = files::read_at(log, &mut tail, size.saturating_sub(LOG_TAIL_BYTES as u64)).unwrap_or(0);
        String::from_utf8_lossy(&tail[..read]).into_owned()
    }

    pub(super) fn give_to(&self, account: &Account) -> Result<(), DrillError> {
        let given = self.made.iter().try_for_each(|made| made.give(account.user, account.group));
        given.map_err(DrillError::system("change the owner of", &self.path))
    }

    pub(super) fn end(&mut self, keep: bool) -> Result<(), DrillError> {
        self.is_done = true;
        self.remove_sockets();
        if keep {
            return Ok(());
        }
        std::fs::remove_dir_all(&self.path).map_err(DrillError::system("remove", &self.path))
    }

    fn remove_sockets(&self) {
        if !self.sockets.starts_with(&self.path) {
            let _ = std::fs::remove_dir_all(&self.sockets);
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.is_done {
            self.remove_sockets();
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_removed_unless_it_is_kept_and_refused_where_there_is_no_room() {
        let place = tempfile::tempdir().unwrap();
        let names = || std::fs::read_dir(place.path()).unwrap().count();
        drop(Scratch::create(place.path(), "a", 10).unwrap());
        assert_eq!(names(), 0);
        let mut removed = Scratch::create(place.path(), "b", 10).unwrap();
        removed.end(false).unwrap();
        drop(removed);
        assert_eq!(names(), 0);
        let mut kept = Scratch::create(place.path(), "c", 10).unwrap();
        kept.end(true).unwrap();
        drop(kept);
        assert_eq!(names(), 1);
        let error = Scratch::create(place.path(), "d", u64::MAX / 2).err().unwrap();
        assert!(matches!(error, DrillError::NoSpace { .. }) && error.hint().is_some(), "{error}");
        assert_eq!(names(), 1);
    }

    /// A server could not listen, because the path of its socket was longer than the system allows.
    #[test]
    fn a_socket_is_elsewhere_where_the_path_is_too_long() {
        let place = tempfile::tempdir().unwrap();
        let deep = place.path().join("a".repeat(100));
        std::fs::create_dir(&deep).unwrap();
        let scratch = Scratch::create(&deep, "long", 10).unwrap();
        let sockets = scratch.sockets().to_owned();
        assert!(sockets.is_dir() && !sockets.starts_with(&deep));
        drop(scratch);
        assert!(!sockets.exists());
    }
}
