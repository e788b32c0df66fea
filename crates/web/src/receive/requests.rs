//! What a request asks for: the part of S3 that `iostall-remote` uses, without anything that deletes or replaces.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use iostall_engine::files::{FileStamp, write_all_at};
use iostall_engine::random_bytes;
use iostall_measure::ByteCount;
use iostall_remote::receiver::PROTOCOL;

use super::answer::{Entry, etag, http_date, list};
use super::keys::{self, Key, hex};
use super::names::Name;
use super::place::{ID_DIGITS, Place, PlaceError};
use super::uploads::Uploads;
use crate::tls_server::{Answer, Body, Connection, Head, Method, Refusal};

/// A list of 10,000 parts.
const LIST_BYTES_MAX: usize = 4 << 20;
/// What is put at once is a manifest.
const OBJECT_BYTES_MAX: u64 = 2 << 30;
/// Of a request that was refused, the rest is read up to this length: a part of an upload.
const SKIPPED_BYTES_MAX: u64 = 256 << 20;
/// The same of somebody who is unknown.
const OF_UNKNOWN_BYTES_MAX: u64 = 64 << 10;
/// A manifest may go so far beyond a quota: its stripes, which lie there already, were worth nothing without it.
const BEYOND_QUOTA_BYTES: u64 = 64 << 20;
const PIECE_BYTES: usize = 256 << 10;

/// What happened.
#[derive(Clone, Debug)]
pub enum ReceiveEvent {
    /// An object is whole and durable.
    Stored { peer: SocketAddr, key: String, name: String, bytes: u64 },
    /// A request was not carried out. Without a key the client is unknown.
    Refused { peer: SocketAddr, key: Option<String>, reason: String },
}

/// Takes note of what happens, on the thread of a connection.
pub type OnEvent = Box<dyn Fn(&ReceiveEvent) + Send + Sync>;

/// What all connections share.
pub(super) struct Shared {
    pub(super) root: PathBuf,
    pub(super) keys: PathBuf,
    pub(super) uploads: Uploads,
    pub(super) on_event: OnEvent,
    places: Mutex<HashMap<String, Arc<Place>>>,
}

/// A request by somebody who may make it.
struct Asked<'a> {
    key: &'a Key,
    place: &'a Arc<Place>,
    head: &'a Head,
    peer: SocketAddr,
}

impl Shared {
    pub(super) fn new(root: PathBuf, keys: PathBuf, on_event: OnEvent) -> Self {
        Self { root, keys, uploads: Uploads::default(), on_event, places: Mutex::default() }
    }

    /// The directory of a prefix, opened once.
    pub(super) fn place(&self, prefix: &Name) -> Result<Arc<Place>, PlaceError> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = places.get(&prefix.to_string()) {
            return Ok(Arc::clone(place));
        }
        let place = Arc::new(Place::open(&self.root, prefix)?);
        let failed = |source| PlaceError::System {
            place: self.root.join(prefix.to_path()).display().to_string(),
            source,
        };
        self.uploads.go_on(&place).map_err(failed)?;
        places.insert(prefix.to_string(), Arc::clone(&place));
        Ok(place)
    }

    /// Answers the requests of one connection until its end.
    pub(super) fn serve(&self, connection: &mut Connection, peer: SocketAddr) -> io::Result<()> {
        connection.answer_each(|connection, next| match next {
            Err(refusal) => Ok((self.refuse(peer, None, &refusal), 0)),
            Ok(head) => self.answer(connection, &head, peer),
        })
    }

    /// The answer, and how much of the rest of the body is worth reading.
    fn answer(
        &self,
        connection: &mut Connection,
        head: &Head,
        peer: SocketAddr,
    ) -> io::Result<(Answer, u64)> {
        // Read again each time: a key that was removed is unknown from then on.
        let keys = match keys::read(&self.keys) {
            Ok(keys) => keys,
            Err(error) => {
                let refusal = Refusal::new(503, "SlowDown", "the receiver cannot read its file of keys");
                self.note(peer, None, error.to_string());
                return Ok((refusal.answer(), OF_UNKNOWN_BYTES_MAX));
            }
        };
        let Some(key) = head.key.as_deref().and_then(|shown| keys::find(&keys, shown)) else {
            return Ok((self.refuse(peer, None, &Refusal::unknown_key()), OF_UNKNOWN_BYTES_MAX));
        };
        let place = match self.place(&key.prefix) {
            Ok(place) => place,
            Err(error) => {
                let refusal =
                    Refusal::new(400, "CannotStore", "the receiver cannot use the directory of this prefix");
                self.note(peer, Some(key), error.to_string());
                return Ok((refusal.answer(), SKIPPED_BYTES_MAX));
            }
        };
        let asked = Asked { key, place: &place, head, peer };
        let answer = match self.carry_out(connection, &asked) {
            Ok(answer) => answer,
            Err(Failed::Connection(error)) => return Err(error),
            // What is asked about may be missing or there.
            Err(Failed::Refused(refusal)) if [404, 412].contains(&refusal.status) => refusal.answer(),
            Err(Failed::Refused(refusal)) => self.refuse(peer, Some(key), &refusal),
        };
        Ok((answer, SKIPPED_BYTES_MAX))
    }

    fn refuse(&self, peer: SocketAddr, key: Option<&Key>, refusal: &Refusal) -> Answer {
        self.note(peer, key, refusal.message.clone());
        refusal.answer()
    }

    fn note(&self, peer: SocketAddr, key: Option<&Key>, reason: String) {
        let key = key.map(|key| key.name.clone());
        (self.on_event)(&ReceiveEvent::Refused { peer, key, reason });
    }

    fn carry_out(&self, connection: &mut Connection, asked: &Asked<'_>) -> Result<Answer, Failed> {
        let head = asked.head;
        let rest = head.path.strip_prefix(PROTOCOL).ok_or_else(Refusal::not_understood)?;
        let Some(name) = rest.strip_prefix('/').filter(|name| !name.is_empty()) else {
            if !["", "/"].contains(&rest) {
                return Err(Refusal::not_understood().into());
            }
            return match head.method {
                Method::Get => Ok(listing(asked)?),
                _ => Err(Refusal::append_only().into()),
            };
        };
        let name = Name::parse(name).ok_or_else(Refusal::bad_name)?;
        if !name.is_below(&asked.key.prefix) || name == asked.key.prefix {
            return Err(Refusal::other_prefix(&asked.key.prefix.to_string()).into());
        }
        match (head.method, head.query("uploadId")) {
            (Method::Get | Method::Head, None) => Ok(object(asked, &name)?),
            (Method::Post, None) if head.query("uploads").is_some() => {
                // Where there is no room for a byte, none is sent.
                asked.place.check_room(asked.key.quota)?;
                let id = self.uploads.begin(&asked.key.name, asked.place, &name)?;
                let text = format!(
                    "<InitiateMultipartUploadResult><Bucket>{PROTOCOL}</Bucket><Key>{name}</Key>\
                     <UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
                );
                Ok(Answer::xml(200, &text))
            }
            (Method::Put, Some(id)) => self.part(connection, asked, id, &name),
            (Method::Post, Some(id)) => self.complete(connection, asked, id, &name),
            (Method::Delete, Some(id)) => {
                self.uploads.find(id, &asked.key.name, &name)?.give_up();
                Ok(Answer::empty(204))
            }
            (Method::Put, None) if head.range.is_none() => self.put(connection, asked, &name),
            _ => Err(Refusal::append_only().into()),
        }
    }

    fn part(
        &self,
        connection: &mut Connection,
        asked: &Asked<'_>,
        id: &str,
        name: &Name,
    ) -> Result<Answer, Failed> {
        let number = asked.head.query("partNumber").and_then(|number| number.parse().ok());
        let upload = self.uploads.find(id, &asked.key.name, name)?;
        let mut part = upload.part(
            number.ok_or_else(Refusal::not_understood)?,
            asked.head.body_bytes,
            asked.key.quota,
        )?;
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match connection.body(&mut piece)? {
                0 => break,
                read => part.write(&piece[..read])?,
            }
        }
        part.finish()?;
        Ok(Answer::empty(200).header("ETag", format!("\"{}\"", number.unwrap_or(0))))
    }

    fn complete(
        &self,
        connection: &mut Connection,
        asked: &Asked<'_>,
        id: &str,
        name: &Name,
    ) -> Result<Answer, Failed> {
        let too_long = || Refusal::new(413, "EntityTooLarge", "the list of parts is too long");
        let body = connection.whole_body(LIST_BYTES_MAX)?.ok_or_else(too_long)?;
        let parts = String::from_utf8_lossy(&body).matches("<PartNumber>").count();
        let bytes = self.uploads.find(id, &asked.key.name, name)?.complete(parts)?;
        self.stored(asked, name, bytes);
        let text = format!(
            "<CompleteMultipartUploadResult><Bucket>{PROTOCOL}</Bucket><Key>{name}</Key><ETag>\"{id}\"</ETag>\
             </CompleteMultipartUploadResult>"
        );
        Ok(Answer::xml(200, &text))
    }

    fn put(&self, connection: &mut Connection, asked: &Asked<'_>, name: &Name) -> Result<Answer, Failed> {
        let bytes = asked.head.body_bytes;
        if bytes > OBJECT_BYTES_MAX {
            return Err(Refusal::new(413, "EntityTooLarge", "the object is too long for one request").into());
        }
        let id = hex(&random_bytes::<{ ID_DIGITS / 2 }>().map_err(Refusal::from)?);
        let quota = asked.key.quota.map(|quota| ByteCount(quota.bytes().saturating_add(BEYOND_QUOTA_BYTES)));
        asked.place.take_room((&id, 0), bytes, quota)?;
        let file =
            asked.place.begin(&id, name).inspect_err(|_| asked.place.give_up(&id)).map_err(Refusal::from)?;
        let written = (|| {
            let (mut piece, mut at) = (vec![0; PIECE_BYTES], 0);
            while at < bytes {
                let read = connection.body(&mut piece)?;
                write_all_at(&file, &piece[..read], at).map_err(Refusal::from)?;
                at += read as u64;
            }
            Ok(asked.place.complete(&id, &file, name).map_err(Refusal::from)?)
        })();
        if let Err(error) = written {
            asked.place.give_up(&id);
            return Err(error);
        }
        self.stored(asked, name, bytes);
        Ok(Answer::empty(200).header("ETag", format!("\"{id}\"")))
    }

    fn stored(&self, asked: &Asked<'_>, name: &Name, bytes: u64) {
        let (key, name) = (asked.key.name.clone(), name.to_string());
        (self.on_event)(&ReceiveEvent::Stored { peer: asked.peer, key, name, bytes });
    }
}

/// Why there is no answer with what was asked for.
enum Failed {
    Refused(Refusal),
    /// The client is gone, or too slow.
    Connection(io::Error),
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}

/// The files in one directory: `prefix` ends with a slash, and `delimiter` is one.
fn listing(asked: &Asked<'_>) -> Result<Answer, Refusal> {
    let prefix = asked.head.query("prefix").unwrap_or_default();
    if asked.head.query("delimiter") != Some("/") {
        return Err(Refusal::not_understood());
    }
    let of_prefix = || Refusal::other_prefix(&asked.key.prefix.to_string());
    let directory = prefix.strip_suffix('/').ok_or_else(of_prefix)?;
    let directory = Name::parse(directory).ok_or_else(Refusal::bad_name)?;
    if !directory.is_below(&asked.key.prefix) {
        return Err(of_prefix());
    }
    let found = asked.place.list(&directory).map_err(Refusal::from)?;
    let entry = |(file, stamp): (String, FileStamp)| Entry {
        key: format!("{directory}/{file}"),
        bytes: stamp.size_bytes,
        modified_ns: stamp.modified_ns,
    };
    Ok(list(prefix, &found.into_iter().map(entry).collect::<Vec<_>>()))
}

fn object(asked: &Asked<'_>, name: &Name) -> Result<Answer, Refusal> {
    let (file, stamp) = asked.place.read(name).map_err(Refusal::from)?;
    let size = stamp.size_bytes;
    let (status, offset, bytes) = match asked.head.range {
        None => (200, 0, size),
        Some((first, last)) if first < size => (206, first, last.min(size - 1) - first + 1),
        Some(_) => return Err(Refusal::new(416, "InvalidRange", "the object is shorter")),
    };
    let answer = Answer { status, headers: Vec::new(), body: Body::Part { file, offset, bytes } };
    let answer = if status == 206 {
        answer.header("Content-Range", format!("bytes {offset}-{}/{size}", offset + bytes - 1))
    } else {
        answer
    };
    Ok(answer
        .header("ETag", format!("\"{}\"", etag(size, stamp.modified_ns)))
        .header("Last-Modified", http_date(stamp.modified_ns))
        .header("Content-Type", "application/octet-stream".to_owned()))
}
