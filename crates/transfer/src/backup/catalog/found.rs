//! A set as its files show it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use iostall_model::backup::{Manifest, Protection, SetId};
use iostall_remote::OpenUpload;
use jiff::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundStripe {
    pub path: PathBuf,
    /// From 0.
    pub number: u16,
    /// Length of the file.
    pub bytes: u64,
    /// Under the name that it has before it is whole.
    pub is_unfinished: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundUpload {
    pub(super) upload: OpenUpload,
    /// Bytes that the store has.
    pub bytes: u64,
    /// When it began, or its last part came.
    pub newest_utc: Timestamp,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundSet {
    pub set: SetId,
    pub created_unix_ns: Option<u64>,
    pub is_encrypted: bool,
    pub base: Option<SetId>,
    /// How many stripes it has, by their headers.
    pub stripe_count: Option<u16>,
    /// By number, then by path. More than one of a number: somebody copied the set.
    pub stripes: Vec<FoundStripe>,
    pub manifests: Vec<PathBuf>,
    /// What is in them, if it can be read.
    pub manifest: Option<Manifest>,
    pub unreadable: Option<String>,
    pub protection: Protection,
    /// Notes that uploads of it were on their way.
    pub notes: Vec<PathBuf>,
    /// When the last of them was put.
    pub noted_utc: Option<Timestamp>,
    /// Objects that the notes name.
    pub(super) noted: Vec<PathBuf>,
    pub uploads: Vec<FoundUpload>,
    /// Manifests of a set whose deletion has begun.
    pub removed: Vec<PathBuf>,
}

/// Whether a set can be restored, as far as headers and lengths tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetState {
    /// A manifest, and every stripe with the length that it names.
    Whole,
    NotCompleted,
    BeingDeleted,
    /// What is missing or wrong, in words.
    Damaged(String),
    /// Some stripes are in directories that were not looked through.
    Elsewhere(Vec<u16>),
}

impl FoundSet {
    pub(super) fn of(set: SetId) -> Self {
        Self { set, ..Self::default() }
    }

    pub fn state(&self) -> SetState {
        if !self.removed.is_empty() {
            return SetState::BeingDeleted;
        }
        if self.manifests.is_empty() {
            return SetState::NotCompleted;
        }
        if let Some(why) = self.unreadable.as_ref().filter(|_| self.manifest.is_none()) {
            return SetState::Damaged(why.clone());
        }
        let missing = self.missing();
        if !missing.is_empty() {
            return SetState::Elsewhere(missing);
        }
        self.wrong_length().map_or(SetState::Whole, SetState::Damaged)
    }

    /// When something was added last to what is uploaded; `None` if there is no note of any upload.
    pub fn uploaded_utc(&self) -> Option<Timestamp> {
        self.uploads.iter().map(|upload| upload.newest_utc).chain(self.noted_utc).max()
    }

    /// What protects it. A store that shows no lock to this account may still have the one that the manifest names.
    pub fn protection(&self) -> Protection {
        let lock = self.protection.lock.or(self.manifest.as_ref().and_then(|manifest| manifest.object_lock));
        Protection { lock, ..self.protection }
    }

    fn missing(&self) -> Vec<u16> {
        let of_manifest = self.manifest.as_ref().map(|manifest| manifest.stripes.len());
        let count =
            of_manifest.and_then(|count| u16::try_from(count).ok()).or(self.stripe_count).unwrap_or(1);
        let whole = self.stripes.iter().filter(|stripe| !stripe.is_unfinished);
        let there: BTreeSet<u16> = whole.map(|stripe| stripe.number).collect();
        (0..count).filter(|number| !there.contains(number)).collect()
    }

    fn wrong_length(&self) -> Option<String> {
        let manifest = self.manifest.as_ref()?;
        manifest.stripes.iter().find_map(|record| {
            let is_it = |stripe: &&FoundStripe| stripe.number == record.number && !stripe.is_unfinished;
            let lengths: Vec<u64> = self.stripes.iter().filter(is_it).map(|stripe| stripe.bytes).collect();
            let is_there = lengths.is_empty() || lengths.contains(&record.bytes);
            let number = record.number + 1;
            (!is_there)
                .then(|| format!("stripe {number} has {} bytes instead of {}", lengths[0], record.bytes))
        })
    }
}
