//! What is in a release.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::release_error::ReleaseError;

const OBJECTS_MAX: usize = 4_096;
const NAME_BYTES_MAX: usize = 128;
/// Of labels and notes, bytes.
const TEXT_BYTES_MAX: usize = 256;
const LABELS_MAX: usize = 32;
const OBJECT_BYTES_MAX: u64 = 4 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObjectKind {
    Settings,
    Profile,
    Alerts,
}

impl ObjectKind {
    /// All of them, in the order of a manifest.
    pub const ALL: [Self; 3] = [Self::Settings, Self::Profile, Self::Alerts];

    pub fn name(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Profile => "profile",
            Self::Alerts => "alerts",
        }
    }
}

impl FromStr for ObjectKind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or(())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    pub kind: ObjectKind,
    /// One part of a path, without a directory.
    pub name: String,
    /// It is for servers with all of these alone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    pub bytes: u64,
    /// Its SHA-256, as digits.
    pub sha256: String,
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind.name(), self.name)
    }
}

impl Object {
    pub fn is_for(&self, labels: &BTreeMap<String, String>) -> bool {
        self.labels.iter().all(|(name, value)| labels.get(name) == Some(value))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectState {
    pub kind: ObjectKind,
    pub name: String,
    /// `None` if it is not there, or cannot be read.
    pub sha256: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// It only rises.
    pub version: u64,
    pub made: Timestamp,
    /// After that nobody applies it.
    pub expires: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// By kind and name. Their bytes follow in the same order.
    pub objects: Vec<Object>,
}

impl Manifest {
    /// A manifest from its text, which was verified.
    pub(super) fn parse(text: &str) -> Result<Self, ReleaseError> {
        let manifest: Self =
            serde_json::from_str(text).map_err(|error| ReleaseError::Form(error.to_string()))?;
        if manifest.text() != text {
            return Err(ReleaseError::Form("its manifest is not in the usual form".to_owned()));
        }
        manifest.check()?;
        Ok(manifest)
    }

    /// In the only form that it has.
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(super) fn check(&self) -> Result<(), ReleaseError> {
        let form = |reason: &str| Err(ReleaseError::Form(reason.to_owned()));
        if self.version == 0 || self.version > u64::from(u32::MAX) {
            return form("its version is none");
        }
        if self.objects.is_empty() || self.objects.len() > OBJECTS_MAX {
            return form("it has no objects, or too many");
        }
        if self.note.as_ref().is_some_and(|note| note.len() > TEXT_BYTES_MAX) {
            return form("its note is too long");
        }
        let place = |object: &Object| (object.kind, object.name.clone());
        if !self.objects.iter().map(place).is_sorted_by(|one, next| one < next) {
            return form("its objects are not in order, or one is there twice");
        }
        self.objects.iter().try_for_each(check_object)
    }
}

fn check_object(object: &Object) -> Result<(), ReleaseError> {
    let invalid =
        |reason: &str| Err(ReleaseError::Object { object: object.to_string(), reason: reason.to_owned() });
    if !is_name(&object.name) {
        return invalid(
            "its name has other characters than letters, digits and - _ . or begins with one of these",
        );
    }
    if object.bytes > OBJECT_BYTES_MAX {
        return invalid("it is too long");
    }
    let is_text = |text: &String| !text.is_empty() && text.len() <= TEXT_BYTES_MAX;
    if object.labels.len() > LABELS_MAX
        || !object.labels.iter().all(|(name, value)| is_text(name) && is_text(value))
    {
        return invalid("its labels are too many, too long or empty");
    }
    if object.sha256.len() != 64 || super::key::from_hex(&object.sha256).is_none() {
        return invalid("its hash is none");
    }
    Ok(())
}

/// Whether a name is one part of a path that no system takes for anything else.
fn is_name(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    begins && name.len() <= NAME_BYTES_MAX && name.bytes().all(is_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leads_elsewhere_is_none() {
        for name in ["collect.toml", "site_1-b", "a", "9"] {
            assert!(is_name(name), "{name}");
        }
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        for name in
            ["", ".", "..", "../x", "a/b", "/etc/passwd", ".profile", "-rf", "a b", "a\0", "a\n", "ä", &long]
        {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn a_manifest_has_one_form() {
        let at: Timestamp = "2026-03-01T09:58:00Z".parse().unwrap();
        let object = |name: &str| Object {
            kind: ObjectKind::Settings,
            name: name.into(),
            labels: BTreeMap::new(),
            bytes: 1,
            sha256: "0".repeat(64),
        };
        let manifest = Manifest {
            version: 1,
            made: at,
            expires: at,
            note: None,
            objects: vec![object("a"), object("b")],
        };
        let text = manifest.text();
        assert_eq!(Manifest::parse(&text).unwrap(), manifest);
        assert!(Manifest::parse(&text.replace("\"version\":1", "\"version\": 1")).is_err());
        assert!(Manifest::parse(&text.replace("{\"version\"", "{\"more\":1,\"version\"")).is_err());
        for objects in
            [vec![], vec![object("b"), object("a")], vec![object("a"), object("a")], vec![object("../a")]]
        {
            assert!(Manifest::parse(&Manifest { objects, ..manifest.clone() }.text()).is_err());
        }
        assert!(Manifest::parse(&Manifest { version: 0, ..manifest }.text()).is_err());
    }
}
