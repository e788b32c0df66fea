//! Servers that join a centre and send their history through it: real PostgreSQL, the real service, and stores on this machine.

use std::fs;
use std::path::Path;

use rcgen::{CertificateParams, KeyPair};

use crate::postgres::Postgres;
use crate::running::Running;
use crate::support::{Ran, Workspace, skip};

/// A repository, and the service before it.
pub(crate) struct Centre {
    pub(crate) here: Workspace,
    pub(crate) server: Postgres,
    pub(crate) url: String,
    pub(crate) running: Running,
    pub(crate) port: u16,
    pub(crate) fingerprint: String,
}

impl Centre {
    /// `None`, with a word about it, without PostgreSQL.
    pub(crate) fn start() -> Option<Self> {
        Self::start_on(Postgres::made_with(&["-E", "UTF8"]))
    }

    /// The same on a server, if there is one.
    pub(crate) fn start_on(server: Option<Postgres>) -> Option<Self> {
        let here = Workspace::new();
        let Some(server) = server else {
            skip("the centre of a fleet", "PostgreSQL 15 is not installed");
            return None;
        };
        let url = server.url("postgres", &here.secret("word", "right\n"));
        here.run(&["fleet", "init", &url]).expect_status(0);
        certificate(&here);
        let (running, port, fingerprint) = serve(&here, &url, 0, &[]);
        Some(Self { here, server, url, running, port, fingerprint })
    }

    /// Ends the service with a signal, and starts another one at the same port.
    pub(crate) fn restart(&mut self, signal: &str) {
        self.restart_with(signal, &[]);
    }

    /// The same with options for the other one.
    pub(crate) fn restart_with(&mut self, signal: &str, options: &[&str]) {
        self.end(signal);
        self.serve_with(options);
    }

    /// Ends the service with a signal.
    pub(crate) fn end(&mut self, signal: &str) {
        self.running.signal(signal);
        self.running.wait_until_ended();
    }

    /// Starts another service at the same port.
    pub(crate) fn serve_with(&mut self, options: &[&str]) {
        self.running = serve(&self.here, &self.url, self.port, options).0;
    }

    pub(crate) fn address(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// A code, for a server of this name.
    pub(crate) fn code(&self, options: &[&str]) -> String {
        let ran = self.here.run(&[&["fleet", "code", &self.url][..], options].concat()).expect_status(0);
        ran.stdout.trim().to_owned()
    }

    /// Joins with a code.
    pub(crate) fn join(&self, server: &Workspace, code: &str) -> Ran {
        let file = server.secret("code", code);
        let line = ["fleet", "join", &self.address(), "--certificate", &self.fingerprint, "--code-file"];
        server.run(&[&line[..], &[file.to_str().unwrap()]].concat())
    }

    /// A server that has joined and sampled.
    pub(crate) fn member(&self, name: &str) -> Workspace {
        let server = Workspace::new();
        let ran = self.join(&server, &self.code(&["--for", name])).expect_status(0);
        assert!(ran.stdout.ends_with(&format!(" as {name}\n")), "{}", ran.stdout);
        server.run(&["collect", "once", "linux:"]).expect_status(0);
        server
    }

    pub(crate) fn send(&self, server: &Workspace) -> Ran {
        server.run(&["fleet", "send", &self.address()])
    }

    /// Servers, sources, samples and rows in the repository.
    pub(crate) fn counts(&self) -> String {
        self.server.value(include_str!("sql/count_samples.sql"))
    }
}

/// A repository in a database of its own, which gets all that `store` has at once: what another way has brought is compared with it.
pub(crate) fn reference(server: &Postgres, word: &Path, store: &Path, database: &str) {
    server.sql(&format!("CREATE DATABASE {database}"));
    let here = Workspace::new();
    let url = server.url(database, word);
    here.run(&["fleet", "init", &url]).expect_status(0);
    certificate(&here);
    let (running, port, fingerprint) = serve(&here, &url, 0, &[]);
    let code = here.run(&["fleet", "code", &url, "--for", database]).expect_status(0).stdout;
    let code = here.secret("code", &code);
    let address = format!("https://127.0.0.1:{port}");
    let join =
        ["fleet", "join", &address, "--certificate", &fingerprint, "--code-file", code.to_str().unwrap()];
    for line in [&join[..], &["fleet", "send", &address]] {
        let mut command = here.command(line);
        Ran::from(command.env("IOSTALL_STORE", store).output().unwrap()).expect_status(0);
    }
    running.signal("INT");
    running.ended().expect_status(0);
}

/// Writes a certificate and its key, both in PEM form.
fn certificate(here: &Workspace) {
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    fs::write(here.path("cert.pem"), made.pem()).unwrap();
    here.secret("key.pem", &key.serialize_pem());
}

fn serve(here: &Workspace, url: &str, port: u16, options: &[&str]) -> (Running, u16, String) {
    let listen = format!("127.0.0.1:{port}");
    let line = ["fleet", "serve", url, "--certificate", "cert.pem", "--key", "key.pem", "--listen", &listen];
    let mut running = here.start(&[&line[..], options].concat());
    let said = running.wait_for("serving the repository in ");
    let port = said.rsplit_once(':').unwrap().1.trim().parse().unwrap();
    let fingerprint = running.wait_for("sha256:");
    let fingerprint = fingerprint.split_whitespace().last().unwrap().to_owned();
    (running, port, fingerprint)
}

#[track_caller]
pub(crate) fn assert_refused(ran: Ran, words: &[&str]) {
    let ran = ran.expect_status(2);
    for word in words.iter().chain(&["hint: "]) {
        assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
    }
}

#[test]
fn a_server_joins_with_a_code_and_sends_through_the_centre() {
    let Some(centre) = Centre::start() else { return };
    let server = Workspace::new();
    server.run(&["collect", "once", "linux:"]).expect_status(0);
    assert_refused(centre.send(&server), &["has not joined", "iostall fleet join"]);
    let code = centre.code(&["--for", "db1"]);
    assert_eq!(code.len(), 39, "{code}");
    let ran = centre.join(&server, &code).expect_status(0);
    assert!(
        ran.stdout.contains("joined https://127.0.0.1") && ran.stdout.contains("as db1"),
        "{}",
        ran.stdout
    );
    let ran = centre.send(&server).expect_status(0);
    assert!(ran.stdout.contains("linux:: 1 sample\n"), "{}", ran.stdout);
    let sent = centre.counts();
    assert!(sent.starts_with("1|1|1|"), "servers, sources, samples, rows: {sent}");
    let ran = centre.send(&server).expect_status(0);
    assert!(ran.stdout.contains("linux:: 0 samples"), "{}", ran.stdout);
    assert_eq!(centre.counts(), sent);
    let listed = centre.here.run(&["fleet", "servers", &centre.url, "--json"]).expect_status(0).stdout;
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!((&listed[0]["name"], &listed[0]["state"]), (&"db1".into(), &"joined".into()), "{listed}");
    assert_eq!(listed[0]["version"], env!("CARGO_PKG_VERSION"));
    assert!(listed[0]["lag_s"].as_i64().unwrap() < 600 && !listed[0]["last_contact_utc"].is_null());
    let text = centre.here.run(&["fleet", "servers", &centre.url]).expect_status(0).stdout;
    assert!(text.contains("db1     joined"), "{text}");
    let report = centre.here.run(&["fleet", "report", &centre.url, "--json", "-"]).expect_status(0).stdout;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let told = &report["servers"][0];
    assert_eq!((&told["server"], &told["version"]), (&"db1".into(), &listed[0]["version"]), "{report}");
    // Neither the code nor the key is anywhere in the repository.
    let kept = fs::read_to_string(server.path("store.db.fleet")).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    let key = kept["centres"][0]["keys"][0]["secret"].as_str().unwrap();
    let dump = centre.server.value(include_str!("sql/members_as_text.sql"));
    assert!(key.len() == 64 && !dump.is_empty() && !dump.contains(key), "{dump}");
}

#[test]
fn a_code_is_for_one_server_and_one_hour_and_a_key_until_it_is_revoked() {
    let Some(centre) = Centre::start() else { return };
    let (server, other) = (centre.member("db1"), Workspace::new());
    centre.send(&server).expect_status(0);
    let code = centre.code(&[]);
    centre.join(&other, &code).expect_status(0);
    assert_refused(centre.join(&Workspace::new(), &code), &["has been used", "fleet code"]);
    let unmade = "0000-1111-2222-3333-4444-5555-6666-7777";
    assert_refused(centre.join(&Workspace::new(), unmade), &["has not made this code"]);
    assert_refused(centre.join(&Workspace::new(), "secret"), &["is no one-time code"]);
    let late = centre.code(&["--valid", "1ms"]);
    assert_refused(centre.join(&Workspace::new(), &late), &["no longer valid"]);
    // A code for anybody is none for taking the place of a server.
    assert_refused(centre.join(&server, &centre.code(&[])), &["has joined as db1", "--for NAME"]);
    centre.join(&server, &centre.code(&["--for", "db1"])).expect_status(0);
    centre.send(&server).expect_status(0);
    let revoke = |name: &str| centre.here.run(&["fleet", "revoke", &centre.url, name]);
    assert_refused(revoke("db2"), &["no server called \"db2\"", "fleet servers"]);
    let sent = centre.counts();
    assert!(revoke("db1").expect_status(0).stdout.contains("revoked db1"));
    server.run(&["collect", "once", "linux:"]).expect_status(0);
    assert_refused(centre.send(&server), &["this server was revoked", "--for NAME"]);
    assert_eq!(centre.counts(), sent, "its history stays, and no more comes");
    centre.send(&other).expect_status(0);
    // Another certificate than the one that was named is that of somebody else.
    let file = other.secret("code", &centre.code(&["--for", "x"]));
    let other_print = format!("sha256:{}", "0".repeat(64));
    let line = ["fleet", "join", &centre.address(), "--certificate", &other_print, "--code-file"];
    let ran = Workspace::new().run(&[&line[..], &[file.to_str().unwrap()]].concat());
    assert_refused(ran, &["the server has the certificate sha256:", "--certificate"]);
    let without = ["fleet", "join", &centre.address(), "--code-file", file.to_str().unwrap()];
    assert_refused(Workspace::new().run(&without), &["no authority that this machine trusts"]);
}

#[test]
fn a_file_with_a_code_that_is_not_there_is_said_with_what_to_do() {
    let join = ["fleet", "join", "https://127.0.0.1:1", "--code-file", "code"];
    let ran = Workspace::new().run(&join);
    assert_refused(ran, &["cannot read the file of the code", "iostall fleet code", "mode 600"]);
}
