//! What a server of a fleet and the service at its centre say to each other. `docs/formats.md` explains it.
//!
//! Each request is a POST to a path that names the version of the protocol. Bodies are JSON, but for batches,
//! runs and sheets, which have forms of their own ([`Batch::to_wire`](iostall_store::Batch::to_wire), [`SentRun::to_wire`](iostall_store::SentRun::to_wire),
//! [`SentSheet::to_wire`](iostall_store::SentSheet::to_wire)).

use std::collections::BTreeMap;

use iostall_measure::named;
use iostall_model::RunId;
use iostall_model::device::Placement;
use iostall_store::{RunMark, SheetMark, SourceId, StoreId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::release::ObjectState;

pub const VERSION: u32 = 1;

const PREFIX: &str = "fleet/v";

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Verb {
        Join = "join",
        /// Nothing: the server says who it is now.
        Hello = "hello",
        Known = "known",
        Append = "append",
        Place = "place",
        /// Which of some runs are not there as they are now.
        Runs = "runs",
        Run = "run",
        /// Which of some sheets of notes and settings are not there as they are now.
        Sheets = "sheets",
        Sheet = "sheet",
        Rotate = "rotate",
        Wanted = "wanted",
        Part = "part",
        /// Nothing: the server says what became of it.
        Outcome = "outcome",
    }
}

impl Verb {
    /// Whether it is about batches, and not about who sends them.
    pub fn sends(self) -> bool {
        matches!(self, Self::Known | Self::Append)
    }

    pub fn path(self) -> String {
        format!("/{PREFIX}{VERSION}/{}", self.name())
    }

    /// The verb of a path without that slash.
    pub fn of_path(path: &str) -> Result<Self, PathError> {
        let rest = path.strip_prefix(PREFIX).ok_or(PathError::Other)?;
        let (version, name) = rest.split_once('/').ok_or(PathError::Other)?;
        let version: u32 = version.parse().map_err(|_| PathError::Other)?;
        if version != VERSION {
            return Err(PathError::Version(version));
        }
        Self::named(name).ok_or(PathError::Other)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathError {
    Version(u32),
    Other,
}

/// The number of the batch before, in the query of [`Verb::Append`].
pub const AFTER: &str = "after";

pub mod code {
    pub const OTHER_VERSION: &str = "OtherVersion";
    pub const NO_SUCH_CODE: &str = "NoSuchCode";
    pub const CODE_EXPIRED: &str = "CodeExpired";
    pub const CODE_USED: &str = "CodeUsed";
    pub const KNOWN_AS: &str = "KnownAs";
    /// Of an older centre, too, that has no such verb.
    pub const NOT_UNDERSTOOD: &str = "NotUnderstood";
    pub const UNKNOWN_KEY: &str = "UnknownKey";
    pub const REVOKED: &str = "Revoked";
    pub const COPIED: &str = "Copied";
    pub const OTHER_SERVER: &str = "OtherServer";
    pub const CLOCK: &str = "Clock";
    pub const NAME_TAKEN: &str = "NameTaken";
    /// The server has as much at the centre as one may have.
    pub const QUOTA: &str = "Quota";
    pub const TOO_LONG: &str = "TooLong";
    pub const BATCH: &str = "Batch";
    pub const RUN: &str = "Run";
    pub const SHEET: &str = "Sheet";
    pub const NOT_NEXT: &str = "NotNext";
    pub const PUSH: &str = "Push";
    /// The same request may succeed later.
    pub const SLOW_DOWN: &str = "SlowDown";
    /// The same request may succeed later: the repository does not answer.
    pub const UNAVAILABLE: &str = "Unavailable";
}

#[derive(Debug, Serialize, Deserialize)]
pub struct JoinRequest {
    pub code: String,
    pub key_hash: String,
    pub store: StoreId,
    pub host: String,
    pub version: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct JoinAnswer {
    pub name: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct HelloRequest {
    pub host: String,
    pub version: String,
    /// A hash of the machine, its boot and the file that the store is in.
    pub instance: String,
    pub clock: Timestamp,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct HelloAnswer {
    pub name: String,
    pub clock_ahead_ms: i64,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct KnownRequest {
    pub source: SourceId,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct KnownAnswer {
    /// The number of the last batch; 0 if there is none.
    pub appended: u64,
    pub newest: Option<Timestamp>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct AppendAnswer {
    pub is_added: bool,
}

/// Of [`Verb::Place`]. A centre that is older than this verb does not understand it.
#[derive(Debug, Serialize, Deserialize)]
pub struct PlaceRequest {
    pub source: SourceId,
    /// All volumes of the source that lie on this host.
    pub placements: Vec<Placement>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct PlaceAnswer {}

#[derive(Debug, Serialize, Deserialize)]
pub struct RunsRequest {
    pub runs: Vec<RunMark>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct RunsAnswer {
    pub lacking: Vec<RunId>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct SheetsRequest {
    pub sheets: Vec<SheetMark>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct SheetsAnswer {
    pub lacking: Vec<SheetMark>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct RotateRequest {
    /// The hash of the next key, which takes the place of this one when it is used.
    pub key_hash: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct RotateAnswer {}

/// Of [`Verb::Wanted`]: what a server is now. A centre that is older than this verb does not understand it.
#[derive(Debug, Serialize, Deserialize)]
pub struct WantedRequest {
    /// By its own policy.
    pub labels: BTreeMap<String, String>,
    pub objects: Vec<ObjectState>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct WantedAnswer {
    pub wanted: Option<Wanted>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Wanted {
    pub push: u64,
    pub release: String,
    pub parts: u32,
    /// With it the release is to be undone, and without it applied.
    pub permit: Option<String>,
}

/// A part of a file of a release has so many bytes, and the last one the rest.
pub const PART_BYTES: usize = 512 << 10;

/// Of [`Verb::Part`]. The answer is the part.
#[derive(Debug, Serialize, Deserialize)]
pub struct PartRequest {
    pub push: u64,
    pub number: u32,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct OutcomeRequest {
    pub push: u64,
    pub is_undo: bool,
    /// Why nothing was done; `None` if it was done.
    pub reason: Option<String>,
    /// The state of the server afterwards.
    pub now: WantedRequest,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct OutcomeAnswer {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_of_one_verb_and_says_its_version() {
        for verb in Verb::ALL {
            assert_eq!(Verb::of_path(&verb.path()[1..]), Ok(verb));
        }
        assert_eq!(Verb::of_path("fleet/v0/append"), Err(PathError::Version(0)));
        assert_eq!(Verb::of_path("fleet/v2/append"), Err(PathError::Version(2)));
        assert_eq!(Verb::of_path("fleet/v2/of-2099"), Err(PathError::Version(2)));
        for other in
            ["", "fleet", "fleet/v1", "fleet/v1/", "fleet/v-1/append", "v1/append", "fleet/v1/append/x"]
        {
            assert_eq!(Verb::of_path(other), Err(PathError::Other), "{other}");
        }
    }
}
