//! Servers that have joined a fleet.

use iostall_measure::named;
use jiff::Timestamp;

use crate::fleet_secret::SecretHash;
use crate::identity::StoreId;

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum MemberState {
        Joined = "joined",
        /// Two machines used its key in turn.
        Copied = "copied",
        Revoked = "revoked",
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub(crate) number: i32,
    pub store: StoreId,
    pub name: String,
    pub state: MemberState,
    pub joined: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberAppended {
    Added,
    /// It was there already; nothing changed.
    AlreadyThere,
    OtherServer,
    /// The last batch that is there is another one.
    NotNext,
    MayNot(MemberState),
    /// It has as much as one server may have.
    Quota {
        reason: String,
    },
}

#[derive(Clone, Copy, Debug)]
pub struct Joining<'a> {
    pub code: &'a SecretHash,
    /// Of the key that it has made for itself.
    pub key: &'a SecretHash,
    pub store: StoreId,
    pub host: &'a str,
    pub version: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Joined {
    As {
        name: String,
    },
    NoSuchCode,
    CodeExpired,
    CodeUsed,
    /// Another server is called so, and the code is for no name.
    NameTaken {
        name: String,
    },
    /// The history of its store is there already, and the code is for no name.
    KnownStore,
    /// Its store has joined before, and the code is not for that name.
    KnownAs {
        name: String,
    },
}

#[derive(Clone, Copy, Debug)]
pub struct Contact<'a> {
    pub host: &'a str,
    pub version: &'a str,
    /// A hash of the machine, its boot and the file that the store is in: of two copies of a store only one has it.
    pub instance: &'a str,
    pub clock_ahead_ms: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownServer {
    pub store: StoreId,
    /// `None` if it is pulled, or sent before it had to join.
    pub membership: Option<Membership>,
    /// What it, or who pulls it, said of it without being a member.
    pub host: Option<String>,
    pub version: Option<String>,
    pub last_contact: Option<Timestamp>,
    pub clock_ahead_ms: Option<i64>,
    pub sources: i64,
    pub newest_sample: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    pub name: String,
    pub state: MemberState,
    pub state_since: Timestamp,
    /// What was not taken of it last.
    pub refused: Option<(Timestamp, String)>,
    pub joined: Timestamp,
    pub key_made: Timestamp,
    pub host: Option<String>,
    pub version: Option<String>,
    pub last_contact: Option<Timestamp>,
    pub clock_ahead_ms: Option<i64>,
}
