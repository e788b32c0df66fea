//! A proxy before an object store that stops at a request, so that a test can kill iostall exactly there.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::support::{PATIENCE, pause};

/// Which request, counted from 1, and whether the store still gets it.
#[derive(Clone, Copy, Debug)]
pub(super) struct StopAt {
    pub(super) method: &'static str,
    /// A part of the path or of the query.
    pub(super) part: &'static str,
    pub(super) number: usize,
    pub(super) is_done: bool,
}

struct Shared {
    server: u16,
    /// Conditions are not passed on.
    is_forgetful: bool,
    stop: Option<StopAt>,
    seen: usize,
    requests: Vec<String>,
    stopped: Sender<()>,
    /// Bytes a second that all connections share, of requests and answers.
    bytes_per_s: Option<u64>,
    /// Says that the request that was stopped at goes on; without it, it never does.
    resumed: Option<Receiver<()>>,
}

/// What it does besides.
#[derive(Clone, Copy, Default)]
struct Kind {
    is_forgetful: bool,
    is_pausing: bool,
    bytes_per_s: Option<u64>,
}

/// One connection at a time has the network.
static WIRE: Mutex<()> = Mutex::new(());

/// Listens until the test ends.
pub(super) struct Proxy {
    pub(super) port: u16,
    shared: Arc<Mutex<Shared>>,
    stopped: Receiver<()>,
    resume: SyncSender<()>,
}

impl Proxy {
    /// Before the store at this port of the machine.
    pub(super) fn before(server: u16, stop: Option<StopAt>) -> Self {
        Self::start(server, stop, Kind::default())
    }

    /// The same, with a network of so many bytes a second before it.
    pub(super) fn slow(server: u16, bytes_per_s: u64) -> Self {
        Self::start(server, None, Kind { bytes_per_s: Some(bytes_per_s), ..Kind::default() })
    }

    /// The same, where the request goes on after [`Self::resume`].
    pub(super) fn pausing(server: u16, stop: StopAt) -> Self {
        Self::start(server, Some(stop), Kind { is_pausing: true, ..Kind::default() })
    }

    /// Makes the store one that ignores conditions.
    pub(super) fn forgetful(server: u16) -> Self {
        Self::start(server, None, Kind { is_forgetful: true, ..Kind::default() })
    }

    fn start(server: u16, stop: Option<StopAt>, kind: Kind) -> Self {
        let Kind { is_forgetful, is_pausing, bytes_per_s } = kind;
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, stopped) = channel();
        let (resume, resumed) = sync_channel(1);
        let resumed = is_pausing.then_some(resumed);
        let requests = Vec::new();
        let shared =
            Shared { server, is_forgetful, stop, seen: 0, requests, stopped: sender, bytes_per_s, resumed };
        let shared = Arc::new(Mutex::new(shared));
        let of_listener = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&of_listener);
                std::thread::spawn(move || pass(client, &shared));
            }
        });
        Self { port, shared, stopped, resume }
    }

    /// Lets the request go on that was stopped at.
    pub(super) fn resume(&self) {
        self.resume.send(()).unwrap();
    }

    /// Whether the request to stop at came; it has to come within this time.
    pub(super) fn has_stopped(&self, within: Duration) -> bool {
        self.stopped.recv_timeout(within).is_ok()
    }

    /// The first lines of all requests so far.
    pub(super) fn requests(&self) -> Vec<String> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).requests.clone()
    }
}

/// One request of a connection, which is closed after the answer.
fn pass(mut client: TcpStream, shared: &Mutex<Shared>) {
    let _ = client.set_read_timeout(Some(PATIENCE));
    let Some((head, body)) = request_of(&mut client) else { return };
    let first = head.lines().next().unwrap_or_default().to_owned();
    let (server, is_forgetful, stops, is_done, stopped, resumed, bytes_per_s) = {
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |stop: &StopAt| first.starts_with(stop.method) && first.contains(stop.part);
        let stop = shared.stop.filter(is_it);
        shared.seen += usize::from(stop.is_some());
        let stops = stop.is_some_and(|stop| stop.number == shared.seen);
        shared.requests.push(first);
        let is_done = stop.is_some_and(|stop| stop.is_done);
        let resumed = if stops { shared.resumed.take() } else { None };
        let Shared { server, is_forgetful, bytes_per_s, .. } = *shared;
        (server, is_forgetful, stops, is_done, shared.stopped.clone(), resumed, bytes_per_s)
    };
    let wire = |bytes: usize| {
        let Some(rate) = bytes_per_s else { return };
        let _one = WIRE.lock().unwrap_or_else(PoisonError::into_inner);
        pause(bytes as u64 * 1000 / rate);
    };
    wire(body.len());
    let holds = stops && resumed.is_none();
    if let Some(resumed) = resumed {
        let _ = stopped.send(());
        let _ = resumed.recv();
    }
    if holds && !is_done {
        let _ = stopped.send(());
        hold(&mut client);
        return;
    }
    let Ok(mut upstream) = TcpStream::connect(("127.0.0.1", server)) else { return };
    let _ = upstream.set_read_timeout(Some(PATIENCE));
    // Neither header is signed. Nothing is kept open, so that an answer ends with its connection.
    let lines = head.lines().filter(|line| {
        let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
        let is_forgotten = is_forgetful && name == "if-none-match";
        !line.is_empty() && name != "connection" && name != "expect" && !is_forgotten
    });
    let head: String = lines.flat_map(|line| [line, "\r\n"]).collect();
    let mut answer = Vec::new();
    let done = upstream
        .write_all(format!("{head}Connection: close\r\n\r\n").as_bytes())
        .and_then(|()| upstream.write_all(&body))
        .and_then(|()| upstream.read_to_end(&mut answer));
    if holds {
        let _ = stopped.send(());
        hold(&mut client);
    } else if done.is_ok() {
        wire(answer.len());
        let _ = client.write_all(&answer);
    }
}

/// Until the other side is gone.
fn hold(client: &mut TcpStream) {
    let mut rest = [0; 1024];
    while matches!(client.read(&mut rest), Ok(read) if read > 0) {}
}

/// Head and body of the next request; `None` if there is none.
pub(super) fn request_of(client: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|part| part == b"\r\n\r\n") {
            break at + 4;
        }
        match client.read(&mut buffer) {
            Ok(read) if read > 0 => bytes.extend_from_slice(&buffer[..read]),
            _ => return None,
        }
    };
    let mut body = bytes.split_off(end);
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    while body.len() < length.unwrap_or(0) {
        match client.read(&mut buffer) {
            Ok(read) if read > 0 => body.extend_from_slice(&buffer[..read]),
            _ => return None,
        }
    }
    Some((head, body))
}
