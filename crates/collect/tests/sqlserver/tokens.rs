//! The tokens of TDS 7.4 that the mock server sends, and the two messages of which it reads more than their end.
//! Numbers of tokens and layouts are those of MS-TDS, section 2.2.

use super::server::{Cell, ResultSet, Type};

/// TDS 7.3 as a client names it in its login.
pub(crate) const VERSION_7_3: u32 = 0x7300_0000;
/// TDS 7.4, which the server answers with.
const VERSION_7_4: u32 = 0x7400_0004;

const COLUMNS: u8 = 0x81;
const ERROR: u8 = 0xAA;
const INFO: u8 = 0xAB;
const LOGIN_ACK: u8 = 0xAD;
const ROW: u8 = 0xD1;
const ROW_WITH_NULLS: u8 = 0xD2;
const ENVIRONMENT: u8 = 0xE3;
const DONE: u8 = 0xFD;
/// A change of the environment: to another server.
const ROUTING: u8 = 20;
/// The answer to the extensions of a login.
const FEATURES: u8 = 0xAE;
/// The server's part of Kerberos.
const SSPI: u8 = 0xED;
/// The extension that holds an access token, and the end of all extensions.
const FEDAUTH: u8 = 0x02;
const NO_MORE: u8 = 0xFF;
/// The option of a pre-login that says whether an access token will follow.
const FEDAUTH_REQUIRED: u8 = 0x06;

const DONE_FINAL: u16 = 0x00;
const DONE_ERROR: u16 = 0x02;
const DONE_COUNT: u16 = 0x10;

/// Latin1_General_CI_AS, as a column of text carries it.
const COLLATION: [u8; 5] = [0x09, 0x04, 0xD0, 0x00, 0x00];

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn short(length: usize) -> [u8; 2] {
    u16::try_from(length).expect("a short length").to_le_bytes()
}

/// Text behind its length in characters, one byte wide.
fn put_name(tokens: &mut Vec<u8>, text: &str) {
    tokens.push(u8::try_from(text.encode_utf16().count()).expect("a short name"));
    tokens.extend(utf16(text));
}

/// A token whose body stands behind its length.
fn put_sized(tokens: &mut Vec<u8>, token: u8, body: &[u8]) {
    tokens.push(token);
    tokens.extend(short(body.len()));
    tokens.extend_from_slice(body);
}

fn put_done(tokens: &mut Vec<u8>, status: u16, rows: usize) {
    tokens.push(DONE);
    tokens.extend(status.to_le_bytes());
    tokens.extend([0, 0]);
    tokens.extend(u64::try_from(rows).expect("a count").to_le_bytes());
}

/// The server's half of the pre-login: its version, whether it encrypts everything or nothing, and whether it expects an
/// access token, as it does if the client says that it has one.
pub(crate) fn prelogin(encrypts: bool, client: &[u8]) -> Vec<u8> {
    let encryption = if encrypts { 1 } else { 2 };
    let mut options: Vec<(u8, Vec<u8>)> = vec![(0, vec![15, 0, 0x10, 0x00, 0, 0]), (1, vec![encryption])];
    let mut offered = client.chunks(5).map(|option| option[0]).take_while(|option| *option != NO_MORE);
    if offered.any(|option| option == FEDAUTH_REQUIRED) {
        options.push((FEDAUTH_REQUIRED, vec![1]));
    }
    // Each option takes five bytes, then the end mark; the data follows.
    let mut place = options.len() * 5 + 1;
    let mut message = Vec::new();
    for (option, data) in &options {
        message.push(*option);
        message.extend(u16::try_from(place).expect("a short message").to_be_bytes());
        message.extend(u16::try_from(data.len()).expect("a short option").to_be_bytes());
        place += data.len();
    }
    message.push(NO_MORE);
    message.extend(options.into_iter().flat_map(|(_, data)| data));
    message
}

/// What is sent to a client that is let in, and sent on to a port of this machine where one is given.
pub(crate) fn login_accepted(login: &Login, redirect: Option<u16>) -> Vec<u8> {
    let mut tokens = Vec::new();
    let mut change = vec![1];
    put_name(&mut change, &login.database);
    put_name(&mut change, "master");
    put_sized(&mut tokens, ENVIRONMENT, &change);
    let mut ack = vec![1];
    ack.extend(VERSION_7_4.to_be_bytes());
    put_name(&mut ack, "Microsoft SQL Server");
    ack.extend([15, 0, 0x10, 0x00]);
    put_sized(&mut tokens, LOGIN_ACK, &ack);
    if login.token.is_some() {
        tokens.extend([FEATURES, FEDAUTH, 0, 0, 0, 0, NO_MORE]);
    }
    if let Some(port) = redirect {
        let host = "127.0.0.1";
        let mut routing = vec![0];
        routing.extend(port.to_le_bytes());
        routing.extend(short(host.len()));
        routing.extend(utf16(host));
        let mut change = vec![ROUTING];
        change.extend(short(routing.len()));
        change.extend(routing);
        change.extend(short(0));
        put_sized(&mut tokens, ENVIRONMENT, &change);
    }
    put_done(&mut tokens, DONE_FINAL, 0);
    tokens
}

/// The server's answer to a Kerberos ticket.
pub(crate) fn ticket_accepted(answer: &[u8]) -> Vec<u8> {
    let mut tokens = Vec::new();
    put_sized(&mut tokens, SSPI, answer);
    tokens
}

/// Errors as a server sends them: one after the other, and the end of the request.
pub(crate) fn errors(errors: &[(u32, String)]) -> Vec<u8> {
    let mut tokens = Vec::new();
    for (number, text) in errors {
        put_said(&mut tokens, (ERROR, 14), *number, text);
    }
    put_done(&mut tokens, DONE_ERROR, 0);
    tokens
}

/// Messages that are no errors, and the end of the request.
pub(crate) fn messages(messages: &[(u32, String)]) -> Vec<u8> {
    let mut tokens = Vec::new();
    for (number, text) in messages {
        put_said(&mut tokens, (INFO, 0), *number, text);
    }
    put_done(&mut tokens, DONE_FINAL, 0);
    tokens
}

/// An error or a message, with its severity.
fn put_said(tokens: &mut Vec<u8>, (token, severity): (u8, u8), number: u32, text: &str) {
    let mut body = number.to_le_bytes().to_vec();
    body.extend([1, severity]);
    body.extend(short(text.encode_utf16().count()));
    body.extend(utf16(text));
    put_name(&mut body, "MOCK");
    put_name(&mut body, "");
    body.extend(1_u32.to_le_bytes());
    put_sized(tokens, token, &body);
}

/// A result: what its columns are, its rows, how many there were.
pub(crate) fn result(set: &ResultSet) -> Vec<u8> {
    let mut tokens = vec![COLUMNS];
    tokens.extend(short(set.columns.len()));
    for (name, kind) in &set.columns {
        // No type of a user's; may be NULL.
        tokens.extend([0, 0, 0, 0, 1, 0]);
        match kind {
            Type::BigInt => tokens.extend([0x26, 8]),
            Type::NVarChar => {
                tokens.push(0xE7);
                tokens.extend(short(8000));
                tokens.extend(COLLATION);
            }
        }
        put_name(&mut tokens, name);
    }
    for row in &set.rows {
        put_row(&mut tokens, row);
    }
    put_done(&mut tokens, DONE_COUNT, set.rows.len());
    tokens
}

/// A row; one with NULLs begins with a map of them, as servers send it since 7.3.
fn put_row(tokens: &mut Vec<u8>, row: &[Option<Cell>]) {
    if row.iter().any(Option::is_none) {
        let mut map = vec![0_u8; row.len().div_ceil(8)];
        for (index, _) in row.iter().enumerate().filter(|(_, cell)| cell.is_none()) {
            map[index / 8] |= 1 << (index % 8);
        }
        tokens.push(ROW_WITH_NULLS);
        tokens.extend(map);
    } else {
        tokens.push(ROW);
    }
    for cell in row.iter().flatten() {
        match cell {
            Cell::Number(number) => {
                tokens.push(8);
                tokens.extend(number.to_le_bytes());
            }
            Cell::Text(text) => {
                let text = utf16(text);
                tokens.extend(short(text.len()));
                tokens.extend(text);
            }
        }
    }
}

/// What a client says of itself when it logs in.
pub(crate) struct Login {
    pub(crate) version: u32,
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) application: String,
    pub(crate) database: String,
    /// An access token. The client repeats that the server expects one.
    pub(crate) token: Option<String>,
    /// A Kerberos ticket, as GSSAPI wraps it.
    pub(crate) ticket: Option<Vec<u8>>,
}

/// Where the login keeps place and length of its texts.
const USER_AT: usize = 40;
const PASSWORD_AT: usize = 44;
const APPLICATION_AT: usize = 48;
const DATABASE_AT: usize = 68;
const TICKET_AT: usize = 78;
/// Where it says that it has extensions, and where it says where they are.
const FLAGS_AT: usize = 27;
const HAS_EXTENSIONS: u8 = 0x10;
const EXTENSIONS_AT: usize = 56;
/// The options of the extension: the library is that of security tokens, and the server's expectation is repeated.
const SECURITY_TOKEN_EXPECTED: u8 = 0x03;

impl Login {
    /// Reads the login; `None` where it points outside of itself.
    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        // A password is hidden from the eye, not from anybody who knows the two steps.
        let uncovered = |byte: u8| (byte ^ 0xA5).rotate_left(4);
        let number =
            |at: usize| Some(usize::from(u16::from_le_bytes([*message.get(at)?, *message.get(at + 1)?])));
        let text = |at: usize, reveal: bool| {
            let (begin, characters) = (number(at)?, number(at + 2)?);
            let bytes = message.get(begin..begin + 2 * characters)?;
            let bytes: Vec<u8> =
                bytes.iter().map(|byte| if reveal { uncovered(*byte) } else { *byte }).collect();
            let units: Vec<u16> =
                bytes.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
            String::from_utf16(&units).ok()
        };
        let (begin, length) = (number(TICKET_AT)?, number(TICKET_AT + 2)?);
        let ticket = message.get(begin..begin + length);
        Some(Self {
            version: u32::from_le_bytes(message.get(4..8)?.try_into().ok()?),
            user: text(USER_AT, false)?,
            password: text(PASSWORD_AT, true)?,
            application: text(APPLICATION_AT, false)?,
            database: text(DATABASE_AT, false)?,
            ticket: ticket.filter(|bytes| !bytes.is_empty()).map(<[u8]>::to_vec),
            token: if message.get(FLAGS_AT)? & HAS_EXTENSIONS == 0 { None } else { Some(token(message)?) },
        })
    }
}

/// The access token in the first extension of a login.
fn token(message: &[u8]) -> Option<String> {
    let number = |at: usize| {
        let bytes = message.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    };
    let place = u16::from_le_bytes(message.get(EXTENSIONS_AT..EXTENSIONS_AT + 2)?.try_into().ok()?);
    let begin = number(usize::from(place))?;
    let [FEDAUTH, _, _, _, _, SECURITY_TOKEN_EXPECTED] = message.get(begin..begin + 6)? else { return None };
    let length = number(begin + 6)?;
    // Nothing follows the token but the end: no nonce was asked for.
    let is_whole = number(begin + 1)? == length + 5 && *message.get(begin + 10 + length)? == NO_MORE;
    let bytes = message.get(begin + 10..begin + 10 + length).filter(|_| is_whole)?;
    let units: Vec<u16> = bytes.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16(&units).ok()
}

/// The tag of the query in a request, be it a batch or a call of `sp_executesql`.
pub(crate) fn tag(request: &[u8]) -> Option<String> {
    let (begin, end) = (utf16("/* "), utf16(" */"));
    let find = |what: &[u8], from: usize| {
        request[from..].windows(what.len()).position(|part| part == what).map(|place| from + place)
    };
    let from = find(&begin, 0)? + begin.len();
    let to = find(&end, from)?;
    let units: Vec<u16> =
        request[from..to].chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16(&units).ok()
}

/// A request from its tag on, as far as it is text.
pub(crate) fn text(request: &[u8]) -> String {
    let begin = utf16("/* ");
    let from = request.windows(begin.len()).position(|part| part == begin).unwrap_or(request.len());
    let units: Vec<u16> =
        request[from..].chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units)
}

pub(crate) fn contains(request: &[u8], part: &str) -> bool {
    let part = utf16(part);
    request.windows(part.len()).any(|piece| piece == part)
}

/// The whole numbers among the values of a call: each a nullable integer of eight bytes that is not NULL.
pub(crate) fn numbers(request: &[u8]) -> Vec<i64> {
    const BIGINT: [u8; 3] = [0x26, 8, 8];
    let places = (0..request.len()).filter(|place| request[*place..].starts_with(&BIGINT));
    places
        .filter_map(|place| request.get(place + 3..place + 11))
        .map(|bytes| i64::from_le_bytes(bytes.try_into().expect("eight bytes")))
        .collect()
}
