//! What a centre has taken from a relay, for scripts.

use serde::Serialize;

/// All of one `iostall fleet receive`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FleetReceived {
    /// Names of servers that have joined.
    pub joined: Vec<String>,
    /// Servers with new files.
    pub servers: Vec<ReceivedServer>,
    /// What was not taken.
    pub refused: Vec<RefusedServer>,
}

/// Of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReceivedServer {
    pub name: String,
    /// Files that were taken.
    pub files: usize,
}

/// What was not taken of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RefusedServer {
    /// Its name, or the id of its store if it has not joined.
    pub server: String,
    pub reason: String,
}
