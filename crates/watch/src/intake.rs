//! What a centre takes of the history of its servers, and what it refuses.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use iostall_measure::clock::utc_now;
use iostall_measure::{Clock as _, MonotonicClock};
use iostall_model::RunId;
use iostall_model::device::{IdentityKind, Placement};
use iostall_store::{
    Batch, Member, MemberAppended, MemberState, PostgresHistory, RepositoryError, RunMark, RunPut, SentRun,
    SentRunError, SentSheet, SheetContent, SheetError, SheetMark, SheetPut, SourceId, StoreError, StoreId,
    WireError,
};
use jiff::{SignedDuration, Timestamp};

use crate::centre_protocol::code;
use crate::destination::Known;

/// The name of a volume or a device, bytes.
const PLACE_NAME_BYTES_MAX: usize = 1 << 10;
/// A sample is at most so far ahead of the clock of the centre. Each day needs tables of its own: no server may fill the repository with
/// those of all centuries, nor one whose clock has lost its battery.
const AHEAD_MAX: SignedDuration = SignedDuration::from_hours(1);
/// And so long before the server joined.
const BEFORE_JOIN_MAX: SignedDuration = SignedDuration::from_hours(2 * 366 * 24);
/// Days that are over, of which a server may send samples in an hour.
const DAYS_MAX: usize = 200;
const HOUR_NS: u64 = 3_600_000_000_000;
const DAY_S: i64 = 86_400;
/// With more servers than that, all begin an hour anew.
const SERVERS_MAX: usize = 20_000;

/// How much of the past each server has sent of late.
#[derive(Debug, Default)]
pub struct Quotas {
    days: Mutex<HashMap<StoreId, DaysOfHour>>,
    clock: MonotonicClock,
}

#[derive(Debug)]
struct DaysOfHour {
    since_ns: u64,
    days: HashSet<i64>,
}

impl Quotas {
    /// Whether `store` may send samples of these days, numbered since 1970, now.
    fn takes(&self, store: StoreId, past: impl Iterator<Item = i64>) -> bool {
        let now_ns = self.clock.now_ns();
        let mut all = self.days.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= SERVERS_MAX {
            all.clear();
        }
        let of_hour =
            all.entry(store).or_insert_with(|| DaysOfHour { since_ns: now_ns, days: HashSet::new() });
        if now_ns - of_hour.since_ns >= HOUR_NS {
            (of_hour.since_ns, of_hour.days) = (now_ns, HashSet::new());
        }
        let new: HashSet<i64> = past.filter(|day| !of_hour.days.contains(day)).collect();
        let may = of_hour.days.len() + new.len() <= DAYS_MAX;
        if may {
            of_hour.days.extend(new);
        }
        may
    }
}

#[derive(Debug)]
pub enum IntakeError {
    /// It is refused, with one of the codes of the protocol and a sentence for people.
    Refused {
        code: &'static str,
        reason: String,
    },
    Store(StoreError),
}

impl IntakeError {
    fn refused(code: &'static str, reason: impl Into<String>) -> Self {
        Self::Refused { code, reason: reason.into() }
    }

    fn too_long() -> Self {
        Self::refused(code::TOO_LONG, "the request is too long")
    }

    fn other_server() -> Self {
        Self::refused(code::OTHER_SERVER, "this key is for the history of another server")
    }
}

impl From<StoreError> for IntakeError {
    /// What the repository says is for the operator and not for servers, but for words about their batch.
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Batch { .. } => Self::refused(code::BATCH, error.to_string()),
            error => Self::Store(error),
        }
    }
}

impl From<RepositoryError> for IntakeError {
    fn from(error: RepositoryError) -> Self {
        Self::Store(error.into())
    }
}

pub fn known(to: &PostgresHistory, member: &Member, source: SourceId) -> Result<Known, IntakeError> {
    let (appended, newest) = to.known_of(member, source)?.ok_or_else(IntakeError::other_server)?;
    Ok(Known { appended, newest })
}

/// Why a server in this state may not send, as a code of the protocol and a sentence; `None` if it may.
pub fn of_state(state: MemberState) -> Option<(&'static str, &'static str)> {
    match state {
        MemberState::Joined => None,
        MemberState::Revoked => Some((code::REVOKED, "this server was revoked")),
        MemberState::Copied => Some((code::COPIED, "two machines send in turn with the key of this server")),
    }
}

/// Stores the batch of `member` in `body`, which follows the one numbered `after`; whether it was not there before.
pub fn append(
    to: &mut PostgresHistory,
    member: &Member,
    (after, body): (u64, &[u8]),
    quotas: &Quotas,
) -> Result<bool, IntakeError> {
    let batch = Batch::from_wire(body).map_err(|error| match error {
        WireError::TooLong { .. } => IntakeError::too_long(),
        error => IntakeError::refused(code::BATCH, error.to_string()),
    })?;
    check_clock(&batch, member)?;
    let today = utc_now().as_second().div_euclid(DAY_S);
    let days = batch.samples.taken_utc.iter().map(|taken| taken.as_second().div_euclid(DAY_S));
    // Tables of the newest days are there anyway.
    if !quotas.takes(member.store, days.filter(|day| *day < today - 1)) {
        let text = format!(
            "samples of more than {DAYS_MAX} days in an hour are too many at once; the rest is taken later"
        );
        return Err(IntakeError::refused(code::SLOW_DOWN, text));
    }
    match to.append_of(member, after, &batch)? {
        MemberAppended::Added => Ok(true),
        MemberAppended::AlreadyThere => Ok(false),
        MemberAppended::OtherServer => Err(IntakeError::other_server()),
        MemberAppended::NotNext => {
            Err(IntakeError::refused(code::NOT_NEXT, "the centre has another last batch of this source"))
        }
        MemberAppended::Quota { reason } => Err(IntakeError::refused(code::QUOTA, reason)),
        MemberAppended::MayNot(state) => {
            let may_not = of_state(state).map(|(code, reason)| IntakeError::refused(code, reason));
            Err(may_not.unwrap_or_else(IntakeError::other_server))
        }
    }
}

pub fn place(
    to: &mut PostgresHistory,
    member: &Member,
    source: SourceId,
    placements: &[Placement],
) -> Result<(), IntakeError> {
    check_placements(placements)?;
    if !to.is_of(member, source)? {
        return Err(IntakeError::other_server());
    }
    Ok(to.place(source, placements)?)
}

/// Which of these runs of `member` are not there as they are now.
pub fn lacking_runs(
    to: &PostgresHistory,
    member: &Member,
    marks: &[RunMark],
) -> Result<Vec<RunId>, IntakeError> {
    Ok(to.lacking_runs(member.store, marks)?)
}

/// Stores the run of `member` in `body`; whether it was not there before.
pub fn put_run(to: &PostgresHistory, member: &Member, body: &[u8]) -> Result<bool, IntakeError> {
    let unfit = |reason: String| IntakeError::refused(code::RUN, reason);
    let run = SentRun::from_wire(body).map_err(|error| match error {
        SentRunError::TooLong { .. } => IntakeError::too_long(),
        error => unfit(error.to_string()),
    })?;
    check_run_clock(&run)?;
    if !to.takes_runs_of(member)? {
        return Err(unfit("this server has too many runs at the centre".to_owned()));
    }
    match to.put_run(member.store, &run)? {
        RunPut::Unfit { reason } => Err(unfit(reason)),
        put => Ok(put == RunPut::Added),
    }
}

pub fn lacking_sheets(
    to: &PostgresHistory,
    member: &Member,
    marks: &[SheetMark],
) -> Result<Vec<SheetMark>, IntakeError> {
    Ok(to.lacking_sheets(member.store, marks)?)
}

/// Stores the sheet of `member` in `body`; whether it was not there before. One that is refused is not asked for again as it is.
pub fn put_sheet(to: &PostgresHistory, member: &Member, body: &[u8]) -> Result<bool, IntakeError> {
    let sheet = SentSheet::from_wire(body).map_err(|error| match error {
        SheetError::TooLong { .. } => IntakeError::too_long(),
        error => IntakeError::refused(code::SHEET, error.to_string()),
    })?;
    let refused = |code, reason: String| {
        to.refuse_sheet(member.store, &sheet.mark, &reason)?;
        Err(IntakeError::refused(code, reason))
    };
    if let SheetContent::Settings { last, .. } = &sheet.content
        && let Some(reason) = ahead_of_centre("settings", *last)
    {
        return refused(code::CLOCK, reason);
    }
    match to.put_sheet(member.store, &sheet)? {
        SheetPut::Unfit { reason } => refused(code::SHEET, reason),
        put => Ok(put == SheetPut::Added),
    }
}

fn ahead_of_centre(what: &str, at: Timestamp) -> Option<String> {
    let now = utc_now();
    (at.duration_since(now) > AHEAD_MAX)
        .then(|| format!("{what} of {at:.0} are from the future: by the clock of the centre it is {now:.0}"))
}

/// The names of volumes and devices are in indexes, which take no longer ones. A name that is given by hand is none that a server gives:
/// it could make itself the neighbour of anybody.
fn check_placements(placements: &[Placement]) -> Result<(), IntakeError> {
    let devices = || placements.iter().flat_map(|placement| &placement.devices);
    let volumes = placements.iter().map(|placement| &placement.volume);
    let identities = devices().map(|device| &device.identity);
    let models = devices().filter_map(|device| device.model.as_ref());
    if volumes.chain(identities).chain(models).any(|name| name.len() > PLACE_NAME_BYTES_MAX) {
        return Err(IntakeError::too_long());
    }
    if devices().any(|device| device.kind == IdentityKind::Tag) {
        return Err(IntakeError::refused(code::NOT_UNDERSTOOD, "a tag is none that a server gives"));
    }
    Ok(())
}

fn check_clock(batch: &Batch, member: &Member) -> Result<(), IntakeError> {
    let now = utc_now();
    for taken in &batch.samples.taken_utc {
        let ahead = taken.duration_since(now);
        if ahead > AHEAD_MAX {
            let text = format!(
                "a sample of {taken:.0} is from the future: by the clock of the centre it is {now:.0}"
            );
            return Err(IntakeError::refused(code::CLOCK, text));
        }
        if member.joined.duration_since(*taken) > BEFORE_JOIN_MAX {
            let text =
                format!("a sample of {taken:.0} is from more than two years before this server joined");
            return Err(IntakeError::refused(code::CLOCK, text));
        }
    }
    Ok(())
}

/// A run of the future would be the newest of all for as long.
fn check_run_clock(run: &SentRun) -> Result<(), IntakeError> {
    let (now, ended) = (utc_now(), run.entry.ended_utc.max(run.entry.started_utc));
    if ended.duration_since(now) > AHEAD_MAX {
        let text =
            format!("a run of {ended:.0} is from the future: by the clock of the centre it is {now:.0}");
        return Err(IntakeError::refused(code::CLOCK, text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server with a wrong clock, or a hostile one, made tables for every day of ten years.
    #[test]
    fn a_server_may_send_of_so_many_past_days_an_hour_and_of_the_same_ones_again() {
        let quotas = Quotas::default();
        let [one, other] =
            [1, 2].map(|number| format!("0192f0c4-4d00-7000-8000-00000000000{number}").parse().unwrap());
        let most = i64::try_from(DAYS_MAX).unwrap();
        assert!(quotas.takes(one, 0..most - 1) && quotas.takes(one, 0..most));
        assert!(!quotas.takes(one, most..=most) && quotas.takes(one, 0..most) && quotas.takes(one, 0..0));
        assert!(quotas.takes(other, most..=most));
    }
}
