//! Whether every request to a bucket is signed as S3 wants it. moto's own check refuses what stands in an address with percent signs,
//! whoever signed it; so a layer of this test before it does the sum that AWS describes.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use sha2::{Digest as _, Sha256};

use super::attacks::words_of;
use super::azurite::hmac;
use super::google_answers::{between, header};
use super::moto::Store;
use super::store_contract::TestStore as _;
use super::store_proxy::request_of;
use crate::copy::content;
use crate::support::{Ran, Workspace};

/// What was refused, and why.
type Refused = Arc<Mutex<Vec<String>>>;

/// The port of a layer before the store at this port.
fn layer(server: u16, secret: &'static str, refused: &Refused) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let refused = Arc::clone(refused);
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let refused = Arc::clone(&refused);
            std::thread::spawn(move || pass(client, server, secret, &refused));
        }
    });
    port
}

fn pass(mut client: TcpStream, server: u16, secret: &str, refused: &Refused) -> Option<()> {
    let (head, body) = request_of(&mut client)?;
    if let Some(fault) = fault(&head, &body, secret) {
        refused.lock().unwrap().push(format!("{}: {fault}", head.lines().next()?));
        let text = "<Error><Code>SignatureDoesNotMatch</Code><Message>It does not match.</Message></Error>";
        let length = if head.starts_with("HEAD ") { 0 } else { text.len() };
        let answer = format!(
            "HTTP/1.1 403 Forbidden\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{}",
            &text[..length]
        );
        return client.write_all(answer.as_bytes()).ok();
    }
    let mut upstream = TcpStream::connect(("127.0.0.1", server)).ok()?;
    let lines =
        head.lines().filter(|line| !line.is_empty() && !line.to_ascii_lowercase().starts_with("connection:"));
    let passed: String = lines.flat_map(|line| [line, "\r\n"]).collect();
    upstream.write_all(format!("{passed}Connection: close\r\n\r\n").as_bytes()).ok()?;
    upstream.write_all(&body).ok()?;
    let mut answer = Vec::new();
    upstream.read_to_end(&mut answer).ok()?;
    client.write_all(&answer).ok()
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// What is wrong with the signature of a request, by version 4 of AWS.
fn fault(head: &str, body: &[u8], secret: &str) -> Option<String> {
    let mut first = head.lines().next()?.split(' ');
    let (method, target) = (first.next()?, first.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut query: Vec<String> =
        query.split('&').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    for part in query.iter_mut().filter(|part| !part.contains('=')) {
        part.push('=');
    }
    query.sort_unstable();
    let Some(authorization) = header(head, "authorization") else { return Some("it has none".into()) };
    let authorization = format!("{authorization},");
    let scope = between(&authorization, "Credential=", ",");
    let (_, scope) = scope.split_once('/')?;
    let names = between(&authorization, "SignedHeaders=", ",");
    let signed: Vec<&str> = names.split(';').collect();
    if !["host", "x-amz-content-sha256", "x-amz-date"].iter().all(|name| signed.contains(name)) {
        return Some(format!("it signs only {names}"));
    }
    let value = |name: &str| header(head, name).unwrap_or_default();
    let headers: Vec<String> = signed.iter().map(|name| format!("{name}:{}\n", value(name))).collect();
    let sum = header(head, "x-amz-content-sha256")?;
    if sum != "UNSIGNED-PAYLOAD" && sum != hex(&Sha256::digest(body)) {
        return Some(format!("its body has another sum than {sum}"));
    }
    let request = [method, path, &query.join("&"), &headers.concat(), names, &sum].join("\n");
    let date = header(head, "x-amz-date")?;
    let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", hex(&Sha256::digest(request.as_bytes())));
    let key =
        scope.split('/').fold(format!("AWS4{secret}").into_bytes(), |key, part| hmac(&key, part.as_bytes()));
    let right = hex(&hmac(&key, text.as_bytes()));
    (between(&authorization, "Signature=", ",") != right).then(|| "its signature is another".into())
}

/// The story: with a store that takes any key nobody knew whether one that checks them understands us: parts, lists whose question has a
/// slash, and names that an address writes in another way.
#[test]
fn every_request_of_a_backup_and_a_restore_is_signed() {
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    let refused = Refused::default();
    let port = layer(store.port, store.secret(), &refused);
    let command = |words: &[&str]| {
        let mut command = here.command(words);
        Store::address(&mut command, port);
        command
    };
    let run = |words: &[&str]| Ran::from(command(words).output().unwrap()).expect_status(0);
    fs::create_dir(here.path("shop")).unwrap();
    fs::write(here.path("shop/orders"), content(10_000_000)).unwrap();
    let names = ["one", "ä", "a+b c=d&e"];
    for name in names {
        let target = format!("s3://backups/p/{name}.iob");
        run(&["backup", "create", "--no-store", "--compress", "none", "--to", &target, "shop"]);
        run(&["backup", "verify", "--no-store", &target]);
    }
    let listed = run(&["backup", "list", "--json", "s3://backups/p"]);
    assert_eq!(listed.stdout.matches("\"complete\"").count(), names.len(), "{}", listed.stdout);
    run(&["backup", "prune", "--keep-last", "1", "s3://backups/p"]);
    let last = format!("s3://backups/p/{}.iob", names[2]);
    run(&["backup", "restore", &last, "--to", "back"]);
    here.run(&["verify", "--no-store", "shop", "back"]).expect_status(0);
    assert!(refused.lock().unwrap().is_empty(), "{:#?}", refused.lock().unwrap());

    let mut wrong = command(&["backup", "create", "--no-store", "--to", "s3://backups/w.iob", "shop"]);
    let wrong = Ran::from(wrong.env("AWS_SECRET_ACCESS_KEY", "another").output().unwrap()).expect_status(2);
    assert!(words_of(&wrong).contains("AWS_SECRET_ACCESS_KEY"), "{}", words_of(&wrong));
    assert!(!refused.lock().unwrap().is_empty());
}
