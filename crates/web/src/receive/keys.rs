//! The file of keys: who may store, and where.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use iostall_engine::files::open_or_create_private;
use iostall_engine::{Input, InputError, random_bytes};
use iostall_measure::ByteCount;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::names::{Name, is_part};

const KEYS: Input = Input { what: "file of keys", limit: ByteCount(1 << 20) };
const SECRET_BYTES: usize = 32;
const MARK: &str = "sha256:";
const QUOTA: &str = "quota=";

/// What is wrong with a file of keys.
#[derive(Debug, Error)]
pub enum KeysError {
    #[error(transparent)]
    Read(#[from] InputError),
    #[error("cannot write the file of keys {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{}:{line}: {reason}", path.display())]
    Line { path: PathBuf, line: usize, reason: &'static str },
    #[error("{text:?} is no name of a key: ASCII letters, digits and . _ - + = @ ,")]
    Name { text: String },
    #[error("{text:?} is no prefix: directories of ASCII letters, digits and . _ - + = @ , between slashes")]
    Prefix { text: String },
    #[error("{} has a key {name:?}", path.display())]
    Exists { path: PathBuf, name: String },
    #[error(
        "the prefix {prefix} and that of the key {name:?} lie in one another: one key could read what is another's"
    )]
    Nested { prefix: String, name: String },
    #[error("there is no key in {}", path.display())]
    Empty { path: PathBuf },
}

impl KeysError {
    /// What to do, where the message does not say it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Read(error) => error.hint(),
            Self::Line { .. } => Some(
                "a line is NAME PREFIX sha256:DIGITS, and quota=SIZE if there is one; --add-key writes one"
                    .to_owned(),
            ),
            Self::Empty { .. } => Some("--add-key NAME makes one".to_owned()),
            Self::Exists { .. } => Some("choose another name, or remove its line first".to_owned()),
            Self::Nested { .. } => {
                Some("choose prefixes of which none begins another, such as db1 and db2".to_owned())
            }
            _ => None,
        }
    }
}

/// One line.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) prefix: Name,
    /// No more may lie below the prefix.
    pub(super) quota: Option<ByteCount>,
    /// SHA-256 of the secret. It is random, so that nothing slower is needed against guessing.
    hash: [u8; 32],
}

/// All keys in the file at `path`.
pub(super) fn read(path: &Path) -> Result<Vec<Key>, KeysError> {
    let text = KEYS.secret(path)?;
    let mut keys: Vec<Key> = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let wrong = |reason| KeysError::Line { path: path.to_owned(), line, reason };
        let words: Vec<&str> = text.split_whitespace().collect();
        let (name, prefix, hash, quota) = match words[..] {
            [name, prefix, hash] => (name, prefix, hash, None),
            [name, prefix, hash, quota] => (name, prefix, hash, Some(quota)),
            _ => return Err(wrong("a line has three words, or four")),
        };
        let quota_of = |word: &str| word.strip_prefix(QUOTA)?.parse::<ByteCount>().ok();
        let quota = match quota {
            Some(word) => Some(quota_of(word).ok_or_else(|| wrong("the fourth word is no quota"))?),
            None => None,
        };
        if !is_part(name) {
            return Err(wrong("the first word is no name"));
        }
        let prefix = Name::parse(prefix).ok_or_else(|| wrong("the second word is no prefix"))?;
        let hash =
            hash.strip_prefix(MARK).and_then(unhex).ok_or_else(|| wrong("the third word is no hash"))?;
        let key = Key { name: name.to_owned(), prefix, quota, hash };
        check_beside(&key, &keys, path)?;
        keys.push(key);
    }
    Ok(keys)
}

/// Two keys may have one prefix, such as an old and a new one.
fn check_beside(key: &Key, others: &[Key], path: &Path) -> Result<(), KeysError> {
    for other in others {
        if other.name == key.name {
            return Err(KeysError::Exists { path: path.to_owned(), name: key.name.clone() });
        }
        if other.prefix != key.prefix
            && (other.prefix.is_below(&key.prefix) || key.prefix.is_below(&other.prefix))
        {
            return Err(KeysError::Nested { prefix: key.prefix.to_string(), name: other.name.clone() });
        }
    }
    Ok(())
}

/// Adds a key for `prefix`, below which no more than `quota` may lie, to the file at `path`, which is made if it is not there, and returns what the client needs. It
/// cannot be had again.
pub fn add_key(path: &Path, name: &str, prefix: &str, quota: Option<ByteCount>) -> Result<String, KeysError> {
    if !is_part(name) {
        return Err(KeysError::Name { text: name.to_owned() });
    }
    let prefix = Name::parse(prefix).ok_or_else(|| KeysError::Prefix { text: prefix.to_owned() })?;
    let failed = |source| KeysError::Write { path: path.to_owned(), source };
    let mut file = open_or_create_private(path).map_err(failed)?;
    let keys = read(path)?;
    let secret = hex(&random_bytes::<SECRET_BYTES>().map_err(failed)?);
    let key = Key { name: name.to_owned(), prefix, quota, hash: Sha256::digest(secret.as_bytes()).into() };
    check_beside(&key, &keys, path)?;
    // What is there may end without a line end.
    let text = KEYS.secret(path)?;
    let begin = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let quota = key.quota.map(|quota| format!(" {QUOTA}{}", quota.bytes())).unwrap_or_default();
    let line = format!("{begin}{} {} {MARK}{}{quota}\n", key.name, key.prefix, hex(&key.hash));
    io::Seek::seek(&mut file, io::SeekFrom::End(0)).map_err(failed)?;
    file.write_all(line.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    Ok(format!("{name}.{secret}"))
}

/// The key that a client shows, as [`add_key`] returned it, if it is one of these.
pub(super) fn find<'k>(keys: &'k [Key], shown: &str) -> Option<&'k Key> {
    let (name, secret) = shown.rsplit_once('.')?;
    let hash: [u8; 32] = Sha256::digest(secret.as_bytes()).into();
    keys.iter().find(|key| key.name == name && is_equal(&key.hash, &hash))
}

/// In a time that does not depend on where they differ.
fn is_equal(one: &[u8; 32], other: &[u8; 32]) -> bool {
    one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other)) == 0
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let digits: Vec<u8> = text
        .chars()
        .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] * 16 + pair[1]).collect();
    if digits.len() == 64 { bytes.try_into().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_was_added_is_found_by_its_secret_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keys");
        let one = add_key(&path, "db1", "db1", None).unwrap();
        let two = add_key(&path, "db2.new", "other/db2", None).unwrap();
        let keys = read(&path).unwrap();
        assert_eq!(find(&keys, &one).unwrap().name, "db1");
        assert_eq!(find(&keys, &two).unwrap().prefix.to_string(), "other/db2");
        let swapped = format!("db1.{}", two.rsplit_once('.').unwrap().1);
        for wrong in ["", "db1", "db1.", "db1.00", &swapped, &one[..one.len() - 1]] {
            assert!(find(&keys, wrong).is_none(), "{wrong}");
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(one.rsplit_once('.').unwrap().1), "only its hash is stored");
        assert!(matches!(add_key(&path, "db1", "x", None), Err(KeysError::Exists { .. })));
        assert!(matches!(add_key(&path, "n", "db1/below", None), Err(KeysError::Nested { .. })));
        assert!(matches!(add_key(&path, "n", "other", None), Err(KeysError::Nested { .. })));
        assert!(matches!(add_key(&path, "n", "../x", None), Err(KeysError::Prefix { .. })));
        assert!(matches!(add_key(&path, "a/b", "x", None), Err(KeysError::Name { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        add_key(&path, "rotated", "db1", Some(ByteCount(100 << 30))).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.ends_with(" quota=107374182400\n"), "{text}");
        std::fs::write(&path, text.replace("107374182400", "100G")).unwrap();
        let quotas: Vec<_> = read(&path).unwrap().iter().map(|key| key.quota).collect();
        assert_eq!(quotas, [None, None, Some(ByteCount(100 << 30))]);
    }

    #[test]
    fn a_line_that_is_wrong_is_named_and_a_file_for_everybody_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keys");
        add_key(&path, "db1", "db1", None).unwrap();
        let good = std::fs::read_to_string(&path).unwrap();
        let hash = format!("sha256:{}", "0".repeat(64));
        let quotas =
            ["quota=", "quota=x", "100G", "quota=1G more"].map(|quota| format!("x y {hash} {quota}"));
        let others = ["x", "x y z", "x y sha256:00", "x ../y sha256:", "x/y z sha256:"].map(str::to_owned);
        for wrong in others.iter().chain(&quotas) {
            std::fs::write(&path, format!("# keys\n\n{good}{wrong}\n")).unwrap();
            assert!(read(&path).unwrap_err().to_string().contains("keys:4: "), "{wrong}");
        }
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        assert!(matches!(read(&path), Err(KeysError::Read(InputError::Readable { .. }))));
    }
}
