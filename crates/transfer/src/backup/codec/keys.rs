//! Keys of a set: a random file key, wrapped for those who may read the set, and what is derived from it.

use std::fmt;

use iostall_model::backup::SetId;
use thiserror::Error;
use zeroize::Zeroizing;

use super::age;
use crate::backup::format::WrappedKeys;

/// What keys are derived for. A new version of the format gets new texts.
const FRAMES: &str = "iostall backup 1: frames";
const MANIFEST: &str = "iostall backup 1: manifest";
const MANIFEST_HASH: &str = "iostall backup 1: checksum of the manifest";
const MASK: &str = "iostall backup 1: mask of checksums";
const COMMITMENT: &str = "iostall backup 1: key commitment";

/// Why a key could not be made or found.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeyError {
    #[error("the library for encryption refused to work")]
    Library,
    #[error("{recipient:?} is no public key of age: it begins with age1")]
    Recipient { recipient: String },
    #[error("a set is encrypted either for public keys or with a passphrase, not both")]
    Both,
    #[error("nobody to encrypt for was named")]
    Nobody,
    #[error("the passphrase is empty")]
    EmptyPassphrase,
    #[error("the set is encrypted, and no key was named")]
    NoKey,
    #[error("{given} does not open this set")]
    Wrong { given: String },
    #[error("{given} opens the wrapped key, but it is the key of another set")]
    Commitment { given: String },
    #[error("the wrapped key of the set is damaged: {0}")]
    Wrapped(String),
    #[error("{path} holds no key of age: a line with one begins with AGE-SECRET-KEY-1", path = path.display())]
    Identity { path: std::path::PathBuf },
    #[error("no passphrase from {from}: {source}")]
    Passphrase { from: String, source: std::io::Error },
    #[error(transparent)]
    Input(#[from] iostall_engine::InputError),
}

impl KeyError {
    /// What to do.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::NoKey => {
                "name the file with the secret key (--key-file) or the passphrase (--passphrase-file); \
                 `iostall backup verify --without-key` checks what is stored, and nothing of what is in it"
            }
            Self::Both => "give recipients (--encrypt-to) or a passphrase",
            Self::Recipient { .. } => "`age-keygen` makes a pair of keys and prints the public one",
            Self::Wrong { .. } | Self::Commitment { .. } => {
                "name the key or passphrase that the set was made with"
            }
            Self::Input(error) => return error.hint(),
            _ => return None,
        };
        Some(text.to_owned())
    }
}

/// The key of a set, from which all others are derived.
pub struct FileKey(Zeroizing<[u8; 32]>);

/// Never shown.
impl fmt::Debug for FileKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileKey")
    }
}

impl FileKey {
    /// A new one.
    pub fn random() -> Result<Self, KeyError> {
        let mut bytes = Zeroizing::new([0; 32]);
        aws_lc_rs::rand::fill(&mut bytes[..]).map_err(|_| KeyError::Library)?;
        Ok(Self(bytes))
    }

    /// From the content of an age file.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The keys of `set`.
    pub fn keys_of(&self, set: SetId) -> SetKeys {
        let derive = |context: &str| {
            let mut material = Zeroizing::new([0; 48]);
            material[..32].copy_from_slice(&self.0[..]);
            material[32..].copy_from_slice(&set.0);
            Zeroizing::new(blake3::derive_key(context, &material[..]))
        };
        SetKeys {
            frames: derive(FRAMES),
            manifest: derive(MANIFEST),
            manifest_hash: derive(MANIFEST_HASH),
            mask: derive(MASK),
            commitment: *derive(COMMITMENT),
        }
    }
}

/// The derived keys of one set.
#[derive(Clone)]
pub struct SetKeys {
    frames: Zeroizing<[u8; 32]>,
    manifest: Zeroizing<[u8; 32]>,
    manifest_hash: Zeroizing<[u8; 32]>,
    mask: Zeroizing<[u8; 32]>,
    commitment: [u8; 32],
}

/// Never shown.
impl fmt::Debug for SetKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SetKeys")
    }
}

impl SetKeys {
    /// Says which key a set has without saying the key: two keys that open the same frame would have different ones.
    pub fn commitment(&self) -> [u8; 32] {
        self.commitment
    }

    /// The checksum of a manifest: BLAKE3 with a key, so that only who has the key can make another.
    pub fn manifest_hash(&self, bytes: &[u8]) -> [u8; 32] {
        *blake3::keyed_hash(&self.manifest_hash, bytes).as_bytes()
    }

    pub(super) fn frame_key(&self) -> &[u8; 32] {
        &self.frames
    }

    pub(super) fn manifest_key(&self) -> &[u8; 32] {
        &self.manifest
    }

    pub(super) fn mask_key(&self) -> &[u8; 32] {
        &self.mask
    }
}

/// A passphrase, wiped from memory when it is dropped.
#[derive(Clone)]
pub struct Passphrase(Zeroizing<String>);

/// Never shown.
impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase")
    }
}

impl From<String> for Passphrase {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl Passphrase {
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

/// Who can open a set.
#[derive(Clone, Debug)]
pub enum Lock {
    /// Public keys of age (`age1…`).
    Recipients(Vec<String>),
    Passphrase(Passphrase),
}

impl Lock {
    /// Whether the set is lost with a single key.
    pub fn is_one_recipient(&self) -> bool {
        matches!(self, Self::Recipients(all) if all.len() == 1)
    }

    /// Checks that every recipient is one, before anything is read.
    pub fn check(&self) -> Result<(), KeyError> {
        match self {
            Self::Recipients(all) => recipients(all).map(drop),
            Self::Passphrase(_) => Ok(()),
        }
    }
}

fn recipients(all: &[String]) -> Result<Vec<[u8; 32]>, KeyError> {
    if all.is_empty() {
        return Err(KeyError::Nobody);
    }
    let parse =
        |text: &String| age::recipient(text).ok_or_else(|| KeyError::Recipient { recipient: text.clone() });
    all.iter().map(parse).collect()
}

/// Base-2 logarithm of the steps that a passphrase takes, as with the age tool: about a second, and 256 MiB.
const WORK: u8 = 18;

/// Tests make and open many sets. Those of the whole program say `IOSTALL_TEST_WORK=10`, which no release build heeds.
fn work() -> u8 {
    let named = || std::env::var("IOSTALL_TEST_WORK").ok()?.parse().ok();
    if cfg!(test) {
        10
    } else if cfg!(debug_assertions) {
        named().unwrap_or(WORK)
    } else {
        WORK
    }
}

/// Wraps the key of a set as an age file, which the age tool opens too.
pub fn wrap(key: &FileKey, set: SetId, lock: &Lock) -> Result<WrappedKeys, KeyError> {
    let wrapped = match lock {
        Lock::Passphrase(passphrase) => age::encrypt(&key.0[..], &[], Some((passphrase.reveal(), work()))),
        Lock::Recipients(all) => age::encrypt(&key.0[..], &recipients(all)?, None),
    };
    let wrapped = wrapped.map_err(|_| KeyError::Library)?;
    Ok(WrappedKeys { commitment: key.keys_of(set).commitment(), age: wrapped })
}
