//! The stream of the log, written into segments.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iostall_connect::postgres::{Lsn, ReplicationError, WalMessage, WalStream};
use iostall_model::backup::Compression;

use super::archive::{ArchiveRequest, archive_as};
use super::error::WalError;
use super::event::{ReceiveEvent, Received};
use super::name::{SegmentName, WalName};
use super::partial::Partial;
use super::receive_error::ReceiveError;

/// How long nothing may come before the server is told that we are there.
const STATUS_EVERY: Duration = Duration::from_secs(5);
/// Without a word from the server for so many times that, the connection is given up.
const SILENCE_MAX: u32 = 12;
/// The most that is written before it is made durable, bytes.
const UNSYNCED_MAX: u64 = 4 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) timeline: u32,
    /// The beginning of a segment.
    pub(super) lsn: Lsn,
}

pub(super) struct Incoming<'a> {
    pub(super) to: &'a Path,
    pub(super) compression: Compression,
    pub(super) segment_bytes: u64,
    pub(super) source_name: String,
    pub(super) stop: &'a AtomicBool,
    pub(super) see: &'a dyn Fn(&ReceiveEvent),
    pub(super) done: &'a mut Received,
}

impl Incoming<'_> {
    /// Receives until the timeline ends, and returns where the log goes on, or until it is stopped. The server hears of what is
    /// durable as soon as nothing more is on its way, so that it can wait for us at every commit.
    pub(super) fn receive(
        &mut self,
        stream: &mut WalStream,
        start: Start,
    ) -> Result<Option<(u32, Lsn)>, ReceiveError> {
        let mut partial = self.open(start.timeline, start.lsn)?;
        let (mut at, mut flushed, mut silent) = (start.lsn, start.lsn, 0);
        loop {
            let wait = if at > flushed { Duration::ZERO } else { STATUS_EVERY };
            let message = match stream.next(wait) {
                Err(ReplicationError::Cancelled) => WalMessage::Nothing,
                message => message?,
            };
            let is_over = self.stop.load(Ordering::Relaxed);
            let mut says;
            let mut syncs = is_over || at.0 - flushed.0 >= UNSYNCED_MAX;
            silent = if message == WalMessage::Nothing && at == flushed { silent + 1 } else { 0 };
            match message {
                WalMessage::Wal { start: found, bytes, .. } => {
                    if found != at {
                        return Err(ReceiveError::OutOfOrder { expected: at, found });
                    }
                    at = self.write(&mut partial, &bytes, at, &mut flushed, start.timeline)?;
                    says = flushed == at;
                }
                WalMessage::KeepAlive { reply_wanted, .. } => {
                    (says, syncs) = (reply_wanted, syncs || reply_wanted);
                }
                WalMessage::EndOfTimeline { next, start } => {
                    partial.sync()?;
                    self.done.flushed = at;
                    return Ok(Some((next, start)));
                }
                WalMessage::Nothing => (says, syncs) = (true, true),
            }
            if syncs && at > flushed {
                partial.sync()?;
                (flushed, says) = (at, true);
            }
            // What was durable before a connection was lost still is, although it comes again.
            self.done.flushed = self.done.flushed.max(flushed);
            if says {
                match stream.status(at, flushed, flushed, silent > SILENCE_MAX / 2) {
                    // What is over says nothing more.
                    Err(error) if !is_over => return Err(error.into()),
                    _ => {}
                }
            }
            if is_over {
                return Ok(None);
            }
            if silent >= SILENCE_MAX {
                let silence = STATUS_EVERY * SILENCE_MAX;
                return Err(
                    ReplicationError::Silent { source_name: self.source_name.clone(), silence }.into()
                );
            }
        }
    }

    fn open(&self, timeline: u32, at: Lsn) -> Result<Partial, WalError> {
        Partial::open(self.to, SegmentName::of(timeline, at.0 / self.segment_bytes, self.segment_bytes))
    }

    /// Writes what belongs at `at`; returns what comes next. Segments that become full are archived.
    fn write(
        &mut self,
        partial: &mut Partial,
        bytes: &[u8],
        mut at: Lsn,
        flushed: &mut Lsn,
        timeline: u32,
    ) -> Result<Lsn, ReceiveError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let offset = at.0 % self.segment_bytes;
            let room = usize::try_from(self.segment_bytes - offset).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at(room.min(rest.len()));
            partial.write(now, offset)?;
            (rest, at) = (later, Lsn(at.0 + now.len() as u64));
            if at.0.is_multiple_of(self.segment_bytes) {
                self.archive(partial)?;
                *flushed = at;
                *partial = self.open(timeline, at)?;
            }
        }
        Ok(at)
    }

    fn archive(&mut self, partial: &Partial) -> Result<(), ReceiveError> {
        let (path, to, compression) = (partial.path().to_owned(), self.to.to_owned(), self.compression);
        archive_as(&ArchiveRequest { path, to, compression }, WalName::Segment(partial.name()))?;
        fs::remove_file(partial.path()).map_err(WalError::system("remove", partial.path()))?;
        self.done.segments += 1;
        (self.see)(&ReceiveEvent::Archived { name: partial.name().to_string() });
        Ok(())
    }
}
