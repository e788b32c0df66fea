//! The server of the crate s3s-fs, an object store on a directory. Unlike moto's it checks every signature.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use iostall_test_programs::s3s;

use crate::support::{Ran, Workspace, skip, until};

const KEY: &str = "AKIDOFS3S";
pub(super) const SECRET: &str = "averysecretkey";

/// A store with the bucket `backups`, which is a directory.
pub(super) struct S3s {
    server: Child,
    pub(super) port: u16,
    root: PathBuf,
}

impl Drop for S3s {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl S3s {
    pub(super) fn start(here: &Workspace) -> Option<Self> {
        let Some(program) = s3s() else {
            skip("backup::signed_objects", "s3s-fs cannot be built");
            return None;
        };
        let root = here.path("s3s");
        fs::create_dir_all(root.join("backups")).unwrap();
        let log = fs::File::create(here.path("s3s.log")).unwrap();
        let server = Command::new(program)
            .args(["--host", "127.0.0.1", "--port", "0", "--access-key", KEY, "--secret-key", SECRET])
            .arg(&root)
            .env("RUST_LOG", "s3s_fs=info")
            .env("NO_COLOR", "1")
            .stdout(log)
            .stderr(Stdio::null())
            .spawn()
            .expect("s3s-fs starts");
        let port = until("the port of s3s-fs", || {
            let log = fs::read_to_string(here.path("s3s.log")).ok()?;
            let (_, after) = log.split_once("http://127.0.0.1:")?;
            after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        });
        Some(Self { server, port, root })
    }

    /// Has a command use the store at this port.
    pub(super) fn address(command: &mut Command, port: u16) {
        command
            .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}"))
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_ACCESS_KEY_ID", KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET);
    }

    pub(super) fn command(&self, here: &Workspace, arguments: &[&str]) -> Command {
        let mut command = here.command(arguments);
        Self::address(&mut command, self.port);
        command
    }

    pub(super) fn run(&self, here: &Workspace, arguments: &[&str]) -> Ran {
        self.command(here, arguments).output().unwrap().into()
    }

    /// Where the store keeps an object of the bucket.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.root.join("backups").join(name)
    }

    /// The names of all files of the store below `directory`, without those that it keeps for itself.
    pub(super) fn names(&self, directory: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.file(directory)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Parts of uploads that were begun and neither completed nor given up.
    pub(super) fn parts(&self) -> usize {
        let entries = fs::read_dir(&self.root).unwrap().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().contains(".part-")).count()
    }
}
