//! Answers and refusals of the centre.

use iostall_remote::REFUSAL;
use iostall_store::{Joined, MemberState};
use iostall_watch::centre_protocol::{VERSION, code};
use iostall_watch::intake;
use serde::Serialize;

use crate::server::{Answer, Refusal};

pub(super) fn json(answer: &impl Serialize) -> Answer {
    let body = serde_json::to_vec(answer).unwrap_or_default();
    let headers = vec![("Content-Type", "application/json".to_owned())];
    Answer { status: 200, headers, body }
}

pub(super) fn bytes(content: Vec<u8>) -> Answer {
    let headers = vec![("Content-Type", "application/octet-stream".to_owned())];
    Answer { status: 200, headers, body: content }
}

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

/// Whether somebody at the centre should hear of it: the samples of a server are not taken, for a reason that lies in the server.
pub(super) fn is_for_operators(refusal: &Refusal) -> bool {
    let is_over = refusal.code == code::SLOW_DOWN && *refusal != slow_down();
    is_over || [code::CLOCK, code::QUOTA].contains(&refusal.code)
}

pub(super) fn unavailable() -> Refusal {
    Refusal::new(503, code::UNAVAILABLE, "the repository does not answer now")
}

pub(super) fn too_long() -> Refusal {
    Refusal::new(413, code::TOO_LONG, "the request is too long")
}

/// Why a server in this state may not send; `None` if it may.
pub(super) fn of_state(state: MemberState) -> Option<Refusal> {
    intake::of_state(state).map(|(code, reason)| of_code(code, reason))
}

/// The name of who has joined, or why not.
pub(super) fn of_join(joined: Joined) -> Result<String, Refusal> {
    match joined {
        Joined::As { name } => Ok(name),
        Joined::NoSuchCode => Err(Refusal::new(403, code::NO_SUCH_CODE, "the centre has not made this code")),
        Joined::CodeExpired => Err(Refusal::new(403, code::CODE_EXPIRED, "this code is no longer valid")),
        Joined::CodeUsed => {
            Err(Refusal::new(403, code::CODE_USED, "this code has been used, and is good once"))
        }
        Joined::NameTaken { name } => {
            let text = format!("another server is called {name}, and the code is for no name");
            Err(Refusal::new(403, code::NAME_TAKEN, text))
        }
        Joined::KnownStore => {
            let text = "the history of this store is there already, and the code is for no name";
            Err(Refusal::new(403, code::NAME_TAKEN, text))
        }
        Joined::KnownAs { name } => {
            let text = format!("this store has joined as {name}, and the code is not for that name");
            Err(Refusal::new(403, code::KNOWN_AS, text))
        }
    }
}

/// Why something that was sent is not taken. The words of the repository itself are for the operator.
pub(super) fn of_code(code: &'static str, reason: &str) -> Refusal {
    let status = match code {
        code::TOO_LONG => 413,
        code::OTHER_SERVER | code::REVOKED | code::COPIED | code::QUOTA => 403,
        code::NOT_NEXT => 409,
        code::UNAVAILABLE => return unavailable(),
        code::SLOW_DOWN => 429,
        _ => 400,
    };
    Refusal::new(status, code, reason)
}
