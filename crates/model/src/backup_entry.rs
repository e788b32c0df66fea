//! A backup as a list shows it.

use iostall_measure::named;
use jiff::Timestamp;
use serde::Serialize;

use crate::backup::ObjectLock;
use crate::entry::RunNumber;
use crate::retention::{Proof, Reason};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BackupEntry {
    /// Id of the stripe set, in hexadecimal digits.
    pub set: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_utc: Option<Timestamp>,
    /// What it is a backup of; `None` if neither an open manifest nor the store says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What it is compared with others by, whatever it was called; `None` if it is like no other, or not known.
    #[serde(rename = "identity", skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The set that it is an increment on, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    pub state: BackupState,
    /// What is wrong with it, in words; empty if nothing is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub wrong: String,
    pub proof: Proof,
    /// Why its content may not be as it should, said when it was made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub content_warnings: Vec<String>,
    pub is_encrypted: bool,
    /// Until when its store keeps it from everybody who would delete it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_lock: Option<ObjectLock>,
    /// Its store keeps it until somebody takes this hold away.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub legal_hold: bool,
    /// What was uploaded of it and not completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<LeftUploads>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    pub stored_bytes: u64,
    pub stripes: u16,
    /// Its manifest, or one of its stripes if it has none; `None` if only the store knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub files: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunOf>,
}

/// Uploads that are on their way, or that were killed. A store keeps their parts, unseen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LeftUploads {
    pub uploads: u64,
    pub bytes: u64,
    /// When something was added last, by the clock of the store.
    pub newest_utc: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct RunOf(pub u32);

impl From<RunNumber> for RunOf {
    fn from(number: RunNumber) -> Self {
        Self(number.0)
    }
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum BackupState {
        /// Complete by its headers and lengths.
        #[serde(rename = "complete")]
        Whole = "complete",
        NotCompleted = "NOT COMPLETED",
        /// Its deletion was begun and not ended.
        BeingDeleted = "being deleted",
        Damaged = "DAMAGED",
        Elsewhere = "stripes elsewhere",
        /// The store has the run that made it; its files were not looked for.
        OnRecord = "on record",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pruned {
    pub backup: BackupEntry,
    pub action: PruneAction,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
    /// Why it was not touched, or could not be deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum PruneAction {
        Keep = "keep",
        Delete = "delete",
        Leave = "leave",
        Failed = "FAILED",
    }
}
