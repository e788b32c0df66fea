//! What a thing is, whatever it was called: earlier runs and backups of the same thing are found by it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Two things are one if their identities are equal and [`Identity::is_known`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Identity {
    /// A file, a directory, or a device that says nothing of itself.
    Path(PathIdentity),
    /// A device, by [`crate::device::DeviceIdentity::key`].
    Device { key: String },
    /// A cluster of PostgreSQL: it has had this number since it was made, and its standbys and copies have it too.
    Postgresql { system_identifier: u64 },
    /// A server of MySQL or MariaDB, by a UUID that it made itself when its data directory was made.
    MysqlServer { uuid: String },
    /// A stream, by the name that its owner gave it.
    Name { name: String },
    /// A stream without a name: nothing says whether another one is of the same.
    Unnamed,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PathIdentity {
    /// Absolute, and without links; one that is no text is spelled with escapes behind the word `bytes`.
    pub path: String,
    /// What the file system calls itself wherever it is mounted; `None` if it has no lasting name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<String>,
    /// Its name and a part of its id; `None` in a container, whose name may be another one at each start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Of the directory, or of the one that has the file, so that what is mounted or made there later is another one. A file itself may
    /// be written anew each night.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory_inode: Option<u64>,
}

impl Identity {
    pub fn is_known(&self) -> bool {
        *self != Self::Unnamed
    }
}

/// Unambiguous, so that it can be compared in place of the identity.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(PathIdentity { path, file_system, machine, directory_inode }) => {
                write!(f, "path {path:?}")?;
                let parts = [("file system", file_system), ("machine", machine)];
                for (what, name) in parts.into_iter().filter_map(|(what, name)| Some((what, name.as_ref()?)))
                {
                    write!(f, " {what} {name:?}")?;
                }
                directory_inode.map_or(Ok(()), |inode| write!(f, " inode {inode}"))
            }
            Self::Device { key } => write!(f, "device {key:?}"),
            Self::Postgresql { system_identifier } => write!(f, "PostgreSQL {system_identifier}"),
            Self::MysqlServer { uuid } => write!(f, "server {uuid:?}"),
            Self::Name { name } => write!(f, "name {name:?}"),
            Self::Unnamed => f.write_str("unnamed"),
        }
    }
}

/// What sets of several sources are compared by; `None` if one of them cannot be compared.
pub fn key_of(identities: &[Identity]) -> Option<String> {
    let all_known = !identities.is_empty() && identities.iter().all(Identity::is_known);
    all_known.then(|| identities.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(path: &str, file_system: Option<&str>, machine: Option<&str>) -> Identity {
        let (file_system, machine) = (file_system.map(str::to_owned), machine.map(str::to_owned));
        Identity::Path(PathIdentity { path: path.into(), file_system, machine, directory_inode: None })
    }

    #[test]
    fn keys_are_equal_only_where_identities_are() {
        let all = [
            path("/srv/a", Some("u1"), Some("m")),
            path("/srv/a", Some("u2"), Some("m")),
            path("/srv/a\" machine \"m", None, None),
            path("/srv/a", None, Some("m")),
            Identity::Name { name: "shop".into() },
            Identity::Name { name: "shop, name \"crm\"".into() },
            Identity::MysqlServer { uuid: "shop".into() },
            Identity::Postgresql { system_identifier: 7 },
        ];
        for (at, one) in all.iter().enumerate() {
            for (other_at, other) in all.iter().enumerate() {
                let is_equal = key_of(std::slice::from_ref(one)) == key_of(std::slice::from_ref(other));
                assert_eq!(is_equal, at == other_at, "{one} {other}");
            }
        }
        let [shop, crm] = ["shop", "crm"].map(|name| Identity::Name { name: name.into() });
        assert_ne!(key_of(&[shop.clone(), crm]), key_of(&all[5..6]));
        assert_eq!((key_of(&[shop, Identity::Unnamed]), key_of(&[])), (None, None));
    }
}
