//! A proxy before an object store that fails at some requests, each in another way, as networks and busy stores do.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use crate::support::PATIENCE;

/// What happens to a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// The connection ends while the body is on its way.
    CutInBody,
    /// The connection ends before the store has the request.
    CutBefore,
    /// The store carries it out, and the connection ends before the answer.
    CutAfter,
    /// This answer, and the store hears nothing of it.
    Status(u16),
}

/// All of them.
pub(super) const FAULTS: [Fault; 5] =
    [Fault::CutInBody, Fault::Status(500), Fault::CutBefore, Fault::Status(503), Fault::CutAfter];

struct Shared {
    server: u16,
    mark: &'static str,
    /// The first request to fail, whose further tries fail in the other ways.
    line: Option<String>,
    faults: Vec<Fault>,
    requests: Vec<String>,
}

/// Listens until the test ends.
pub(super) struct FailingProxy {
    pub(super) port: u16,
    shared: Arc<Mutex<Shared>>,
}

impl FailingProxy {
    /// Before the store at this port of the machine; the first request whose first line has `mark` fails, again and again.
    pub(super) fn before(server: u16, mark: &'static str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let faults = FAULTS.iter().rev().copied().collect();
        let shared = Shared { server, mark, line: None, faults, requests: Vec::new() };
        let shared = Arc::new(Mutex::new(shared));
        let of_listener = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&of_listener);
                std::thread::spawn(move || pass(client, &shared));
            }
        });
        Self { port, shared }
    }

    /// The first lines of all requests so far.
    pub(super) fn requests(&self) -> Vec<String> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).requests.clone()
    }
}

impl Shared {
    fn fault(&mut self, line: &str) -> Option<Fault> {
        self.requests.push(line.to_owned());
        if !line.contains(self.mark) {
            return None;
        }
        let is_it = *self.line.get_or_insert_with(|| line.to_owned()) == line;
        if is_it { self.faults.pop() } else { None }
    }
}

/// One request of a connection, which is closed after the answer.
fn pass(mut client: TcpStream, shared: &Mutex<Shared>) -> Option<()> {
    client.set_read_timeout(Some(PATIENCE)).ok()?;
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|part| part == b"\r\n\r\n") {
            break at + 4;
        }
        match client.read(&mut buffer).ok()? {
            0 => return None,
            read => bytes.extend_from_slice(&buffer[..read]),
        }
    };
    let mut body = bytes.split_off(end);
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let (server, fault) = {
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        (shared.server, shared.fault(head.lines().next()?))
    };
    if matches!(fault, Some(Fault::CutInBody)) {
        return None;
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    while body.len() < length.unwrap_or(0) {
        match client.read(&mut buffer).ok()? {
            0 => return None,
            read => body.extend_from_slice(&buffer[..read]),
        }
    }
    match fault {
        Some(Fault::CutBefore) => return None,
        Some(Fault::Status(status)) => {
            let answer =
                format!("HTTP/1.1 {status} Not now\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            return client.write_all(answer.as_bytes()).ok();
        }
        Some(Fault::CutAfter | Fault::CutInBody) | None => {}
    }
    let mut upstream = TcpStream::connect(("127.0.0.1", server)).ok()?;
    // Nothing is kept open, so that an answer ends with its connection.
    let is_kept = |line: &&str| {
        let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
        !line.is_empty() && name != "connection" && name != "expect"
    };
    let head: String = head.lines().filter(is_kept).flat_map(|line| [line, "\r\n"]).collect();
    upstream.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes()).ok()?;
    upstream.write_all(&body).ok()?;
    let mut answer = Vec::new();
    upstream.read_to_end(&mut answer).ok()?;
    if fault.is_none() { client.write_all(&answer).ok() } else { None }
}
