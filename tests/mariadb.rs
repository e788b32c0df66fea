//! A MariaDB server of a test's own: Debian's, in a directory and on a port that nobody else uses.

use std::fs::File;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::{pause, until};
use crate::unprivileged::{give, unprivileged};

const SERVER: &str = "/usr/sbin/mariadbd";
const INSTALL: &str = "/usr/bin/mariadb-install-db";
const CLIENT: &str = "/usr/bin/mariadb";
/// The program that a backup is made with.
pub(crate) const BACKUP: &str = "/usr/bin/mariadb-backup";
/// A password that an option file and a shell take apart, if they can.
pub(crate) const PASSWORD: &str = "ri ght\"#\\s'ö";

/// The directory of the server's plugins, with that which encrypts: Debian has it in a package that would start a server of its own,
/// so its files are taken apart under the target directory. `None` if it cannot be had.
pub(crate) fn plugins() -> Option<PathBuf> {
    const PLUGIN: &str = "file_key_management.so";
    const INSTALLED: &str = "usr/lib/mysql/plugin";
    // Where the server's account may read it.
    let root = std::env::temp_dir().join("iostall-tests-mariadb-server");
    // Each test is a process of its own. Locked until it is closed.
    let fetching = File::create(root.with_extension("lock")).ok()?;
    fetching.lock().ok()?;
    let places = [Path::new("/").join(INSTALLED), root.join(INSTALLED)];
    let there = || places.iter().find(|place| place.join(PLUGIN).exists()).cloned();
    if there().is_none() {
        std::fs::create_dir_all(&root).ok()?;
        let script = "apt-get download mariadb-server && dpkg-deb -x mariadb-server_*.deb . && rm mariadb-server_*.deb";
        let mut fetch = Command::new("sh");
        fetch.args(["-c", script]).current_dir(&root).stdin(Stdio::null());
        fetch.stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    }
    there()
}

/// A server whose login `mon` has a password.
pub(crate) struct Mariadb {
    directory: tempfile::TempDir,
    port: u16,
    options: Vec<String>,
    process: Option<Child>,
}

fn program(path: &str, temporary: &Path) -> Command {
    let mut command = unprivileged(Path::new(path));
    command.current_dir("/").env("LC_ALL", "C").env("TMPDIR", temporary);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

impl Mariadb {
    /// With options of the server; `None` if MariaDB or mariadb-backup is not installed.
    pub(crate) fn made_with(options: &[&str]) -> Option<Self> {
        if ![SERVER, INSTALL, CLIENT, BACKUP].iter().all(|path| Path::new(path).exists()) {
            return None;
        }
        let directory = Self::place();
        let data = format!("--datadir={}", directory.path().join("data").display());
        let mut install = program(INSTALL, directory.path());
        install.args(["--no-defaults", &data, "--auth-root-authentication-method=normal", "--skip-test-db"]);
        assert!(install.args(options).status().unwrap().success(), "mariadb-install-db");
        let server = Self::on(directory, options);
        server.sql(include_str!("sql/mariadb_login.sql"));
        Some(server)
    }

    /// A directory that its account owns, for data.
    pub(crate) fn place() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        give(directory.path());
        directory
    }

    /// On the data directory `data` below `directory`.
    pub(crate) fn on(directory: tempfile::TempDir, options: &[&str]) -> Self {
        let options = options.iter().map(ToString::to_string).collect();
        let mut server = Self { directory, port: 0, options, process: None };
        // If another process takes the port first, the server exits and another port is tried.
        until("MariaDB", || server.listen().then_some(()));
        server
    }

    /// Starts the server on a port that was free a moment ago; `false` if it exited.
    fn listen(&mut self) -> bool {
        self.port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let place = self.directory.path();
        let mut server = program(SERVER, place);
        server.arg("--no-defaults").arg(format!("--datadir={}", place.join("data").display()));
        server.arg(format!("--socket={}", self.socket().display()));
        server.arg(format!("--pid-file={}", place.join("pid").display()));
        server.arg(format!("--port={}", self.port)).args(["--bind-address=127.0.0.1"]);
        server.args(["--innodb-buffer-pool-size=16M", "--innodb-flush-log-at-trx-commit=0"]);
        server.args(&self.options).stderr(std::fs::File::create(place.join("log")).unwrap());
        let mut process = server.spawn().unwrap();
        let is_up = until("MariaDB", || {
            let has_ended = process.try_wait().unwrap().is_some();
            let is_up = self.query(include_str!("sql/mariadb_ping.sql")).is_some();
            (is_up || has_ended).then_some(is_up)
        });
        self.process = is_up.then_some(process);
        is_up
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("socket")
    }

    /// Its data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// A client that is logged in as root through the socket.
    fn client(&self) -> Command {
        let mut client = program(CLIENT, self.directory.path());
        client.args(["--no-defaults", "--user=root", "--batch", "--skip-column-names"]);
        client.arg(format!("--socket={}", self.socket().display()));
        client
    }

    fn query(&self, text: &str) -> Option<String> {
        let output = self.client().args(["-e", text]).stdout(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(said)
    }

    /// Runs statements that must succeed.
    pub(crate) fn sql(&self, text: &str) {
        let mut client = self.client().stdin(Stdio::piped()).spawn().unwrap();
        client.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(client.wait().unwrap().success(), "{text}");
    }

    /// What the statement returns, columns by tabs and rows by lines.
    pub(crate) fn value(&self, text: &str) -> String {
        self.query(text).unwrap_or_else(|| panic!("{text}"))
    }

    /// The address of the login that makes backups.
    pub(crate) fn url(&self, password: &Path) -> String {
        format!("mariadb://mon@127.0.0.1:{}?password-file={}", self.port, password.display())
    }

    /// Users who commit one order after another until this is dropped.
    pub(crate) fn users(&self) -> Users {
        self.sql(include_str!("sql/mariadb_make_orders.sql"));
        let mut client = self.client().arg("--force").stdin(Stdio::piped()).spawn().unwrap();
        let mut input = client.stdin.take().unwrap();
        let writer = std::thread::spawn(move || {
            let order = include_str!("sql/mariadb_order.sql");
            // Ends with the client, which nobody reads any more then.
            while input.write_all(order.as_bytes()).is_ok() {
                pause(1);
            }
        });
        Users { client, writer: Some(writer) }
    }

    /// Starts it again.
    pub(crate) fn resume(&mut self) {
        until("MariaDB", || self.listen().then_some(()));
    }

    /// Ends it as an administrator does.
    pub(crate) fn stop(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        let sent = Command::new("kill").arg("-TERM").arg(process.id().to_string()).status();
        assert!(sent.unwrap().success());
        process.wait().unwrap();
    }
}

impl Drop for Mariadb {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Users of a server.
pub(crate) struct Users {
    client: Child,
    writer: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Users {
    fn drop(&mut self) {
        let _ = self.client.kill();
        let _ = self.client.wait();
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}
