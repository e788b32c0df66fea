//! A connection to MariaDB or MySQL: the login, and statements whose results come as text.
//!
//! Passwords go by `mysql_native_password` and `caching_sha2_password`, in the clear only where the connection is encrypted or a socket.
//! A key that an unknown server offers is not used: whoever took the port could read the password. Files of this host are never handed over, whatever the server asks for.

use std::io;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::UnixStream;
use tokio_rustls::TlsConnector;

use super::error::MysqlError;
use super::password::{self, Plugin};
use super::wire::{Fields, PACKET_BYTES_MAX, Packets, Stream, put_text};
use crate::remote::reach;

/// What this client can do, in the bits of the protocol.
mod can {
    pub(super) const LONG_PASSWORD: u32 = 1;
    pub(super) const LONG_FLAG: u32 = 1 << 2;
    pub(super) const CONNECT_WITH_DB: u32 = 1 << 3;
    pub(super) const PROTOCOL_41: u32 = 1 << 9;
    pub(super) const SSL: u32 = 1 << 11;
    pub(super) const TRANSACTIONS: u32 = 1 << 13;
    pub(super) const SECURE_CONNECTION: u32 = 1 << 15;
    /// A procedure may return rows.
    pub(super) const MULTI_RESULTS: u32 = 1 << 17;
    pub(super) const PLUGIN_AUTH: u32 = 1 << 19;
    pub(super) const PLUGIN_AUTH_LENENC: u32 = 1 << 21;

    pub(super) const ALWAYS: u32 = LONG_PASSWORD
        | LONG_FLAG
        | PROTOCOL_41
        | TRANSACTIONS
        | SECURE_CONNECTION
        | MULTI_RESULTS
        | PLUGIN_AUTH
        | PLUGIN_AUTH_LENENC;
}

/// utf8mb4_general_ci, which all servers since 5.5 know.
const UTF8MB4: u8 = 45;
const PROTOCOL: u8 = 10;
const COM_QUIT: &[u8] = &[1];
const COM_QUERY: u8 = 3;
const MORE_RESULTS: u16 = 8;
/// As many as a table may have.
const COLUMNS_MAX: u64 = 4096;
/// A name has 64 characters.
const NAME_BYTES_MAX: usize = 1024;
const VALUE_BYTES: u64 = 24;
/// A login is a handful of packets.
const LOGIN_PACKETS_MAX: usize = 16;

/// The first bytes of answers.
const OK: u8 = 0;
const MORE_DATA: u8 = 1;
const LOCAL_FILE: u8 = 0xfb;
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;

pub(super) enum Place<'a> {
    Socket(&'a str),
    Host { name: &'a str, port: u16 },
}

pub(super) struct Account<'a> {
    pub(super) user: &'a str,
    pub(super) password: &'a str,
    pub(super) database: &'a str,
}

/// A row of a result, as text.
#[derive(Debug)]
pub struct Row {
    names: Arc<[String]>,
    values: Vec<Option<Vec<u8>>>,
}

impl Row {
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// `None` for NULL, and where there is no such column.
    pub fn bytes(&self, index: usize) -> Option<&[u8]> {
        self.values.get(index)?.as_deref()
    }

    pub fn text(&self, index: usize) -> Option<String> {
        self.bytes(index).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// Also 0 and 1 for false and true.
    pub fn number(&self, index: usize) -> Option<u64> {
        std::str::from_utf8(self.bytes(index)?).ok()?.parse().ok()
    }

    /// What it takes of memory, NULLs too.
    pub fn size_bytes(&self) -> u64 {
        let of = |value: &Option<Vec<u8>>| VALUE_BYTES + value.as_ref().map_or(0, |value| value.len() as u64);
        self.values.iter().map(of).sum()
    }
}

/// What a statement answered.
#[derive(Debug, Default)]
pub struct Answer {
    /// False for a statement that returns no rows at all.
    pub has_columns: bool,
    pub rows: Vec<Row>,
}

pub struct Conn(Packets);

impl Conn {
    /// Logs in. With `tls` the connection is encrypted before anything is said, or refused.
    pub(super) async fn open(
        place: Place<'_>,
        account: &Account<'_>,
        tls: Option<Arc<ClientConfig>>,
    ) -> Result<Self, MysqlError> {
        let stream: Box<dyn Stream> = match place {
            Place::Socket(path) => Box::new(UnixStream::connect(path).await?),
            Place::Host { name, port } => Box::new(reach(name, port).await?),
        };
        let mut packets = Packets { stream, sequence: 0 };
        let hello = Hello::of(&packets.read().await?)?;
        let mut flags = can::ALWAYS;
        if !account.database.is_empty() {
            flags |= can::CONNECT_WITH_DB;
        }
        let mut is_private = matches!(place, Place::Socket(_));
        if let (Some(tls), Place::Host { name, .. }) = (tls, place) {
            if hello.flags & can::SSL == 0 {
                return Err(MysqlError::NoTls);
            }
            flags |= can::SSL;
            packets.write(&head(flags)).await?;
            let name = ServerName::try_from(name.to_owned()).map_err(io::Error::other)?;
            let stream = TlsConnector::from(tls).connect(name, packets.stream).await?;
            packets = Packets { stream: Box::new(stream), sequence: packets.sequence };
            is_private = true;
        }
        log_in(&mut packets, flags, &hello, account, is_private).await?;
        Ok(Self(packets))
    }

    /// The rows of `statement`; `take` sees each before it is kept, and may refuse it.
    pub async fn query_within(
        &mut self,
        statement: &str,
        mut take: impl FnMut(&Row) -> io::Result<()>,
    ) -> Result<Answer, MysqlError> {
        self.0.begin_command();
        let mut packet = vec![COM_QUERY];
        packet.extend_from_slice(statement.as_bytes());
        self.0.write(&packet).await?;
        let mut first = None;
        loop {
            let (answer, has_more) = self.result(&mut take).await?;
            first.get_or_insert(answer);
            if !has_more {
                return Ok(first.unwrap_or_default());
            }
        }
    }

    pub async fn query(&mut self, statement: &str) -> Result<Answer, MysqlError> {
        self.query_within(statement, |_| Ok(())).await
    }

    /// One result, and whether another one follows.
    async fn result(
        &mut self,
        take: &mut impl FnMut(&Row) -> io::Result<()>,
    ) -> Result<(Answer, bool), MysqlError> {
        let packet = self.0.read().await?;
        let mut fields = Fields(&packet);
        match packet.first() {
            Some(&OK) => {
                fields.byte()?;
                let (_rows, _last_id) = (fields.number()?, fields.number()?);
                return Ok((Answer::default(), fields.number16()? & MORE_RESULTS != 0));
            }
            Some(&ERROR) => return Err(error(&packet)),
            Some(&LOCAL_FILE) => {
                return Err(MysqlError::Protocol("it asks for a file of this host, and gets none"));
            }
            _ => {}
        }
        let columns = fields.number()?;
        if columns > COLUMNS_MAX {
            return Err(MysqlError::Protocol("a result has more than 4096 columns"));
        }
        let mut names = Vec::new();
        for _ in 0..columns {
            names.push(column_name(&self.0.read().await?)?);
        }
        if end(&self.0.read().await?).is_none() {
            return Err(MysqlError::Protocol("the columns have no end"));
        }
        let names: Arc<[String]> = names.into();
        let mut rows = Vec::new();
        loop {
            let packet = self.0.read().await?;
            if let Some(status) = end(&packet) {
                return Ok((Answer { has_columns: true, rows }, status & MORE_RESULTS != 0));
            }
            if packet.first() == Some(&ERROR) {
                return Err(error(&packet));
            }
            let mut fields = Fields(&packet);
            let values = names.iter().map(|_| Ok(fields.text()?.map(<[u8]>::to_vec)));
            let row = Row { values: values.collect::<Result<_, MysqlError>>()?, names: names.clone() };
            take(&row)?;
            rows.push(row);
        }
    }

    /// Says farewell. Nothing depends on it.
    pub async fn disconnect(mut self) {
        self.0.begin_command();
        let _ = self.0.write(COM_QUIT).await;
    }
}

/// What a server says first.
struct Hello {
    flags: u32,
    nonce: Vec<u8>,
    method: String,
}

impl Hello {
    fn of(packet: &[u8]) -> Result<Self, MysqlError> {
        if packet.first() == Some(&ERROR) {
            return Err(error(packet));
        }
        let mut fields = Fields(packet);
        if fields.byte()? != PROTOCOL {
            return Err(MysqlError::Protocol("it does not begin with version 10"));
        }
        fields.word();
        fields.bytes(4)?;
        let mut nonce = fields.bytes(8)?.to_vec();
        fields.byte()?;
        let low = fields.number16()?;
        fields.bytes(3)?;
        let flags = u32::from(low) | (u32::from(fields.number16()?) << 16);
        fields.bytes(11)?;
        nonce.extend_from_slice(fields.bytes(12)?);
        fields.byte()?;
        Ok(Self { flags, nonce, method: String::from_utf8_lossy(fields.word()).into_owned() })
    }
}

/// What a client says of itself, with and before its account.
fn head(flags: u32) -> Vec<u8> {
    let mut packet = flags.to_le_bytes().to_vec();
    packet.extend_from_slice(&u32::try_from(PACKET_BYTES_MAX).unwrap_or(u32::MAX).to_le_bytes());
    packet.push(UTF8MB4);
    packet.extend_from_slice(&[0; 23]);
    packet
}

async fn log_in(
    packets: &mut Packets,
    flags: u32,
    hello: &Hello,
    account: &Account<'_>,
    is_private: bool,
) -> Result<(), MysqlError> {
    // A server proposes its own standard, and says what the account needs if that is another one.
    let mut plugin = Plugin::of(&hello.method).unwrap_or(Plugin::Native);
    let mut nonce = hello.nonce.clone();
    let mut packet = head(flags);
    packet.extend_from_slice(account.user.as_bytes());
    packet.push(0);
    put_text(&mut packet, &plugin.answer(account.password, &nonce));
    if flags & can::CONNECT_WITH_DB != 0 {
        packet.extend_from_slice(account.database.as_bytes());
        packet.push(0);
    }
    packet.extend_from_slice(plugin.name().as_bytes());
    packet.push(0);
    packets.write(&packet).await?;
    for _ in 0..LOGIN_PACKETS_MAX {
        let packet = packets.read().await?;
        let mut fields = Fields(&packet);
        match fields.byte()? {
            OK => return Ok(()),
            ERROR => return Err(error(&packet)),
            END => {
                let method = String::from_utf8_lossy(fields.word()).into_owned();
                if method.is_empty() {
                    return Err(MysqlError::NoMethod);
                }
                plugin = Plugin::of(&method).ok_or(MysqlError::Method(method))?;
                nonce = fields.0.get(..password::NONCE_BYTES).unwrap_or(fields.0).to_vec();
                packets.write(&plugin.answer(account.password, &nonce)).await?;
            }
            MORE_DATA if plugin == Plugin::CachingSha2 => match fields.0 {
                // The server knows the password already.
                [3] => {}
                [4] if is_private => packets.write(&password::in_the_clear(account.password)).await?,
                [4] => return Err(MysqlError::NotPrivate),
                _ => return Err(MysqlError::Protocol("the login goes on in an unknown way")),
            },
            _ => return Err(MysqlError::Protocol("the login goes on in an unknown way")),
        }
    }
    Err(MysqlError::Protocol("the login has no end"))
}

fn error(packet: &[u8]) -> MysqlError {
    let mut fields = Fields(packet.get(1..).unwrap_or_default());
    let Ok(code) = fields.number16() else { return MysqlError::Protocol("an error without a number") };
    // A state of five letters stands before the message, but not where the server greets with an error.
    let has_state = fields.0.first() == Some(&b'#');
    let message = if has_state { fields.0.get(6..).unwrap_or_default() } else { fields.0 };
    MysqlError::Server { code, message: String::from_utf8_lossy(message).into_owned() }
}

/// The state of the server, if this is the end of columns or rows.
fn end(packet: &[u8]) -> Option<u16> {
    match packet {
        [END, _, _, low, high] => Some(u16::from_le_bytes([*low, *high])),
        _ => None,
    }
}

fn column_name(packet: &[u8]) -> Result<String, MysqlError> {
    let mut fields = Fields(packet);
    for _ in ["catalog", "schema", "table", "original table"] {
        fields.text()?;
    }
    let name = fields.text()?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&name[..name.len().min(NAME_BYTES_MAX)]).into_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;
    use tokio::runtime::Builder;

    use super::*;

    /// What a client makes of the answers `bytes` to a statement.
    fn asked(bytes: Vec<u8>) -> Result<Answer, MysqlError> {
        let stream = tokio::io::join(Cursor::new(bytes), tokio::io::sink());
        let mut connection = Conn(Packets { stream: Box::new(stream), sequence: 0 });
        Builder::new_current_thread().build().unwrap().block_on(connection.query("PING"))
    }

    /// Packets after a statement, numbered from 1.
    fn packets(payloads: &[&[u8]]) -> Vec<u8> {
        let number = |payload: &[u8]| u8::try_from(payload.len()).unwrap();
        (1..)
            .zip(payloads)
            .flat_map(|(at, payload)| [&[number(payload), 0, 0, at], *payload].concat())
            .collect()
    }

    const EOF: &[u8] = &[END, 0, 0, 2, 0];
    const COLUMN: &[u8] = b"\x03def\0\0\0\x04file\0\x0c";

    #[test]
    fn rows_come_as_text_with_their_names_and_null_stays_null() {
        let answer = asked(packets(&[&[2], COLUMN, COLUMN, EOF, b"\x03a.b\xfb", EOF])).unwrap();
        let row = &answer.rows[0];
        assert_eq!(
            (row.names(), row.text(0).as_deref(), row.bytes(1)),
            (&["file".into(), "file".into()][..], Some("a.b"), None)
        );
        assert!(answer.has_columns && !asked(packets(&[&[OK, 0, 0, 2, 0, 0, 0]])).unwrap().has_columns);
    }

    /// An account with a password of before MySQL 4.1 "logs in with , which iostall does not have".
    #[test]
    fn a_server_that_names_no_method_is_told_from_one_that_names_another() {
        let asked = |payload: &[u8]| {
            let stream = tokio::io::join(Cursor::new(packets(&[payload])), tokio::io::sink());
            let mut packets = Packets { stream: Box::new(stream), sequence: 0 };
            let hello = Hello { flags: 0, nonce: vec![1; 20], method: String::new() };
            let account = Account { user: "u", password: "p", database: "" };
            let login = log_in(&mut packets, can::ALWAYS, &hello, &account, false);
            Builder::new_current_thread().build().unwrap().block_on(login).unwrap_err()
        };
        assert!(matches!(asked(&[END]), MysqlError::NoMethod));
        assert!(matches!(asked(b"\xfedialog\0"), MysqlError::Method(_)));
    }

    /// A server may answer any statement with the wish for a file; drivers have handed over /etc/passwd.
    #[test]
    fn a_server_that_asks_for_a_file_of_this_host_gets_none() {
        assert!(matches!(asked(packets(&[b"\xfb/etc/passwd"])), Err(MysqlError::Protocol(_))));
    }

    #[test]
    fn an_error_of_the_server_keeps_its_number() {
        let refused = asked(packets(&[b"\xff\x76\x04#42000no"])).unwrap_err();
        assert!(
            matches!(&refused, MysqlError::Server { code: 1142, message } if message == "no"),
            "{refused:?}"
        );
    }

    proptest! {
        #[test]
        fn whatever_a_server_answers_is_read_or_refused(payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..6)) {
            let payloads: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
            let _ = asked(packets(&payloads));
            for payload in payloads {
                drop(Hello::of(payload));
            }
        }
    }
}
