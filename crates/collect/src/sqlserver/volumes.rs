//! The volume of each file.
//!
//! The server asks the operating system about each file, and a volume that hangs makes it wait. So the volumes are read
//! separately from the counters, seldom, and with a short time limit.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use iostall_connect::sqlserver::Connection;
use iostall_connect::{Address, Value};
use iostall_host::{System, Volumes as HostVolumes};
use iostall_model::device::{IdentityKind, PlacedOn, Placement};
use iostall_model::{Row, Warning, WarningCode};

use super::asking::ask;

const VOLUMES: &str = include_str!("sql/volumes.sql");
/// A file seldom moves.
const ASK_EVERY_NS: u64 = 600_000_000_000;
/// Longer than a volume takes that does not hang.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) struct Volumes {
    /// By database and file; `None`: the server names no volume.
    by_file: HashMap<String, Option<String>>,
    /// What the machine calls each volume, by the name that the server has for it.
    identities: BTreeMap<String, String>,
    /// When to ask again, on the clock of this machine.
    again_ns: u64,
    warning: Option<Warning>,
    host: HostVolumes,
}

impl Volumes {
    pub(super) fn new() -> Self {
        let host = HostVolumes::of_system(System::here());
        Self { by_file: HashMap::new(), identities: BTreeMap::new(), again_ns: 0, warning: None, host }
    }

    /// Asks for the volumes of `rows` if it is time, or there is a new file among them. Whether the connection is still of
    /// use.
    pub(super) async fn ask(
        &mut self,
        address: &Address,
        connection: &mut Connection,
        rows: &[Row],
        now_ns: u64,
        limit: Duration,
    ) -> bool {
        let is_new = |row: &Row| !self.by_file.contains_key(file_of(row));
        let is_due = now_ns >= self.again_ns || self.warning.is_none() && rows.iter().any(is_new);
        if !is_due {
            return true;
        }
        self.again_ns = now_ns.saturating_add(ASK_EVERY_NS);
        let limit = PATIENCE.min(limit / 2);
        let statement = ("iostall:volumes", VOLUMES);
        let unanswered = match ask(address, connection, statement, limit, "; a volume may hang").await {
            Ok(found) => {
                self.warning = None;
                self.by_file = rows.iter().map(|row| (file_of(row).to_owned(), None)).collect();
                let found: Vec<OnVolume> = found.into_iter().filter_map(OnVolume::of).collect();
                self.identities = found.iter().filter_map(OnVolume::identity).collect();
                self.by_file.extend(found.into_iter().map(|one| (one.file, one.volume)));
                return true;
            }
            Err(unanswered) => unanswered,
        };
        let reason = unanswered.reason;
        let message = format!("the volumes of the files are unknown or out of date: {reason}");
        let hint = "they are read again every ten minutes; the counters are read as usual";
        self.warning = Some(Warning::new(WarningCode::NotCounted, message).hint(hint));
        unanswered.is_usable
    }

    /// Puts `rows` on their volumes. Where the server names none, as on Linux, that is the directory, or what this host has
    /// there if the server runs on it.
    pub(super) fn place(&mut self, rows: &mut [Row], is_here: bool) {
        if is_here {
            self.host.refresh();
        }
        for row in rows {
            let known = self.by_file.get(file_of(row)).cloned().flatten();
            let directory = row.subject.name.rsplit_once('/').map(|(directory, _)| directory);
            let directory = directory.filter(|directory| directory.starts_with('/'));
            let volume = match (known, directory) {
                (Some(volume), None) => Some(volume),
                (known, Some(directory)) => {
                    let here = if is_here { self.host.of(directory) } else { None };
                    here.or(known).or_else(|| Some(directory.to_owned()))
                }
                (None, None) => None,
            };
            if volume.is_some() {
                row.subject.volume = volume;
            }
        }
    }

    /// What each volume is, wherever it is attached.
    pub(super) fn placements(&self) -> Vec<Placement> {
        let placement = |(volume, identity): (&String, &String)| {
            let kind = IdentityKind::SqlServerVolume;
            let devices = vec![PlacedOn { kind, identity: identity.clone(), model: None }];
            Placement { volume: volume.clone(), devices }
        };
        self.identities.iter().map(placement).collect()
    }

    pub(super) fn warning(&self) -> Option<Warning> {
        self.warning.clone()
    }
}

/// The numbers of the database and the file, which its identity begins with.
pub(super) fn file_of(row: &Row) -> &str {
    let identity = row.subject.identity.as_str();
    let end = identity.match_indices('/').nth(1).map_or(identity.len(), |(at, _)| at);
    &identity[..end]
}

#[derive(Default)]
struct OnVolume {
    file: String,
    /// `None`: the server names none.
    volume: Option<String>,
    volume_id: Option<String>,
    machine: Option<String>,
}

impl OnVolume {
    fn of(columns: Vec<(String, Value)>) -> Option<Self> {
        let mut new = Self::default();
        for (name, value) in columns {
            match (name.as_str(), value) {
                ("file", Value::Text(text)) => new.file = text,
                // A mount point without a name is none.
                ("volume", Value::Text(text)) if !text.trim().is_empty() => new.volume = Some(text),
                ("volume_id", Value::Text(text)) if !text.trim().is_empty() => new.volume_id = Some(text),
                ("machine", Value::Text(text)) if !text.trim().is_empty() => new.machine = Some(text),
                _ => {}
            }
        }
        (!new.file.is_empty()).then_some(new)
    }

    /// The volume, and what it is called: with the name of the machine, because machines that were made from one image call their
    /// volumes the same.
    fn identity(&self) -> Option<(String, String)> {
        let (volume, id, machine) = (self.volume.as_ref()?, self.volume_id.as_ref()?, self.machine.as_ref()?);
        let bare = id.trim().trim_start_matches(['\\', '?', '.']).trim_end_matches('\\');
        Some((volume.clone(), format!("{}/{}", machine.trim().to_lowercase(), bare.to_lowercase())))
    }
}
