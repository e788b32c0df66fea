//! A mock of the web services that hand out access tokens: Azure's metadata service, the identity service of an app, and
//! the token endpoint of Entra. It answers with what a test gave it, and keeps what it was asked.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// A request: its head and its body.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: String,
}

#[derive(Default)]
struct Shared {
    answers: VecDeque<(&'static str, String)>,
    requests: Vec<Request>,
}

/// A web server on a free port, for as long as the test runs.
pub(crate) struct Web {
    pub(crate) url: String,
    shared: Arc<Mutex<Shared>>,
}

impl Web {
    /// Begins to listen.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Mutex::new(Shared::default()));
        let theirs = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // A client that goes away is not this server's business.
                let _ = serve(&stream, &theirs);
            }
        });
        Self { url, shared }
    }

    /// Answers so: each answer once, and the last one from then on.
    pub(crate) fn answer(&self, status: &'static str, body: impl Into<String>) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.answers.push_back((status, body.into()));
    }

    /// What was asked so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).requests.clone()
    }
}

fn serve(mut stream: &TcpStream, shared: &Mutex<Shared>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut all = shared.lock().unwrap_or_else(PoisonError::into_inner);
    all.requests.push(Request { head, body: String::from_utf8_lossy(&body).into_owned() });
    let first = if all.answers.len() > 1 { all.answers.pop_front() } else { all.answers.front().cloned() };
    let (status, text) = first.unwrap_or(("500 Internal Server Error", String::new()));
    drop(all);
    let length = text.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    )
}
