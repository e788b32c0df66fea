//! Releases that go from the centre to servers.

use jiff::Timestamp;

use crate::identity::StoreId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredOperator {
    /// The public half.
    pub key: String,
    pub name: String,
    pub role: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushLogEntry {
    pub number: u64,
    pub at: Timestamp,
    /// `None` for what the centre did itself.
    pub operator: Option<String>,
    pub what: String,
    /// As its operator signed it.
    pub signed: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentReport<'a> {
    /// A document: by name.
    pub labels: &'a str,
    pub platform: &'a str,
    /// What identifies the release that it has applied.
    pub release: Option<&'a str>,
    /// A document: all objects that releases have put there, as they are now.
    pub objects: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushServer {
    pub store: StoreId,
    pub name: String,
    /// Documents, as the agent sent them.
    pub labels: String,
    pub platform: String,
    pub release: Option<String>,
    pub objects: String,
    pub last_contact: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPush<'a> {
    pub release: &'a str,
    /// A number, or a share of the servers that were asked.
    pub failed_max: &'a str,
    pub action: &'a str,
    /// The servers, and the ring of each, from 1 on.
    pub servers: &'a [(StoreId, u32)],
    pub rings: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPush {
    pub number: u64,
    pub release: String,
    pub version: u64,
    pub state: String,
    /// The servers of rings up to this one are asked.
    pub ring: u32,
    pub rings: u32,
    pub failed_max: String,
    pub begun: Timestamp,
    pub changed: Timestamp,
    pub counts: PushCounts,
}

/// Servers of a push, by what became of it there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PushCounts {
    pub waiting: u64,
    pub asked: u64,
    pub applied: u64,
    pub failed: u64,
    pub undo: u64,
    pub undone: u64,
    pub undo_failed: u64,
    pub left: u64,
    pub skipped: u64,
}

/// A server that sends its samples, and that no push reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreachedServer {
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushedServer {
    /// What it is called; its id, where nobody has joined for it any more.
    pub name: String,
    pub ring: u32,
    pub state: String,
    pub reason: Option<String>,
    pub reported: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedPush {
    pub push: u64,
    /// What identifies its release, and in how many parts that is.
    pub release: String,
    pub parts: u32,
    pub is_undo: bool,
    /// The action that asks for it, as its operator signed it.
    pub action: Option<String>,
    /// The permit to undo it.
    pub permit: Option<String>,
}
