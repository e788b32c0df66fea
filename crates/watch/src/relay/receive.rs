//! What servers have put into a relay, taken by the centre.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iostall_measure::Clock;
use iostall_measure::clock::utc_now;
use iostall_measure::foreign::shown;
use iostall_model::device::Placement;
use iostall_store::{
    Contact, History as _, Joined, Joining, Member, MemberState, PostgresHistory, RelayMember, SecretHash,
    StoreError, StoreId,
};
use jiff::Timestamp;

use super::confirmation::{Confirmation, ConfirmedSource, REFUSED_MAX};
use super::join::JoinFile;
use super::keys::{SharedKey, from_hex};
use super::names::{FileKind, FileName};
use super::place::RelayPlace;
use super::sealed::{Header, Message, opened};
use crate::centre_protocol::code;
use crate::error::WatchError;
use crate::follow::{pause_ns, random_part, wait};
use crate::intake::{self, IntakeError};

/// Texts of a server about itself, bytes.
const TEXT_BYTES_MAX: usize = 256;
/// What lies on what, bytes.
const PLACEMENT_BYTES_MAX: usize = 1 << 20;

/// What happens while a relay is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiveEvent {
    /// A server has joined, under this name.
    Joined { name: String },
    /// So many files of a server were taken.
    Received { name: String, files: usize },
    /// Something was not taken. Without a name the server is that of a store that has not joined.
    Refused { server: String, reason: String },
    /// The relay or the repository cannot be used, and is tried again. Said once.
    Cut { reason: String, hint: Option<String> },
    /// They can be used again.
    Continues,
}

/// Whoever is told of it.
type Observer<'a> = &'a mut dyn FnMut(ReceiveEvent);

/// Takes what is in `from` into `to`, and puts there what was taken. Nothing is taken twice, however often it is there.
///
/// # Errors
/// If the relay or the repository cannot be used: then the rest is taken the next time.
pub fn receive(
    to: &mut PostgresHistory,
    from: &RelayPlace,
    observer: &mut dyn FnMut(ReceiveEvent),
) -> Result<(), WatchError> {
    let names: BTreeSet<FileName> = from.list()?.into_iter().map(|(name, _)| name).collect();
    let stores: BTreeSet<StoreId> = names.iter().map(|name| name.store).collect();
    for store in stores {
        let of = |kind| -> Vec<FileName> {
            names.iter().filter(|name| name.store == store && name.kind == kind).copied().collect()
        };
        let files = Files {
            store,
            joins: of(FileKind::Join),
            batches: of(FileKind::Batch),
            confirmed: of(FileKind::Confirmed),
        };
        files.receive(to, from, observer)?;
    }
    Ok(to.finish()?)
}

/// Takes what is there, looks again after `interval`, and so on until `stop` is set.
///
/// # Errors
/// If the relay or the repository cannot be used and another try would not help.
pub fn receive_as_it_comes<C: Clock>(
    to: &mut PostgresHistory,
    from: &RelayPlace,
    interval: Duration,
    clock: &C,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(ReceiveEvent),
) -> Result<(), WatchError> {
    let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
    let (mut failures, mut said) = (0, String::new());
    while !stop.load(Ordering::Relaxed) {
        let pause = match receive(to, from, observer) {
            Ok(()) => {
                if failures > 0 {
                    observer(ReceiveEvent::Continues);
                }
                failures = 0;
                said.clear();
                interval_ns
            }
            Err(error) if error.may_pass() => {
                failures += 1;
                let reason = error.to_string();
                if reason != said {
                    observer(ReceiveEvent::Cut { reason: reason.clone(), hint: error.hint() });
                    said = reason;
                }
                pause_ns(failures, random_part())
            }
            Err(error) => return Err(error),
        };
        wait(clock, pause, stop);
    }
    Ok(())
}

/// The files of a server.
struct Files {
    store: StoreId,
    joins: Vec<FileName>,
    batches: Vec<FileName>,
    confirmed: Vec<FileName>,
}

impl Files {
    fn receive(
        &self,
        to: &mut PostgresHistory,
        from: &RelayPlace,
        observer: Observer<'_>,
    ) -> Result<(), WatchError> {
        for name in &self.joins {
            self.join(to, from, *name, observer)?;
        }
        let unknown = || self.store.to_string();
        let Some(found) = to.relay_member(self.store).map_err(StoreError::from)? else {
            if !self.batches.is_empty() && self.joins.is_empty() {
                observer(ReceiveEvent::Refused { server: unknown(), reason: "it has not joined".to_owned() });
            }
            return Ok(());
        };
        let RelayMember { member, public_key, confirm_key, received } = found;
        if member.state != MemberState::Joined {
            let reason = format!("this server is {}", member.state.name());
            observer(ReceiveEvent::Refused { server: member.name, reason });
            return Ok(());
        }
        let mut taken = Taken { received, files: 0, refused: Vec::new(), refused_until: BTreeMap::new() };
        for name in self.batches.iter().filter(|name| name.number > received) {
            let file = from.read(*name)?;
            let Some((header, messages)) = file.as_deref().and_then(|file| opened(file, *name, &public_key))
            else {
                let reason = format!("{name} is none of its files");
                observer(ReceiveEvent::Refused { server: member.name.clone(), reason });
                continue;
            };
            if !taken.take(to, &member, &header, &messages)? {
                break;
            }
            taken.received = name.number;
            taken.files += 1;
            to.put_received(&member, name.number).map_err(StoreError::from)?;
        }
        for reason in &taken.refused {
            observer(ReceiveEvent::Refused { server: member.name.clone(), reason: reason.clone() });
        }
        self.confirm(to, from, &member, &SharedKey::from_bytes(&confirm_key), &taken)?;
        if taken.files > 0 {
            observer(ReceiveEvent::Received { name: member.name, files: taken.files });
        }
        Ok(())
    }

    /// Makes a member of the server, if it has one of the codes.
    fn join(
        &self,
        to: &PostgresHistory,
        from: &RelayPlace,
        name: FileName,
        observer: Observer<'_>,
    ) -> Result<(), WatchError> {
        let mut refuse = |reason: &str| {
            observer(ReceiveEvent::Refused { server: self.store.to_string(), reason: reason.to_owned() });
            Ok(())
        };
        let file = from.read(name)?.unwrap_or_default();
        let codes = to.open_codes().map_err(StoreError::from)?;
        let with = |code: &SecretHash| Some((*code, SharedKey::of_code(code).verified(&file)?));
        let Some((code, text)) = codes.iter().find_map(with) else {
            return refuse(
                "it wants to join with a code that the centre has not made, or that is used or late",
            );
        };
        let read = serde_json::from_slice::<JoinFile>(text).ok();
        let read = read.filter(|read| {
            read.store == self.store
                && [&read.host, &read.version].iter().all(|text| text.len() <= TEXT_BYTES_MAX)
        });
        let Some((read, public_key)) =
            read.and_then(|read| Some((from_hex(&read.public_key)?, read))).map(|(key, read)| (read, key))
        else {
            return refuse("its wish to join is not understood");
        };
        let joining = Joining {
            code: &code,
            key: &SecretHash::of(&public_key),
            store: self.store,
            host: &read.host,
            version: &read.version,
        };
        match to.join(&joining).map_err(StoreError::from)? {
            Joined::As { name: server } => {
                let key = SharedKey::of_confirmations(&code, self.store, &public_key);
                to.put_relay_key(self.store, &public_key, key.bytes()).map_err(StoreError::from)?;
                from.delete(name)?;
                observer(ReceiveEvent::Joined { name: server });
                Ok(())
            }
            Joined::KnownAs { name } => {
                let name = shown(&name);
                refuse(&format!("this store has joined as {name}, and the code is not for that name"))
            }
            Joined::NoSuchCode | Joined::CodeExpired | Joined::CodeUsed => {
                refuse("it wants to join with a code that is used or late")
            }
        }
    }

    /// Puts there what the centre has, unless that is there; of earlier ones the last stays.
    fn confirm(
        &self,
        to: &PostgresHistory,
        from: &RelayPlace,
        member: &Member,
        key: &SharedKey,
        taken: &Taken,
    ) -> Result<(), WatchError> {
        let sources = to.known_sources(member).map_err(StoreError::from)?;
        let known = |(source, appended, newest)| {
            let newest = if appended == 0 { None } else { newest };
            (format!("{source}"), ConfirmedSource { appended, newest, refused_until: None })
        };
        let last = self.confirmed.last().copied();
        let said = match last {
            Some(name) => from.read(name)?.and_then(|file| Confirmation::from_file(&file, name, key)),
            None => None,
        };
        let mut sources: BTreeMap<String, ConfirmedSource> = sources.into_iter().map(known).collect();
        taken.add_refused(&mut sources, said.as_ref());
        let mut now = Confirmation {
            store: self.store,
            number: last.map_or(0, |name| name.number),
            name: member.name.clone(),
            received: taken.received,
            sources,
            runs: to.run_marks(member).map_err(StoreError::from)?,
            runs_after: to.runs_forgotten_before().map_err(StoreError::from)?,
            sheets: Some(to.sheet_marks(member).map_err(StoreError::from)?),
            refused: taken.refused.iter().take(REFUSED_MAX).cloned().collect(),
        };
        if said.is_some_and(|said| said.says_the_same_as(&now)) {
            return Ok(());
        }
        // Another `receive` may be at work.
        now.number = now.number.saturating_add(1);
        let name = FileName { store: self.store, kind: FileKind::Confirmed, number: now.number };
        let file = now.to_file(key).map_err(WatchError::Output)?;
        if from.put_new(name, &file)? {
            for earlier in self.confirmed.iter().rev().skip(1) {
                from.delete(*earlier)?;
            }
        }
        Ok(())
    }
}

/// What was taken of a server.
struct Taken {
    /// The last file.
    received: u64,
    files: usize,
    /// Why something was not.
    refused: Vec<String>,
    /// Until when samples of a source are refused that are from a wrong time.
    refused_until: BTreeMap<String, Timestamp>,
}

impl Taken {
    /// Adds until when sources are refused, also by what was `said` before: a server that is not told would send the same again each time.
    fn add_refused(&self, sources: &mut BTreeMap<String, ConfirmedSource>, said: Option<&Confirmation>) {
        let now = utc_now();
        let before = said.into_iter().flat_map(|said| &said.sources);
        let before = before.filter_map(|(id, known)| {
            // What follows is another batch if one was taken since.
            let is_same = known.appended == sources.get(id).map_or(0, |now| now.appended);
            known.refused_until.filter(|_| is_same).map(|until| (id.clone(), until))
        });
        let mut all: BTreeMap<String, Timestamp> = before.collect();
        all.extend(self.refused_until.clone());
        for (id, until) in all.into_iter().filter(|(_, until)| *until > now) {
            let nothing = ConfirmedSource { appended: 0, newest: None, refused_until: None };
            sources.entry(id).or_insert(nothing).refused_until = Some(until);
        }
    }

    /// Takes the messages of a file; false if the server may not send any more.
    fn take(
        &mut self,
        to: &mut PostgresHistory,
        member: &Member,
        header: &Header,
        messages: &[(Message, &[u8])],
    ) -> Result<bool, WatchError> {
        let texts = [&header.host, &header.version, &header.instance];
        if texts.iter().any(|text| text.len() > TEXT_BYTES_MAX) {
            self.refused.push("a text about the server is too long".to_owned());
            return Ok(true);
        }
        // How long the file was on its way is not known; only a clock that is ahead shows.
        let ahead = header.clock.duration_since(utc_now()).as_millis();
        let contact = Contact {
            host: &header.host,
            version: &header.version,
            instance: &header.instance,
            clock_ahead_ms: i64::try_from(ahead).unwrap_or(i64::MAX).max(0),
        };
        if to.put_contact(member, &contact).map_err(StoreError::from)? != MemberState::Joined {
            self.refused.push("two machines send in turn with the key of this server".to_owned());
            return Ok(false);
        }
        for (message, body) in messages {
            match take_one(to, member, message, body) {
                // What it follows is not there: the server sends that again when it hears so.
                Ok(()) | Err(IntakeError::Refused { code: code::NOT_NEXT, .. }) => {}
                Err(IntakeError::Refused { code, reason }) => {
                    if let (code::CLOCK, Message::Append { source, .. }) = (code, message) {
                        self.refused_until.insert(source.to_string(), intake::refused_until(body));
                    }
                    self.refused.push(reason);
                }
                Err(IntakeError::Store(error)) => return Err(error.into()),
            }
        }
        Ok(true)
    }
}

fn take_one(
    to: &mut PostgresHistory,
    member: &Member,
    message: &Message,
    body: &[u8],
) -> Result<(), IntakeError> {
    match message {
        Message::Append { after, .. } => intake::append(to, member, *after, body).map(drop),
        Message::Place { source, .. } => {
            let placements: Option<Vec<Placement>> = Some(body)
                .filter(|body| body.len() <= PLACEMENT_BYTES_MAX)
                .and_then(|body| serde_json::from_slice(body).ok());
            match placements {
                Some(placements) => intake::place(to, member, *source, &placements),
                // It may be that of a newer iostall.
                None => Ok(()),
            }
        }
        Message::Run { .. } => match intake::put_run(to, member, body) {
            Err(IntakeError::Refused { code: code::RUN, .. }) => {
                intake::put_run_entry(to, member, body).map(drop)
            }
            put => put.map(drop),
        },
        Message::Sheet { mark, .. } => match intake::put_sheet(to, member, body) {
            Err(IntakeError::Refused { code, reason }) => {
                // The server hears that it need not be sent again as it is.
                to.refuse_sheet(member.store, mark, &reason)?;
                Err(IntakeError::Refused { code, reason })
            }
            put => put.map(drop),
        },
    }
}
