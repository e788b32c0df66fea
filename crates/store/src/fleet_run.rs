//! Runs in a repository.

use iostall_model::Entry;
use jiff::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunPut {
    /// It is there, as it is now.
    Added,
    AlreadyThere,
    /// The repository cannot store its document.
    Unfit {
        reason: String,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct FleetRun {
    /// The name of its server, or that of its host, or the id of its store.
    pub server: String,
    pub server_id: String,
    /// With its number in that store.
    pub entry: Entry,
}

/// Conditions for a listing, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetRunFilter {
    /// The name of a server, that of its host, or the id of its store.
    pub server: Option<String>,
    pub kind: Option<String>,
    pub since: Option<Timestamp>,
    /// At most this many of the newest.
    pub limit: u32,
}
