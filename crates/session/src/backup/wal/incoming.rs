//! The stream of the log, written into segments, and what is said of it.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iostall_connect::postgres::{Lsn, ReplicationError, WalMessage, WalStream};
use iostall_measure::foreign::shell_path;
use iostall_measure::hinted;
use iostall_model::backup::Compression;
use thiserror::Error;

use super::archive::{ArchiveRequest, archive_as};
use super::error::WalError;
use super::name::{SegmentName, WalName};
use super::partial::Partial;
use crate::error::of_use_case;

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiveEvent {
    Begun {
        from: Lsn,
        timeline: u32,
    },
    Archived {
        name: String,
    },
    Switched {
        timeline: u32,
        at: Lsn,
    },
    /// The connection is gone; another one is tried.
    Lost {
        why: String,
        pause_s: u64,
    },
    /// There is no room for more. What is durable up to `flushed` stays.
    Full {
        why: String,
        flushed: Lsn,
        pause_s: u64,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The log is durable up to here.
    pub flushed: Lsn,
    pub timeline: u32,
    pub segments: u64,
}

impl fmt::Display for ReceiveEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begun { from, timeline } => {
                write!(f, "receiving the log from {from} on, timeline {timeline}")
            }
            Self::Archived { name } => write!(f, "archived {name}"),
            Self::Switched { timeline, at } => write!(f, "the server began timeline {timeline} at {at}"),
            Self::Full { why, flushed, pause_s } => write!(
                f,
                "{why}: no room left; the archive is durable up to {flushed}, and the slot keeps the rest on the server; trying again in \
                 {pause_s} s"
            ),
            Self::Lost { why, pause_s } => write!(f, "{why}; trying again in {pause_s} s"),
        }
    }
}

hinted! {
    /// Receiving ends with one of these; a lost connection is none.
    #[derive(Debug, Error)]
    #[non_exhaustive]
    pub enum ReceiveError {
        #[error(transparent)]
        Archive(#[from] error: WalError) => error.hint(),
        #[error(transparent)]
        Server(#[from] error: ReplicationError) => error.hint(),
        #[error("{} is the archive of the cluster {archive}, and the server is of {server}", directory.display())]
        OtherCluster { directory: PathBuf, archive: u64, server: u64 }
            => "give each cluster a directory of its own",
        #[error("another iostall receives into {}", directory.display())]
        Busy { directory: PathBuf } => format!(
            "one receiver writes into {}; end it first, or name another directory",
            shell_path(directory)
        ),
        #[error("the slot {slot} is one of logical replication")]
        LogicalSlot { slot: String } => "name another one: --slot NAME is made if it is missing",
        #[error(
            "the log from {from} of timeline {timeline} up to {present}, where the server is now, is lost to the archive: the server has removed it"
        )]
        Gone { slot: String, from: Lsn, present: Lsn, timeline: u32, source: Box<ReplicationError> }
            => format!(
                "archive it from the server that has it, or make a new backup now and begin after the gap with --after-gap; \
                 max_slot_wal_keep_size on the server limits what the slot {slot} keeps"
            ),
        #[error("the server sent the log from {found} on, and {expected} comes next")]
        OutOfOrder { expected: Lsn, found: Lsn } => "please report it, with the server's version",
        #[error("the server says that a segment has {text:?}")]
        SegmentSize { text: String } => "please report it, with the server's version",
    }
}

of_use_case!(ReceiveError);
