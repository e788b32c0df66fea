//! A release in one file, and the permit to undo one.

use iostall_measure::clock::utc_now;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::key::{PublicKey, hex};
use super::manifest::{Manifest, Object};
use super::sealed::Sealed;
use crate::release_error::ReleaseError;

pub const RELEASE_BYTES_MAX: u64 = 64 << 20;
pub(super) const RELEASE: &str = "iostall-release 1";
pub(super) const PERMIT: &str = "iostall-undo 1";
/// Clocks may differ by so much.
const AHEAD_MAX: SignedDuration = SignedDuration::from_hours(1);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened<'a> {
    Release(Release<'a>),
    Permit(Permit),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release<'a> {
    pub id: String,
    pub manifest: Manifest,
    bodies: Vec<&'a [u8]>,
}

/// A permit to undo a release: to put back what was there before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Permit {
    pub release: String,
    pub version: u64,
    pub made: Timestamp,
    pub expires: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReleaseInfo {
    /// `release` or `undo`.
    pub kind: &'static str,
    /// What identifies the release; that of a permit is the one that it undoes.
    pub id: String,
    pub key: PublicKey,
    pub version: u64,
    pub made: Timestamp,
    pub expires: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub objects: Vec<Object>,
}

impl<'a> Opened<'a> {
    /// What is in `bytes`, if the owner of one of `keys` has signed it; it may come from anybody. `place` says where the keys are from.
    pub fn verify(bytes: &'a [u8], keys: &[PublicKey], place: &str) -> Result<Self, ReleaseError> {
        if bytes.len() as u64 > RELEASE_BYTES_MAX {
            return Err(ReleaseError::Form("it is too long".to_owned()));
        }
        let head = Sealed::split(bytes)?;
        let document = head.verified(keys, place)?;
        match head.what {
            RELEASE => Release::of(&head, document).map(Self::Release),
            PERMIT if head.rest.is_empty() => {
                let permit = serde_json::from_str(document);
                permit.map(Self::Permit).map_err(|error| ReleaseError::Form(error.to_string()))
            }
            _ => Err(ReleaseError::Form("it is of another kind, or of a newer iostall".to_owned())),
        }
    }

    /// What is in `bytes` by its own account: its signature holds for the key that it names, whosever that is.
    pub fn describe(bytes: &'a [u8]) -> Result<ReleaseInfo, ReleaseError> {
        let key = Sealed::split(bytes)?.key;
        Ok(match Self::verify(bytes, &[key], "itself")? {
            Self::Release(Release { id, manifest, .. }) => ReleaseInfo {
                kind: "release",
                id,
                key,
                version: manifest.version,
                made: manifest.made,
                expires: manifest.expires,
                note: manifest.note,
                objects: manifest.objects,
            },
            Self::Permit(permit) => ReleaseInfo {
                kind: "undo",
                id: permit.release,
                key,
                version: permit.version,
                made: permit.made,
                expires: permit.expires,
                note: None,
                objects: Vec::new(),
            },
        })
    }

    pub fn check_time(&self) -> Result<(), ReleaseError> {
        let (made, expires) = match self {
            Self::Release(release) => (release.manifest.made, release.manifest.expires),
            Self::Permit(permit) => (permit.made, permit.expires),
        };
        let now = utc_now();
        if expires <= now {
            return Err(ReleaseError::Expired { expired: expires });
        }
        if made.duration_since(now) > AHEAD_MAX {
            return Err(ReleaseError::FromFuture { made });
        }
        Ok(())
    }
}

impl<'a> Release<'a> {
    fn of(head: &Sealed<'a>, document: &str) -> Result<Self, ReleaseError> {
        let manifest = Manifest::parse(document)?;
        let mut rest = head.rest;
        let mut bodies = Vec::with_capacity(manifest.objects.len());
        for object in &manifest.objects {
            let altered = || ReleaseError::Altered { object: object.to_string() };
            let length = usize::try_from(object.bytes).map_err(|_| altered())?;
            let (body, after) = rest.split_at_checked(length).ok_or_else(altered)?;
            if sha256(body) != object.sha256 {
                return Err(altered());
            }
            bodies.push(body);
            rest = after;
        }
        if !rest.is_empty() {
            return Err(ReleaseError::Form("more follows its last object".to_owned()));
        }
        Ok(Self { id: head.digest(), manifest, bodies })
    }

    pub fn objects(&self) -> impl Iterator<Item = (&Object, &'a [u8])> {
        self.manifest.objects.iter().zip(self.bodies.iter().copied())
    }
}

/// SHA-256, as digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
