//! The centres that a store has joined: a file beside it, which only its owner can read.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use iostall_engine::Input;
use iostall_engine::files::{create_new_private, rename_over, sync_directory};
use iostall_measure::ByteCount;
use iostall_remote::Fingerprint;
use iostall_store::FleetSecret;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::centre_error::CentreError;

const FILE: Input = Input { what: "file of the fleet's keys", limit: ByteCount(1 << 20) };
const SUFFIX: &str = ".fleet";
const DRAFT_SUFFIX: &str = ".fleet.partial";
const VERSION: u32 = 1;
/// Keys that are kept of a centre: one that was restored from a backup knows an earlier one.
const KEYS_MAX: usize = 4;

#[derive(Debug, Serialize, Deserialize)]
struct Document {
    version: u32,
    centres: Vec<Membership>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Membership {
    pub(crate) address: String,
    /// The fingerprint of its certificate; without one an authority of this machine issued it.
    pub(crate) certificate: Option<String>,
    /// What the server is called there; `None` while it is not known whether the centre has taken it in.
    pub(crate) name: Option<String>,
    pub(crate) keys: Vec<Key>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Key {
    secret: String,
    pub(crate) made: Timestamp,
}

#[derive(Debug)]
pub(crate) struct MembershipFile {
    path: PathBuf,
    draft: PathBuf,
}

impl Key {
    pub(crate) fn new(secret: &FleetSecret, made: Timestamp) -> Self {
        Self { secret: secret.digits(), made }
    }

    /// `None` if it was changed by hand.
    pub(crate) fn secret(&self) -> Option<FleetSecret> {
        FleetSecret::parse(&self.secret)
    }
}

impl Membership {
    pub(crate) fn add_key(&mut self, key: Key) {
        self.keys.insert(0, key);
        self.keys.truncate(KEYS_MAX);
    }

    pub(crate) fn fingerprint(&self) -> Result<Option<Fingerprint>, CentreError> {
        let Some(named) = &self.certificate else { return Ok(None) };
        let wrong = || CentreError::Fingerprint { named: named.clone() };
        Fingerprint::parse(named).map(Some).ok_or_else(wrong)
    }
}

impl MembershipFile {
    pub(crate) fn beside(store: &Path) -> Self {
        let named = |suffix: &str| {
            let mut name = OsString::from(store);
            name.push(suffix);
            PathBuf::from(name)
        };
        Self { path: named(SUFFIX), draft: named(DRAFT_SUFFIX) }
    }

    /// What was joined; nothing if there is no file.
    pub(crate) fn read(&self) -> Result<Vec<Membership>, CentreError> {
        match self.path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            _ => {}
        }
        let text = FILE.secret(&self.path)?;
        let damaged = |reason: String| CentreError::Damaged { path: self.path.clone(), reason };
        let document: Document = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        if document.version != VERSION {
            return Err(damaged(format!("it has the version {}", document.version)));
        }
        Ok(document.centres)
    }

    pub(crate) fn find(&self, address: &str) -> Result<Option<Membership>, CentreError> {
        Ok(self.read()?.into_iter().find(|membership| membership.address == address))
    }

    /// Puts `membership` in the place of what was known of its address. When it returns, that is durable.
    pub(crate) fn put(&self, membership: &Membership) -> Result<(), CentreError> {
        let mut centres = self.read()?;
        match centres.iter_mut().find(|known| known.address == membership.address) {
            Some(known) => *known = membership.clone(),
            None => centres.push(membership.clone()),
        }
        let document = Document { version: VERSION, centres };
        let text = serde_json::to_string_pretty(&document).unwrap_or_default() + "\n";
        self.replace(text.as_bytes()).map_err(|source| CentreError::Write { path: self.path.clone(), source })
    }

    fn replace(&self, text: &[u8]) -> io::Result<()> {
        // An earlier draft is that of a process that was killed.
        match std::fs::remove_file(&self.draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = create_new_private(&self.draft)?;
        file.write_all(text)?;
        file.sync_all()?;
        rename_over(&self.draft, &self.path)?;
        sync_directory(self.path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new(".")))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn membership(address: &str) -> Membership {
        Membership { address: address.into(), certificate: None, name: None, keys: Vec::new() }
    }

    #[test]
    fn a_centre_that_was_joined_is_found_and_nobody_else_reads_its_keys() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("store.db");
        let file = MembershipFile::beside(&store);
        assert_eq!(file.find("a").unwrap(), None);
        let mut one = membership("a");
        let at: Timestamp = "2026-03-01T09:58:00Z".parse().unwrap();
        for _ in 0..6 {
            one.add_key(Key::new(&FleetSecret::new_key().unwrap(), at));
        }
        // A process was killed while it wrote.
        std::fs::write(directory.path().join("store.db.fleet.partial"), "half").unwrap();
        file.put(&one).unwrap();
        file.put(&membership("b")).unwrap();
        file.put(&Membership { name: Some("db1".into()), ..one.clone() }).unwrap();
        let found = file.find("a").unwrap().unwrap();
        assert_eq!((found.name.as_deref(), found.keys.len()), (Some("db1"), KEYS_MAX));
        assert!(found.keys.iter().all(|key| key.secret().is_some()) && file.find("b").unwrap().is_some());
        let path = directory.path().join("store.db.fleet");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!directory.path().join("store.db.fleet.partial").exists());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(file.find("a"), Err(CentreError::Read(_))));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        for text in ["", "{}", "{\"version\":2,\"centres\":[]}"] {
            std::fs::write(&path, text).unwrap();
            assert!(matches!(file.put(&one), Err(CentreError::Damaged { .. })), "{text}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "it is left as it is");
        }
    }
}
