//! The central repository of a fleet: what was done to it, and the report on all its servers.

mod page;
#[cfg(test)]
mod tests;

use iostall_measure::foreign::shown;
use serde::Serialize;

pub use self::page::{sections, title, write_fleet};

#[derive(Clone, Debug, Serialize)]
pub struct RepositoryEntry {
    /// Its URL without login, password and transport.
    pub repository: String,
    pub id: String,
    /// `created`, `upgraded` or `up-to-date`.
    pub done: &'static str,
    pub schema_version_before: Option<i32>,
    pub schema_version: i32,
    pub postgres_version: u32,
    /// The version of the TimescaleDB that keeps the samples; null where PostgreSQL's own partitions do.
    pub timescaledb_version: Option<String>,
}

impl RepositoryEntry {
    pub fn line(&self) -> String {
        let (name, version) = (shown(&self.repository), self.schema_version);
        let extension = match &self.timescaledb_version {
            Some(version) => format!(", TimescaleDB {}", shown(version)),
            None => String::new(),
        };
        match self.schema_version_before.filter(|before| *before < version) {
            Some(before) => format!(
                "upgraded the repository in {name} from schema version {before} to {version} (PostgreSQL {}{extension})\n",
                self.postgres_version
            ),
            None if self.schema_version_before.is_some() => {
                format!("the repository in {name} is up to date: schema version {version}\n")
            }
            None => format!(
                "created a repository in {name}: schema version {version}, PostgreSQL {}{extension}, id {}\n",
                self.postgres_version, self.id
            ),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FleetSent {
    /// Every source that the store samples, also where there was nothing to send.
    pub sources: Vec<SentSource>,
    pub runs: usize,
    /// Sheets of notes and settings that were sent: the notes of a month, or the settings of a source.
    pub sheets: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SentSource {
    pub id: String,
    pub name: String,
    pub samples: usize,
}

impl SentSource {
    pub fn new(id: String, name: &str, samples: usize) -> Self {
        Self { id, name: name.to_owned(), samples }
    }
}
