//! A mock of SQL Server: it speaks the server's side of TDS 7.4 and answers each tagged query with what a test gave it.
//!
//! Written from the published description of the protocol, MS-TDS. It is no SQL Server: it reads of a query only its
//! tag. What it proves is the client's path: framing, login, types, NULLs, errors, encryption, lost connections.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::tls::Handshake;
use super::tokens;

/// What a query is answered with.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// Columns with their names, and rows.
    Rows(ResultSet),
    /// The errors a server sends: number and text.
    Errors(Vec<(u32, String)>),
    /// The messages of a statement that is done and has no rows: number and text.
    Messages(Vec<(u32, String)>),
    /// The rows of a result again and again, without an end.
    Endless(ResultSet),
    /// What this makes of the text of the query.
    Computed(Compute),
    /// That answer, once queries with this tag have come so often, over whichever connection.
    After { tag: &'static str, times: usize, then: Box<Self> },
    /// Nothing, for as long as the client waits.
    Nothing,
    /// The end of the connection, in the middle of a token.
    Gone,
}

/// Answers a query by its text.
#[derive(Clone)]
pub(crate) struct Compute(pub(crate) Arc<dyn Fn(&str) -> Answer + Send + Sync>);

impl std::fmt::Debug for Compute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Compute")
    }
}

/// A result. Every column is `bigint` or `nvarchar`, as all queries of iostall are.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResultSet {
    pub(crate) columns: Vec<(String, Type)>,
    pub(crate) rows: Vec<Vec<Option<Cell>>>,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    BigInt,
    NVarChar,
}

/// A value that is not NULL.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    Number(i64),
    Text(String),
}

/// Columns that hold text; all others are numbers.
const TEXTS: [&str; 32] = [
    "subject",
    "value",
    "BackupSetGUID",
    "DifferentialBaseGUID",
    "since",
    "logged",
    "said",
    "Type",
    "created",
    "physical_name",
    "MediaName",
    "ServerName",
    "BackupName",
    "BackupStartDate",
    "BackupFinishDate",
    "file",
    "database",
    "name",
    "identity",
    "volume",
    "volume_id",
    "machine",
    "instance",
    "message",
    "filter",
    "state",
    "finished",
    "first_lsn",
    "last_lsn",
    "LogicalName",
    "PhysicalName",
    "DatabaseName",
];

impl ResultSet {
    /// Reads a hand-written result set: a note, the names of the columns, the rows. `\N` is NULL.
    pub(crate) fn from_tsv(text: &str) -> Self {
        let mut lines = text.lines().skip(1);
        let names = lines.next().expect("names of columns").split('\t');
        // `edition` is a number in one query and a name in another.
        let rows: Vec<Vec<&str>> = lines.map(|line| line.split('\t').collect()).collect();
        let is_name = |place: usize| {
            rows.iter()
                .any(|row| row.get(place).is_some_and(|cell| *cell != "\\N" && cell.parse::<i64>().is_err()))
        };
        let kind = |place: usize, name: &str| {
            if TEXTS.contains(&name) || is_name(place) { Type::NVarChar } else { Type::BigInt }
        };
        let columns: Vec<_> =
            names.enumerate().map(|(place, name)| (name.to_owned(), kind(place, name))).collect();
        let cell = |(text, (_, kind)): (&str, &(String, Type))| match (text, kind) {
            ("\\N", _) => None,
            (text, Type::NVarChar) => Some(Cell::Text(text.to_owned())),
            (number, Type::BigInt) => Some(Cell::Number(number.parse().expect("a number"))),
        };
        let rows = rows.into_iter().map(|row| row.into_iter().zip(&columns).map(cell).collect()).collect();
        Self { columns, rows }
    }
}

/// Both directions of a connection, encrypted or not.
pub(crate) trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// Puts encryption over a connection whose handshake travels in pre-login packets.
pub(crate) type Encrypt = Arc<dyn Fn(Handshake) -> io::Result<Box<dyn Stream>> + Send + Sync>;

/// Answers a Kerberos ticket, or refuses it.
pub(crate) type Accept = Arc<dyn Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync>;

/// What the threads of a server share.
#[derive(Default)]
struct Shared {
    answers: HashMap<&'static str, Answer>,
    /// Answers that are given before those, one each.
    first_answers: HashMap<&'static str, VecDeque<Answer>>,
    /// How often queries with a tag came, and who waits for more of them.
    counts: HashMap<String, usize>,
    changed: Arc<Condvar>,
    /// Every whole number that came as a value for a query.
    values: Vec<i64>,
    /// The last request with its tag, as it came.
    requests: HashMap<String, Vec<u8>>,
    connections: Vec<TcpStream>,
    /// Logins that were let in, as `application@database`.
    logins: Vec<String>,
    /// Where those are sent on to that log in.
    redirect: Option<u16>,
    /// The access token that is let in, and every one that was sent.
    token: Option<String>,
    tokens: Vec<String>,
    accept: Option<Accept>,
    is_over: bool,
}

/// A server on a free port, until it is dropped.
pub(crate) struct Server {
    pub(crate) port: u16,
    shared: Arc<Mutex<Shared>>,
    thread: Option<JoinHandle<()>>,
}

/// The one login that is let in.
pub(crate) const USER: &str = "iostall";
/// Its password: not all of it is ASCII, because passwords travel as UTF-16.
pub(crate) const PASSWORD: &str = "s3cret€";

impl Server {
    /// Begins to listen. Without `encrypt` the server says that it cannot encrypt.
    pub(crate) fn start(encrypt: Option<Encrypt>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Mutex::new(Shared::default()));
        // The files that tests have names for bring them along.
        shared.lock().unwrap().answers.insert("iostall:names", Answer::Rows(ResultSet::default()));
        let theirs = shared.clone();
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut all = theirs.lock().unwrap_or_else(PoisonError::into_inner);
                if all.is_over {
                    return;
                }
                all.connections.push(stream.try_clone().unwrap());
                drop(all);
                let (shared, encrypt) = (theirs.clone(), encrypt.clone());
                std::thread::spawn(move || {
                    let end = stream.try_clone();
                    // A connection that breaks is the client's to notice; the test sees what the client made of it.
                    let _ = serve(stream, encrypt.as_ref(), &shared);
                    // The list above holds it open.
                    let _ = end.and_then(|end| end.shutdown(Shutdown::Both));
                });
            }
        });
        Self { port, shared, thread: Some(thread) }
    }

    fn with<T>(&self, change: impl FnOnce(&mut Shared) -> T) -> T {
        change(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Answers queries with this tag so from now on.
    pub(crate) fn answer(&self, tag: &'static str, answer: Answer) {
        self.with(|shared| shared.answers.insert(tag, answer));
    }

    /// Answers queries with this tag with a hand-written result set.
    pub(crate) fn answer_with(&self, tag: &'static str, tsv: &str) {
        self.answer(tag, Answer::Rows(ResultSet::from_tsv(tsv)));
    }

    /// Answers the next query with this tag with a hand-written result set, and those after it as ever.
    pub(crate) fn answer_once(&self, tag: &'static str, tsv: &str) {
        self.first(tag, Answer::Rows(ResultSet::from_tsv(tsv)));
    }

    /// Answers one more query with this tag so, before those that are answered as ever.
    pub(crate) fn first(&self, tag: &'static str, answer: Answer) {
        self.with(|shared| shared.first_answers.entry(tag).or_default().push_back(answer));
    }

    /// How many queries with this tag have come.
    pub(crate) fn count(&self, tag: &str) -> usize {
        self.with(|shared| shared.counts.get(tag).copied().unwrap_or(0))
    }

    /// Waits until so many queries with this tag have come.
    pub(crate) fn wait_for(&self, tag: &str, times: usize) {
        wait_for(&self.shared, tag, times);
    }

    /// Sends those that log in on to another port, as the gateway of Azure does.
    pub(crate) fn redirect_to(&self, port: u16) {
        self.with(|shared| shared.redirect = Some(port));
    }

    /// Lets in who sends this access token.
    pub(crate) fn let_in_with(&self, token: &str) {
        self.with(|shared| shared.token = Some(token.to_owned()));
    }

    /// Lets in who has a Kerberos ticket that is accepted.
    pub(crate) fn let_in_tickets(&self, accept: Accept) {
        self.with(|shared| shared.accept = Some(accept));
    }

    /// The access tokens that were sent so far.
    pub(crate) fn tokens(&self) -> Vec<String> {
        self.with(|shared| shared.tokens.clone())
    }

    /// Whether `number` ever came as a value for a query.
    pub(crate) fn asked_with(&self, number: i64) -> bool {
        self.with(|shared| shared.values.contains(&number))
    }

    /// Whether the last query with this tag has `part` in its text.
    pub(crate) fn was_asked(&self, tag: &str, part: &str) -> bool {
        self.with(|shared| shared.requests.get(tag).is_some_and(|request| tokens::contains(request, part)))
    }

    /// Ends all connections, as a restart does.
    pub(crate) fn end_connections(&self) {
        self.with(|shared| {
            for connection in shared.connections.drain(..) {
                // One that is closed already needs no closing.
                let _ = connection.shutdown(Shutdown::Both);
            }
        });
    }

    /// The logins that were let in so far, as `application@database`.
    pub(crate) fn logins(&self) -> Vec<String> {
        self.with(|shared| shared.logins.clone())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.with(|shared| {
            shared.is_over = true;
            shared.changed.notify_all();
        });
        self.end_connections();
        // Wakes the thread that listens; if that is gone, so is what would be woken.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Kinds of packet.
const BATCH: u8 = 0x01;
const RPC: u8 = 0x03;
const RESPONSE: u8 = 0x04;
const LOGIN: u8 = 0x10;
pub(crate) const PRELOGIN: u8 = 0x12;

/// The whole size of a packet that both sides agree on before anything is negotiated.
pub(crate) const PACKET_SIZE: usize = 4096;
pub(crate) const HEADER_SIZE: usize = 8;

/// Reads a message, however many packets it takes: its kind and what is in it.
fn read_message(stream: &mut dyn Stream) -> io::Result<(u8, Vec<u8>)> {
    let mut message = Vec::new();
    loop {
        let mut header = [0; HEADER_SIZE];
        stream.read_exact(&mut header)?;
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let begin = message.len();
        message.resize(begin + length.saturating_sub(HEADER_SIZE), 0);
        stream.read_exact(&mut message[begin..])?;
        // Bit 0 of the status: the last packet of the message.
        if header[1] & 1 == 1 {
            return Ok((header[0], message));
        }
    }
}

pub(crate) fn write_packet(stream: &mut dyn Write, kind: u8, is_last: bool, part: &[u8]) -> io::Result<()> {
    let length = u16::try_from(part.len() + HEADER_SIZE).expect("a packet").to_be_bytes();
    let mut packet = vec![kind, u8::from(is_last), length[0], length[1], 0, 51, 1, 0];
    packet.extend_from_slice(part);
    stream.write_all(&packet)?;
    stream.flush()
}

/// Writes a response, in as many packets as it takes.
fn respond(stream: &mut dyn Stream, tokens: &[u8]) -> io::Result<()> {
    let parts: Vec<&[u8]> = tokens.chunks(PACKET_SIZE - HEADER_SIZE).collect();
    for (index, part) in parts.iter().enumerate() {
        write_packet(stream, RESPONSE, index + 1 == parts.len(), part)?;
    }
    Ok(())
}

fn protocol(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// Writes rows until the client has had enough.
fn pour(stream: &mut dyn Stream, set: &ResultSet) -> io::Result<()> {
    /// What follows the rows of a result.
    const DONE_SIZE: usize = 13;
    let without_end = |set: &ResultSet| {
        let mut whole = tokens::result(set);
        whole.truncate(whole.len() - DONE_SIZE);
        whole
    };
    let columns = without_end(&ResultSet { columns: set.columns.clone(), rows: Vec::new() });
    let rows = without_end(set)[columns.len()..].to_vec();
    write_packet(stream, RESPONSE, false, &columns)?;
    let packet = rows.repeat((PACKET_SIZE - HEADER_SIZE) / rows.len());
    while write_packet(stream, RESPONSE, false, &packet).is_ok() {}
    Ok(())
}

/// Why a login is not let in.
fn refusal(login: &tokens::Login, is_encrypted: bool, shared: &Mutex<Shared>) -> Option<String> {
    let mut all = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(token) = &login.token else {
        let is_known = login.user == USER && login.password == PASSWORD;
        let is_let_in = is_known && login.version >= tokens::VERSION_7_3;
        return (!is_let_in).then(|| format!("Login failed for user '{}'.", login.user));
    };
    all.tokens.push(token.clone());
    let is_alone = login.user.is_empty() && login.password.is_empty();
    let is_let_in = is_encrypted && is_alone && all.token.as_ref() == Some(token);
    // No server repeats a token, but a client must not rely on it.
    (!is_let_in).then(|| format!("Login failed for user '<token-identified principal>'. {token}"))
}

/// Waits until so many queries with `tag` have come, or the server is over.
fn wait_for(shared: &Mutex<Shared>, tag: &str, times: usize) {
    let mut all = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let changed = Arc::clone(&all.changed);
    while !all.is_over && all.counts.get(tag).copied().unwrap_or(0) < times {
        all = changed.wait(all).unwrap_or_else(PoisonError::into_inner);
    }
}

/// One connection, from pre-login to its end.
fn serve(mut raw: TcpStream, encrypt: Option<&Encrypt>, shared: &Mutex<Shared>) -> io::Result<()> {
    let (kind, prelogin) = read_message(&mut raw)?;
    if kind != PRELOGIN {
        return Err(protocol("a connection begins with a pre-login"));
    }
    write_packet(&mut raw, RESPONSE, true, &tokens::prelogin(encrypt.is_some(), &prelogin))?;
    let mut stream: Box<dyn Stream> = match encrypt {
        Some(encrypt) => encrypt(Handshake::new(raw))?,
        None => Box::new(raw),
    };
    let (kind, login) = read_message(stream.as_mut())?;
    let login = tokens::Login::read(&login).filter(|_| kind == LOGIN);
    let login = login.ok_or_else(|| protocol("a login that cannot be read"))?;
    if let Some(ticket) = &login.ticket {
        let accept = shared.lock().unwrap_or_else(PoisonError::into_inner).accept.clone();
        let Some(answer) = accept.and_then(|accept| accept(ticket)) else {
            let text = "Login failed. The login is from an untrusted domain.".to_owned();
            return respond(stream.as_mut(), &tokens::errors(&[(18_452, text)]));
        };
        // The client has nothing to add to it.
        respond(stream.as_mut(), &tokens::ticket_accepted(&answer))?;
    } else if let Some(refusal) = refusal(&login, encrypt.is_some(), shared) {
        return respond(stream.as_mut(), &tokens::errors(&[(18_456, refusal)]));
    }
    let name = format!("{}@{}", login.application, login.database);
    shared.lock().unwrap_or_else(PoisonError::into_inner).logins.push(name);
    let redirect = shared.lock().unwrap_or_else(PoisonError::into_inner).redirect;
    respond(stream.as_mut(), &tokens::login_accepted(&login, redirect))?;
    loop {
        let (kind, request) = read_message(stream.as_mut())?;
        if kind != BATCH && kind != RPC {
            return Err(protocol("a request that is neither a batch nor a call"));
        }
        let tag = tokens::tag(&request).ok_or_else(|| protocol("a query without a tag"))?;
        let mut all = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if kind == RPC {
            all.values.extend(tokens::numbers(&request));
        }
        let text = tokens::text(&request);
        all.requests.insert(tag.clone(), request);
        *all.counts.entry(tag.clone()).or_default() += 1;
        all.changed.notify_all();
        let first = all.first_answers.get_mut(tag.as_str()).and_then(VecDeque::pop_front);
        let mut answer = first.or_else(|| all.answers.get(tag.as_str()).cloned());
        drop(all);
        while let Some(Answer::After { tag, times, then }) = answer {
            wait_for(shared, tag, times);
            answer = Some(*then);
        }
        if let Some(Answer::Computed(compute)) = answer {
            answer = Some(compute.0(&text));
        }
        match answer {
            Some(Answer::Rows(rows)) => respond(stream.as_mut(), &tokens::result(&rows))?,
            Some(Answer::Errors(errors)) => respond(stream.as_mut(), &tokens::errors(&errors))?,
            Some(Answer::Messages(messages)) => respond(stream.as_mut(), &tokens::messages(&messages))?,
            Some(Answer::Endless(set)) => return pour(stream.as_mut(), &set),
            // Reading waits for the client to give up and go; what was to come after others has come.
            Some(Answer::Nothing | Answer::After { .. } | Answer::Computed(_)) => {}
            Some(Answer::Gone) => {
                let half = tokens::result(&ResultSet::default());
                return write_packet(stream.as_mut(), RESPONSE, false, &half[..half.len() / 2]);
            }
            None => {
                let text = format!("Could not find stored procedure '{tag}'.");
                respond(stream.as_mut(), &tokens::errors(&[(2812, text)]))?;
            }
        }
    }
}
