//! Sends what was sampled from the spool to the repository, as the servers of the sources.

use std::collections::HashMap;

use iostall_measure::clock::utc_now;
use iostall_model::device::{Greeting, Placement};
use iostall_store::{
    History as _, Holder, PostgresHistory, PulledAppend, SheetContent, SheetKind, SheetMark,
    SheetsToSend as _, Source, SourceId, SqliteHistory, StoreError, StoreId,
};
use jiff::Timestamp;

use super::claim::{Claim, SpoolState};
use crate::confirmed::{Confirmed, confirmed_by, put_confirmed_as};
use crate::error::WatchError;
use crate::named::NamedSource;
use crate::reported_volumes::reported;

const BATCH_SAMPLES: u32 = 60;
/// A source that somebody else samples is looked at so often, nanoseconds.
const LOOK_NS: u64 = 3_000_000_000;
/// It is taken over when nobody has held it for so long: whoever lost the connection or is restarted has it back by then, nanoseconds.
const FREE_NS: u64 = 12_000_000_000;
/// A server is heard of so often at most, and what was confirmed is remembered so often, nanoseconds.
const NOTE_NS: u64 = 60_000_000_000;
/// A source may have files on other volumes after this time, nanoseconds.
const PLACE_NS: u64 = 600_000_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PulledSource {
    pub(super) name: String,
    pub(super) server: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ForwardEvent {
    Elsewhere(String),
    Ours(String),
    Sent(String, usize),
}

struct Elsewhere {
    source: Source,
    looked_ns: u64,
    free_ns: Option<u64>,
}

pub(super) struct Forwarder {
    spool: SqliteHistory,
    place: NamedSource,
    version: String,
    repository: Option<PostgresHistory>,
    wanted: Vec<PulledSource>,
    state: SpoolState,
    claims: HashMap<String, Claim>,
    elsewhere: HashMap<String, Elsewhere>,
    placed: HashMap<String, (Vec<Placement>, u64)>,
    settings_sent: HashMap<SourceId, Timestamp>,
    greeted: HashMap<StoreId, u64>,
    /// The repository's name in the spool, and what it has confirmed.
    confirmed: Option<(String, Confirmed)>,
    noted_ns: u64,
    events: Vec<ForwardEvent>,
}

impl Forwarder {
    pub(super) fn new(
        mut spool: SqliteHistory,
        place: NamedSource,
        version: &str,
    ) -> Result<Self, WatchError> {
        let not_spool = || WatchError::NotSpool { path: spool.path().to_owned() };
        let state = SpoolState::read(&spool)?.ok_or_else(not_spool)?;
        // From now on it is known as a spool.
        state.write(&mut spool)?;
        Ok(Self {
            spool,
            place,
            version: version.to_owned(),
            repository: None,
            wanted: Vec::new(),
            state,
            claims: HashMap::new(),
            elsewhere: HashMap::new(),
            placed: HashMap::new(),
            settings_sent: HashMap::new(),
            greeted: HashMap::new(),
            confirmed: None,
            noted_ns: 0,
            events: Vec::new(),
        })
    }

    /// These are to be sampled from now on. What was sampled of others is still sent.
    pub(super) fn replace(&mut self, wanted: Vec<PulledSource>) {
        let server_of = |name: &str| wanted.iter().find(|one| one.name == name).map(|one| &one.server);
        // One that belongs to another server now is another source there.
        let has_moved = |name: &str, servers: &SpoolState| {
            server_of(name).is_some_and(|new| servers.servers.get(name) != Some(new))
        };
        let state = &self.state;
        self.claims.retain(|name, _| !has_moved(name, state));
        self.elsewhere.retain(|name, _| server_of(name).is_some() && !has_moved(name, state));
        self.wanted = wanted;
    }

    pub(super) fn elsewhere(&self) -> impl Iterator<Item = &String> {
        self.elsewhere.keys()
    }

    pub(super) fn events(&mut self) -> Vec<ForwardEvent> {
        std::mem::take(&mut self.events)
    }

    /// Sends what there is, until `is_over`. `now_ns` is a time on any clock that is always the same.
    pub(super) fn round(&mut self, now_ns: u64, is_over: &dyn Fn() -> bool) -> Result<(), WatchError> {
        let done = self.with_repository(|this, repository| {
            this.look(repository, now_ns)?;
            this.send(repository, now_ns, is_over)?;
            this.note(now_ns, false)
        });
        if done.is_err() {
            // It may be another one afterwards, such as one that was restored from a backup.
            self.settings_sent.clear();
            // Whatever was held went with the connection, and whatever was under way may or may not be there.
            self.claims.clear();
            self.elsewhere.values_mut().for_each(|one| one.free_ns = None);
        }
        done
    }

    pub(super) fn finish(&mut self, now_ns: u64) -> Result<(), WatchError> {
        self.with_repository(|_, repository| Ok(repository.finish()?))?;
        self.note(now_ns, true)
    }

    fn with_repository(
        &mut self,
        work: impl FnOnce(&mut Self, &mut PostgresHistory) -> Result<(), WatchError>,
    ) -> Result<(), WatchError> {
        let mut repository = match self.repository.take() {
            Some(repository) => repository,
            None => {
                PostgresHistory::open(&self.place.address, &self.place.secret).map_err(StoreError::from)?
            }
        };
        work(self, &mut repository)?;
        self.repository = Some(repository);
        Ok(())
    }

    fn look(&mut self, repository: &mut PostgresHistory, now_ns: u64) -> Result<(), WatchError> {
        if self.confirmed.is_none() {
            let name = format!("repository {}", repository.id());
            let confirmed = confirmed_by(&self.spool, &name)?;
            self.confirmed = Some((name, confirmed));
        }
        let before = self.state.clone();
        for one in self.wanted.clone() {
            self.state.servers.insert(one.name, one.server);
        }
        let all: Vec<(String, String)> =
            self.state.servers.iter().map(|(name, server)| (name.clone(), server.clone())).collect();
        for (name, server) in all {
            if !self.claims.contains_key(&name) {
                self.look_at(repository, &name, &server, now_ns)?;
            }
        }
        // Before anything is sent with its numbers.
        if self.state != before {
            self.state.write(&mut self.spool)?;
        }
        Ok(())
    }

    fn look_at(
        &mut self,
        repository: &mut PostgresHistory,
        name: &str,
        server: &str,
        now_ns: u64,
    ) -> Result<(), WatchError> {
        let known = self.elsewhere.get(name);
        if known.is_some_and(|known| now_ns.saturating_sub(known.looked_ns) < LOOK_NS) {
            return Ok(());
        }
        let source = match known {
            Some(known) => known.source.clone(),
            None => repository.pulled_source(server, name)?,
        };
        let free_ns = known.and_then(|known| known.free_ns);
        let takes = known.is_none() || free_ns.is_some_and(|since| now_ns.saturating_sub(since) >= FREE_NS);
        let there = repository.hold(source.id, takes)?;
        if there.holder == Holder::Ours {
            let id = source.id.to_string();
            let spooled = self.spool.source(name)?.id;
            let base = self.state.bases.get(&id).copied();
            let mut claim = Claim::begin(&self.spool, (source, spooled), base, &there)?;
            if let (None, Some((_, confirmed))) = (base, &self.confirmed) {
                // What it had as that of another server stays there.
                claim.confirmed = claim.confirmed.max(confirmed.number(spooled));
            }
            self.state.bases.insert(id, claim.base);
            self.claims.insert(name.to_owned(), claim);
            if self.elsewhere.remove(name).is_some() {
                self.events.push(ForwardEvent::Ours(name.to_owned()));
            }
            return Ok(());
        }
        let free_ns = (there.holder == Holder::Nobody).then(|| free_ns.unwrap_or(now_ns));
        self.leave(name, source, now_ns, free_ns);
        Ok(())
    }

    fn is_wanted(&self, name: &str) -> bool {
        self.wanted.iter().any(|one| one.name == name)
    }

    fn leave(&mut self, name: &str, source: Source, now_ns: u64, free_ns: Option<u64>) {
        if !self.is_wanted(name) {
            self.state.servers.remove(name);
            return;
        }
        if self.elsewhere.insert(name.to_owned(), Elsewhere { source, looked_ns: now_ns, free_ns }).is_none()
        {
            self.events.push(ForwardEvent::Elsewhere(name.to_owned()));
        }
    }

    fn send(
        &mut self,
        repository: &mut PostgresHistory,
        now_ns: u64,
        is_over: &dyn Fn() -> bool,
    ) -> Result<(), WatchError> {
        let names: Vec<String> = self.claims.keys().cloned().collect();
        for name in names {
            let Some(mut claim) = self.claims.remove(&name) else { continue };
            let (sent, outcome) = send_claim(&self.spool, repository, &mut claim, is_over)?;
            if sent > 0 {
                self.place(repository, &name, claim.source.id, now_ns)?;
                self.greet(repository, &name, claim.source.store, now_ns)?;
                self.send_settings(repository, &claim)?;
                self.events.push(ForwardEvent::Sent(name.clone(), sent));
            }
            if let Some((_, confirmed)) = &mut self.confirmed {
                confirmed.add(claim.spooled, claim.confirmed);
            }
            match outcome {
                Outcome::NotHeld => self.leave(&name, claim.source, now_ns, None),
                // It is looked at again.
                Outcome::NotNext => {}
                Outcome::Done if !self.is_wanted(&name) => {
                    repository.release(claim.source.id)?;
                    self.state.servers.remove(&name);
                    self.state.write(&mut self.spool)?;
                }
                Outcome::Done | Outcome::Stopped => drop(self.claims.insert(name, claim)),
            }
        }
        Ok(())
    }

    /// Tells the repository which volumes the source has, and what they are, where that is not what it was told last.
    fn place(
        &mut self,
        repository: &mut PostgresHistory,
        name: &str,
        source: SourceId,
        now_ns: u64,
    ) -> Result<(), WatchError> {
        let said = reported(&self.spool, name)?;
        let is_known = |(known, at_ns): &(Vec<Placement>, u64)| {
            *known == said && now_ns.saturating_sub(*at_ns) < PLACE_NS
        };
        if !self.placed.get(name).is_some_and(is_known) {
            repository.place(source, &said)?;
            self.placed.insert(name.to_owned(), (said, now_ns));
        }
        Ok(())
    }

    fn send_settings(&mut self, repository: &PostgresHistory, claim: &Claim) -> Result<(), WatchError> {
        let Some(read) = self.spool.settings_read(claim.spooled)? else { return Ok(()) };
        if self.settings_sent.get(&claim.source.id) == Some(&read.last) {
            return Ok(());
        }
        let (kind, name) = (SheetKind::Settings, claim.spooled.to_string());
        let spooled = self.spool.sheet_to_send(&SheetMark { kind, name, state: String::new() })?;
        if let Some(mut sheet) = spooled {
            sheet.mark.name = claim.source.id.to_string();
            if let SheetContent::Settings { source, .. } = &mut sheet.content {
                *source = claim.source.clone();
            }
            repository.put_sheet(claim.source.store, &sheet)?;
            self.settings_sent.insert(claim.source.id, read.last);
        }
        Ok(())
    }

    fn greet(
        &mut self,
        repository: &mut PostgresHistory,
        name: &str,
        store: StoreId,
        now_ns: u64,
    ) -> Result<(), WatchError> {
        let is_fresh = |greeted: &u64| now_ns.saturating_sub(*greeted) < NOTE_NS;
        if self.greeted.get(&store).is_some_and(is_fresh) {
            return Ok(());
        }
        let hostname = self.state.servers.get(name).cloned().unwrap_or_default();
        let version = self.version.clone();
        repository.greet(store, &Greeting { hostname, version, now: utc_now() })?;
        self.greeted.insert(store, now_ns);
        Ok(())
    }

    /// Remembers in the spool what was confirmed, so that it may be deleted.
    fn note(&mut self, now_ns: u64, is_last: bool) -> Result<(), WatchError> {
        if !is_last && now_ns.saturating_sub(self.noted_ns) < NOTE_NS {
            return Ok(());
        }
        self.noted_ns = now_ns;
        let Some((name, confirmed)) = &mut self.confirmed else { return Ok(()) };
        for source in self.elsewhere.keys() {
            // Nobody waits for what was sampled of it here.
            confirmed.add(self.spool.source(source)?.id, u64::MAX);
        }
        put_confirmed_as(&mut self.spool, name, confirmed)
    }
}

enum Outcome {
    Done,
    Stopped,
    NotHeld,
    NotNext,
}

/// Sends what the repository lacks of a source. How many samples were sent.
fn send_claim(
    spool: &SqliteHistory,
    repository: &mut PostgresHistory,
    claim: &mut Claim,
    is_over: &dyn Fn() -> bool,
) -> Result<(usize, Outcome), WatchError> {
    let mut sent = 0;
    while !is_over() {
        let next = spool.batch_after(claim.spooled, claim.confirmed, BATCH_SAMPLES)?;
        let Some(mut batch) = next else { return Ok((sent, Outcome::Done)) };
        let number = batch.sequence;
        batch.source = claim.source.clone();
        batch.sequence = claim.base.saturating_add(number);
        match repository.append_pulled(&batch, claim.appended)? {
            PulledAppend::Added | PulledAppend::AlreadyThere => {
                (claim.appended, claim.confirmed) = (batch.sequence, number);
                sent += batch.samples.taken_utc.len();
            }
            PulledAppend::NotHeld => return Ok((sent, Outcome::NotHeld)),
            PulledAppend::NotNext => return Ok((sent, Outcome::NotNext)),
        }
    }
    Ok((sent, Outcome::Stopped))
}
