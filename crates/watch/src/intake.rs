//! What a centre takes of the history of its servers, and what it refuses.

use iostall_measure::clock::utc_now;
use iostall_model::RunId;
use iostall_model::device::{IdentityKind, Placement};
use iostall_store::{
    Batch, Member, MemberAppended, MemberState, PostgresHistory, RepositoryError, RunMark, RunPut, SentRun,
    SentRunError, SentSheet, SheetContent, SheetError, SheetMark, SheetPut, SourceId, StoreError, WireError,
};
use jiff::{SignedDuration, Timestamp};

use crate::centre_protocol::code;
use crate::destination::Known;

/// The name of a volume or a device, bytes.
const PLACE_NAME_BYTES_MAX: usize = 1 << 10;
/// A sample is at most so far ahead of the clock of the centre. Each day needs tables of its own: no server may fill the repository with
/// those of all centuries.
const AHEAD_MAX: SignedDuration = SignedDuration::from_hours(1);
const AGE_MAX: SignedDuration = SignedDuration::from_hours(10 * 366 * 24);

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
    after: u64,
    body: &[u8],
) -> Result<bool, IntakeError> {
    let batch = Batch::from_wire(body).map_err(|error| match error {
        WireError::TooLong { .. } => IntakeError::too_long(),
        error => IntakeError::refused(code::BATCH, error.to_string()),
    })?;
    check_clock(&batch)?;
    match to.append_of(member, after, &batch)? {
        MemberAppended::Added => Ok(true),
        MemberAppended::AlreadyThere => Ok(false),
        MemberAppended::OtherServer => Err(IntakeError::other_server()),
        MemberAppended::NotNext => {
            Err(IntakeError::refused(code::NOT_NEXT, "the centre has another last batch of this source"))
        }
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

fn check_clock(batch: &Batch) -> Result<(), IntakeError> {
    let now = utc_now();
    for taken in &batch.samples.taken_utc {
        let ahead = taken.duration_since(now);
        if ahead > AHEAD_MAX {
            let text = format!(
                "a sample of {taken:.0} is from the future: by the clock of the centre it is {now:.0}"
            );
            return Err(IntakeError::refused(code::CLOCK, text));
        }
        if -ahead > AGE_MAX {
            let text = format!("a sample of {taken:.0} is older than ten years");
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
