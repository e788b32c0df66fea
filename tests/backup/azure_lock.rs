//! Backups in Azure that nobody can delete for a while. Azurite keeps no such policies: a layer of this test before it does, as Azure
//! documents them. It is no Azure.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::azurite::Azure;
use super::google_answers::header;
use super::store_contract::TestStore as _;
use super::store_proxy::request_of;
use crate::copy::content;
use crate::support::{Ran, Workspace};

/// Until when, and how, by the path of the blob.
type Policies = Arc<Mutex<BTreeMap<String, (String, String)>>>;

const OVER: &str = "Wed, 01 Jan 2020 00:00:00 GMT";

/// The port of a layer before the store at this port.
fn layer(server: u16, policies: &Policies) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let policies = Arc::clone(policies);
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let policies = Arc::clone(&policies);
            std::thread::spawn(move || pass(client, server, &policies));
        }
    });
    port
}

fn pass(mut client: TcpStream, server: u16, policies: &Policies) -> Option<()> {
    let (head, body) = request_of(&mut client)?;
    let first = head.lines().next()?;
    let (method, target) = first.split_once(' ')?;
    let target = target.split(' ').next()?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let known = policies.lock().unwrap().get(path).cloned();
    if method == "DELETE" && known.as_ref().is_some_and(|(until, _)| until != OVER) {
        let refused = "HTTP/1.1 409 Conflict\r\nx-ms-error-code: BlobImmutableDueToPolicy\r\nContent-Length: 0\r\n\
                       Connection: close\r\n\r\n";
        return client.write_all(refused.as_bytes()).ok();
    }
    let mut upstream = TcpStream::connect(("127.0.0.1", server)).ok()?;
    let lines =
        head.lines().filter(|line| !line.is_empty() && !line.to_ascii_lowercase().starts_with("connection:"));
    let passed: String = lines.flat_map(|line| [line, "\r\n"]).collect();
    upstream.write_all(format!("{passed}Connection: close\r\n\r\n").as_bytes()).ok()?;
    upstream.write_all(&body).ok()?;
    let mut answer = Vec::new();
    upstream.read_to_end(&mut answer).ok()?;
    let text = String::from_utf8_lossy(&answer).into_owned();
    let until = header(&head, "x-ms-immutability-policy-until-date");
    if let (true, Some(until)) = (method == "PUT" && text.starts_with("HTTP/1.1 201"), until) {
        let mode = header(&head, "x-ms-immutability-policy-mode").unwrap();
        policies.lock().unwrap().insert(path.to_owned(), (until, mode));
    }
    let more = match known {
        Some((until, mode)) if matches!(method, "HEAD" | "GET") => {
            format!(
                "x-ms-immutability-policy-until-date: {until}\r\nx-ms-immutability-policy-mode: {mode}\r\n"
            )
        }
        _ if query == "restype=container" => {
            "x-ms-immutable-storage-with-versioning-enabled: true\r\n".to_owned()
        }
        _ => String::new(),
    };
    let begin = answer.windows(2).position(|part| part == b"\r\n")? + 2;
    client.write_all(&[&answer[..begin], more.as_bytes(), &answer[begin..]].concat()).ok()
}

/// Who had the keys of the server could delete its backups, in Azure as well.
#[test]
fn a_backup_is_locked_in_azure_survives_prune_and_goes_when_the_lock_is_over() {
    let here = Workspace::new();
    let Some(store) = Azure::start(&here) else { return };
    let policies = Policies::default();
    let port = layer(store.port, &policies);
    let run = |words: &[&str], status: i32| {
        let mut command = here.command(words);
        Azure::address(&mut command, port);
        Ran::from(command.output().unwrap()).expect_status(status)
    };
    fs::write(here.path("a"), content(10_000_000)).unwrap();
    let create = ["backup", "create", "--compress", "none", "--lock", "30d", "--to"];
    for name in ["one", "two", "three"] {
        run(&[&create[..], &[&format!("az://backups/p/{name}.iob"), "a"]].concat(), 0);
    }
    let names = store.names();
    assert_eq!(names.len(), 6, "{names:?}");
    let locked = policies.lock().unwrap().clone();
    assert_eq!(locked.len(), 6, "stripes and manifests, and nothing else: {locked:?}");
    assert!(locked.values().all(|(_, mode)| mode == "Unlocked"), "{locked:?}");
    let listed = run(&["backup", "list", "--json", "az://backups/p"], 0);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    for entry in listed.as_array().unwrap() {
        assert_eq!(entry["object_lock"]["mode"], "governance", "{entry}");
    }
    let prune = ["backup", "prune", "--keep-last", "1", "az://backups/p"];
    let pruned = run(&prune, 0);
    assert_eq!(pruned.stdout.matches("locked until").count(), 2, "{}", pruned.stdout);
    assert_eq!(store.names(), names);

    policies
        .lock()
        .unwrap()
        .iter_mut()
        .filter(|(path, _)| path.contains("one"))
        .for_each(|(_, policy)| policy.0 = OVER.to_owned());
    assert!(run(&prune, 0).stdout.contains("1 backup deleted"));
    assert_eq!(store.names().len(), 4);

    let strict = ["backup", "create", "--no-store", "--lock", "1h", "--lock-mode", "compliance", "--to"];
    run(&[&strict[..], &["az://backups/s/a.iob", "a"]].concat(), 0);
    let locked = policies.lock().unwrap().clone();
    let strict = locked.iter().filter(|(path, _)| path.contains("/s/"));
    assert_eq!(strict.filter(|(_, (_, mode))| mode == "Locked").count(), 2, "{locked:?}");
}
