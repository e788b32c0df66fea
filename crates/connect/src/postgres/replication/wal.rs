//! The log, as the server writes it.

use std::time::Duration;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use iostall_measure::clock::utc_now;
use jiff::Timestamp;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend::{self, CopyData};

use super::error::ReplicationError;
use super::session::ReplicationSession;
use super::wire::{Incoming, Row, said};
use crate::postgres::lsn::Lsn;

const ACTION: &str = "send its log";
/// PostgreSQL counts from 2000-01-01, in microseconds.
const EPOCH_US: i64 = 946_684_800_000_000;
/// The kinds of what is in the stream.
const LOG: u8 = b'w';
const KEEP_ALIVE: u8 = b'k';
const STATUS: u8 = b'r';
/// Bytes before the log in a message: two positions and a time.
const LOG_HEADER_BYTES: usize = 24;
/// A position, a time, and whether an answer is wanted.
const KEEP_ALIVE_BYTES: usize = 17;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WalMessage {
    Wal {
        /// Where its first byte stands.
        start: Lsn,
        /// The end of the log on the server at that time.
        server_end: Lsn,
        /// By the server's clock.
        sent_at: Timestamp,
        bytes: Bytes,
    },
    /// The server is there, and has sent the log up to `server_end`.
    KeepAlive {
        server_end: Lsn,
        sent_at: Timestamp,
        /// Whether the server will end the session unless it hears from us soon.
        reply_wanted: bool,
    },
    /// The timeline has ended: the log goes on in timeline `next`, which begins at `start`. [`WalStream::end`] gives the
    /// session back, which can begin there.
    EndOfTimeline {
        next: u32,
        start: Lsn,
    },
    Nothing,
}

pub struct WalStream {
    session: ReplicationSession,
    /// Where the log goes on, if the timeline has ended.
    ended: Option<(u32, Lsn)>,
}

impl ReplicationSession {
    pub fn start_wal(
        mut self,
        slot: Option<&str>,
        start: Lsn,
        timeline: u32,
    ) -> Result<WalStream, ReplicationError> {
        let slot = match slot {
            Some(name) => format!("SLOT {} ", self.slot_name(name)?),
            None => String::new(),
        };
        self.link.command(&format!("START_REPLICATION {slot}PHYSICAL {start} TIMELINE {timeline}"))?;
        WalStream::begin(self)
    }
}

impl WalStream {
    fn begin(mut session: ReplicationSession) -> Result<Self, ReplicationError> {
        let limit = Some(session.link.limit);
        match session.link.next(limit)? {
            Incoming::CopyBoth => Ok(Self { session, ended: None }),
            Incoming::Message(Message::ErrorResponse(body)) => Err(session.link.failed(ACTION, said(&body))),
            // The timeline had ended before the position that was asked for.
            Incoming::Message(Message::RowDescription(_)) => {
                let rows = session.link.rest(ACTION, limit)?;
                let ended = Some(next_timeline(&session, &rows)?);
                Ok(Self { session, ended })
            }
            Incoming::Message(_) | Incoming::CopyIn => Err(session.link.unexpected(ACTION)),
        }
    }

    /// What comes next, waited for no longer than `limit`.
    pub fn next(&mut self, limit: Duration) -> Result<WalMessage, ReplicationError> {
        if let Some((next, start)) = self.ended {
            return Ok(WalMessage::EndOfTimeline { next, start });
        }
        loop {
            let link = &mut self.session.link;
            let message = match link.next_within(limit)? {
                None => return Ok(WalMessage::Nothing),
                Some(Incoming::Message(message)) => message,
                Some(Incoming::CopyIn | Incoming::CopyBoth) => return Err(link.unexpected(ACTION)),
            };
            match message {
                Message::CopyData(data) => {
                    return read(data.into_bytes()).ok_or_else(|| link.unexpected(ACTION));
                }
                Message::CopyDone => {
                    link.send(|output| {
                        frontend::copy_done(output);
                        Ok(())
                    })?;
                    let limit = Some(link.limit);
                    let rows = link.rest(ACTION, limit)?;
                    let (next, start) = next_timeline(&self.session, &rows)?;
                    self.ended = Some((next, start));
                    return Ok(WalMessage::EndOfTimeline { next, start });
                }
                Message::ErrorResponse(body) => return Err(link.failed(ACTION, said(&body))),
                Message::CommandComplete(_) => return Err(self.shut_down()),
                Message::ParameterStatus(_) => {}
                _ => return Err(link.unexpected(ACTION)),
            }
        }
    }

    /// Tells the server how far the log was written here, made durable and applied, and asks for an answer if `reply_wanted`.
    pub fn status(
        &mut self,
        written: Lsn,
        flushed: Lsn,
        applied: Lsn,
        reply_wanted: bool,
    ) -> Result<(), ReplicationError> {
        if self.ended.is_some() {
            return Ok(());
        }
        let mut status = BytesMut::new();
        status.put_u8(STATUS);
        for position in [written, flushed, applied] {
            status.put_u64(position.0);
        }
        status.put_i64(utc_now().as_microsecond() - EPOCH_US);
        status.put_u8(u8::from(reply_wanted));
        self.session.link.send(|output| {
            CopyData::new(status)?.write(output);
            Ok(())
        })
    }

    /// Ends the stream; the session can be used for something else.
    pub fn end(mut self) -> Result<ReplicationSession, ReplicationError> {
        if self.ended.is_some() {
            return Ok(self.session);
        }
        let link = &mut self.session.link;
        link.send(|output| {
            frontend::copy_done(output);
            Ok(())
        })?;
        let limit = Some(link.limit);
        loop {
            match link.next(limit)? {
                // What was on its way.
                Incoming::Message(Message::CopyData(_) | Message::ParameterStatus(_)) => {}
                Incoming::Message(Message::CopyDone) => break,
                Incoming::Message(Message::ErrorResponse(body)) => {
                    return Err(link.failed(ACTION, said(&body)));
                }
                Incoming::Message(_) | Incoming::CopyIn | Incoming::CopyBoth => {
                    return Err(link.unexpected(ACTION));
                }
            }
        }
        link.rest(ACTION, limit)?;
        Ok(self.session)
    }

    fn shut_down(&self) -> ReplicationError {
        let source_name = self.session.link.source_name.clone();
        ReplicationError::Lost { source_name, reason: "the server is shutting down".to_owned() }
    }
}

/// Where the log goes on after the end of a timeline.
fn next_timeline(session: &ReplicationSession, rows: &[Row]) -> Result<(u32, Lsn), ReplicationError> {
    let link = &session.link;
    match rows.first().map(Vec::as_slice) {
        Some([next, start, ..]) => {
            Ok((link.parsed(next.as_ref(), "timeline")?, link.parsed(start.as_ref(), "position in the log")?))
        }
        // Without a next timeline the server ends the stream because it shuts down.
        _ => Err(link.unexpected(ACTION)),
    }
}

/// A message of the stream; `None` if it is none.
fn read(mut message: Bytes) -> Option<WalMessage> {
    let kind = message.try_get_u8().ok()?;
    match kind {
        LOG if message.len() >= LOG_HEADER_BYTES => {
            let (start, server_end) = (Lsn(message.get_u64()), Lsn(message.get_u64()));
            Some(WalMessage::Wal { start, server_end, sent_at: time(message.get_i64()), bytes: message })
        }
        KEEP_ALIVE if message.len() >= KEEP_ALIVE_BYTES => {
            let server_end = Lsn(message.get_u64());
            let sent_at = time(message.get_i64());
            Some(WalMessage::KeepAlive { server_end, sent_at, reply_wanted: message.get_u8() != 0 })
        }
        _ => None,
    }
}

fn time(since_epoch_us: i64) -> Timestamp {
    let microseconds = since_epoch_us.saturating_add(EPOCH_US);
    Timestamp::from_microsecond(microseconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a server of version 15 sent them.
    #[test]
    fn the_log_and_a_sign_of_life_are_read() {
        let log = b"w\0\0\0\0\x01\x50\0\0\0\0\0\0\x01\x50\0\x60\0\x02\xc6\xf4\x0b\x5e\x1a\xd3log";
        let Some(WalMessage::Wal { start, server_end, bytes, .. }) = read(Bytes::from_static(log)) else {
            panic!("no log")
        };
        assert_eq!((start, server_end, &bytes[..]), (Lsn(0x0150_0000), Lsn(0x0150_0060), &b"log"[..]));
        let alive = b"k\0\0\0\0\x01\x50\0\x60\0\0\0\0\0\0\0\0\x01";
        let expected = WalMessage::KeepAlive {
            server_end: Lsn(0x0150_0060),
            sent_at: "2000-01-01T00:00:00Z".parse().unwrap(),
            reply_wanted: true,
        };
        assert_eq!(read(Bytes::from_static(alive)), Some(expected));
        for wrong in [&b""[..], b"w\0\0", b"k\0\0\0\0\x01\x50\0\x60\0\0\0\0\0\0\0\0", b"x", b"s123456789"] {
            assert_eq!(read(Bytes::from_static(wrong)), None, "{wrong:?}");
        }
        assert_eq!(time(i64::MAX), Timestamp::UNIX_EPOCH);
    }
}
