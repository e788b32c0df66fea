//! What the centre has of a server, as it says so in a relay.

use std::collections::BTreeMap;
use std::io::Read as _;

use iostall_store::{RunMark, SheetMark, SourceId, StoreId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::keys::SharedKey;
use super::names::FileName;
use crate::destination::Known;

/// The longest document in one, bytes: as many runs as the centre takes, and more.
const DOCUMENT_BYTES_MAX: u64 = 64 << 20;
const LEVEL: i32 = 3;
const WINDOW_LOG_MAX: u32 = 23;
/// Words on what was refused.
pub(super) const REFUSED_MAX: usize = 20;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Confirmation {
    pub(super) store: StoreId,
    /// Of the file: in another place it is none.
    pub(super) number: u64,
    /// What the server is called.
    pub(super) name: String,
    /// The files of the server up to this number are no longer needed.
    pub(super) received: u64,
    pub(super) sources: BTreeMap<String, ConfirmedSource>,
    pub(super) runs: Vec<RunMark>,
    /// Runs that ended before this are no longer wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) runs_after: Option<Timestamp>,
    /// `None` from an older centre, which takes no sheets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sheets: Option<Vec<SheetMark>>,
    /// Why something in those files was not taken.
    pub(super) refused: Vec<String>,
}

/// How much of a source is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ConfirmedSource {
    pub(super) appended: u64,
    pub(super) newest: Option<Timestamp>,
    /// What follows is from a wrong time. By the clock of the centre it is refused until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refused_until: Option<Timestamp>,
}

impl Confirmation {
    /// How much of `source` is there.
    pub(super) fn known(&self, source: SourceId) -> Known {
        self.sources
            .get(&source.to_string())
            .map_or_else(Known::default, |known| Known { appended: known.appended, newest: known.newest })
    }

    /// As a file.
    pub(super) fn to_file(&self, key: &SharedKey) -> std::io::Result<Vec<u8>> {
        let text = serde_json::to_vec(self).unwrap_or_default();
        Ok(key.authenticated(zstd::encode_all(&text[..], LEVEL)?))
    }

    /// From a file, if the owner of the key made it for this name; it may come from anybody.
    pub(super) fn from_file(file: &[u8], name: FileName, key: &SharedKey) -> Option<Self> {
        Self::read(key.verified(file)?, name)
    }

    /// The same of what was authenticated.
    pub(super) fn read(compressed: &[u8], name: FileName) -> Option<Self> {
        let mut decoder = zstd::Decoder::new(compressed).ok()?;
        decoder.window_log_max(WINDOW_LOG_MAX).ok()?;
        let mut text = Vec::new();
        decoder.take(DOCUMENT_BYTES_MAX).read_to_end(&mut text).ok()?;
        let read: Self = serde_json::from_slice(&text).ok()?;
        (read.store == name.store && read.number == name.number).then_some(read)
    }

    /// Whether it says the same as `other`, whichever file it is in.
    pub(super) fn says_the_same_as(&self, other: &Self) -> bool {
        Self { number: other.number, ..self.clone() } == *other
    }
}

#[cfg(test)]
mod tests {
    use super::super::names::FileKind;
    use super::*;

    #[test]
    fn a_confirmation_is_read_with_its_key_under_its_name_alone() {
        let store: StoreId = "7f0f5a6e-6a3b-4d7e-8e36-0a4a1c6d1f11".parse().unwrap();
        let source: SourceId = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
        let known = ConfirmedSource { appended: 9, newest: None, refused_until: None };
        let said = Confirmation {
            store,
            number: 3,
            name: "db1".into(),
            received: 7,
            sources: BTreeMap::from([(source.to_string(), known)]),
            runs: Vec::new(),
            runs_after: None,
            sheets: None,
            refused: Vec::new(),
        };
        let key = SharedKey::from_bytes(&[1; 32]);
        let name = |number| FileName { store, kind: FileKind::Confirmed, number };
        let file = said.to_file(&key).unwrap();
        let read = Confirmation::from_file(&file, name(3), &key).unwrap();
        assert_eq!((read.known(source).appended, &read), (9, &said));
        assert!(Confirmation { number: 4, ..read }.says_the_same_as(&said));
        assert!(!Confirmation { received: 8, ..said.clone() }.says_the_same_as(&said));
        assert_eq!(Confirmation::from_file(&file, name(4), &key), None);
        assert_eq!(Confirmation::from_file(&file, name(3), &SharedKey::from_bytes(&[2; 32])), None);
        assert_eq!(Confirmation::from_file(&file[1..], name(3), &key), None);
    }
}
