//! What lies on what, through a centre.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;

use crate::fleet_centre::{Centre, reference};
use crate::fleet_hostile::Client;
use crate::support::{Workspace, skip};

/// A centre that is older than some verbs: the real one, to which it passes on all others.
pub(crate) struct OlderCentre {
    pub(crate) port: u16,
}

impl OlderCentre {
    /// It has the certificate of `centre`, and does not know `without`.
    pub(crate) fn before(centre: &Centre, without: &'static [&'static str]) -> Self {
        let certificate = CertificateDer::from_pem_file(centre.here.path("cert.pem")).unwrap();
        let key = PrivateKeyDer::from_pem_file(centre.here.path("key.pem")).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config =
            ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = Arc::new(config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap());
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let newer = Client::with_key(centre, "");
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (config, newer) = (Arc::clone(&config), newer.clone());
                std::thread::spawn(move || pass(client, config, &newer, without));
            }
        });
        Self { port }
    }
}

/// Answers one request, and ends the connection.
fn pass(client: TcpStream, config: Arc<ServerConfig>, newer: &Client, without: &[&str]) -> Option<()> {
    let mut stream = StreamOwned::new(ServerConnection::new(config).ok()?, client);
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    let (head, body_bytes) = loop {
        let read = stream.read(&mut piece).ok().filter(|read| *read > 0)?;
        request.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&request);
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length").then(|| value.parse().ok())?
            });
            break (head.to_owned(), length.unwrap_or(0));
        }
    };
    while request.len() < head.len() + 4 + body_bytes {
        let read = stream.read(&mut piece).ok().filter(|read| *read > 0)?;
        request.extend_from_slice(&piece[..read]);
    }
    let path = head.split(' ').nth(1)?;
    let answer = if without.iter().any(|verb| path.ends_with(&format!("/{verb}"))) {
        b"HTTP/1.1 400 Bad Request\r\nx-iostall-refusal: NotUnderstood this server does not understand the request\r\n\
          Content-Length: 0\r\nConnection: close\r\n\r\n"
            .to_vec()
    } else {
        let (first, rest) = head.split_once("\r\n")?;
        let head = format!("{first}\r\nConnection: close\r\n{rest}\r\n\r\n");
        newer.bytes(&[head.as_bytes(), &request[request.len() - body_bytes..]].concat())
    };
    stream.write_all(&answer).ok()?;
    stream.conn.send_close_notify();
    stream.flush().ok()
}

/// What lies on what in a database.
fn placements(centre: &Centre, database: &str) -> String {
    centre.server.value_in(database, include_str!("sql/placements.sql"))
}

#[test]
fn devices_come_through_a_centre_also_when_an_older_one_is_upgraded() {
    let Some(mut centre) = Centre::start() else { return };
    let server = centre.member("db1");
    let real = centre.port;
    // An older centre takes the samples, and is told of devices when it is upgraded.
    centre.port = OlderCentre::before(&centre, &["place"]).port;
    let older = centre.join(&server, &centre.code(&["--for", "db1"])).expect_status(0);
    assert!(older.stdout.contains("joined"), "{}", older.stdout);
    let ran = centre.send(&server).expect_status(0);
    assert!(ran.stdout.contains("linux:: 1 sample"), "{}", ran.stdout);
    assert_eq!(placements(&centre, "postgres"), "");
    centre.port = real;
    centre.join(&server, &centre.code(&["--for", "db1"])).expect_status(0);
    centre.send(&server).expect_status(0);
    reference(&centre.server, &centre.here.path("word"), &server.path("store.db"), "reference");
    let at_once = placements(&centre, "reference");
    if at_once.is_empty() {
        skip("devices through a centre", "no device of this machine has an identity");
        return;
    }
    assert_eq!(placements(&centre, "postgres"), at_once);
    centre.send(&server).expect_status(0);
    assert_eq!(placements(&centre, "postgres"), at_once, "nothing is there twice");
}

#[test]
fn a_server_says_what_lies_on_what_of_its_own_sources_alone() {
    let Some(centre) = Centre::start() else { return };
    let (server, other) = (centre.member("db1"), centre.member("db2"));
    centre.send(&server).expect_status(0);
    let source = centre.server.value(include_str!("sql/newest_source.sql"));
    centre.send(&other).expect_status(0);
    let before = placements(&centre, "postgres");
    let place = |server: &Workspace, kind: &str, name: &str| {
        let device = json!({"kind": kind, "identity": name, "model": null});
        let body = json!({"source": source, "placements": [{"volume": name, "devices": [device]}]});
        let (status, code, _) =
            Client::of(&centre, server).post("fleet/v1/place", body.to_string().as_bytes());
        (status, code)
    };
    assert_eq!(place(&other, "naa", "a"), (403, "OtherServer".to_owned()));
    // A name that an operator gives by hand is none that a server gives.
    assert_eq!(place(&server, "tag", "san-7"), (400, "NotUnderstood".to_owned()));
    assert_eq!(place(&server, "of-2099", "a"), (400, "NotUnderstood".to_owned()));
    assert_eq!(place(&server, "naa", &"x".repeat(2_000)), (413, "TooLong".to_owned()));
    assert_eq!(place(&server, "naa", "'; DROP TABLE iostall.device; --\u{0}").0, 200);
    assert_eq!(placements(&centre, "postgres"), before, "a volume that is in no sample is none");
}
