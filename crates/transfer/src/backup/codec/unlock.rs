//! Opens the wrapped key of a set.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use age::secrecy::SecretString;
use age::x25519::Identity;
use iostall_engine::{Input, terminal};
use iostall_measure::ByteCount;
use iostall_model::backup::SetId;
use zeroize::Zeroizing;

use super::keys::{FileKey, KeyError, SetKeys};
use crate::backup::format::WrappedKeys;

/// Enough for hundreds of keys with comments.
const KEY_FILE: Input = Input { what: "file of secret keys", limit: ByteCount(1 << 20) };
const PASSPHRASE: Input = Input { what: "passphrase", limit: ByteCount(64 << 10) };
/// Base-2 logarithm of the most steps that opening with a passphrase may take: each takes a kibibyte. A hostile file could
/// otherwise ask for hours and for all memory. Today the age tool writes 18.
const WORK_MAX: u8 = 20;

/// Where a passphrase comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PassphraseSource {
    /// The first line of a file that only its owner can read.
    File(PathBuf),
    /// The first line of an open file descriptor.
    Descriptor(u32),
    /// Typed by a person.
    Terminal,
}

impl PassphraseSource {
    /// Reads it. For a new passphrase a person types it twice.
    pub fn read(&self, is_new: bool) -> Result<SecretString, KeyError> {
        let text = Zeroizing::new(match self {
            Self::File(path) => PASSPHRASE.secret(path)?,
            Self::Descriptor(number) => PASSPHRASE.text(Path::new(&format!("/dev/fd/{number}")))?,
            Self::Terminal => ask(is_new)?,
        });
        let line = text.lines().next().unwrap_or_default();
        if line.is_empty() {
            return Err(KeyError::EmptyPassphrase);
        }
        Ok(SecretString::from(line.to_owned()))
    }
}

fn ask(is_new: bool) -> Result<String, KeyError> {
    let failed = |source| KeyError::Passphrase { from: "the terminal".to_owned(), source };
    let typed = terminal::ask_secret("passphrase of the backup: ").map_err(failed)?;
    if is_new && *Zeroizing::new(terminal::ask_secret("the same again: ").map_err(failed)?) != typed {
        let source = std::io::Error::new(std::io::ErrorKind::InvalidInput, "the two are not the same");
        return Err(failed(source));
    }
    Ok(typed)
}

/// How a reader opens a set.
#[derive(Clone, Debug)]
pub enum Unlock {
    /// Files with secret keys of age (`AGE-SECRET-KEY-1…`).
    KeyFiles(Vec<PathBuf>),
    Passphrase(SecretString),
}

impl Unlock {
    /// What was given, for messages.
    fn given(&self) -> String {
        match self {
            Self::KeyFiles(paths) => {
                let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
                format!("the key of {}", names.join(", "))
            }
            Self::Passphrase(_) => "the passphrase".to_owned(),
        }
    }

    fn identities(&self) -> Result<Vec<Box<dyn age::Identity>>, KeyError> {
        match self {
            Self::Passphrase(passphrase) => {
                let mut identity = age::scrypt::Identity::new(passphrase.clone());
                identity.set_max_work_factor(WORK_MAX);
                Ok(vec![Box::new(identity)])
            }
            Self::KeyFiles(paths) => {
                let mut all: Vec<Box<dyn age::Identity>> = Vec::new();
                for path in paths {
                    for identity in identities_of(path)? {
                        all.push(Box::new(identity));
                    }
                }
                Ok(all)
            }
        }
    }
}

fn identities_of(path: &Path) -> Result<Vec<Identity>, KeyError> {
    let text = Zeroizing::new(KEY_FILE.secret(path)?);
    let no_key = || KeyError::Identity { path: path.to_owned() };
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let found: Vec<Identity> =
        lines.map(|line| line.parse().map_err(|_| no_key())).collect::<Result<_, _>>()?;
    if found.is_empty() { Err(no_key()) } else { Ok(found) }
}

/// The keys of `set`, from its wrapped key. Another key than that of the set is refused here, before anything is decrypted.
pub fn unwrap(wrapped: &WrappedKeys, set: SetId, unlock: Option<&Unlock>) -> Result<SetKeys, KeyError> {
    let unlock = unlock.ok_or(KeyError::NoKey)?;
    let identities = unlock.identities()?;
    let damaged = |error: &dyn std::fmt::Display| KeyError::Wrapped(error.to_string());
    let decryptor = age::Decryptor::new(&wrapped.age[..]).map_err(|error| damaged(&error))?;
    let reader = decryptor.decrypt(identities.iter().map(|identity| &**identity));
    let reader = reader.map_err(|error| match error {
        age::DecryptError::NoMatchingKeys
        | age::DecryptError::KeyDecryptionFailed
        | age::DecryptError::DecryptionFailed => KeyError::Wrong { given: unlock.given() },
        other => damaged(&other),
    })?;
    let mut bytes = Zeroizing::new(Vec::with_capacity(64));
    reader.take(33).read_to_end(&mut bytes).map_err(|error| damaged(&error))?;
    let key: [u8; 32] = bytes[..].try_into().map_err(|_| damaged(&"it is not 32 bytes long"))?;
    let keys = FileKey::from_bytes(key).keys_of(set);
    if keys.commitment() != wrapped.commitment {
        return Err(KeyError::Commitment { given: unlock.given() });
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use age::secrecy::ExposeSecret as _;
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::keys::{Lock, wrap};
    use super::*;

    const SET: SetId = SetId([5; 16]);

    fn key_file(directory: &Path, name: &str, identity: &Identity) -> PathBuf {
        let path = directory.join(name);
        std::fs::write(&path, format!("# a comment\n{}\n", identity.to_string().expose_secret())).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    #[test]
    fn any_recipient_opens_a_set_and_nobody_else_does() {
        let directory = tempfile::tempdir().unwrap();
        let [one, two, other] = [(); 3].map(|()| Identity::generate());
        let lock = Lock::Recipients(vec![one.to_public().to_string(), two.to_public().to_string()]);
        assert!(!lock.is_one_recipient());
        let key = FileKey::random().unwrap();
        let wrapped = wrap(&key, SET, &lock).unwrap();
        for identity in [&one, &two] {
            let unlock = Unlock::KeyFiles(vec![key_file(directory.path(), "key", identity)]);
            let keys = unwrap(&wrapped, SET, Some(&unlock)).unwrap();
            assert_eq!(keys.commitment(), key.keys_of(SET).commitment());
        }
        let unlock = Unlock::KeyFiles(vec![key_file(directory.path(), "other", &other)]);
        let error = unwrap(&wrapped, SET, Some(&unlock)).unwrap_err();
        assert!(matches!(error, KeyError::Wrong { .. }) && error.hint().is_some(), "{error}");
        assert!(matches!(unwrap(&wrapped, SET, None), Err(KeyError::NoKey)));
        // The right key, but the wrapped one of another set: what it commits to is of that set.
        let unlock = Unlock::KeyFiles(vec![key_file(directory.path(), "key", &one)]);
        let error = unwrap(&wrapped, SetId([6; 16]), Some(&unlock)).unwrap_err();
        assert!(matches!(error, KeyError::Commitment { .. }), "{error}");
    }

    #[test]
    fn a_passphrase_opens_a_set_and_another_does_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("passphrase");
        std::fs::write(&path, "correct horse\nsecond line\n").unwrap();
        let source = PassphraseSource::File(path.clone());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(source.read(true), Err(KeyError::Input(_))), "others could read it");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let passphrase = source.read(true).unwrap();
        assert_eq!(passphrase.expose_secret(), "correct horse");
        let wrapped = wrap(&FileKey::random().unwrap(), SET, &Lock::Passphrase(passphrase.clone())).unwrap();
        unwrap(&wrapped, SET, Some(&Unlock::Passphrase(passphrase))).unwrap();
        let wrong = Unlock::Passphrase(SecretString::from("wrong".to_owned()));
        assert!(matches!(unwrap(&wrapped, SET, Some(&wrong)), Err(KeyError::Wrong { .. })));
        std::fs::write(&path, "\n").unwrap();
        assert!(matches!(source.read(true), Err(KeyError::EmptyPassphrase)));
    }

    #[test]
    fn what_is_no_key_is_named() {
        let lock = Lock::Recipients(vec!["age1nonsense".to_owned()]);
        assert!(matches!(lock.check(), Err(KeyError::Recipient { .. })));
        assert!(matches!(Lock::Recipients(Vec::new()).check(), Err(KeyError::Nobody)));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        std::fs::write(&path, "# only a comment\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let wrapped = WrappedKeys { commitment: [0; 32], age: b"nonsense".to_vec() };
        let unlock = Unlock::KeyFiles(vec![path]);
        assert!(matches!(unwrap(&wrapped, SET, Some(&unlock)), Err(KeyError::Identity { .. })));
        let unlock = Unlock::Passphrase(SecretString::from("x".to_owned()));
        assert!(matches!(unwrap(&wrapped, SET, Some(&unlock)), Err(KeyError::Wrapped(_))));
    }
}
