//! Whoever speaks to the centre without being iostall, or with another's key: nobody else is harmed.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use iostall_measure::clock::utc_now;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::{Value, json};

use crate::fleet_centre::{Centre, assert_refused};
use crate::support::{Workspace, until};

/// Talks to a centre without iostall.
#[derive(Clone)]
pub(crate) struct Client {
    config: Arc<ClientConfig>,
    port: u16,
    key: String,
}

/// An answer: its status, the code of a refusal, and its body.
type Answer = (u16, String, String);

impl Client {
    /// With the key of a server that has joined.
    pub(crate) fn of(centre: &Centre, server: &Workspace) -> Self {
        let kept = server.json("store.db.fleet");
        Self::with_key(centre, kept["centres"][0]["keys"][0]["secret"].as_str().unwrap())
    }

    /// With this key.
    pub(crate) fn with_key(centre: &Centre, key: &str) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(centre.here.path("cert.pem")).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self { config: Arc::new(config), port: centre.port, key: key.to_owned() }
    }

    fn connect(&self) -> std::io::Result<StreamOwned<ClientConnection, TcpStream>> {
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(Arc::clone(&self.config), name).unwrap();
        Ok(StreamOwned::new(connection, TcpStream::connect(("127.0.0.1", self.port))?))
    }

    /// Begins to post to a path: of the body only so many bytes come now.
    pub(crate) fn begin(
        &self,
        path: &str,
        body: &[u8],
        bytes: usize,
    ) -> StreamOwned<ClientConnection, TcpStream> {
        let mut stream = self.connect().unwrap();
        stream.write_all(&[self.head(path, body.len()).as_bytes(), &body[..bytes]].concat()).unwrap();
        stream.flush().unwrap();
        stream
    }

    fn head(&self, path: &str, bytes: usize) -> String {
        format!(
            "POST /{path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nAuthorization: Bearer {}\r\nContent-Length: {bytes}\r\n\r\n",
            self.key
        )
    }

    /// Sends bytes as they are; the whole answer, nothing if there is none.
    pub(crate) fn bytes(&self, request: &[u8]) -> Vec<u8> {
        let Ok(mut stream) = self.connect() else { return Vec::new() };
        let mut answer = Vec::new();
        let sent = stream.write_all(request).and_then(|()| stream.flush());
        let _ = sent.and_then(|()| stream.read_to_end(&mut answer));
        answer
    }

    /// Sends bytes as they are; status 0 if there is no answer.
    pub(crate) fn raw(&self, request: &[u8]) -> Answer {
        let answer = self.bytes(request);
        let text = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let refusal = head.lines().find_map(|line| line.strip_prefix("x-iostall-refusal: ")).unwrap_or("");
        let code = refusal.split(' ').next().unwrap_or("").to_owned();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, code, body.to_owned())
    }

    /// Posts to a path.
    pub(crate) fn post(&self, path: &str, body: &[u8]) -> Answer {
        let head = self.head(path, body.len());
        self.raw(&[head.as_bytes(), body].concat())
    }

    /// Sends requests without waiting for answers; how many were refused because there were too many.
    fn flood(&self) -> u64 {
        let request = |connection: &str| {
            format!(
                "POST /fleet/v1/known HTTP/1.1\r\nHost: h\r\nConnection: {connection}\r\nAuthorization: Bearer {}\r\n\
                 Content-Length: 2\r\n\r\n{{}}",
                self.key
            )
        };
        let Ok(mut stream) = self.connect() else { return 0 };
        let mut answers = Vec::new();
        let all = request("keep-alive").repeat(299) + &request("close");
        let sent = stream.write_all(all.as_bytes()).and_then(|()| stream.flush());
        let _ = sent.and_then(|()| stream.read_to_end(&mut answers));
        String::from_utf8_lossy(&answers).matches("SlowDown").count() as u64
    }

    /// Posts a batch, as JSON.
    pub(crate) fn append(&self, after: u64, batch: &Value) -> Answer {
        let body = zstd::encode_all(batch.to_string().as_bytes(), 1).unwrap();
        self.post(&format!("fleet/v1/append?after={after}"), &body)
    }
}

/// A batch of one sample with one row.
pub(crate) fn batch(store: &str, source: &str, number: u64, taken: &str) -> Value {
    json!({
        "source": {"id": source, "store": store, "name": "linux:"},
        "sequence": number,
        "series": [{"kind": "linux-device", "scope": 2, "scope_name": "disk", "name": "'; DROP TABLE iostall.sample; --",
                    "identity": "\u{1b}]0;x\u{7}\u{0}", "volume": null}],
        "epochs": [{"epoch": {"instance": "i", "version": 1, "process_start": "p", "counters_since": [], "uptime_s": null},
                    "clock": "c"}],
        "samples": {"taken_utc": [taken], "clock_ns": [number * 1_000_000_000], "epoch": [0], "uptime_s": [null],
                    "row_count": [1]},
        "rows": {"series": [0], "age_ms": [null], "counters": {"reads": [number]}},
        "warnings": [], "gaps": [], "import": null,
    })
}

/// The id of the store of a server, and that of its only source.
pub(crate) fn ids(centre: &Centre, name: &str) -> (String, String) {
    let servers = centre.here.run(&["fleet", "servers", &centre.url, "--json"]).expect_status(0).stdout;
    let servers: Value = serde_json::from_str(&servers).unwrap();
    let of = servers.as_array().unwrap().iter().find(|server| server["name"] == name).unwrap().clone();
    let source = centre.server.value(include_str!("sql/newest_source.sql"));
    (of["id"].as_str().unwrap().to_owned(), source)
}

fn now() -> String {
    utc_now().to_string()
}

#[test]
fn what_is_no_request_or_no_batch_is_refused_and_the_next_server_is_served() {
    let Some(centre) = Centre::start() else { return };
    let good = centre.member("good");
    centre.send(&good).expect_status(0);
    let before = centre.counts();
    let bad = centre.member("bad");
    let client = Client::of(&centre, &bad);
    let (store, _) = ids(&centre, "bad");
    for request in
        [&b"\x16\x03\x01\x00\x00"[..], b"GET / HTTP/1.1\r\n\r\n", b"\r\n\r\n\r\n", &vec![0; 40_000]]
    {
        let (status, ..) = client.raw(request);
        assert!([0, 400, 431].contains(&status), "{status}");
    }
    // Versions before and after this one.
    let (status, code, _) = client.post("fleet/v0/hello", b"{}");
    assert_eq!((status, code.as_str()), (426, "OtherVersion"));
    let (status, code, _) = client.post("fleet/v2/append?after=0", b"x");
    assert_eq!((status, code.as_str()), (426, "OtherVersion"));
    for (path, body) in [
        ("fleet/v1/hello", "[]"),
        ("fleet/v1/known", "{}"),
        ("fleet/v1/rotate", "{\"key_hash\":\"x\"}"),
        ("fleet/v1/join", "{}"),
        ("fleet/v1/append", ""),
        ("fleet/v1/append?after=-1", ""),
    ] {
        let (status, ..) = client.post(path, body.as_bytes());
        assert_eq!(status, 400, "{path}");
    }
    assert_eq!(client.post("fleet/v1/append?after=0", b"no batch").1, "Batch");
    let bomb = zstd::encode_all(&vec![b' '; 40 << 20][..], 1).unwrap();
    assert_eq!(client.post("fleet/v1/append?after=0", &bomb).1, "TooLong");
    // The rest of it is not read, so that the answer may be lost.
    let (status, ..) = client.post("fleet/v1/append?after=0", &vec![0; 5 << 20]);
    assert!([0, 413].contains(&status), "{status}");
    let source = "01890a5d-ac96-774b-bcce-b302099a8057";
    let mut odd = batch(&store, source, 1, &now());
    odd["samples"]["row_count"] = json!([7]);
    assert_eq!(client.append(0, &odd).1, "Batch");
    for taken in ["2099-01-01T00:00:00Z", "1980-01-01T00:00:00Z"] {
        assert_eq!(client.append(0, &batch(&store, source, 1, taken)).1, "Clock", "{taken}");
    }
    let partitions = centre.server.value(include_str!("sql/count_partitions.sql"));
    assert!(partitions.parse::<u32>().unwrap() < 12, "{partitions}");
    assert_eq!(client.append(7, &batch(&store, source, 9, &now())).1, "NotNext");
    // Names that inject are names.
    assert_eq!(client.append(0, &batch(&store, source, 1, &now())).0, 200);
    assert_eq!(client.append(0, &batch(&store, source, 1, &now())).2, "{\"is_added\":false}");
    good.run(&["collect", "once", "linux:"]).expect_status(0);
    centre.send(&good).expect_status(0);
    assert_ne!(centre.counts(), before);
}

#[test]
fn a_key_writes_the_history_of_its_own_server_alone() {
    let Some(centre) = Centre::start() else { return };
    let good = centre.member("good");
    centre.send(&good).expect_status(0);
    let (victim, source) = ids(&centre, "good");
    let bad = centre.member("bad");
    let mut client = Client::of(&centre, &bad);
    let (own, _) = ids(&centre, "bad");
    let before = centre.counts();
    // Another's store, and another's source in the name of the own store.
    assert_eq!(client.append(0, &batch(&victim, source.as_str(), 900, &now())).1, "OtherServer");
    assert_eq!(client.append(2, &batch(&own, source.as_str(), 900, &now())).1, "OtherServer");
    assert_eq!(
        client.post("fleet/v1/known", json!({"source": source}).to_string().as_bytes()).1,
        "OtherServer"
    );
    assert_eq!(centre.counts(), before);
    for key in ["", "x", "\u{7f}", &"0".repeat(64)] {
        client.key = key.to_owned();
        let (status, code, _) = client.append(0, &batch(&own, source.as_str(), 1, &now()));
        assert!(status == 401 && code == "UnknownKey" || status == 400, "{key}: {status} {code}");
    }
    // Who goes on guessing is not even looked up; who has a key is.
    let is_slowed = || (client.post("fleet/v1/hello", b"{}").1 == "SlowDown").then_some(());
    until("who guesses is slowed down", is_slowed);
    good.run(&["collect", "once", "linux:"]).expect_status(0);
    centre.send(&good).expect_status(0);
    assert_ne!(centre.counts(), before);
}

#[test]
fn a_server_that_sends_ten_times_too_often_is_slowed_down_and_others_are_not() {
    let Some(centre) = Centre::start() else { return };
    let (good, bad) = (centre.member("good"), centre.member("bad"));
    let client = Client::of(&centre, &bad);
    let (over, slowed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let floods: Vec<_> = (0..4)
        .map(|_| {
            let (client, over, slowed) = (client.clone(), Arc::clone(&over), Arc::clone(&slowed));
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    slowed.fetch_add(client.flood(), Ordering::Relaxed);
                }
            })
        })
        .collect();
    until("the flood is slowed down", || (slowed.load(Ordering::Relaxed) > 20).then_some(()));
    for _ in 0..3 {
        good.run(&["collect", "once", "linux:"]).expect_status(0);
        let ran = centre.send(&good).expect_status(0);
        assert!(ran.stdout.contains("linux:: "), "{}", ran.stdout);
    }
    over.store(true, Ordering::Relaxed);
    for flood in floods {
        flood.join().unwrap();
    }
}

#[test]
fn a_copy_of_a_store_is_noticed_and_both_are_refused_until_each_joins_again() {
    let Some(centre) = Centre::start() else { return };
    let original = centre.member("db1");
    centre.send(&original).expect_status(0);
    let copy = Workspace::new();
    for name in ["store.db", "store.db.fleet"] {
        std::fs::copy(original.path(name), copy.path(name)).unwrap();
    }
    // A machine that was moved is none that was copied.
    centre.send(&copy).expect_status(0);
    centre.send(&original).expect_status(0);
    assert_refused(centre.send(&copy), &["two machines send in turn", "move the store aside"]);
    assert_refused(centre.send(&original), &["two machines send in turn"]);
    let listed = centre.here.run(&["fleet", "servers", &centre.url]).expect_status(0).stdout;
    assert!(listed.contains("copied") && listed.contains("two machines use its key"), "{listed}");
    let report = centre.here.run(&["fleet", "report", &centre.url]).expect_status(0).stdout;
    assert!(report.contains("db1") && report.contains("two machines send as this one"), "{report}");
    centre.join(&original, &centre.code(&["--for", "db1"])).expect_status(0);
    centre.send(&original).expect_status(0);
    assert_refused(centre.send(&copy), &["does not know this key"]);
    for name in ["store.db", "store.db.fleet"] {
        std::fs::rename(copy.path(name), copy.path(&format!("{name}.aside"))).unwrap();
    }
    copy.run(&["collect", "once", "linux:"]).expect_status(0);
    centre.join(&copy, &centre.code(&["--for", "db2"])).expect_status(0);
    centre.send(&copy).expect_status(0);
    centre.send(&original).expect_status(0);
}

/// Nobody deleted anything at the centre but by hand.
#[test]
fn what_is_older_than_it_is_kept_goes_by_itself_and_nothing_else() {
    let Some(mut centre) = Centre::start() else { return };
    let server = centre.member("db1");
    centre.send(&server).expect_status(0);
    let (store, _) = ids(&centre, "db1");
    let client = Client::of(&centre, &server);
    let taken = (utc_now() - jiff::SignedDuration::from_hours(40 * 24)).to_string();
    assert_eq!(client.append(0, &batch(&store, "01890a5d-ac96-774b-bcce-b302099a8057", 1, &taken)).0, 200);
    centre.restart("INT");
    server.run(&["collect", "once", "linux:"]).expect_status(0);
    centre.send(&server).expect_status(0);
    assert!(centre.counts().starts_with("1|2|3|"), "{}", centre.counts());
    centre.restart_with("INT", &["--keep-raw", "336h"]);
    until("the old sample goes", || centre.counts().starts_with("1|2|2|").then_some(()));
    server.run(&["collect", "once", "linux:"]).expect_status(0);
    centre.send(&server).expect_status(0);
    assert!(centre.counts().starts_with("1|2|3|"), "{}", centre.counts());
}
