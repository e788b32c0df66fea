//! The server of PyPI's moto, an object store.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use iostall_test_programs::moto;
use quick_xml::escape::unescape;

use super::store_contract::{TestStore, encoded};
use crate::support::{Ran, Workspace, skip, until};

/// A store with the bucket `backups`.
pub(crate) struct Store {
    server: Child,
    pub(super) port: u16,
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Store {
    pub(crate) fn start(here: &Workspace) -> Option<Self> {
        let Some(moto) = moto() else {
            skip("backup::objects", "moto cannot be installed");
            return None;
        };
        let log = fs::File::create(here.path("moto.log")).unwrap();
        let server = Command::new(moto)
            .args(["-H", "127.0.0.1", "-p", "0"])
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("moto starts");
        let port = until("the port of moto", || {
            let log = fs::read_to_string(here.path("moto.log")).ok()?;
            let (_, after) = log.split_once("http://127.0.0.1:")?;
            after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        });
        let store = Self { server, port };
        until("the bucket", || (store.request("PUT", "/backups", b"").0 == 200).then_some(()));
        Some(store)
    }

    /// A request whose signature moto does not check: status and body.
    pub(super) fn request(&self, method: &str, path: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let headers = "Authorization: AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/s3/aws4_request, \
                       SignedHeaders=host, Signature=0\r\n";
        self.request_with(method, path, headers, body)
    }

    pub(super) fn request_with(
        &self,
        method: &str,
        path: &str,
        headers: &str,
        body: &[u8],
    ) -> (u16, Vec<u8>) {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return (0, Vec::new()) };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n",
            body.len()
        );
        let mut answer = Vec::new();
        let done = stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(body))
            .and_then(|()| stream.read_to_end(&mut answer));
        if done.is_err() {
            return (0, Vec::new());
        }
        let split = answer.windows(4).position(|part| part == b"\r\n\r\n").unwrap_or(answer.len());
        let head = String::from_utf8_lossy(&answer[..split]).into_owned();
        let status = head.split(' ').nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
        (status, answer.split_off((split + 4).min(answer.len())))
    }

    /// A call to the store's administration, and its answer.
    pub(super) fn administer(&self, call: &str) -> String {
        let headers = "Authorization: AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/iam/aws4_request, \
                       SignedHeaders=host, Signature=0\r\nContent-Type: application/x-www-form-urlencoded\r\n";
        let (status, body) =
            self.request_with("POST", "/", headers, format!("{call}&Version=2010-05-08").as_bytes());
        let text = String::from_utf8_lossy(&body).into_owned();
        assert_eq!(status, 200, "{call}: {text}");
        text
    }

    /// The names in the bucket.
    pub(crate) fn names(&self) -> Vec<String> {
        let (_, body) = self.request("GET", "/backups?list-type=2", b"");
        let text = String::from_utf8_lossy(&body).into_owned();
        let names = text.split("<Key>").skip(1).filter_map(|part| part.split("</Key>").next());
        names.map(|name| unescape(name).unwrap().into_owned()).collect()
    }

    /// How many uploads were begun and neither completed nor given up.
    pub(super) fn uploads(&self) -> usize {
        let (_, body) = self.request("GET", "/backups?uploads", b"");
        String::from_utf8_lossy(&body).matches("<UploadId>").count()
    }

    pub(super) fn command(&self, here: &Workspace, arguments: &[&str]) -> Command {
        let mut command = here.command(arguments);
        Self::address(&mut command, self.port);
        command
    }

    /// Has a command use the store at this port.
    pub(super) fn address(command: &mut Command, port: u16) {
        command
            .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}"))
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_ACCESS_KEY_ID", "AKIDOFTESTS")
            .env("AWS_SECRET_ACCESS_KEY", "verysecretkey");
    }

    pub(crate) fn run(&self, here: &Workspace, arguments: &[&str]) -> Ran {
        self.command(here, arguments).output().unwrap().into()
    }
}

impl TestStore for Store {
    fn root(&self) -> &'static str {
        "s3://backups"
    }

    fn port(&self) -> u16 {
        self.port
    }

    fn address(&self, command: &mut Command, port: u16) {
        Self::address(command, port);
    }

    fn secret(&self) -> &'static str {
        "verysecretkey"
    }

    fn names(&self) -> Vec<String> {
        self.names()
    }

    fn uploads(&self) -> usize {
        self.uploads()
    }

    fn get(&self, name: &str) -> Vec<u8> {
        let (status, body) = self.request("GET", &format!("/backups/{}", encoded(name)), b"");
        assert_eq!(status, 200, "{name}");
        body
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        assert_eq!(self.request("PUT", &format!("/backups/{}", encoded(name)), bytes).0, 200, "{name}");
    }

    fn delete(&self, name: &str) {
        assert_eq!(self.request("DELETE", &format!("/backups/{}", encoded(name)), b"").0, 204, "{name}");
    }
}

/// The text of the first element of this name.
pub(super) fn element(answer: &str, name: &str) -> String {
    let after = answer.split_once(&format!("<{name}>")).map_or("", |(_, after)| after);
    after.split('<').next().unwrap_or_default().to_owned()
}
