//! Opens the wrapped key of a set.

use std::path::{Path, PathBuf};

use iostall_engine::{Input, terminal};
use iostall_measure::ByteCount;
use iostall_model::backup::SetId;
use zeroize::Zeroizing;

use super::age::{self, AgeError, Identity};
use super::keys::{FileKey, KeyError, Passphrase, SetKeys};
use crate::backup::format::WrappedKeys;

/// Enough for hundreds of keys with comments.
const KEY_FILE: Input = Input { what: "file of secret keys", limit: ByteCount(1 << 20) };
const PASSPHRASE: Input = Input { what: "passphrase", limit: ByteCount(64 << 10) };

/// Where a passphrase comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PassphraseSource {
    /// The first line of a file that only its owner can read.
    File(PathBuf),
    /// The first line of an open file descriptor.
    Descriptor(u32),
    Terminal,
}

impl PassphraseSource {
    /// Reads it. For a new passphrase a person types it twice.
    pub fn read(&self, is_new: bool) -> Result<Passphrase, KeyError> {
        let text = Zeroizing::new(match self {
            Self::File(path) => PASSPHRASE.secret(path)?,
            Self::Descriptor(number) => PASSPHRASE.text(Path::new(&format!("/dev/fd/{number}")))?,
            Self::Terminal => ask(is_new)?,
        });
        let line = text.lines().next().unwrap_or_default();
        if line.is_empty() {
            return Err(KeyError::EmptyPassphrase);
        }
        Ok(Passphrase::from(line.to_owned()))
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

#[derive(Clone, Debug)]
pub enum Unlock {
    /// Files with secret keys of age (`AGE-SECRET-KEY-1…`).
    KeyFiles(Vec<PathBuf>),
    Passphrase(Passphrase),
}

impl Unlock {
    fn given(&self) -> String {
        match self {
            Self::KeyFiles(paths) => {
                let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
                format!("the key of {}", names.join(", "))
            }
            Self::Passphrase(_) => "the passphrase".to_owned(),
        }
    }

    fn open(&self, wrapped: &[u8]) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        let opened = match self {
            Self::Passphrase(passphrase) => age::decrypt(wrapped, &[], Some(passphrase.reveal())),
            Self::KeyFiles(paths) => {
                let mut all = Vec::new();
                for path in paths {
                    all.append(&mut identities_of(path)?);
                }
                age::decrypt(wrapped, &all, None)
            }
        };
        opened.map_err(|error| match error {
            AgeError::NoKey => KeyError::Wrong { given: self.given() },
            AgeError::Library => KeyError::Library,
            other => KeyError::Wrapped(other.to_string()),
        })
    }
}

fn identities_of(path: &Path) -> Result<Vec<Identity>, KeyError> {
    let text = Zeroizing::new(KEY_FILE.secret(path)?);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let found: Option<Vec<Identity>> = lines.map(Identity::parse).collect();
    found.filter(|found| !found.is_empty()).ok_or_else(|| KeyError::Identity { path: path.to_owned() })
}

/// The keys of `set`, from its wrapped key. Another key than that of the set is refused here, before anything is decrypted.
pub fn unwrap(wrapped: &WrappedKeys, set: SetId, unlock: Option<&Unlock>) -> Result<SetKeys, KeyError> {
    let unlock = unlock.ok_or(KeyError::NoKey)?;
    let bytes = unlock.open(&wrapped.age)?;
    let key = bytes[..].try_into();
    let key: [u8; 32] = key.map_err(|_| KeyError::Wrapped("it is not 32 bytes long".to_owned()))?;
    let keys = FileKey::from_bytes(key).keys_of(set);
    if keys.commitment() != wrapped.commitment {
        return Err(KeyError::Commitment { given: unlock.given() });
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::PAIRS;
    use super::super::keys::{Lock, wrap};
    use super::*;

    const SET: SetId = SetId([5; 16]);

    fn key_file(directory: &Path, name: &str, secret: &str) -> PathBuf {
        let path = directory.join(name);
        std::fs::write(&path, format!("# a comment\n{secret}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    #[test]
    fn any_recipient_opens_a_set_and_nobody_else_does() {
        let directory = tempfile::tempdir().unwrap();
        let [(first, one), (second, two), (_, other)] = PAIRS;
        let lock = Lock::Recipients(vec![first.to_owned(), second.to_owned()]);
        assert!(!lock.is_one_recipient());
        let key = FileKey::random().unwrap();
        let wrapped = wrap(&key, SET, &lock).unwrap();
        for secret in [one, two] {
            let unlock = Unlock::KeyFiles(vec![key_file(directory.path(), "key", secret)]);
            let keys = unwrap(&wrapped, SET, Some(&unlock)).unwrap();
            assert_eq!(keys.commitment(), key.keys_of(SET).commitment());
        }
        let unlock = Unlock::KeyFiles(vec![key_file(directory.path(), "other", other)]);
        let error = unwrap(&wrapped, SET, Some(&unlock)).unwrap_err();
        assert!(matches!(error, KeyError::Wrong { .. }) && error.hint().is_some(), "{error}");
        assert!(matches!(unwrap(&wrapped, SET, None), Err(KeyError::NoKey)));
        // The right key, but the wrapped one of another set: what it commits to is of that set.
        let unlock = Unlock::KeyFiles(vec![key_file(directory.path(), "key", one)]);
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
        assert_eq!(passphrase.reveal(), "correct horse");
        let wrapped = wrap(&FileKey::random().unwrap(), SET, &Lock::Passphrase(passphrase.clone())).unwrap();
        unwrap(&wrapped, SET, Some(&Unlock::Passphrase(passphrase))).unwrap();
        let wrong = Unlock::Passphrase(Passphrase::from("wrong".to_owned()));
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
        let unlock = Unlock::Passphrase(Passphrase::from("x".to_owned()));
        assert!(matches!(unwrap(&wrapped, SET, Some(&unlock)), Err(KeyError::Wrapped(_))));
    }
}
