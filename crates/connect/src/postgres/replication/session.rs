//! A session, and its simple questions.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::error::ReplicationError;
use super::link::Link;
use super::startup;
use crate::address::Address;
use crate::postgres::login::Login;
use crate::postgres::lsn::Lsn;
use crate::remote::{bounded, runtime};
use crate::secret::Secret;

/// The first version that says where a slot is without a session for SQL.
const READS_SLOTS: u32 = 15;
/// What a slot's name is made of, and how long it is at most.
const SLOT_NAME_MAX: usize = 63;

pub struct ReplicationLogin<'a> {
    pub address: &'a Address,
    /// What the server calls the session: `application_name`.
    pub name: &'a str,
    pub password: &'a Secret,
    /// How long connecting, or the answer to a simple question, may take.
    pub limit: Duration,
    pub cancel: Arc<AtomicBool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemIdentity {
    /// The same for a primary and all its standbys.
    pub system_identifier: u64,
    pub timeline: u32,
    /// The end of the log on the server's disk: on a standby, of what it has received.
    pub flushed: Lsn,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineHistory {
    /// `00000002.history`.
    pub file_name: String,
    pub content: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlotState {
    /// Before PostgreSQL 15 the protocol cannot tell.
    Unknown,
    Missing,
    There {
        is_physical: bool,
        /// The log is kept from here on; `None` if the slot keeps none yet.
        restart: Option<Lsn>,
        timeline: Option<u32>,
    },
}

pub struct ReplicationSession {
    pub(super) link: Link,
    pub(super) version: u32,
    version_text: String,
}

impl ReplicationSession {
    pub fn open(login: ReplicationLogin<'_>) -> Result<Self, ReplicationError> {
        let ReplicationLogin { address, name, password, limit, cancel } = login;
        let runtime = runtime(address)?;
        let login = Login::new(address, password, limit)?;
        let started = bounded(&runtime, address, limit, async { Ok(startup::start(&login, name).await) })??;
        let startup::Started { wire, version, version_text } = started;
        let (source_name, user) = (address.to_string(), login.user().to_owned());
        let link = Link { wire, runtime, source_name, user, limit, cancel };
        Ok(Self { link, version, version_text })
    }

    pub fn version(&self) -> u32 {
        self.version
    }

    /// As `server_version` says.
    pub fn version_text(&self) -> &str {
        &self.version_text
    }

    pub fn identify_system(&mut self) -> Result<SystemIdentity, ReplicationError> {
        let row = self.link.one("IDENTIFY_SYSTEM", "identify itself", 3)?;
        Ok(SystemIdentity {
            system_identifier: self.link.parsed(row[0].as_ref(), "system identifier")?,
            timeline: self.link.parsed(row[1].as_ref(), "timeline")?,
            flushed: self.link.parsed(row[2].as_ref(), "position in the log")?,
        })
    }

    pub fn show(&mut self, setting: &str) -> Result<String, ReplicationError> {
        if !is_word(setting) {
            return Err(self.link.unknown("name of a setting", setting));
        }
        let row = self.link.one(&format!("SHOW {setting}"), "show a setting", 1)?;
        self.link.text(row[0].as_ref(), "setting")
    }

    /// How `timeline` came to be. Timeline 1 has no history.
    pub fn timeline_history(&mut self, timeline: u32) -> Result<TimelineHistory, ReplicationError> {
        let command = format!("TIMELINE_HISTORY {timeline}");
        let row = self.link.one(&command, "send the history of a timeline", 2)?;
        let content = row[1].as_ref().map(|bytes| bytes.to_vec()).unwrap_or_default();
        Ok(TimelineHistory { file_name: self.link.text(row[0].as_ref(), "file name")?, content })
    }

    /// Creates a slot of physical replication. One that `is_temporary` ends with the session; with `keeps_log` the log is kept
    /// from now on, else from the first time that it is read through the slot.
    pub fn create_slot(
        &mut self,
        name: &str,
        is_temporary: bool,
        keeps_log: bool,
    ) -> Result<(), ReplicationError> {
        let temporary = if is_temporary { " TEMPORARY" } else { "" };
        let reserve = if keeps_log { " RESERVE_WAL" } else { "" };
        let command =
            format!("CREATE_REPLICATION_SLOT {}{temporary} PHYSICAL{reserve}", self.slot_name(name)?);
        self.link.rows(&command, "create a replication slot").map(drop)
    }

    pub fn read_slot(&mut self, name: &str) -> Result<SlotState, ReplicationError> {
        let command = format!("READ_REPLICATION_SLOT {}", self.slot_name(name)?);
        if self.version < READS_SLOTS {
            return Ok(SlotState::Unknown);
        }
        let row = self.link.one(&command, "describe a replication slot", 3)?;
        let Some(kind) = &row[0] else { return Ok(SlotState::Missing) };
        let link = &self.link;
        let restart = row[1].as_ref().map(|field| link.parsed(Some(field), "position in the log"));
        let timeline = row[2].as_ref().map(|field| link.parsed(Some(field), "timeline"));
        let is_physical = kind[..] == *b"physical";
        Ok(SlotState::There { is_physical, restart: restart.transpose()?, timeline: timeline.transpose()? })
    }

    pub fn drop_slot(&mut self, name: &str) -> Result<(), ReplicationError> {
        let command = format!("DROP_REPLICATION_SLOT {}", self.slot_name(name)?);
        self.link.rows(&command, "drop a replication slot").map(drop)
    }

    /// A slot's name between quotes: nothing else can be in it.
    pub(super) fn slot_name(&self, name: &str) -> Result<String, ReplicationError> {
        if !is_word(name) || name.len() > SLOT_NAME_MAX {
            return Err(self.link.unknown("name of a replication slot", name));
        }
        Ok(format!("\"{name}\""))
    }
}

/// Whether a name has only letters that need no care in a command.
fn is_word(name: &str) -> bool {
    let is_plain =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || matches!(letter, '_' | '.');
    !name.is_empty() && name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_smuggle_a_second_command() {
        assert!(is_word("iostall_1") && is_word("pg.x"));
        for wrong in ["", "a b", "a;b", "a\"b", "Ä", "a'b", "A"] {
            assert!(!is_word(wrong), "{wrong}");
        }
    }
}
