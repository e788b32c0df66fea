//! Answers and refusals of the centre.

use iostall_remote::receiver::REFUSAL;
use iostall_store::{Joined, MemberAppended, MemberState, StoreError, WireError};
use iostall_watch::centre_protocol::{VERSION, code};
use serde::Serialize;

use crate::tls_server::{Answer, Body, Refusal};

/// An answer in JSON.
pub(super) fn json(answer: &impl Serialize) -> Answer {
    let body = serde_json::to_vec(answer).unwrap_or_default();
    let headers = vec![("Content-Type", "application/json".to_owned())];
    Answer { status: 200, headers, body: Body::Bytes(body) }
}

/// A refusal: its code and its reason are in a header.
pub(super) fn refused(refusal: &Refusal) -> Answer {
    Answer::empty(refusal.status).header(REFUSAL, refusal.header_text())
}

pub(super) fn other_version(theirs: u32) -> Refusal {
    let what = if theirs > VERSION {
        "the iostall of this server is newer than that at the centre: upgrade the centre first"
    } else {
        "the iostall of this server is too old for that at the centre: upgrade it"
    };
    let text = format!("{what} (it speaks version {theirs} of the protocol, and the centre {VERSION})");
    Refusal::new(426, code::OTHER_VERSION, text)
}

pub(super) fn unknown_key() -> Refusal {
    Refusal::new(401, code::UNKNOWN_KEY, "the centre does not know this key")
}

pub(super) fn slow_down() -> Refusal {
    Refusal::new(429, code::SLOW_DOWN, "the centre has too much to do")
}

pub(super) fn unavailable() -> Refusal {
    Refusal::new(503, code::UNAVAILABLE, "the repository does not answer now")
}

pub(super) fn too_long() -> Refusal {
    Refusal::new(413, code::TOO_LONG, "the request is too long")
}

pub(super) fn other_server() -> Refusal {
    Refusal::new(403, code::OTHER_SERVER, "this key is for the history of another server")
}

pub(super) fn not_next() -> Refusal {
    Refusal::new(409, code::NOT_NEXT, "the centre has another last batch of this source")
}

pub(super) fn wrong_clock(reason: &str) -> Refusal {
    Refusal::new(400, code::CLOCK, reason)
}

/// Why a server in this state may not send; `None` if it may.
pub(super) fn of_state(state: MemberState) -> Option<Refusal> {
    match state {
        MemberState::Joined => None,
        MemberState::Revoked => Some(Refusal::new(403, code::REVOKED, "this server was revoked")),
        MemberState::Copied => {
            Some(Refusal::new(403, code::COPIED, "two machines send in turn with the key of this server"))
        }
    }
}

/// Whether a batch was added, or why it may not be.
pub(super) fn of_append(appended: MemberAppended) -> Result<bool, Refusal> {
    match appended {
        MemberAppended::Added => Ok(true),
        MemberAppended::AlreadyThere => Ok(false),
        MemberAppended::OtherServer => Err(other_server()),
        MemberAppended::NotNext => Err(not_next()),
        MemberAppended::MayNot(state) => Err(of_state(state).unwrap_or_else(other_server)),
    }
}

/// The name of who has joined, or why not.
pub(super) fn of_join(joined: Joined) -> Result<String, Refusal> {
    match joined {
        Joined::As { name } => Ok(name),
        Joined::NoSuchCode => Err(Refusal::new(403, code::NO_SUCH_CODE, "the centre has not made this code")),
        Joined::CodeExpired => Err(Refusal::new(403, code::CODE_EXPIRED, "this code is no longer valid")),
        Joined::CodeUsed => Err(Refusal::new(403, code::CODE_USED, "another server has used this code")),
        Joined::KnownAs { name } => {
            let text = format!("this store has joined as {name}, and the code is not for that name");
            Err(Refusal::new(403, code::KNOWN_AS, text))
        }
    }
}

/// Why a body is no batch.
pub(super) fn of_wire(error: &WireError) -> Refusal {
    match error {
        WireError::TooLong { .. } => too_long(),
        error => Refusal::new(400, code::BATCH, error.to_string()),
    }
}

/// Why a repository did not do it. Its own words are for the operator and not for servers, but for those about their batch.
pub(super) fn of_store(error: &StoreError) -> Refusal {
    match error {
        StoreError::Batch { .. } => Refusal::new(400, code::BATCH, error.to_string()),
        _ => unavailable(),
    }
}
