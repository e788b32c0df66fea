//! A centre as a destination of history.

use std::path::Path;

use iostall_engine::files::stamp_of_path;
use iostall_host::System;
use iostall_measure::clock::utc_now;
use iostall_measure::{Clock as _, MonotonicClock};
use iostall_model::RunId;
use iostall_model::device::Placement;
use iostall_remote::centre::{CentreClient, centre_address};
use iostall_store::{
    Appended, Batch, FleetSecret, RunMark, RunPut, SentRun, SentSheet, SheetMark, SheetPut, SourceId,
    WireError,
};
use jiff::SignedDuration;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use super::membership::{Key, Membership, MembershipFile};
use crate::centre_error::CentreError;
use crate::centre_protocol::{
    AFTER, AppendAnswer, HelloAnswer, HelloRequest, KnownAnswer, KnownRequest, OutcomeAnswer, OutcomeRequest,
    PartRequest, PlaceAnswer, PlaceRequest, RotateAnswer, RotateRequest, RunsAnswer, RunsRequest,
    SheetsAnswer, SheetsRequest, Verb, WantedAnswer, WantedRequest, code,
};
use crate::destination::{Destination, Known};
use crate::error::WatchError;

const KEY_AGE_MAX: SignedDuration = SignedDuration::from_hours(30 * 24);
const TRIES_MAX: u32 = 6;
const PAUSE_NS: u64 = 500_000_000;
const GREETING_NS: u64 = 50_000_000_000;
const CLOCK_WRONG_MS: u64 = 5_000;
/// A greeting that took longer waited for its turn after the clock of this machine was read, nanoseconds.
const PROMPT_NS: u64 = 1_000_000_000;

pub struct Centre {
    client: CentreClient,
    file: MembershipFile,
    membership: Membership,
    secret: FleetSecret,
    instance: Instance,
    clock: MonotonicClock,
    /// When the centre heard who this is; `None` if it has not answered since.
    greeted_ns: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    pub name: String,
    /// `None` if it is right to within seconds.
    pub clock_ahead_ms: Option<i64>,
}

impl Greeting {
    pub fn warning(&self) -> Option<String> {
        let ahead_ms = self.clock_ahead_ms?;
        let direction = if ahead_ms > 0 { "ahead of" } else { "behind" };
        let seconds = ahead_ms.unsigned_abs() / 1_000;
        Some(format!("the clock of this machine is {seconds} s {direction} that of the centre"))
    }
}

impl Centre {
    /// The centre at `address`, which the store at `store` has joined. Asks nobody.
    pub fn open(store: &Path, address: &str) -> Result<Self, CentreError> {
        let address = centre_address(address)?;
        let file = MembershipFile::beside(store);
        let not_joined = || CentreError::NotJoined { address: address.clone() };
        let membership = file.find(&address)?.ok_or_else(not_joined)?;
        let secret = membership.keys.iter().find_map(Key::secret).ok_or_else(not_joined)?;
        let client = CentreClient::new(&address, membership.fingerprint()?)?;
        let instance = Instance::here(store);
        Ok(Self {
            client,
            file,
            membership,
            secret,
            instance,
            clock: MonotonicClock::new(),
            greeted_ns: None,
        })
    }

    pub fn address(&self) -> &str {
        &self.membership.address
    }

    /// Says who this server is, and replaces its key where that is old.
    pub fn hello(&mut self) -> Result<Greeting, CentreError> {
        let answer = self.hello_with_a_key()?;
        let is_old = self.membership.keys.first().is_some_and(|key| {
            utc_now().duration_since(key.made) > KEY_AGE_MAX || key.secret().as_ref() != Some(&self.secret)
        });
        if is_old {
            self.rotate()?;
        }
        let ahead = answer.clock_ahead_ms;
        let clock_ahead_ms = (ahead.unsigned_abs() > CLOCK_WRONG_MS).then_some(ahead);
        Ok(Greeting { name: answer.name, clock_ahead_ms })
    }

    /// With the newest key that the centre knows: one that was restored from a backup knows an earlier one.
    fn hello_with_a_key(&mut self) -> Result<HelloAnswer, CentreError> {
        let secrets: Vec<FleetSecret> = self.membership.keys.iter().filter_map(Key::secret).collect();
        let mut refused = None;
        for secret in secrets {
            self.secret = secret;
            let begun_ns = self.clock.now_ns();
            match self.greet() {
                Err(error) if error.is(code::UNKNOWN_KEY) => refused = Some(error),
                // Once more over the connection that is there now, for the time that was waited is none that a clock is off.
                Ok(_) if self.clock.now_ns() - begun_ns > PROMPT_NS => return self.greet(),
                answer => return answer,
            }
        }
        Err(refused.unwrap_or_else(|| CentreError::NotJoined { address: self.address().to_owned() }))
    }

    fn greet(&self) -> Result<HelloAnswer, CentreError> {
        let request = HelloRequest {
            host: self.instance.host.clone(),
            version: PROGRAM_VERSION.to_owned(),
            instance: self.instance.hash.clone(),
            clock: utc_now(),
        };
        self.ask(Verb::Hello, &request)
    }

    /// Takes another key. It is in the file before the centre hears of it, and the centre knows both until the new one is used.
    pub fn rotate(&mut self) -> Result<(), CentreError> {
        let newest = self.membership.keys.first().and_then(Key::secret);
        // That of an attempt whose answer was lost: with one more key each time, the good one would be lost at last.
        let next = if let Some(announced) = newest.filter(|newest| *newest != self.secret) {
            announced
        } else {
            let next = FleetSecret::new_key().map_err(CentreError::Random)?;
            self.membership.add_key(Key::new(&next, utc_now()));
            self.file.put(&self.membership)?;
            next
        };
        let RotateAnswer {} = self.ask(Verb::Rotate, &RotateRequest { key_hash: next.hash().to_string() })?;
        self.secret = next;
        Ok(())
    }

    pub(crate) fn wanted(&self, request: &WantedRequest) -> Result<WantedAnswer, CentreError> {
        self.ask(Verb::Wanted, request)
    }

    pub(crate) fn part(&self, request: &PartRequest) -> Result<Vec<u8>, CentreError> {
        let body = serde_json::to_vec(request).unwrap_or_default();
        self.patiently(|key| body_of(&self.client, self.address(), &Verb::Part.path(), Some(key), &body))
    }

    pub(crate) fn outcome(&self, request: &OutcomeRequest) -> Result<OutcomeAnswer, CentreError> {
        self.ask(Verb::Outcome, request)
    }

    fn ask<A: DeserializeOwned>(&self, verb: Verb, request: &impl Serialize) -> Result<A, CentreError> {
        let body = serde_json::to_vec(request).unwrap_or_default();
        self.post(&verb.path(), &body)
    }

    fn post<A: DeserializeOwned>(&self, path: &str, body: &[u8]) -> Result<A, CentreError> {
        self.patiently(|key| answer_of(&self.client, self.address(), path, Some(key), body))
    }

    fn patiently<A>(&self, ask: impl Fn(&str) -> Result<A, CentreError>) -> Result<A, CentreError> {
        let key = self.secret.digits();
        let mut pause_ns = PAUSE_NS;
        for _ in 1..TRIES_MAX {
            match ask(&key) {
                Err(error) if error.is(code::SLOW_DOWN) => {
                    self.clock.sleep_until(self.clock.now_ns() + pause_ns);
                    pause_ns *= 2;
                }
                answer => return answer,
            }
        }
        ask(&key)
    }
}

pub(super) fn answer_of<A: DeserializeOwned>(
    client: &CentreClient,
    address: &str,
    path: &str,
    key: Option<&str>,
    body: &[u8],
) -> Result<A, CentreError> {
    let body = body_of(client, address, path, key, body)?;
    serde_json::from_slice(&body).map_err(|_| CentreError::NotUnderstood { address: address.to_owned() })
}

fn body_of(
    client: &CentreClient,
    address: &str,
    path: &str,
    key: Option<&str>,
    body: &[u8],
) -> Result<Vec<u8>, CentreError> {
    let answer = client.post(path, key, body)?;
    let not_understood = || CentreError::NotUnderstood { address: address.to_owned() };
    if !answer.is_success {
        let refusal = answer.refusal.ok_or_else(not_understood)?;
        let (code, reason) = (refusal.code, refusal.reason);
        return Err(CentreError::Refused { address: address.to_owned(), code, reason });
    }
    Ok(answer.body)
}

impl Destination for Centre {
    fn begin(&mut self) -> Result<Option<String>, WatchError> {
        let now_ns = self.clock.now_ns();
        if self.greeted_ns.is_some_and(|at_ns| now_ns - at_ns < GREETING_NS) {
            return Ok(None);
        }
        // After a failure it is said again: the centre may be another one.
        self.greeted_ns = None;
        let greeting = self.hello()?;
        self.greeted_ns = Some(now_ns);
        Ok(greeting.warning())
    }

    fn remembered_as(&self) -> Option<&str> {
        Some(self.address())
    }

    fn known(&mut self, source: SourceId) -> Result<Known, WatchError> {
        let request = KnownRequest { source };
        let answer = match self.ask(Verb::Known, &request) {
            // It may have been restored from a backup since, and know an earlier key.
            Err(error) if error.is(code::UNKNOWN_KEY) => {
                self.hello()?;
                self.ask(Verb::Known, &request)
            }
            answer => answer,
        };
        let KnownAnswer { appended, newest } = answer?;
        Ok(Known { appended, newest })
    }

    fn append(&mut self, after: u64, batch: &Batch) -> Result<Appended, WatchError> {
        let body = match batch.to_wire() {
            Err(WireError::TooLong { .. }) => return Err(WatchError::BatchTooLong),
            body => body.map_err(CentreError::Batch)?,
        };
        let path = format!("{}?{AFTER}={after}", Verb::Append.path());
        match self.post(&path, &body) {
            Ok(AppendAnswer { is_added: true }) => Ok(Appended::Added),
            Ok(AppendAnswer { is_added: false }) => Ok(Appended::AlreadyThere),
            Err(error) if error.is(code::TOO_LONG) => Err(WatchError::BatchTooLong),
            Err(error) if error.is(code::NOT_NEXT) => Ok(Appended::NotNext),
            Err(error) => Err(error.into()),
        }
    }

    fn place(&mut self, source: SourceId, placements: &[Placement]) -> Result<(), WatchError> {
        match self.ask(Verb::Place, &PlaceRequest { source, placements: placements.to_vec() }) {
            // An older centre has no place for it: it has the samples all the same.
            Err(error) if error.is(code::NOT_UNDERSTOOD) => Ok(()),
            answer => Ok(answer.map(|PlaceAnswer {}| ())?),
        }
    }

    fn lacking_runs(&mut self, marks: &[RunMark]) -> Result<Option<Vec<RunId>>, WatchError> {
        match self.ask(Verb::Runs, &RunsRequest { runs: marks.to_vec() }) {
            // An older centre has no place for them.
            Err(error) if error.is(code::NOT_UNDERSTOOD) => Ok(None),
            answer => Ok(answer.map(|RunsAnswer { lacking }| Some(lacking))?),
        }
    }

    fn put_run(&mut self, run: &SentRun) -> Result<RunPut, WatchError> {
        let unfit = |reason: String| match run.document {
            Some(_) => Ok(RunPut::Unfit { reason }),
            None => Err(CentreError::Run { number: run.entry.number, reason }.into()),
        };
        let body = match run.to_wire() {
            Err(error) => return unfit(error.to_string()),
            Ok(body) => body,
        };
        match self.post(&Verb::Run.path(), &body) {
            Ok(AppendAnswer { is_added: true }) => Ok(RunPut::Added),
            Ok(AppendAnswer { is_added: false }) => Ok(RunPut::AlreadyThere),
            Err(CentreError::Refused { code, reason, .. })
                if [code::RUN, code::TOO_LONG].contains(&code.as_str()) =>
            {
                unfit(reason)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn lacking_sheets(&mut self, marks: &[SheetMark]) -> Result<Option<Vec<SheetMark>>, WatchError> {
        match self.ask(Verb::Sheets, &SheetsRequest { sheets: marks.to_vec() }) {
            // An older centre has no place for them.
            Err(error) if error.is(code::NOT_UNDERSTOOD) => Ok(None),
            answer => Ok(answer.map(|SheetsAnswer { lacking }| Some(lacking))?),
        }
    }

    fn put_sheet(&mut self, sheet: &SentSheet) -> Result<SheetPut, WatchError> {
        let body = match sheet.to_wire() {
            Err(error) => return Ok(SheetPut::Unfit { reason: error.to_string() }),
            Ok(body) => body,
        };
        match self.post(&Verb::Sheet.path(), &body) {
            Ok(AppendAnswer { is_added: true }) => Ok(SheetPut::Added),
            Ok(AppendAnswer { is_added: false }) => Ok(SheetPut::AlreadyThere),
            Err(CentreError::Refused { code, reason, .. })
                if [code::SHEET, code::TOO_LONG, code::CLOCK].contains(&code.as_str()) =>
            {
                Ok(SheetPut::Unfit { reason })
            }
            Err(error) => Err(error.into()),
        }
    }
}

pub(crate) const PROGRAM_VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub(crate) host: String,
    /// A hash of the machine, its boot and the file that the store is in. A copy of a store or of its machine has another one, and once
    /// a server has another one, the earlier one does not come back.
    pub(crate) hash: String,
}

impl Instance {
    pub(crate) fn here(store: &Path) -> Self {
        let system = System::here();
        let host = system.host().hostname;
        let file = stamp_of_path(store).map(|stamp| format!("{}:{}", stamp.device, stamp.inode));
        let parts = [
            system.machine_id().unwrap_or_default(),
            system.boot_id().unwrap_or_default(),
            host.clone(),
            file.unwrap_or_default(),
        ];
        let mut digest = Sha256::new();
        for part in parts {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part.as_bytes());
        }
        let hash = digest.finalize().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        Self { host, hash }
    }
}
