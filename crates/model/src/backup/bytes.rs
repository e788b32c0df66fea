//! Bytes in documents: digests as hexadecimal digits, names as text where they are text.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::spelling::{SpellingError, as_text, refuse};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Digest32(pub [u8; 32]);

impl fmt::Display for Digest32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, f)
    }
}

impl FromStr for Digest32 {
    type Err = SpellingError;

    fn from_str(text: &str) -> Result<Self, SpellingError> {
        from_hex(text)
            .map_or_else(|| refuse(text, "a digest of 64 hexadecimal digits"), |bytes| Ok(Self(bytes)))
    }
}

as_text!(Digest32);

/// A name as the file system has it, which need not be text. Relative names have `/` between their parts.
///
/// In documents it is a text if it is one, and otherwise `{"hex": "…"}`, so that no name is changed by being
/// stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoredName(pub Vec<u8>);

impl StoredName {
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for StoredName {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

/// For a message; bytes that are no text are replaced.
impl fmt::Display for StoredName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

#[derive(Serialize, Deserialize)]
struct Hex {
    hex: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Spelled {
    Text(String),
    Hex(Hex),
}

impl Serialize for StoredName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Ok(text) = std::str::from_utf8(&self.0) {
            return serializer.serialize_str(text);
        }
        let mut hex = String::with_capacity(self.0.len() * 2);
        for byte in &self.0 {
            let _ = write!(hex, "{byte:02x}");
        }
        Hex { hex }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for StoredName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Spelled::deserialize(deserializer)? {
            Spelled::Text(text) => Ok(Self(text.into_bytes())),
            Spelled::Hex(Hex { hex }) => hex_bytes(&hex)
                .map(Self)
                .ok_or_else(|| serde::de::Error::custom("a name whose bytes are not hexadecimal digits")),
        }
    }
}

pub(super) fn write_hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

pub(super) fn from_hex<const LENGTH: usize>(text: &str) -> Option<[u8; LENGTH]> {
    hex_bytes(text)?.try_into().ok()
}

fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let pairs = text.as_bytes().chunks_exact(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// The id of a stripe set: 16 random bytes, which stand in every stripe and in every frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetId(pub [u8; 16]);

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not the id of a stripe set: it has 32 hexadecimal digits")]
pub struct SetIdError(String);

impl fmt::Display for SetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, f)
    }
}

impl FromStr for SetId {
    type Err = SetIdError;

    fn from_str(text: &str) -> Result<Self, SetIdError> {
        from_hex(text).map(Self).ok_or_else(|| SetIdError(text.to_owned()))
    }
}

as_text!(SetId);

#[cfg(test)]
mod tests {
    use super::*;

    /// A database's files were listed with replacement characters for bytes that are no text, and two names
    /// became one.
    #[test]
    fn a_name_that_is_no_text_is_stored_as_its_bytes_and_any_other_as_it_is() {
        for (bytes, json) in [
            (b"base/1/1259".to_vec(), r#""base/1/1259""#),
            ("t\u{e4}gl\nich".as_bytes().to_vec(), "\"t\u{e4}gl\\nich\""),
            (b"a\xff/b".to_vec(), r#"{"hex":"61ff2f62"}"#),
            (Vec::new(), r#""""#),
        ] {
            let name = StoredName(bytes);
            assert_eq!(serde_json::to_string(&name).unwrap(), json);
            assert_eq!(serde_json::from_str::<StoredName>(json).unwrap(), name);
        }
        for wrong in [r#"{"hex":"6"}"#, r#"{"hex":"zz"}"#, r#"{"hex":"+1"}"#, "1"] {
            assert!(serde_json::from_str::<StoredName>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_digest_is_read_back_from_its_digits_and_from_nothing_else() {
        let digest = Digest32(std::array::from_fn(|at| u8::try_from(at * 7).unwrap()));
        assert_eq!(digest.to_string().parse::<Digest32>().unwrap(), digest);
        assert!("00".parse::<Digest32>().is_err());
        assert!("g".repeat(64).parse::<Digest32>().is_err());
    }
}
