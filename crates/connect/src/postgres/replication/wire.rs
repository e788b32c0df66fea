//! The messages of a connection. `tokio-postgres` knows none of replication, so they are read here.

use std::io;

use bytes::{Buf as _, Bytes, BytesMut};
use fallible_iterator::FallibleIterator as _;
use iostall_measure::foreign;
use postgres_protocol::message::backend::{
    COPY_IN_RESPONSE_TAG, DataRowBody, ErrorResponseBody, Header, Message, NOTICE_RESPONSE_TAG,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::super::login::Socket;
use super::super::messages::MESSAGE_BYTES_MAX;

/// The message that begins a stream in both directions, which the library does not know.
const COPY_BOTH_TAG: u8 = b'W';
/// A message's kind stands before its length.
const TAG_BYTES: usize = 1;
/// Room for what is read at a time: a server sends the log in messages of 128 KiB.
const READ_BYTES: usize = 256 << 10;

pub(super) enum Incoming {
    CopyIn,
    CopyBoth,
    Message(Message),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) state: String,
    /// The message, and its detail in brackets.
    pub(super) text: String,
}

pub(super) type Row = Vec<Option<Bytes>>;

pub(super) struct Wire {
    socket: Socket,
    /// What came and was not looked at yet.
    input: BytesMut,
}

impl Wire {
    pub(super) fn new(socket: Socket) -> Self {
        Self { socket, input: BytesMut::new() }
    }

    /// The next message. What came of it is kept if nobody waits for the rest.
    pub(super) async fn next(&mut self) -> io::Result<Incoming> {
        loop {
            if let Some(message) = self.message()? {
                return Ok(message);
            }
            if self.input.capacity() - self.input.len() < READ_BYTES {
                self.input.reserve(READ_BYTES);
            }
            if self.socket.read_buf(&mut self.input).await? == 0 {
                return Err(self.cut());
            }
        }
    }

    pub(super) async fn send(&mut self, output: &[u8]) -> io::Result<()> {
        self.socket.write_all(output).await?;
        self.socket.flush().await
    }

    fn cut(&self) -> io::Error {
        let reason = match self.input.len() {
            0 => "the server closed it".to_owned(),
            bytes => format!("the server closed it in the middle of a message, after {bytes} bytes of it"),
        };
        io::Error::new(io::ErrorKind::UnexpectedEof, reason)
    }

    /// A message that is there as a whole.
    fn message(&mut self) -> io::Result<Option<Incoming>> {
        while let Some((tag, bytes)) = self.whole()? {
            match tag {
                COPY_BOTH_TAG | COPY_IN_RESPONSE_TAG => {
                    self.input.advance(bytes);
                    let is_both = tag == COPY_BOTH_TAG;
                    return Ok(Some(if is_both { Incoming::CopyBoth } else { Incoming::CopyIn }));
                }
                // Only a person would read it.
                NOTICE_RESPONSE_TAG => self.input.advance(bytes),
                _ => return Ok(Message::parse(&mut self.input)?.map(Incoming::Message)),
            }
        }
        Ok(None)
    }

    fn whole(&mut self) -> io::Result<Option<(u8, usize)>> {
        let Some(header) = Header::parse(&self.input)? else { return Ok(None) };
        let length = u64::try_from(header.len()).unwrap_or(u64::MAX);
        if length > MESSAGE_BYTES_MAX {
            let text =
                format!("a message of {length} bytes was announced, and {MESSAGE_BYTES_MAX} are the most");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let bytes = usize::try_from(length).unwrap_or(usize::MAX) + TAG_BYTES;
        if self.input.len() < bytes {
            self.input.reserve(bytes - self.input.len());
            return Ok(None);
        }
        Ok(Some((header.tag(), bytes)))
    }
}

/// The fields of an error: a letter and a text each, up to a zero.
fn said_in(fields: &[u8]) -> Said {
    let mut said = Said::default();
    let mut detail = String::new();
    for field in fields.split(|byte| *byte == 0) {
        let Some((kind, text)) = field.split_first() else { break };
        let text = String::from_utf8_lossy(text);
        match kind {
            b'C' => said.state = text.into_owned(),
            b'M' => said.text = foreign::said(&text),
            b'D' => detail = foreign::said(&text),
            _ => {}
        }
    }
    if !detail.is_empty() {
        said.text.push_str(&format!(" ({detail})"));
    }
    said
}

pub(super) fn said(body: &ErrorResponseBody) -> Said {
    let mut fields = Vec::new();
    let mut iterator = body.fields();
    while let Ok(Some(field)) = iterator.next() {
        fields.push(field.type_());
        fields.extend_from_slice(field.value_bytes());
        fields.push(0);
    }
    said_in(&fields)
}

pub(super) fn row(body: &DataRowBody) -> io::Result<Row> {
    let bytes = body.buffer_bytes();
    body.ranges().map(|range| Ok(range.map(|range| bytes.slice(range)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::duplex;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    /// What a server of version 15 sent: the beginning of a stream of the log, a message with a few bytes of it, and an error.
    const CAPTURED: &[u8] = b"W\0\0\0\x07\0\0\0d\0\0\0\x21w\0\0\0\0\x01\x50\0\0\0\0\0\0\x01\x50\0\x60\0\x02\xc6\xf4\x0b\x5e\x1a\xd3\x17logE\0\0\0\x33SERROR\0VERROR\0C58P01\0Mgone\0Dit was removed\0RX\0\0";

    fn read(input: &'static [u8]) -> Vec<io::Result<Incoming>> {
        runtime().block_on(async {
            let (mut server, client) = duplex(7);
            let writer = tokio::spawn(async move {
                let _ = server.write_all(input).await;
            });
            let mut wire = Wire::new(Box::new(client));
            let mut all = Vec::new();
            loop {
                let message = wire.next().await;
                let is_over = message.is_err();
                all.push(message);
                if is_over {
                    writer.await.unwrap();
                    return all;
                }
            }
        })
    }

    #[test]
    fn messages_are_read_whatever_pieces_they_come_in() {
        let all = read(CAPTURED);
        assert_eq!(all.len(), 4);
        assert!(matches!(all[0], Ok(Incoming::CopyBoth)));
        let Ok(Incoming::Message(Message::CopyData(data))) = &all[1] else { panic!("no data") };
        assert!(data.data().starts_with(b"w\0\0\0\0\x01\x50") && data.data().ends_with(b"log"));
        let Ok(Incoming::Message(Message::ErrorResponse(body))) = &all[2] else { panic!("no error") };
        let expected = Said { state: "58P01".into(), text: "gone (it was removed)".into() };
        assert_eq!(said(body), expected);
        let Err(end) = &all[3] else { panic!("no end") };
        assert_eq!(end.to_string(), "the server closed it");
    }

    #[test]
    fn a_connection_that_breaks_within_a_message_is_no_good_end() {
        for cut in 1..CAPTURED.len() {
            let all = read(&CAPTURED[..cut]);
            let Some(Err(error)) = all.last() else { panic!("no end") };
            let is_between = [8, 42].contains(&cut);
            assert_eq!(error.to_string().contains("in the middle"), !is_between, "{cut}: {error}");
        }
    }

    #[test]
    fn a_message_that_would_fill_the_memory_is_refused_before_it_is_read() {
        for wrong in [&b"d\x7f\xff\xff\xff"[..], b"d\0\0\0\x03", b"d\xff\xff\xff\xff", b"?\0\0\0\x04"] {
            let all = read(Box::leak(wrong.to_vec().into_boxed_slice()));
            assert!(all.len() == 1 && all[0].is_err());
        }
    }

    #[test]
    fn what_a_server_says_cannot_move_the_cursor() {
        let said = said_in(b"C28000\0M\x1b[2Jno\0\0");
        assert!(!said.text.contains('\x1b') && said.state == "28000", "{said:?}");
    }
}
