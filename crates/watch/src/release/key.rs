//! Keys that sign releases (Ed25519).

use std::fmt;
use std::io::Write as _;
use std::path::Path;
use std::str::FromStr;

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use iostall_engine::files::create_new_private;
use iostall_engine::{Input, random_bytes};
use iostall_measure::ByteCount;
use serde::{Deserialize, Serialize};

use crate::release_error::ReleaseError;

const FILE: Input = Input { what: "key that signs", limit: ByteCount(1 << 10) };
const SECRET_PREFIX: &str = "ed25519-secret:";
const PUBLIC_PREFIX: &str = "ed25519:";

/// A key that signs. Whoever has its file signs as its owner.
pub struct SigningKey(Ed25519KeyPair);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey([u8; 32]);

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.public())
    }
}

impl SigningKey {
    /// Makes a key, and a file for it that only its owner can read.
    pub fn create(path: &Path) -> Result<Self, ReleaseError> {
        let seed = random_bytes::<32>().map_err(ReleaseError::Random)?;
        let key = Self::of_seed(&seed)?;
        let write = || {
            let mut file = create_new_private(path)?;
            writeln!(file, "{SECRET_PREFIX}{}", hex(&seed))?;
            file.sync_all()
        };
        write().map_err(|source| ReleaseError::Write { path: path.to_owned(), source })?;
        Ok(key)
    }

    /// The key in a file that only its owner can read.
    pub fn read(path: &Path) -> Result<Self, ReleaseError> {
        let text = FILE.secret(path)?;
        let digits = text.trim().strip_prefix(SECRET_PREFIX).and_then(from_hex);
        let seed = digits.ok_or_else(|| ReleaseError::Key { path: path.to_owned() })?;
        Self::of_seed(&seed)
    }

    /// The key that follows from 32 secret bytes.
    pub fn of_seed(seed: &[u8]) -> Result<Self, ReleaseError> {
        Ed25519KeyPair::from_seed_unchecked(seed).map(Self).map_err(|_| ReleaseError::Library)
    }

    pub fn public(&self) -> PublicKey {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.0.public_key().as_ref());
        PublicKey(bytes)
    }

    pub(super) fn sign(&self, text: &[u8]) -> Vec<u8> {
        self.0.sign(text).as_ref().to_vec()
    }
}

impl PublicKey {
    pub(super) fn verifies(&self, text: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.0).verify(text, signature).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PUBLIC_PREFIX}{}", hex(&self.0))
    }
}

impl FromStr for PublicKey {
    type Err = ReleaseError;

    fn from_str(text: &str) -> Result<Self, ReleaseError> {
        let bytes = text.strip_prefix(PUBLIC_PREFIX).and_then(from_hex);
        let bytes = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        bytes.map(Self).ok_or_else(|| ReleaseError::PublicKey { named: text.to_owned() })
    }
}

impl TryFrom<String> for PublicKey {
    type Error = ReleaseError;

    fn try_from(text: String) -> Result<Self, ReleaseError> {
        text.parse()
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        key.to_string()
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Bytes from small digits; `None` if the text is not that.
pub(super) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let is_hex = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_hex || !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_back_from_its_file_and_its_file_is_never_written_over() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("key");
        let made = SigningKey::create(&path).unwrap();
        assert_eq!(SigningKey::read(&path).unwrap().public(), made.public());
        assert!(matches!(SigningKey::create(&path), Err(ReleaseError::Write { .. })));
        let text = made.public().to_string();
        assert_eq!(text.parse::<PublicKey>().unwrap(), made.public());
        for wrong in ["", "ed25519:", &text[..70], &text.to_uppercase(), &format!("{text}00")] {
            assert!(wrong.parse::<PublicKey>().is_err(), "{wrong}");
        }
        let signature = made.sign(b"text");
        assert!(made.public().verifies(b"text", &signature) && !made.public().verifies(b"texts", &signature));
    }
}
