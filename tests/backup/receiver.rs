//! `iostall backup receive` for tests: its certificate and keys, clients of it, and a way to talk to it without iostall.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::running::Running;
use crate::support::{Ran, Workspace};

/// A receiver with keys for `db1` and `db2`.
pub(super) struct Receiver {
    pub(super) running: Running,
    pub(super) port: u16,
    pub(super) fingerprint: String,
    /// Of `db1`, then of `db2`.
    pub(super) keys: [String; 2],
    pub(super) directory: PathBuf,
    certificate: CertificateDer<'static>,
}

/// Writes a certificate and its key, both in PEM form.
fn certificate(here: &Workspace) -> CertificateDer<'static> {
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    fs::write(here.path("cert.pem"), made.pem()).unwrap();
    here.secret("key.pem", &key.serialize_pem());
    made.der().clone()
}

impl Receiver {
    pub(super) fn start(here: &Workspace) -> Self {
        let directory = here.path("repository");
        fs::create_dir_all(&directory).unwrap();
        Self::start_in(here, &directory)
    }

    pub(super) fn start_in(here: &Workspace, directory: &Path) -> Self {
        let certificate = certificate(here);
        let keys = ["db1", "db2"].map(|name| {
            let added = here.run(&["backup", "receive", "--keys", "receive.keys", "--add-key", name]);
            added.expect_status(0).stdout.trim().to_owned()
        });
        let (running, port, fingerprint) = Self::run(here, directory, 0);
        Self { running, port, fingerprint, keys, directory: directory.to_owned(), certificate }
    }

    fn run(here: &Workspace, directory: &Path, port: u16) -> (Running, u16, String) {
        let listen = format!("127.0.0.1:{port}");
        let words =
            ["backup", "receive", "--keys", "receive.keys", "--certificate", "cert.pem", "--key", "key.pem"];
        let mut running =
            here.start(&[&words[..], &["--listen", &listen, directory.to_str().unwrap()]].concat());
        let said = running.wait_for("receiving at ");
        let port = said.rsplit_once(':').unwrap().1.trim().parse().unwrap();
        let fingerprint = running.wait_for("sha256:");
        let fingerprint = fingerprint.split_whitespace().last().unwrap().to_owned();
        (running, port, fingerprint)
    }

    /// Kills it, and starts another one at the same port.
    pub(super) fn restart(&mut self, here: &Workspace) {
        self.stop("KILL");
        self.start_again(here);
    }

    pub(super) fn stop(&mut self, signal: &str) {
        self.running.signal(signal);
        self.running.wait_until_ended();
    }

    /// Starts another one at the same port.
    pub(super) fn start_again(&mut self, here: &Workspace) {
        self.running = Self::run(here, &self.directory, self.port).0;
    }

    /// Has a command use the receiver at this port, with the key of `db1`.
    pub(super) fn address(&self, command: &mut Command) {
        command
            .env("IOSTALL_RECEIVER_KEY", &self.keys[0])
            .env("IOSTALL_RECEIVER_CERTIFICATE", &self.fingerprint);
    }

    /// Words in which `@` is the receiver's address.
    pub(super) fn command(&self, here: &Workspace, words: &[&str]) -> Command {
        self.command_through(here, self.port, words)
    }

    /// The same through something at another port.
    pub(super) fn command_through(&self, here: &Workspace, port: u16, words: &[&str]) -> Command {
        let address = format!("iostall://127.0.0.1:{port}");
        let words: Vec<String> = words.iter().map(|word| word.replace('@', &address)).collect();
        let mut command = here.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
        self.address(&mut command);
        command
    }

    pub(super) fn run_client(&self, here: &Workspace, words: &[&str]) -> Ran {
        self.command(here, words).output().unwrap().into()
    }

    /// The names in a directory of the repository, but for that of the receiver itself.
    pub(super) fn names(&self, directory: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.directory.join(directory)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.retain(|name| name != ".iostall-receive");
        names.sort();
        names
    }

    /// What is on its way below a prefix.
    pub(super) fn uploads(&self, prefix: &str) -> usize {
        let entries = fs::read_dir(self.directory.join(prefix).join(".iostall-receive"));
        entries.map_or(0, |entries| entries.flatten().filter(|entry| entry.file_name() != "lock").count())
    }

    /// An encrypted connection.
    pub(super) fn connect(&self) -> StreamOwned<ClientConnection, TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        StreamOwned::new(connection, TcpStream::connect(("127.0.0.1", self.port)).unwrap())
    }

    /// Sends a request as it is, and returns status and body; 0 if there is no answer.
    pub(super) fn raw(&self, request: &[u8]) -> (u16, String) {
        let mut stream = self.connect();
        let mut answer = Vec::new();
        let sent = stream.write_all(request).and_then(|()| stream.flush());
        let _ = sent.and_then(|()| stream.read_to_end(&mut answer));
        let text = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        (head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0), body.to_owned())
    }

    /// The same with the key of `db1` and a body.
    pub(super) fn request(&self, method: &str, target: &str, body: &[u8]) -> (u16, String) {
        let head = format!(
            "{method} {target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
             Content-Length: {}\r\n\r\n",
            self.keys[0],
            body.len()
        );
        self.raw(&[head.as_bytes(), body].concat())
    }
}
