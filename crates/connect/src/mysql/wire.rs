//! Packets of the MySQL protocol and what is in them, as "MySQL Internals: Client/Server Protocol" and MariaDB's "Clientserver
//! Protocol" describe them. Whatever a server sends is bounded, and nothing in it is believed.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::error::MysqlError;

/// Our rows have a few hundred bytes.
pub(super) const PACKET_BYTES_MAX: usize = 4 << 20;
/// A packet of this length goes on in the next one.
const PART_BYTES_MAX: usize = 0xff_ffff;

pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Packets over a stream, numbered from 0 for each command. TLS goes on with the numbers that came before it.
pub(super) struct Packets {
    pub(super) stream: Box<dyn Stream>,
    pub(super) sequence: u8,
}

impl Packets {
    pub(super) fn begin_command(&mut self) {
        self.sequence = 0;
    }

    pub(super) async fn read(&mut self) -> Result<Vec<u8>, MysqlError> {
        let mut packet = Vec::new();
        loop {
            let mut head = [0; 4];
            self.stream.read_exact(&mut head).await.map_err(ended)?;
            let length = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
            if packet.len() + length > PACKET_BYTES_MAX {
                return Err(MysqlError::Protocol("a packet is larger than 4 MiB"));
            }
            // What a server says unasked, such as that it ends an idle connection, has the number 0.
            if head[3] != self.sequence && head[3] != 0 {
                return Err(MysqlError::Protocol("packets come out of order"));
            }
            self.sequence = head[3].wrapping_add(1);
            let from = packet.len();
            packet.resize(from + length, 0);
            self.stream.read_exact(&mut packet[from..]).await.map_err(ended)?;
            if length < PART_BYTES_MAX {
                return Ok(packet);
            }
        }
    }

    pub(super) async fn write(&mut self, payload: &[u8]) -> Result<(), MysqlError> {
        let length = u32::try_from(payload.len()).ok().filter(|length| (*length as usize) < PACKET_BYTES_MAX);
        let length = length.ok_or(MysqlError::Protocol("a statement is larger than 4 MiB"))?;
        let mut packet = Vec::with_capacity(payload.len() + 4);
        packet.extend_from_slice(&length.to_le_bytes()[..3]);
        packet.push(self.sequence);
        packet.extend_from_slice(payload);
        self.sequence = self.sequence.wrapping_add(1);
        self.stream.write_all(&packet).await?;
        Ok(self.stream.flush().await?)
    }
}

fn ended(error: io::Error) -> MysqlError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            MysqlError::Io(io::Error::new(error.kind(), "the server closed the connection"))
        }
        _ => MysqlError::Io(error),
    }
}

/// The fields of a packet, one after the other. What is not there is an error.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

const CUT: MysqlError = MysqlError::Protocol("a packet ends too early");

impl<'a> Fields<'a> {
    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], MysqlError> {
        let (field, rest) = self.0.split_at_checked(count).ok_or(CUT)?;
        self.0 = rest;
        Ok(field)
    }

    pub(super) fn byte(&mut self) -> Result<u8, MysqlError> {
        Ok(self.bytes(1)?[0])
    }

    pub(super) fn number16(&mut self) -> Result<u16, MysqlError> {
        let bytes = self.bytes(2)?;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    /// Up to the next zero byte, or to the end.
    pub(super) fn word(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest.get(1..).unwrap_or_default();
        word
    }

    /// A number with its length before it.
    pub(super) fn number(&mut self) -> Result<u64, MysqlError> {
        let count = match self.byte()? {
            small @ 0..=0xfa => return Ok(small.into()),
            0xfc => 2,
            0xfd => 3,
            0xfe => 8,
            _ => return Err(MysqlError::Protocol("a length cannot be read")),
        };
        Ok(self.bytes(count)?.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte)))
    }

    /// Text with its length before it; `None` for NULL.
    pub(super) fn text(&mut self) -> Result<Option<&'a [u8]>, MysqlError> {
        const NULL: u8 = 0xfb;
        if self.0.first() == Some(&NULL) {
            self.0 = &self.0[1..];
            return Ok(None);
        }
        let length = usize::try_from(self.number()?).map_err(|_| CUT)?;
        self.bytes(length).map(Some)
    }
}

/// Appends text with its length before it.
pub(super) fn put_text(packet: &mut Vec<u8>, text: &[u8]) {
    match u16::try_from(text.len()) {
        Ok(length) if length < 0xfb => packet.push(length.to_le_bytes()[0]),
        Ok(length) => {
            packet.push(0xfc);
            packet.extend_from_slice(&length.to_le_bytes());
        }
        Err(_) => {
            packet.push(0xfe);
            packet.extend_from_slice(&(text.len() as u64).to_le_bytes());
        }
    }
    packet.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_is_read_as_it_was_written(text in proptest::collection::vec(any::<u8>(), 0..70_000)) {
            let mut packet = Vec::new();
            put_text(&mut packet, &text);
            let mut fields = Fields(&packet);
            prop_assert_eq!(fields.text().unwrap(), Some(&text[..]));
            prop_assert!(fields.0.is_empty());
        }

        #[test]
        fn no_packet_of_a_server_is_read_beyond_its_end(packet in proptest::collection::vec(any::<u8>(), 0..64)) {
            let mut fields = Fields(&packet);
            while fields.text().is_ok() && !fields.0.is_empty() {}
            let mut fields = Fields(&packet);
            while fields.number().is_ok() && !fields.0.is_empty() {}
            let mut fields = Fields(&packet);
            while !fields.0.is_empty() {
                fields.word();
            }
        }
    }
}
