//! A store that answers as Google documents its Cloud Storage: no server of Google's can be had for tests. It is no Google; what it says
//! proves what iostall asks, and that it understands such answers.
//!
//! As documented: names in the path are percent-encoded, `x-goog-if-generation-match` on whatever makes an object but an upload in parts, which
//! refuses all conditions; lists in pages; a move that takes the condition; retention of single objects.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::google_answers::{Answer, decoded, is_signed_by, not_found, refused};
pub(super) use super::google_requests::Kind;
use super::google_requests::{Request, State, Stored};
use super::store_contract::TestStore;
use super::store_proxy::request_of;

pub(super) const TOKEN: &str = "ya29.averysecrettoken";
/// May read, and nothing else.
pub(super) const READ_ONLY: &str = "ya29.readonlytoken";

/// Listens until the test ends. It has the bucket `backups`.
pub(super) struct Google {
    pub(super) port: u16,
    state: Arc<Mutex<State>>,
}

impl Google {
    pub(super) fn start() -> Self {
        Self::of_kind(Kind { locks: false, moves: true })
    }

    pub(super) fn of_kind(kind: Kind) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State::default()));
        let of_listener = Arc::clone(&state);
        std::thread::spawn(move || {
            for mut client in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&of_listener);
                std::thread::spawn(move || serve(&mut client, kind, &state));
            }
        });
        Self { port, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes tokens that are signed with the other half of this key.
    pub(super) fn trust(&self, account: &[u8]) {
        self.state().account = account.to_vec();
    }

    /// Ends the lock of what has this in its name.
    pub(super) fn end_locks(&self, part: &str) {
        let mut state = self.state();
        let found = state.objects.iter_mut().filter(|(name, _)| name.contains(part));
        found.for_each(|(_, stored)| stored.retention.as_mut().unwrap().1 = Timestamp::UNIX_EPOCH);
    }

    /// Name and mode of what is locked.
    pub(super) fn locked(&self) -> Vec<(String, String)> {
        let state = self.state();
        let mode = |(name, stored): (&String, &Stored)| Some((name.clone(), stored.retention.clone()?.0));
        state.objects.iter().filter_map(mode).collect()
    }
}

/// The thread that listens stays; what it holds need not.
impl Drop for Google {
    fn drop(&mut self) {
        *self.state() = State::default();
    }
}

impl TestStore for Google {
    fn root(&self) -> &'static str {
        "gs://backups"
    }

    fn port(&self) -> u16 {
        self.port
    }

    fn address(&self, command: &mut Command, port: u16) {
        command
            .env("GOOGLE_BASE_URL", format!("http://127.0.0.1:{port}"))
            .env("GOOGLE_ALLOW_HTTP", "true")
            .env("GOOGLE_BEARER_TOKEN", TOKEN);
    }

    fn secret(&self) -> &'static str {
        TOKEN
    }

    fn names(&self) -> Vec<String> {
        self.state().objects.keys().cloned().collect()
    }

    fn uploads(&self) -> usize {
        self.state().uploads.len()
    }

    fn get(&self, name: &str) -> Vec<u8> {
        self.state().objects[name].bytes.clone()
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        let stored = Stored { bytes: bytes.to_vec(), ..Stored::default() };
        self.state().place(name, stored);
    }

    fn delete(&self, name: &str) {
        self.state().objects.remove(name).unwrap();
    }
}

fn serve(client: &mut TcpStream, kind: Kind, state: &Mutex<State>) -> Option<()> {
    let (head, body) = request_of(client)?;
    let (method, rest) = head.split_once(' ')?;
    let target = rest.split(' ').next()?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let query: Vec<(String, String)> = query
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decoded(name), decoded(&value.replace('+', " "))))
        .collect();
    let request = Request { method, path, query, head: &head, body: &body, kind };
    let answer = {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        request.refusal(&state).unwrap_or_else(|| request.answer(&mut state))
    };
    client.write_all(&answer.encode(method == "HEAD")).ok()
}

impl Request<'_> {
    fn refusal(&self, state: &State) -> Option<Answer> {
        let reads = matches!(self.method, "GET" | "HEAD");
        match self.header("authorization").and_then(|text| text.strip_prefix("Bearer ").map(str::to_owned)) {
            Some(token) if token == TOKEN || is_signed_by(&state.account, &token) => None,
            Some(token) if token == READ_ONLY && reads => None,
            Some(token) if token == READ_ONLY => Some(refused(403, "AccessDenied", "Access denied.")),
            _ => Some(refused(401, "AuthenticationRequired", "Authentication required.")),
        }
    }

    fn answer(&self, state: &mut State) -> Answer {
        if let Some(rest) = self.path.strip_prefix("/storage/v1/b/").filter(|_| self.kind.moves) {
            return self.json(state, rest);
        }
        let path = self.path.trim_start_matches('/');
        let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
        if decoded(bucket) != "backups" {
            return refused(404, "NoSuchBucket", "The specified bucket does not exist.");
        }
        let key = decoded(key);
        match (self.method, self.query("uploadId"), key.as_str()) {
            ("GET", None, "") if self.query("uploads").is_some() => self.list_uploads(state),
            ("GET", None, "") => self.list(state),
            ("GET", Some(id), _) => Self::list_parts(state, id),
            ("GET" | "HEAD", ..) => self.get(state, &key),
            ("PUT", None, _) => self.put(state, &key),
            ("DELETE", None, _) => self.delete(state, &key),
            ("POST", None, _) if self.query("uploads").is_some() => self.begin(state, &key),
            ("PUT", Some(id), _) => self.put_part(state, id),
            ("POST", Some(id), _) => self.complete(state, &key, id),
            ("DELETE", Some(id), _) => match state.uploads.remove(id) {
                Some(_) => Answer::empty(204),
                None => not_found("NoSuchUpload"),
            },
            _ => refused(
                400,
                "NotImplemented",
                "A header or query you provided requested a function that is not implemented.",
            ),
        }
    }

    /// What `B/o/NAME/moveTo/o/NAME` and `B` name.
    fn json(&self, state: &mut State, rest: &str) -> Answer {
        let failed = |status, reason| {
            let text = format!(
                "{{\"error\":{{\"code\":{status},\"message\":\"No, {reason}.\",\"errors\":[{{\"reason\":\"{reason}\"}}]}}}}"
            );
            Answer::text(status, text)
        };
        let (bucket, rest) = rest.split_once("/o/").unwrap_or((rest, ""));
        if bucket != "backups" {
            return failed(404, "notFound");
        }
        let Some((from, to)) = rest.split_once("/moveTo/o/") else {
            let retention =
                if self.kind.locks { "{\"objectRetention\":{\"mode\":\"Enabled\"}}" } else { "{}" };
            return Answer::text(200, retention.to_owned());
        };
        let (from, to) = (decoded(from), decoded(to));
        if self.query("ifGenerationMatch") == Some("0") && state.objects.contains_key(&to) {
            return failed(412, "conditionNotMet");
        }
        if state.is_locked(&from) {
            return failed(403, "retentionPolicyNotMet");
        }
        let Some(stored) = state.objects.remove(&from) else { return failed(404, "notFound") };
        state.place(&to, stored);
        Answer::text(200, "{}".to_owned())
    }
}
