//! A base backup: all files of the server, as archives in the form of `tar`, one for each tablespace.

use std::io::{self, Read};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend::{self, CopyData};

use super::error::ReplicationError;
use super::session::ReplicationSession;
use super::wire::{Incoming, Row, row, said};
use crate::postgres::lsn::Lsn;

const ACTION: &str = "make a base backup";
const UPLOAD: &str = "take the manifest of a backup";
/// Bytes of a manifest in one message.
const UPLOAD_BYTES: usize = 64 << 10;
/// The first version whose options stand in brackets, and whose archives come in one stream.
const NEW_SYNTAX: u32 = 15;
/// The first version with manifests.
const MANIFESTS: u32 = 13;
/// While files are sent, a server that says nothing for so long is gone.
const SILENCE: Duration = Duration::from_secs(900);
/// SQLSTATE at the end of a backup in which the server has found pages with a wrong checksum. Everything was sent by then.
const WRONG_PAGES: &str = "XX001";
/// The archive of the data directory, and how the names of all archives end.
const BASE: &str = "base";
const ARCHIVE: &str = ".tar";
/// Tablespaces of a server.
const TABLESPACES_MAX: usize = 100_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseBackupOptions {
    /// What the server's log and the label call the backup.
    pub label: String,
    pub fast_checkpoint: bool,
    /// Whether the log that the files need is sent, too. Something must keep it meanwhile, such as a slot.
    pub with_log: bool,
    pub has_manifest: bool,
    /// Whether only what changed since the backup is sent whose manifest the server has been given, from version 17.
    pub is_increment: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseTablespace {
    /// `None`: the data directory itself.
    pub oid: Option<u32>,
    /// Where it is on the server.
    pub location: Vec<u8>,
    /// About how many bytes will be sent.
    pub estimated_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BasePart {
    /// The archive of the tablespace of this number in [`BaseBackup::tablespaces`].
    Archive(usize),
    Manifest,
}

enum Piece {
    Begins(BasePart),
    Data(Bytes),
}

impl BaseBackupOptions {
    fn command(&self, version: u32) -> String {
        let label = self.label.replace('\'', "''");
        let has_manifest = self.has_manifest && version >= MANIFESTS;
        let checkpoint = if self.fast_checkpoint { "fast" } else { "spread" };
        if version >= NEW_SYNTAX {
            let manifest = if has_manifest { "yes" } else { "no" };
            let (log, increment) = (self.with_log, if self.is_increment { ", INCREMENTAL" } else { "" });
            return format!(
                "BASE_BACKUP (LABEL '{label}', PROGRESS, CHECKPOINT '{checkpoint}', WAL {log}, WAIT false, MANIFEST '{manifest}'\
                 {increment})"
            );
        }
        let mut command = format!("BASE_BACKUP LABEL '{label}' PROGRESS NOWAIT");
        let options =
            [(self.fast_checkpoint, " FAST"), (self.with_log, " WAL"), (has_manifest, " MANIFEST 'yes'")];
        command.extend(options.iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, option)| *option));
        command
    }
}

/// A backup while it is sent, part after part. Reading it reads the part that has begun, up to its end.
pub struct BaseBackup {
    session: ReplicationSession,
    tablespaces: Vec<BaseTablespace>,
    start: (Lsn, u32),
    stop: Option<(Lsn, u32)>,
    has_manifest: bool,
    /// Archives and manifests that have begun; before version 15 their order says what they are.
    begun: usize,
    /// What begins next, if that was read already.
    announced: Option<BasePart>,
    /// What was received of the part and not read.
    data: Bytes,
    has_wrong_pages: bool,
}

impl ReplicationSession {
    pub fn upload_manifest(&mut self, manifest: &mut dyn Read) -> Result<(), ReplicationError> {
        let link = &mut self.link;
        let limit = Some(link.limit);
        link.command("UPLOAD_MANIFEST")?;
        match link.next(limit)? {
            Incoming::CopyIn => {}
            Incoming::Message(Message::ErrorResponse(body)) => return Err(link.failed(UPLOAD, said(&body))),
            Incoming::Message(_) | Incoming::CopyBoth => return Err(link.unexpected(UPLOAD)),
        }
        let mut room = vec![0; UPLOAD_BYTES];
        loop {
            let read = manifest.read(&mut room).map_err(|error| link.lost(&error))?;
            if read == 0 {
                break;
            }
            link.send(|output| {
                CopyData::new(&room[..read])?.write(output);
                Ok(())
            })?;
        }
        link.send(|output| {
            frontend::copy_done(output);
            Ok(())
        })?;
        link.rest(UPLOAD, limit).map(drop)
    }

    /// Begins a base backup, and waits for the checkpoint that belongs to it.
    pub fn base_backup(mut self, options: &BaseBackupOptions) -> Result<BaseBackup, ReplicationError> {
        self.link.command(&options.command(self.version))?;
        BaseBackup::begin(self, options.has_manifest)
    }
}

impl BaseBackup {
    fn begin(mut session: ReplicationSession, has_manifest: bool) -> Result<Self, ReplicationError> {
        let mut sets: Vec<Vec<Row>> = Vec::new();
        let link = &mut session.link;
        loop {
            // The checkpoint may take as long as it takes.
            let Incoming::Message(message) = link.next(None)? else { return Err(link.unexpected(ACTION)) };
            match message {
                Message::RowDescription(_) if sets.len() < 2 => sets.push(Vec::new()),
                Message::DataRow(body) if sets.last().is_some_and(|rows| rows.len() < TABLESPACES_MAX) => {
                    let row = row(&body).map_err(|error| link.lost(&error))?;
                    if let Some(rows) = sets.last_mut() {
                        rows.push(row);
                    }
                }
                Message::CommandComplete(_) | Message::ParameterStatus(_) => {}
                Message::CopyOutResponse(_) => break,
                Message::ErrorResponse(body) => return Err(link.failed(ACTION, said(&body))),
                _ => return Err(link.unexpected(ACTION)),
            }
        }
        let [start, tablespaces] = sets.as_slice() else { return Err(link.unexpected(ACTION)) };
        let start = position(&session, start)?;
        let of_row = |row: &Row| tablespace(&session, row);
        let tablespaces = tablespaces.iter().map(of_row).collect::<Result<Vec<_>, _>>()?;
        let has_manifest = has_manifest && session.version >= MANIFESTS;
        let is_old = session.version < NEW_SYNTAX;
        let mut begun = Self {
            session,
            tablespaces,
            start,
            stop: None,
            has_manifest,
            begun: 0,
            announced: None,
            data: Bytes::new(),
            has_wrong_pages: false,
        };
        if is_old {
            begun.announced = Some(begun.next_in_order()?);
        }
        Ok(begun)
    }

    /// Where recovery has to begin, and on which timeline.
    pub fn start(&self) -> (Lsn, u32) {
        self.start
    }

    /// The tablespaces; the data directory is one of them.
    pub fn tablespaces(&self) -> &[BaseTablespace] {
        &self.tablespaces
    }

    /// Up to where the log must be replayed, and on which timeline; `None` before [`Self::next_part`] has returned `None`.
    pub fn stop(&self) -> Option<(Lsn, u32)> {
        self.stop
    }

    pub fn has_wrong_pages(&self) -> bool {
        self.has_wrong_pages
    }

    /// Begins the next part, after what is left of the one before; `None` once everything was sent.
    pub fn next_part(&mut self) -> Result<Option<BasePart>, ReplicationError> {
        self.data.clear();
        loop {
            if let Some(part) = self.announced.take() {
                return Ok(Some(part));
            }
            match self.next_piece()? {
                Some(Piece::Begins(part)) => return Ok(Some(part)),
                Some(Piece::Data(_)) => {}
                None => return Ok(None),
            }
        }
    }

    fn next_piece(&mut self) -> Result<Option<Piece>, ReplicationError> {
        if self.stop.is_some() {
            return Ok(None);
        }
        let is_old = self.session.version < NEW_SYNTAX;
        loop {
            let is_last = !is_old || self.is_last();
            let link = &mut self.session.link;
            let Incoming::Message(message) = link.next(Some(SILENCE))? else {
                return Err(link.unexpected(ACTION));
            };
            match message {
                Message::CopyData(data) => {
                    let data = data.into_bytes();
                    if is_old {
                        return Ok(Some(Piece::Data(data)));
                    }
                    if let Some(piece) = self.piece(data)? {
                        return Ok(Some(piece));
                    }
                }
                Message::CopyOutResponse(_) if is_old => {
                    return Ok(Some(Piece::Begins(self.next_in_order()?)));
                }
                Message::CopyDone if !is_last => {}
                Message::CopyDone => return self.finish().map(|()| None),
                Message::ParameterStatus(_) => {}
                Message::ErrorResponse(body) => return Err(link.failed(ACTION, said(&body))),
                _ => return Err(link.unexpected(ACTION)),
            }
        }
    }

    /// Whether nothing begins after this, before version 15.
    fn is_last(&self) -> bool {
        self.begun == self.tablespaces.len() + usize::from(self.has_manifest)
    }

    /// What begins, before version 15: the archives in the order of the tablespaces, and then the manifest.
    fn next_in_order(&mut self) -> Result<BasePart, ReplicationError> {
        let number = self.begun;
        self.begun += 1;
        if number < self.tablespaces.len() {
            return Ok(BasePart::Archive(number));
        }
        if self.has_manifest && number == self.tablespaces.len() {
            return Ok(BasePart::Manifest);
        }
        Err(self.session.link.unexpected(ACTION))
    }

    /// A message of the stream, from version 15; `None` if it is only a sign of progress.
    fn piece(&mut self, mut data: Bytes) -> Result<Option<Piece>, ReplicationError> {
        let link = &self.session.link;
        match data.try_get_u8() {
            Ok(b'd') => Ok(Some(Piece::Data(data))),
            Ok(b'p') => Ok(None),
            Ok(b'm') => Ok(Some(Piece::Begins(BasePart::Manifest))),
            Ok(b'n') => {
                let name = data.split(|byte| *byte == 0).next().unwrap_or_default();
                let name = String::from_utf8_lossy(name);
                let stem = name.strip_suffix(ARCHIVE).unwrap_or_default();
                let oid = stem.parse().ok();
                let is_it = |tablespace: &BaseTablespace| match tablespace.oid {
                    None => stem == BASE,
                    some => some == oid,
                };
                let number = self.tablespaces.iter().position(is_it);
                let number = number.ok_or_else(|| link.unknown("archive of a tablespace", &name))?;
                Ok(Some(Piece::Begins(BasePart::Archive(number))))
            }
            _ => Err(link.unexpected(ACTION)),
        }
    }

    fn finish(&mut self) -> Result<(), ReplicationError> {
        let mut rows: Vec<Row> = Vec::new();
        let link = &mut self.session.link;
        loop {
            let Incoming::Message(message) = link.next(Some(SILENCE))? else {
                return Err(link.unexpected(ACTION));
            };
            match message {
                Message::DataRow(body) if rows.is_empty() => {
                    rows.push(row(&body).map_err(|error| link.lost(&error))?);
                }
                Message::ErrorResponse(body) => {
                    let said = said(&body);
                    if said.state != WRONG_PAGES || rows.is_empty() {
                        return Err(link.failed(ACTION, said));
                    }
                    self.has_wrong_pages = true;
                }
                Message::ReadyForQuery(_) => break,
                Message::RowDescription(_) | Message::CommandComplete(_) | Message::ParameterStatus(_) => {}
                _ => return Err(link.unexpected(ACTION)),
            }
        }
        self.stop = Some(position(&self.session, &rows)?);
        Ok(())
    }
}

impl Read for BaseBackup {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        while self.data.is_empty() {
            if self.announced.is_some() {
                return Ok(0);
            }
            match self.next_piece().map_err(io::Error::other)? {
                Some(Piece::Data(data)) => self.data = data,
                Some(Piece::Begins(part)) => self.announced = Some(part),
                None => return Ok(0),
            }
        }
        let length = room.len().min(self.data.len());
        self.data.copy_to_slice(&mut room[..length]);
        Ok(length)
    }
}

/// A position and its timeline, which are the only row of a set.
fn position(session: &ReplicationSession, rows: &[Row]) -> Result<(Lsn, u32), ReplicationError> {
    let link = &session.link;
    match rows {
        [row] if row.len() >= 2 => Ok((
            link.parsed(row[0].as_ref(), "position in the log")?,
            link.parsed(row[1].as_ref(), "timeline")?,
        )),
        _ => Err(link.unexpected(ACTION)),
    }
}

fn tablespace(session: &ReplicationSession, row: &Row) -> Result<BaseTablespace, ReplicationError> {
    let link = &session.link;
    let [oid, location, kib, ..] = row.as_slice() else { return Err(link.unexpected(ACTION)) };
    let oid = oid.as_ref().map(|oid| link.parsed(Some(oid), "tablespace")).transpose()?;
    let kib = kib.as_ref().map(|kib| link.parsed::<u64>(Some(kib), "size")).transpose()?;
    Ok(BaseTablespace {
        oid,
        location: location.as_ref().map(|location| location.to_vec()).unwrap_or_default(),
        estimated_bytes: kib.unwrap_or(0).saturating_mul(1024),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_that_of_the_version() {
        let options = BaseBackupOptions {
            label: "it's".into(),
            fast_checkpoint: true,
            with_log: true,
            has_manifest: true,
            is_increment: false,
        };
        assert_eq!(options.command(12), "BASE_BACKUP LABEL 'it''s' PROGRESS NOWAIT FAST WAL");
        assert_eq!(options.command(14), "BASE_BACKUP LABEL 'it''s' PROGRESS NOWAIT FAST WAL MANIFEST 'yes'");
        assert_eq!(
            options.command(17),
            "BASE_BACKUP (LABEL 'it''s', PROGRESS, CHECKPOINT 'fast', WAL true, WAIT false, MANIFEST 'yes')"
        );
    }
}
