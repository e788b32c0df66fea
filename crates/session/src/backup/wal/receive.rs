//! Receives the log of a server while it writes it, into an archive.
//!
//! The segment that is not full yet is a plain file, `NAME.partial`: a recovery uses what is in it. When it is full it becomes a file
//! of the archive like any other.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iostall_connect::postgres::{
    Lsn, ReplicationError, ReplicationLogin, ReplicationSession, SlotState, SystemIdentity,
};
use iostall_connect::{Address, Secret};
use iostall_engine::files;
use iostall_measure::{ByteCount, Clock as _, MonotonicClock};
use iostall_model::backup::Compression;

use super::archive::archive_history;
use super::directory::{self, Cluster, make_archive};
use super::error::WalError;
use super::incoming::{Incoming, ReceiveError, ReceiveEvent, Received, Start};
use super::inventory::Inventory;
use super::name::CLUSTER_FILE;
use super::place::is_object;

/// Pauses before another connection is tried, seconds.
const PAUSES_S: [u64; 5] = [1, 2, 5, 10, 30];
const SECOND_NS: u64 = 1_000_000_000;
const LOOK_NS: u64 = 100_000_000;
/// SQLSTATE of an object that exists already.
const DUPLICATE: &str = "42710";
/// SQLSTATE for a slot which the server still holds for a receiver that was killed.
const IN_USE: &str = "55006";

#[derive(Clone, Debug)]
pub struct ReceiveRequest {
    pub address: Address,
    pub password: Secret,
    /// The directory of the archive, which exists.
    pub to: PathBuf,
    /// The slot that keeps the log for us. It is made if it is missing.
    pub slot: String,
    pub compression: Compression,
    /// Begins at the server's present position, also if the archive ends before that.
    pub after_gap: bool,
    /// How long connecting, or the answer to a simple question, may take.
    pub limit: Duration,
}

/// Receives until `stop` is set. A lost connection and a full disk are no errors: it is tried again, unless nothing was
/// received yet.
pub fn receive(
    request: &ReceiveRequest,
    stop: &Arc<AtomicBool>,
    see: &dyn Fn(&ReceiveEvent),
) -> Result<Received, ReceiveError> {
    if is_object(&request.to) {
        return Err(WalError::Grows { place: request.to.clone() }.into());
    }
    let mut receiver = Receiver {
        request,
        stop,
        see,
        clock: MonotonicClock::new(),
        lock: None,
        was_after_gap: false,
        done: Received::default(),
    };
    let mut tries = 0;
    loop {
        let before = receiver.done;
        match receiver.connect() {
            Ok(()) | Err(ReceiveError::Server(ReplicationError::Cancelled)) => return Ok(receiver.done),
            Err(error) if receiver.tries_again(&error) => {
                tries = if receiver.done == before { tries + 1 } else { 0 };
                let pause_s = PAUSES_S[tries.min(PAUSES_S.len() - 1)];
                see(&match error {
                    ReceiveError::Archive(full) => {
                        let flushed = receiver.done.flushed;
                        ReceiveEvent::Full { why: full.to_string(), flushed, pause_s }
                    }
                    lost => ReceiveEvent::Lost { why: lost.to_string(), pause_s },
                });
                receiver.pause(pause_s);
            }
            Err(error) => return Err(error),
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(receiver.done);
        }
    }
}

pub fn drop_slot(request: &ReceiveRequest) -> Result<(), ReceiveError> {
    let mut session = ReplicationSession::open(login(request, &Arc::default()))?;
    Ok(session.drop_slot(&request.slot)?)
}

fn login<'a>(request: &'a ReceiveRequest, stop: &Arc<AtomicBool>) -> ReplicationLogin<'a> {
    ReplicationLogin {
        address: &request.address,
        // By this a server knows for whom its commits wait.
        name: &request.slot,
        password: &request.password,
        limit: request.limit,
        cancel: Arc::clone(stop),
    }
}

struct Receiver<'a> {
    request: &'a ReceiveRequest,
    stop: &'a Arc<AtomicBool>,
    see: &'a dyn Fn(&ReceiveEvent),
    clock: MonotonicClock,
    /// The description of the archive, locked: two receivers would write into one segment.
    lock: Option<File>,
    /// The gap is accepted once, not again after a lost connection.
    was_after_gap: bool,
    done: Received,
}

impl Receiver<'_> {
    /// Whether another connection may succeed, or there may be room by then: the slot keeps what comes next. Where there never was
    /// one it is an error.
    fn tries_again(&self, error: &ReceiveError) -> bool {
        let may_pass = match error {
            ReceiveError::Server(error) => error.is_lost() || error.state() == Some(IN_USE),
            ReceiveError::Archive(error) => error.is_full_disk(),
            _ => false,
        };
        may_pass && self.lock.is_some()
    }

    fn pause(&self, seconds: u64) {
        let end_ns = self.clock.now_ns() + seconds * SECOND_NS;
        while self.clock.now_ns() < end_ns && !self.stop.load(Ordering::Relaxed) {
            self.clock.sleep_until(self.clock.now_ns() + LOOK_NS);
        }
    }

    fn connect(&mut self) -> Result<(), ReceiveError> {
        let request = self.request;
        let mut session = ReplicationSession::open(login(request, self.stop))?;
        let identity = session.identify_system()?;
        let cluster = self.cluster(&mut session, &identity)?;
        if self.lock.is_none() {
            self.lock = Some(lock(&request.to)?);
        }
        let kept = self.slot(&mut session)?;
        let mut start = self.start(cluster, &identity, kept)?;
        self.histories(&mut session, start.timeline, identity.timeline)?;
        loop {
            (self.see)(&ReceiveEvent::Begun { from: start.lsn, timeline: start.timeline });
            self.done.timeline = start.timeline;
            let slot = request.slot.clone();
            let gone = |error: ReplicationError| {
                if !error.is_log_removed() {
                    return ReceiveError::Server(error);
                }
                let Start { timeline, lsn: from } = start;
                ReceiveError::Gone {
                    slot,
                    from,
                    present: identity.flushed,
                    timeline,
                    source: Box::new(error),
                }
            };
            let mut stream = match session.start_wal(Some(&request.slot), start.lsn, start.timeline) {
                Ok(stream) => stream,
                Err(error) => return Err(gone(error)),
            };
            let mut incoming = Incoming {
                to: &request.to,
                compression: request.compression,
                segment_bytes: cluster.segment_bytes,
                source_name: request.address.to_string(),
                stop: self.stop,
                see: self.see,
                done: &mut self.done,
            };
            let ended = match incoming.receive(&mut stream, start) {
                Err(ReceiveError::Server(error)) => return Err(gone(error)),
                other => other?,
            };
            let Some((next, at)) = ended else {
                // The server hears of the end by the connection, if not by this.
                let _ = stream.end();
                return Ok(());
            };
            (self.see)(&ReceiveEvent::Switched { timeline: next, at });
            session = stream.end()?;
            self.histories(&mut session, start.timeline, next)?;
            // The first segment of a timeline begins with what the one before it has.
            start = Start { timeline: next, lsn: Lsn(at.0 - at.0 % cluster.segment_bytes) };
        }
    }

    fn cluster(
        &self,
        session: &mut ReplicationSession,
        identity: &SystemIdentity,
    ) -> Result<Cluster, ReceiveError> {
        let segment_bytes = segment_bytes(&session.show("wal_segment_size")?)?;
        let own = Cluster { system_identifier: identity.system_identifier, segment_bytes };
        let archive = match directory::cluster(&self.request.to)? {
            Some(archive) => archive,
            None => make_archive(&self.request.to, own)?,
        };
        if archive == own {
            return Ok(own);
        }
        Err(ReceiveError::OtherCluster {
            directory: self.request.to.clone(),
            archive: archive.system_identifier,
            server: own.system_identifier,
        })
    }

    /// Makes the slot if it is missing; returns from where on it keeps the log, if it says so.
    fn slot(&self, session: &mut ReplicationSession) -> Result<Option<Lsn>, ReceiveError> {
        let slot = &self.request.slot;
        match session.read_slot(slot)? {
            SlotState::There { is_physical: true, restart, .. } => Ok(restart),
            SlotState::There { is_physical: false, .. } => {
                Err(ReceiveError::LogicalSlot { slot: slot.clone() })
            }
            SlotState::Missing | SlotState::Unknown => match session.create_slot(slot, false, true) {
                Err(error) if error.state() == Some(DUPLICATE) => Ok(None),
                made => Ok(made.map(|()| None)?),
            },
        }
    }

    /// After what the archive has; in a new one, where the slot keeps the log from.
    fn start(
        &mut self,
        cluster: Cluster,
        identity: &SystemIdentity,
        kept: Option<Lsn>,
    ) -> Result<Start, ReceiveError> {
        let bytes = cluster.segment_bytes;
        let aligned = |lsn: Lsn| Lsn(lsn.0 - lsn.0 % bytes);
        let here = Start { timeline: identity.timeline, lsn: aligned(identity.flushed) };
        if self.request.after_gap && !self.was_after_gap {
            self.was_after_gap = true;
            return Ok(here);
        }
        let inventory = Inventory::read(&self.request.to, false)?;
        Ok(match inventory.segments.last_key_value() {
            Some(((timeline, number), segment)) => {
                let next = if segment.is_partial { *number } else { number + 1 };
                Start { timeline: *timeline, lsn: Lsn(next * bytes) }
            }
            None => Start { lsn: kept.map_or(here.lsn, aligned).min(here.lsn), ..here },
        })
    }

    /// Archives how the timelines after `known` up to `newest` came to be, before anything of them.
    fn histories(
        &self,
        session: &mut ReplicationSession,
        known: u32,
        newest: u32,
    ) -> Result<(), ReceiveError> {
        for timeline in known.max(2)..=newest {
            let history = match session.timeline_history(timeline) {
                // A timeline that is none of this server's ancestors.
                Err(error) if timeline < newest && error.state().is_some() => continue,
                other => other?,
            };
            archive_history(&self.request.to, timeline, &history.content, self.request.compression)?;
        }
        Ok(())
    }
}

/// As the server says it: `16MB`.
fn segment_bytes(text: &str) -> Result<u64, ReceiveError> {
    let wrong = || ReceiveError::SegmentSize { text: text.to_owned() };
    // The server means powers of two.
    let size: ByteCount = text.trim().trim_end_matches('B').parse().map_err(|_| wrong())?;
    if size.bytes().is_power_of_two() { Ok(size.bytes()) } else { Err(wrong()) }
}

fn lock(to: &Path) -> Result<File, ReceiveError> {
    let path = to.join(CLUSTER_FILE);
    let file = files::open_to_lock(&path).map_err(WalError::system("open", &path))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(ReceiveError::Busy { directory: to.to_owned() }),
        // A file system without locks: two at once are not noticed there.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_segment_is_read_as_the_server_writes_it() {
        for (text, bytes) in [("1MB", 1 << 20), ("16MB", 16 << 20), ("1GB", 1 << 30)] {
            assert_eq!(segment_bytes(text).unwrap(), bytes);
        }
        for wrong in ["", "many", "3MB"] {
            assert!(segment_bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_second_receiver_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(CLUSTER_FILE), "").unwrap();
        let held = lock(directory.path()).unwrap();
        let refused = lock(directory.path()).unwrap_err();
        assert!(matches!(refused, ReceiveError::Busy { .. }) && refused.hint().is_some(), "{refused}");
        drop(held);
        lock(directory.path()).unwrap();
    }
}
