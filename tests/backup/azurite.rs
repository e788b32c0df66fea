//! Azurite, Microsoft's server for tests of its blob storage, from npm. It checks every signature.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use iostall_test_programs::npm;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use quick_xml::escape::unescape;
use sha2::{Digest as _, Sha256};

use super::store_contract::{TestStore, encoded};
use crate::support::{Workspace, skip, until};

/// Newer ones need a newer Node.js than Debian's.
const AZURITE: &str = "azurite@3.35.0";

/// The server's script; `None` where it cannot be had.
fn azurite() -> Option<PathBuf> {
    Some(npm(AZURITE)?.join("node_modules/azurite/dist/src/blob/main.js"))
}

pub(super) const ACCOUNT: &str = "testaccount";
/// Base 64 of a secret.
pub(super) const KEY: &str = "YXZlcnlzZWNyZXRrZXlvZmF6dXJl";
const VERSION: &str = "2023-11-03";

/// A store with the container `backups`.
pub(super) struct Azure {
    server: Child,
    pub(super) port: u16,
}

impl Drop for Azure {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Azure {
    pub(super) fn start(here: &Workspace) -> Option<Self> {
        let Some(azurite) = azurite() else {
            skip("backup::azure_objects", "azurite cannot be installed");
            return None;
        };
        let log = fs::File::create(here.path("azurite.log")).unwrap();
        let server = Command::new("node")
            .arg(azurite)
            .args(["--blobHost", "127.0.0.1", "--blobPort", "0", "--disableTelemetry", "--location"])
            .arg(here.path("azurite"))
            .env("AZURITE_ACCOUNTS", format!("{ACCOUNT}:{KEY}"))
            .current_dir(here.path("."))
            .stdout(log)
            .stderr(Stdio::null())
            .spawn()
            .expect("azurite starts");
        let port = until("the port of azurite", || {
            let log = fs::read_to_string(here.path("azurite.log")).ok()?;
            let (_, after) = log.split_once("listens on http://127.0.0.1:")?;
            after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        });
        let store = Self { server, port };
        assert_eq!(store.request("PUT", "/backups", &[("restype", "container")], &[], b"").0, 201);
        Some(store)
    }

    /// A request that is signed with the account's key: status and body.
    pub(super) fn request(
        &self,
        method: &str,
        path: &str,
        query: &[(&str, &str)],
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> (u16, Vec<u8>) {
        let date = DateTimePrinter::new().timestamp_to_rfc9110_string(&Timestamp::now()).unwrap();
        let mut headers = headers.to_vec();
        headers.extend([("x-ms-date", date.as_str()), ("x-ms-version", VERSION)]);
        headers.sort_unstable();
        let length = if body.is_empty() { String::new() } else { body.len().to_string() };
        let mut signed = format!("{method}\n\n\n{length}\n\n\n\n\n\n\n\n\n");
        for (name, value) in &headers {
            signed.push_str(&format!("{name}:{value}\n"));
        }
        signed.push_str(&format!("/{ACCOUNT}/{ACCOUNT}{path}"));
        let mut query = query.to_vec();
        query.sort_unstable();
        for (name, value) in &query {
            signed.push_str(&format!("\n{name}:{value}"));
        }
        let signature =
            BASE64_STANDARD.encode(hmac(&BASE64_STANDARD.decode(KEY).unwrap(), signed.as_bytes()));
        let query: Vec<String> = query.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut head = format!(
            "{method} /{ACCOUNT}{path}?{} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: {}\r\n\
             Authorization: SharedKey {ACCOUNT}:{signature}\r\n",
            query.join("&"),
            body.len()
        );
        for (name, value) in &headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let mut answer = Vec::new();
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        stream.read_to_end(&mut answer).unwrap();
        let split = answer.windows(4).position(|part| part == b"\r\n\r\n").unwrap_or(answer.len());
        let head = String::from_utf8_lossy(&answer[..split]).into_owned();
        let status = head.split(' ').nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
        (status, answer.split_off((split + 4).min(answer.len())))
    }

    /// The names in the container; with `uncommitted` also those of what was begun and is no blob yet.
    fn listed(&self, uncommitted: bool) -> Vec<String> {
        let mut query = vec![("restype", "container"), ("comp", "list")];
        query.extend(uncommitted.then_some(("include", "uncommittedblobs")));
        let (_, body) = self.request("GET", "/backups", &query, &[], b"");
        let text = String::from_utf8_lossy(&body).into_owned();
        let names = text.split("<Name>").skip(1).filter_map(|part| part.split("</Name>").next());
        names.map(|name| unescape(name).unwrap().into_owned()).collect()
    }

    /// What was begun and is no blob yet.
    pub(super) fn begun(&self) -> Vec<String> {
        let names = self.listed(false);
        self.listed(true).into_iter().filter(|name| !names.contains(name)).collect()
    }

    /// Has a command use the store at this port.
    pub(super) fn address(command: &mut Command, port: u16) {
        command
            .env("AZURE_STORAGE_ENDPOINT", format!("http://127.0.0.1:{port}/{ACCOUNT}"))
            .env("AZURE_ALLOW_HTTP", "true")
            .env("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT)
            .env("AZURE_STORAGE_ACCOUNT_KEY", KEY);
    }
}

impl TestStore for Azure {
    fn root(&self) -> &'static str {
        "az://backups"
    }

    fn port(&self) -> u16 {
        self.port
    }

    fn address(&self, command: &mut Command, port: u16) {
        Self::address(command, port);
    }

    fn secret(&self) -> &'static str {
        KEY
    }

    fn names(&self) -> Vec<String> {
        self.listed(false)
    }

    fn uploads(&self) -> usize {
        self.begun().len()
    }

    fn forgets_uploads(&self) -> bool {
        true
    }

    fn get(&self, name: &str) -> Vec<u8> {
        let (status, body) = self.request("GET", &path(name), &[], &[], b"");
        assert_eq!(status, 200, "{name}");
        body
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        let headers = [("x-ms-blob-type", "BlockBlob")];
        assert_eq!(self.request("PUT", &path(name), &[], &headers, bytes).0, 201, "{name}");
    }

    fn delete(&self, name: &str) {
        assert_eq!(self.request("DELETE", &path(name), &[], &[], b"").0, 202, "{name}");
    }
}

fn path(name: &str) -> String {
    format!("/backups/{}", encoded(name))
}

/// A shared access signature of the account with these rights.
pub(super) fn sas(rights: &str) -> String {
    let (version, end) = ("2021-12-02", "2099-01-01T00:00:00Z");
    let signed = format!("{ACCOUNT}\n{rights}\nb\nsco\n\n{end}\n\nhttps,http\n{version}\n\n");
    let signature = BASE64_STANDARD.encode(hmac(&BASE64_STANDARD.decode(KEY).unwrap(), signed.as_bytes()));
    let signature = signature.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    format!("sv={version}&ss=b&srt=sco&sp={rights}&se={end}&spr=https,http&sig={signature}")
}

/// HMAC with SHA-256, of a key that is no longer than a block.
pub(super) fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    let padded = |with: u8| {
        let mut block = [with; 64];
        for (byte, key) in block.iter_mut().zip(key) {
            *byte ^= key;
        }
        block
    };
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize().to_vec()
}
