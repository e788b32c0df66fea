//! What a request asks for, and whether it may.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use iostall_measure::clock::utc_now;
use iostall_measure::{Clock as _, MonotonicClock};
use iostall_store::{
    BODY_BYTES_MAX, Contact, FleetSecret, History, Joining, KnownServer, Member, PostgresHistory,
    RepositoryError, Retention, SecretHash, StoreError, StoreId,
};
use iostall_watch::centre_protocol::{
    HelloAnswer, HelloRequest, JoinAnswer, JoinRequest, PathError, RotateAnswer, RotateRequest, Verb, code,
};
use iostall_watch::intake::{IntakeError, Quotas};
use iostall_watch::rollout::RolloutError;
use jiff::{SignedDuration, Timestamp};

use super::checks::{REQUEST_BYTES_MAX, check_texts, json_of, lock};
use super::counts::{Counts, add};
use super::limits::{Limit, Limits, Seen};
use super::refusals;
use crate::server::{Answer, Connection, Head, Method, Refusal};

/// Limit for one server: a batch has an hour of samples, so that a month is sent within two minutes.
const OF_SERVER: Limit = Limit { per_s: 20, burst: 100 };
/// Limit for one address whose key is unknown or missing.
const OF_UNKNOWN: Limit = Limit { per_s: 2, burst: 20 };
/// KiB of batches, runs and sheets of one server, as they are sent: a hundred times what a large server has, and a month of it at once.
const KIB_OF_SERVER: Limit = Limit { per_s: 1 << 10, burst: 4 << 20 };
/// Why the samples of a server are not taken is remembered so often at most, nanoseconds.
const NOTE_NS: u64 = 60_000_000_000;
/// With more, all are forgotten, and each is known again when it is shown.
const KEYS_REMEMBERED_MAX: usize = 20_000;
/// While the repository does not answer, it is not asked for so long, nanoseconds.
const DOWN_NS: u64 = 1_000_000_000;
/// One of many events in so long is said, nanoseconds.
const EVENT_NS: u64 = 1_000_000_000;
/// The whole of a request may take so long until a key was shown, nanoseconds.
const WITHOUT_KEY_NS: u64 = 5_000_000_000;

#[derive(Clone, Debug)]
pub enum CentreEvent {
    Joined {
        peer: SocketAddr,
        name: String,
    },
    /// A request was not carried out. Without a name the server is unknown.
    Refused {
        peer: SocketAddr,
        name: Option<String>,
        reason: String,
        /// How many events before it were not reported.
        unreported: u64,
    },
    Unavailable {
        reason: String,
        hint: Option<String>,
        unreported: u64,
    },
}

pub type OnCentreEvent = Box<dyn Fn(&CentreEvent) + Send + Sync>;

pub(super) struct Shared {
    /// Looks up keys.
    members: Mutex<PostgresHistory>,
    /// A server always gets the same one.
    writers: Vec<Mutex<PostgresHistory>>,
    of_server: Limits<StoreId>,
    kib_of_server: Limits<StoreId>,
    pub(super) quotas: Quotas,
    /// When it was remembered last why nothing is taken of a server.
    noted_ns: Mutex<HashMap<StoreId, u64>>,
    of_unknown: Limits<IpAddr>,
    /// Keys that were good: whoever shows them is not unknown, whatever else comes from that address.
    known_keys: Mutex<HashSet<SecretHash>>,
    /// Servers of whom a batch is on its way.
    pub(super) appending: Mutex<HashSet<StoreId>>,
    pub(super) counts: Counts,
    clock: MonotonicClock,
    down_until_ns: AtomicU64,
    event_due_ns: AtomicU64,
    unreported: AtomicU64,
    on_event: OnCentreEvent,
}

pub(super) enum Failed {
    Refused(Refusal),
    Store(StoreError),
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

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<IntakeError> for Failed {
    fn from(error: IntakeError) -> Self {
        match error {
            IntakeError::Refused { code, reason } => Self::Refused(refusals::of_code(code, &reason)),
            IntakeError::Store(error) => Self::Store(error),
        }
    }
}

impl From<RolloutError> for Failed {
    /// What is wrong with a push is not for servers: they ask again.
    fn from(error: RolloutError) -> Self {
        match error {
            RolloutError::Store(error) => Self::Store(error),
            error => Self::Refused(Refusal::new(409, code::PUSH, error.to_string())),
        }
    }
}

impl From<RepositoryError> for Failed {
    fn from(error: RepositoryError) -> Self {
        Self::Store(error.into())
    }
}

impl Shared {
    pub(super) fn new(
        members: PostgresHistory,
        writers: Vec<PostgresHistory>,
        on_event: OnCentreEvent,
    ) -> Self {
        let clock = MonotonicClock::new();
        Self {
            members: Mutex::new(members),
            writers: writers.into_iter().map(Mutex::new).collect(),
            of_server: Limits::new(OF_SERVER, clock.clone()),
            kib_of_server: Limits::new(KIB_OF_SERVER, clock.clone()),
            quotas: Quotas::default(),
            noted_ns: Mutex::default(),
            of_unknown: Limits::new(OF_UNKNOWN, clock.clone()),
            known_keys: Mutex::default(),
            appending: Mutex::default(),
            counts: Counts::default(),
            clock,
            down_until_ns: AtomicU64::new(0),
            event_due_ns: AtomicU64::new(0),
            unreported: AtomicU64::new(0),
            on_event,
        }
    }

    pub(super) fn finish(&self) {
        std::thread::scope(|scope| {
            for writer in &self.writers {
                scope.spawn(|| {
                    if let Err(error) = History::finish(&mut *lock(writer)) {
                        self.unavailable(&error);
                    }
                });
            }
        });
    }

    /// [`Self::finish`] for sources that have sent nothing for so long since the hour of their newest sample ended.
    /// Others wait for one of them at most.
    pub(super) fn finish_silent(&self, silent: SignedDuration) {
        let Ok(at) = utc_now().checked_sub(silent) else { return };
        for writer in &self.writers {
            let sources = lock(writer).unfinished_at(at);
            for source in sources {
                if let Err(error) = lock(writer).finish_one(source) {
                    self.unavailable(&error);
                    break;
                }
            }
        }
    }

    /// Deletes what is older than it is kept, and makes the tables of the days to come.
    pub(super) fn forget(&self, retention: &Retention, keep_runs: Option<SignedDuration>) {
        let Some(writer) = self.writers.first() else { return };
        let now = utc_now();
        let limit = keep_runs.and_then(|kept| now.checked_sub(kept).ok());
        let mut writer = lock(writer);
        let done = writer.forget(retention, now);
        let runs = limit.map_or(Ok(0), |limit| writer.forget_runs(limit)).map_err(StoreError::from);
        drop(writer);
        for error in [done.err(), runs.err()].into_iter().flatten() {
            self.unavailable(&error);
        }
    }

    pub(super) fn serve(&self, connection: &mut Connection, peer: SocketAddr) -> io::Result<()> {
        let mut seen = Seen::default();
        connection.answer_each(|connection, next| match next {
            Err(refusal) => Ok((self.refuse(peer, None, &refusal), 0)),
            Ok(head) => self.answer(connection, &head, peer, &mut seen),
        })
    }

    /// The answer, and how much of the rest of the body is worth reading.
    fn answer(
        &self,
        connection: &mut Connection,
        head: &Head,
        peer: SocketAddr,
        seen: &mut Seen,
    ) -> io::Result<(Answer, u64)> {
        let mut member = None;
        let done = self.carry_out(connection, head, peer, (&mut member, seen));
        let skipped = if member.is_some() { BODY_BYTES_MAX } else { REQUEST_BYTES_MAX };
        let answer = match done {
            Ok(answer) => {
                add(&self.counts.answered);
                answer
            }
            Err(Failed::Connection(error)) => return Err(error),
            Err(Failed::Refused(refusal)) => {
                if let Some(member) = member.as_ref().filter(|_| refusals::is_for_operators(&refusal)) {
                    self.note(member, &refusal.message);
                }
                self.refuse(peer, member.as_ref(), &refusal)
            }
            Err(Failed::Store(error)) => {
                self.unavailable(&error);
                refusals::refused(&refusals::unavailable())
            }
        };
        Ok((answer, skipped as u64))
    }

    fn carry_out(
        &self,
        connection: &mut Connection,
        head: &Head,
        peer: SocketAddr,
        (found, seen): (&mut Option<Member>, &mut Seen),
    ) -> Result<Answer, Failed> {
        // When the client wrote its request, but for its way: what follows is the waiting of others.
        let arrived = utc_now();
        let verb = match Verb::of_path(&head.path) {
            Ok(verb) if head.method == Method::Post => verb,
            Err(PathError::Version(theirs)) => return Err(refusals::other_version(theirs).into()),
            _ => return Err(Refusal::not_understood().into()),
        };
        let hash = head.key.as_deref().and_then(FleetSecret::parse).map(|secret| secret.hash());
        let is_known = hash.is_some_and(|hash| lock(&self.known_keys).contains(&hash));
        if !is_known {
            connection.hurry(WITHOUT_KEY_NS);
        }
        if !is_known && !self.of_unknown.has_some(&peer.ip()) {
            return Err(refusals::slow_down().into());
        }
        if verb == Verb::Join {
            self.of_unknown.take(&peer.ip());
            return self.join(connection, peer);
        }
        let unknown = || {
            self.of_unknown.take(&peer.ip());
            refusals::unknown_key()
        };
        let hash = hash.ok_or_else(unknown)?;
        let known = seen.with_key(hash, self.clock.now_ns()).filter(|_| verb.sends()).cloned();
        let member = if let Some(member) = known {
            member
        } else {
            connection.serve(true);
            let member = self.members()?.member(&hash)?.ok_or_else(unknown)?;
            connection.is_known(head);
            self.remember(hash);
            seen.put(hash, &member, self.clock.now_ns());
            member
        };
        let member = &*found.insert(member);
        if let Some(refusal) = refusals::of_state(member.state) {
            return Err(refusal.into());
        }
        if !self.of_server.take(&member.store) {
            return Err(refusals::slow_down().into());
        }
        match verb {
            Verb::Hello => self.hello(connection, member, arrived),
            Verb::Known => self.known(connection, member),
            Verb::Append => self.append(connection, head, member),
            Verb::Place => self.place(connection, member),
            Verb::Runs => self.runs(connection, member),
            Verb::Run => self.run(connection, member),
            Verb::Sheets => self.sheets(connection, member),
            Verb::Sheet => self.sheet(connection, member),
            Verb::Rotate => self.rotate(connection, member),
            Verb::Wanted => self.wanted(connection, member),
            Verb::Part => self.part(connection, member),
            Verb::Outcome => self.outcome(connection, member),
            Verb::Join => Err(Refusal::not_understood().into()),
        }
    }

    fn join(&self, connection: &mut Connection, peer: SocketAddr) -> Result<Answer, Failed> {
        let request: JoinRequest = json_of(connection)??;
        let code = FleetSecret::parse(&request.code).filter(FleetSecret::is_code);
        let (Some(code), Some(key)) = (code, SecretHash::parse(&request.key_hash)) else {
            return Err(Refusal::not_understood().into());
        };
        check_texts(&[&request.host, &request.version])?;
        connection.serve(true);
        let joined = self.members()?.join(&Joining {
            code: &code.hash(),
            key: &key,
            store: request.store,
            host: &request.host,
            version: &request.version,
        })?;
        let name = refusals::of_join(joined)?;
        (self.on_event)(&CentreEvent::Joined { peer, name: name.clone() });
        Ok(refusals::json(&JoinAnswer { name }))
    }

    fn hello(
        &self,
        connection: &mut Connection,
        member: &Member,
        arrived: Timestamp,
    ) -> Result<Answer, Failed> {
        let request: HelloRequest = json_of(connection)??;
        check_texts(&[&request.host, &request.version, &request.instance])?;
        let ahead = request.clock.duration_since(arrived).as_millis();
        let clock_ahead_ms = i64::try_from(ahead).unwrap_or(i64::MAX);
        let contact = Contact {
            host: &request.host,
            version: &request.version,
            instance: &request.instance,
            clock_ahead_ms,
        };
        let state = self.members()?.put_contact(member, &contact)?;
        if let Some(refusal) = refusals::of_state(state) {
            return Err(refusal.into());
        }
        Ok(refusals::json(&HelloAnswer { name: member.name.clone(), clock_ahead_ms }))
    }

    fn rotate(&self, connection: &mut Connection, member: &Member) -> Result<Answer, Failed> {
        let request: RotateRequest = json_of(connection)??;
        let next = SecretHash::parse(&request.key_hash).ok_or_else(Refusal::not_understood)?;
        self.members()?.put_next_key(member, &next)?;
        Ok(refusals::json(&RotateAnswer {}))
    }

    fn members(&self) -> Result<MutexGuard<'_, PostgresHistory>, Failed> {
        self.if_it_answers(&self.members)
    }

    pub(super) fn writer(&self, member: &Member) -> Result<MutexGuard<'_, PostgresHistory>, Failed> {
        // Ids are random at their end.
        let sum = member
            .store
            .to_string()
            .bytes()
            .fold(0, |sum: usize, byte| sum.wrapping_mul(31) + usize::from(byte));
        self.if_it_answers(&self.writers[sum % self.writers.len()])
    }

    /// A connection to the repository, unless that did not answer a short time ago: who waits for one would wait for a second failure.
    fn if_it_answers<'a>(
        &self,
        repository: &'a Mutex<PostgresHistory>,
    ) -> Result<MutexGuard<'a, PostgresHistory>, Failed> {
        let locked = lock(repository);
        let is_down = self.down_until_ns.load(Ordering::Relaxed) > self.clock.now_ns();
        if is_down { Err(refusals::unavailable().into()) } else { Ok(locked) }
    }

    fn remember(&self, hash: SecretHash) {
        let mut keys = lock(&self.known_keys);
        if keys.len() >= KEYS_REMEMBERED_MAX {
            keys.clear();
        }
        keys.insert(hash);
    }

    /// Whether so much more may come of this server now.
    pub(super) fn check_bytes(&self, member: &Member, body: &[u8]) -> Result<(), Refusal> {
        if self.kib_of_server.take_some(&member.store, (body.len() as u64).div_ceil(1 << 10)) {
            return Ok(());
        }
        let text = "this server sends more than 4 GiB at once and 1 MiB a second; the rest is taken later";
        Err(Refusal::new(429, code::SLOW_DOWN, text))
    }

    /// Remembers why nothing is taken of a server. If that fails, the log says it all the same.
    fn note(&self, member: &Member, reason: &str) {
        let now_ns = self.clock.now_ns();
        let mut noted = lock(&self.noted_ns);
        if noted.len() >= KEYS_REMEMBERED_MAX {
            noted.clear();
        }
        let is_due = noted.get(&member.store).is_none_or(|at_ns| now_ns - at_ns >= NOTE_NS);
        if is_due {
            noted.insert(member.store, now_ns);
        }
        drop(noted);
        if is_due && let Ok(members) = self.members() {
            let _ = members.put_refused(member, reason);
        }
    }

    pub(super) fn servers(&self) -> Result<Vec<KnownServer>, Failed> {
        Ok(self.members()?.servers()?)
    }

    fn refuse(&self, peer: SocketAddr, member: Option<&Member>, refusal: &Refusal) -> Answer {
        add(&self.counts.refused);
        let name = member.map(|member| member.name.clone());
        self.report(|unreported| CentreEvent::Refused {
            peer,
            name,
            reason: refusal.message.clone(),
            unreported,
        });
        refusals::refused(refusal)
    }

    fn unavailable(&self, error: &StoreError) {
        add(&self.counts.unavailable);
        if error.may_pass() {
            self.down_until_ns.store(self.clock.now_ns() + DOWN_NS, Ordering::Relaxed);
        }
        let (reason, hint) = (error.to_string(), error.hint());
        self.report(|unreported| CentreEvent::Unavailable { reason, hint, unreported });
    }

    /// Unless something was said a short time ago: nobody may fill the log.
    fn report(&self, event: impl FnOnce(u64) -> CentreEvent) {
        let (now_ns, due_ns) = (self.clock.now_ns(), self.event_due_ns.load(Ordering::Relaxed));
        let next = now_ns + EVENT_NS;
        let is_due = now_ns >= due_ns
            && self.event_due_ns.compare_exchange(due_ns, next, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if is_due {
            (self.on_event)(&event(self.unreported.swap(0, Ordering::Relaxed)));
        } else {
            self.unreported.fetch_add(1, Ordering::Relaxed);
        }
    }
}
