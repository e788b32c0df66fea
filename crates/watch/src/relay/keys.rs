//! How servers and the centre know each other's files in a relay.
//!
//! A server signs with a key that follows from its secret; the centre has the public half. The centre's confirmations are
//! authenticated by a key that follows from the one-time code, which both have had.

use std::fmt;

use aws_lc_rs::hmac;
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use iostall_store::{FleetSecret, SecretHash, StoreId};
use sha2::{Digest as _, Sha256};

use crate::relay_error::RelayError;

/// Bytes of a signature at the end of a file.
pub(super) const SIGNATURE_BYTES: usize = 64;
/// Bytes of a code that authenticates, at the end of a file.
pub(super) const TAG_BYTES: usize = 32;
const OF_SIGNATURE: &[u8] = b"iostall relay: signature\n";
const OF_CONFIRMATION: &[u8] = b"iostall relay: confirmation\n";

/// What a server signs with.
pub(super) struct Signer(Ed25519KeyPair);

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer")
    }
}

impl Signer {
    /// That of the server with this secret.
    pub(super) fn of(secret: &FleetSecret) -> Result<Self, RelayError> {
        let mut digest = Sha256::new();
        digest.update(OF_SIGNATURE);
        digest.update(secret.digits());
        let seed: [u8; 32] = digest.finalize().into();
        Ed25519KeyPair::from_seed_unchecked(&seed).map(Self).map_err(|_| RelayError::Library)
    }

    /// The half that the centre has.
    pub(super) fn public_key(&self) -> Vec<u8> {
        self.0.public_key().as_ref().to_vec()
    }

    /// `bytes` with their signature.
    pub(super) fn signed(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let signature = self.0.sign(&bytes);
        bytes.extend_from_slice(signature.as_ref());
        bytes
    }
}

/// What was signed, if the owner of `public_key` has signed it.
pub(super) fn verified<'a>(bytes: &'a [u8], public_key: &[u8]) -> Option<&'a [u8]> {
    let (text, signature) = bytes.split_at_checked(bytes.len().checked_sub(SIGNATURE_BYTES)?)?;
    UnparsedPublicKey::new(&ED25519, public_key).verify(text, signature).ok()?;
    Some(text)
}

/// A key that both sides have.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct SharedKey(Vec<u8>);

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedKey")
    }
}

impl SharedKey {
    /// Of confirmations for the server of `store` with this public key, which has joined with the code that has this hash.
    pub(super) fn of_confirmations(code: &SecretHash, store: StoreId, public_key: &[u8]) -> Self {
        let text = [OF_CONFIRMATION, store.to_string().as_bytes(), public_key].concat();
        Self(Self::of_code(code).tag(&text))
    }

    /// Of what only who has the code can write.
    pub(super) fn of_code(code: &SecretHash) -> Self {
        Self(code.bytes().to_vec())
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The code that authenticates `text`.
    pub(super) fn tag(&self, text: &[u8]) -> Vec<u8> {
        hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &self.0), text).as_ref().to_vec()
    }

    /// What was authenticated with this key.
    pub(super) fn verified<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (text, tag) = bytes.split_at_checked(bytes.len().checked_sub(TAG_BYTES)?)?;
        hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, &self.0), text, tag).ok()?;
        Some(text)
    }

    /// `text` with the code that authenticates it.
    pub(super) fn authenticated(&self, mut text: Vec<u8>) -> Vec<u8> {
        let tag = self.tag(&text);
        text.extend_from_slice(&tag);
        text
    }
}

/// Bytes as digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// 32 bytes from their digits.
pub(super) fn from_hex(text: &str) -> Option<Vec<u8>> {
    SecretHash::parse(text).map(|hash| hash.bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_changed_or_signed_by_another_is_not_verified() {
        let key = Signer::of(&FleetSecret::new_key().unwrap()).unwrap();
        let other = Signer::of(&FleetSecret::new_key().unwrap()).unwrap();
        let signed = key.signed(b"text".to_vec());
        assert_eq!(verified(&signed, &key.public_key()), Some(&b"text"[..]));
        assert_eq!(verified(&signed, &other.public_key()), None);
        for place in 0..signed.len() {
            let mut changed = signed.clone();
            changed[place] ^= 1;
            assert_eq!(verified(&changed, &key.public_key()), None, "{place}");
            assert_eq!(verified(&signed[..place], &key.public_key()), None, "{place}");
        }
        let code = FleetSecret::new_code().unwrap().hash();
        let store = "7f0f5a6e-6a3b-4d7e-8e36-0a4a1c6d1f11".parse().unwrap();
        let key = SharedKey::of_confirmations(&code, store, &key.public_key());
        let mut text = key.authenticated(b"text".to_vec());
        assert_eq!(key.verified(&text), Some(&b"text"[..]));
        assert_eq!(SharedKey::of_code(&code).verified(&text), None);
        text[0] ^= 1;
        assert_eq!(key.verified(&text), None);
        assert_eq!(key.verified(b"short"), None);
    }
}
