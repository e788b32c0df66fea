//! A relay as a destination of history.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use iostall_measure::clock::utc_now;
use iostall_model::RunId;
use iostall_model::device::Placement;
use iostall_store::{
    Appended, Batch, RunMark, RunPut, SentRun, SentSheet, SheetMark, SheetPut, SourceId, StoreId, WireError,
};
use jiff::Timestamp;

use super::confirmation::Confirmation;
use super::keys::{SIGNATURE_BYTES, SharedKey, Signer, from_hex};
use super::names::{FileKind, FileName};
use super::place::{FILE_BYTES_MAX, RelayPlace};
use super::sealed::{Header, Message, opened, sealed};
use crate::centre::CentreError;
use crate::centre::instance::{Instance, PROGRAM_VERSION};
use crate::centre::membership::{Key, MembershipFile};
use crate::confirmed::Confirmed;
use crate::destination::{Destination, Known};
use crate::error::WatchError;
use crate::relay_error::RelayError;

/// A file is sealed when its messages have so many bytes.
const SEALED_BYTES: usize = 8 << 20;
/// So much may wait for the centre.
const WAITING_BYTES_MAX: u64 = 4 << 30;
/// Files with the next number that are not ours are passed over, so many times.
const TRIES_MAX: u64 = 1_000;

/// A relay that this store has joined through.
#[derive(Debug)]
pub struct Relay {
    place: RelayPlace,
    signer: Signer,
    confirm_key: SharedKey,
    instance: Instance,
    store: Option<StoreId>,
    confirmation: Option<Confirmation>,
    /// Files that wait for the centre, by number, with what is in them.
    waiting: BTreeMap<u64, Vec<Message>>,
    /// Messages of the next file, and their bodies.
    messages: Vec<Message>,
    bodies: Vec<u8>,
    /// Of the file that was put last.
    last_number: u64,
}

impl Relay {
    /// The relay at `address`, which the store at `store` has joined through. Asks nobody.
    ///
    /// # Errors
    /// If it has not.
    pub fn open(store: &Path, address: &str) -> Result<Self, WatchError> {
        let place = RelayPlace::parse(address)?;
        let address = place.address().to_owned();
        let not_joined = || RelayError::NotJoined { address: address.clone() };
        let membership = MembershipFile::beside(store).find(&address)?.ok_or_else(not_joined)?;
        let damaged = || RelayError::Key { address: address.clone(), path: store.to_owned() };
        let secret = membership.keys.iter().find_map(Key::secret).ok_or_else(damaged)?;
        let confirm_key = membership.confirm_key.as_deref().and_then(from_hex).ok_or_else(damaged)?;
        Ok(Self {
            place,
            signer: Signer::of(&secret)?,
            confirm_key: SharedKey::from_bytes(&confirm_key),
            instance: Instance::here(store),
            store: None,
            confirmation: None,
            waiting: BTreeMap::new(),
            messages: Vec::new(),
            bodies: Vec::new(),
            last_number: 0,
        })
    }

    /// The newest confirmation, unless it is the one that is known. Those that were not made by the centre are none.
    fn read_confirmation(&mut self, names: &[FileName]) -> Result<bool, RelayError> {
        let known = self.confirmation.as_ref().map_or(0, |known| known.number);
        let numbers = names.iter().filter(|name| name.kind == FileKind::Confirmed && name.number > known);
        for name in numbers.rev() {
            let file = self.place.read(*name)?;
            let read = file.and_then(|file| Confirmation::from_file(&file, *name, &self.confirm_key));
            if read.is_some() {
                self.confirmation = read;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads which of our files wait, and deletes those that the centre no longer needs.
    fn read_waiting(&mut self, names: &[(FileName, u64)]) -> Result<(), RelayError> {
        let received = self.confirmation.as_ref().map_or(0, |known| known.received);
        let (mut waiting, mut bytes) = (BTreeMap::new(), 0);
        for (name, length) in names.iter().filter(|(name, _)| name.kind == FileKind::Batch) {
            // Also what was signed with an earlier key.
            if name.number <= received {
                self.place.delete(*name)?;
                continue;
            }
            let known = self.waiting.remove(&name.number);
            let Some(messages) = known.map_or_else(|| self.read_messages(*name), |known| Ok(Some(known)))?
            else {
                // A file that we have not made is left to whoever has.
                continue;
            };
            bytes += length;
            waiting.insert(name.number, messages);
        }
        self.last_number = waiting.keys().next_back().copied().unwrap_or(0).max(received);
        self.waiting = waiting;
        if bytes > WAITING_BYTES_MAX {
            return Err(RelayError::Full { address: self.place.address().to_owned(), bytes });
        }
        Ok(())
    }

    /// What is in a file; `None` if it is not there, or none that we have made.
    fn read_messages(&self, name: FileName) -> Result<Option<Vec<Message>>, RelayError> {
        let file = self.place.read(name)?;
        let found = file.as_deref().and_then(|file| opened(file, name, &self.signer.public_key()));
        Ok(found.map(|(header, _)| header.messages))
    }

    /// What is on its way, the newest first.
    fn on_their_way(&self) -> impl Iterator<Item = &Message> {
        self.messages
            .iter()
            .rev()
            .chain(self.waiting.values().rev().flat_map(|messages| messages.iter().rev()))
    }

    fn push(&mut self, message: Message, body: &[u8]) -> Result<(), RelayError> {
        self.messages.push(message);
        self.bodies.extend_from_slice(body);
        if self.bodies.len() < SEALED_BYTES { Ok(()) } else { self.seal() }
    }

    /// Puts the messages so far into the relay.
    fn seal(&mut self) -> Result<(), RelayError> {
        let Some(store) = self.store.filter(|_| !self.messages.is_empty()) else { return Ok(()) };
        let mut header = Header {
            store,
            number: 0,
            host: self.instance.host.clone(),
            version: PROGRAM_VERSION.to_owned(),
            instance: self.instance.hash.clone(),
            clock: utc_now(),
            messages: self.messages.clone(),
        };
        let address = self.place.address().to_owned();
        for number in (1..=TRIES_MAX).filter_map(|step| self.last_number.checked_add(step)) {
            header.number = number;
            let file = sealed(&header, &self.bodies, &self.signer);
            if file.len() as u64 > FILE_BYTES_MAX {
                return Err(RelayError::TooLong { address, most: FILE_BYTES_MAX });
            }
            if self.place.put_new(FileName { store, kind: FileKind::Batch, number }, &file)? {
                self.last_number = number;
                self.waiting.insert(number, std::mem::take(&mut self.messages));
                self.bodies.clear();
                return Ok(());
            }
        }
        Err(RelayError::Full { address, bytes: (self.bodies.len() + SIGNATURE_BYTES) as u64 })
    }
}

impl Destination for Relay {
    fn begin(&mut self, store: StoreId) -> Result<Option<String>, WatchError> {
        self.store = Some(store);
        // What a failure has left unsealed is not on its way.
        self.messages.clear();
        self.bodies.clear();
        let names: Vec<(FileName, u64)> =
            self.place.list()?.into_iter().filter(|(name, _)| name.store == store).collect();
        let only: Vec<FileName> = names.iter().map(|(name, _)| *name).collect();
        let is_new = self.read_confirmation(&only)?;
        self.read_waiting(&names)?;
        let refused = self.confirmation.iter().filter(|_| is_new).flat_map(|known| &known.refused);
        let refused: Vec<&str> = refused.map(String::as_str).collect();
        Ok((!refused.is_empty()).then(|| format!("the centre refused: {}", refused.join("; "))))
    }

    fn remembered_as(&self) -> Option<&str> {
        Some(self.place.address())
    }

    fn confirmed(&self, sent: Confirmed) -> Confirmed {
        let known = |source: &str| {
            self.confirmation
                .as_ref()
                .and_then(|known| known.sources.get(source))
                .map_or(0, |known| known.appended)
        };
        sent.limited(&known)
    }

    fn refuses(&self, source: SourceId) -> Option<String> {
        let confirmed = self.confirmation.as_ref()?.sources.get(&source.to_string())?;
        let until = confirmed.refused_until?;
        Some(if until == Timestamp::MAX {
            "what it has next is older than a centre takes".to_owned()
        } else {
            format!("what it has next is from the future, and the centre takes it from {until:.0} on")
        })
    }

    fn known(&mut self, source: SourceId) -> Result<Known, WatchError> {
        let sent = self.on_their_way().find_map(|message| match message {
            Message::Append { source: of, sequence, newest, .. } if *of == source => {
                Some(Known { appended: *sequence, newest: *newest })
            }
            _ => None,
        });
        let confirmed =
            || self.confirmation.as_ref().map_or_else(Known::default, |known| known.known(source));
        Ok(sent.unwrap_or_else(confirmed))
    }

    fn append(&mut self, after: u64, batch: &Batch) -> Result<Appended, WatchError> {
        let body = match batch.to_wire() {
            Err(WireError::TooLong { .. }) => return Err(WatchError::BatchTooLong),
            body => body.map_err(CentreError::Batch)?,
        };
        let message = Message::Append {
            source: batch.source.id,
            after,
            sequence: batch.sequence,
            newest: batch.samples.taken_utc.last().copied(),
            bytes: body.len(),
        };
        self.push(message, &body)?;
        Ok(Appended::Added)
    }

    fn place(&mut self, source: SourceId, placements: &[Placement]) -> Result<(), WatchError> {
        let is_sent =
            |message: &Message| matches!(message, Message::Append { source: of, .. } if *of == source);
        // It goes with samples: alone it would be a file each time.
        if self.messages.iter().any(is_sent) {
            let body = serde_json::to_vec(placements).unwrap_or_default();
            self.push(Message::Place { source, bytes: body.len() }, &body)?;
        }
        Ok(())
    }

    fn lacking_runs(&mut self, _: StoreId, marks: &[RunMark]) -> Result<Option<Vec<RunId>>, WatchError> {
        let confirmed = self.confirmation.iter().flat_map(|known| &known.runs);
        let mut there: HashMap<RunId, RunMark> = confirmed.map(|mark| (mark.id, *mark)).collect();
        let mut sent: HashSet<RunId> = HashSet::new();
        for message in self.on_their_way() {
            // The newest comes first.
            if let Message::Run { mark, .. } = message
                && sent.insert(mark.id)
            {
                there.insert(mark.id, *mark);
            }
        }
        let wanted_after = self.confirmation.as_ref().and_then(|known| known.runs_after);
        let lacks = |mark: &&RunMark| {
            wanted_after.is_none_or(|limit| mark.ended_utc >= limit)
                && there.get(&mark.id).is_none_or(|there| mark.is_newer_than(there))
        };
        Ok(Some(marks.iter().filter(lacks).map(|mark| mark.id).collect()))
    }

    fn put_run(&mut self, _: StoreId, run: &SentRun) -> Result<RunPut, WatchError> {
        let body = match (run.to_wire(), &run.document) {
            (Ok(body), _) => body,
            (Err(error), Some(_)) => return Ok(RunPut::Unfit { reason: error.to_string() }),
            (Err(error), None) => {
                let (number, reason) = (run.entry.number, error.to_string());
                return Err(CentreError::Run { number, reason }.into());
            }
        };
        let (ended_utc, interrupted) = (run.entry.ended_utc, run.entry.interrupted);
        let mark = RunMark { id: run.entry.id, ended_utc, interrupted };
        self.push(Message::Run { mark, bytes: body.len() }, &body)?;
        Ok(RunPut::Added)
    }

    fn lacking_sheets(
        &mut self,
        _: StoreId,
        marks: &[SheetMark],
    ) -> Result<Option<Vec<SheetMark>>, WatchError> {
        // Before the centre has said that it takes them, it may be an older one.
        let Some(confirmed) = self.confirmation.as_ref().and_then(|known| known.sheets.as_ref()) else {
            return Ok(None);
        };
        let key = |mark: &SheetMark| (mark.kind, mark.name.clone());
        let mut there: HashMap<_, &SheetMark> = confirmed.iter().map(|mark| (key(mark), mark)).collect();
        // The newest comes first, and counts.
        let sent: Vec<&SheetMark> = self
            .on_their_way()
            .filter_map(|message| if let Message::Sheet { mark, .. } = message { Some(mark) } else { None })
            .collect();
        there.extend(sent.into_iter().rev().map(|mark| (key(mark), mark)));
        let lacks = |mark: &&SheetMark| there.get(&key(mark)) != Some(mark);
        Ok(Some(marks.iter().filter(lacks).cloned().collect()))
    }

    fn put_sheet(&mut self, _: StoreId, sheet: &SentSheet) -> Result<SheetPut, WatchError> {
        let body = match sheet.to_wire() {
            Ok(body) => body,
            Err(error) => return Ok(SheetPut::Unfit { reason: error.to_string() }),
        };
        self.push(Message::Sheet { mark: sheet.mark.clone(), bytes: body.len() }, &body)?;
        Ok(SheetPut::Added)
    }

    fn finish(&mut self) -> Result<(), WatchError> {
        Ok(self.seal()?)
    }
}
