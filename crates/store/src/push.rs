//! Releases that go from the centre to servers.

use jiff::Timestamp;
use serde::Serialize;

use crate::identity::StoreId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentReport<'a> {
    /// A document: by name.
    pub labels: &'a str,
    /// A document: all objects that releases have put there, as they are now.
    pub objects: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushServer {
    pub store: StoreId,
    pub name: String,
    /// Documents, as the agent sent them.
    pub labels: String,
    pub objects: String,
    pub last_contact: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPush<'a> {
    pub release: &'a str,
    /// A number, or a share of the servers that were asked.
    pub failed_max: &'a str,
    /// The servers, and the ring of each, from 1 on.
    pub servers: &'a [(StoreId, u32)],
    pub rings: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredPush {
    #[serde(rename = "push")]
    pub number: u64,
    pub version: u64,
    pub release: String,
    pub state: String,
    /// The servers of rings up to this one are asked.
    pub ring: u32,
    pub rings: u32,
    pub failed_max: String,
    #[serde(rename = "begun_utc")]
    pub begun: Timestamp,
    #[serde(rename = "changed_utc")]
    pub changed: Timestamp,
    #[serde(flatten)]
    pub counts: PushCounts,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreachedServer {
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PushedServer {
    /// What it is called; its id, where nobody has joined for it any more.
    #[serde(rename = "server")]
    pub name: String,
    pub ring: u32,
    pub state: String,
    pub reason: Option<String>,
    #[serde(rename = "reported_utc")]
    pub reported: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedPush {
    pub push: u64,
    /// What identifies its release, and in how many parts that is.
    pub release: String,
    pub parts: u32,
    /// The permit to undo it; `None` if it is to be applied.
    pub permit: Option<String>,
}
