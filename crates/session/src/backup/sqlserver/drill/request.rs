//! What a drill on a server is to do.

use iostall_connect::{Address, Secret};
use iostall_model::sqlserver_backup::BackupDevice;
use jiff::civil::DateTime;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DrillTarget {
    /// The last full backup of the files, and nothing on it.
    #[default]
    LastFull,
    /// The backup in this place of the first media set, with everything that it needs.
    Position(u64),
    End,
    /// STOPAT: this second, in the local time of the server that made the backups.
    Time(DateTime),
}

pub struct SqlServerDrillRequest {
    pub address: Address,
    pub password: Secret,
    /// The media sets, each with all of its stripes. The first has the full backup, the others what goes on it.
    pub media: Vec<Vec<BackupDevice>>,
    pub target: DrillTarget,
    /// The name of the database that is made. There must be none of it.
    pub name: String,
    /// The directory for its files, as the server sees it.
    pub directory: String,
    /// Statements that must run without an error in it, and must not give zero.
    pub statements: Vec<String>,
    pub keep: bool,
}

impl DrillTarget {
    pub(super) fn time(&self) -> Option<DateTime> {
        match self {
            Self::Time(time) => Some(*time),
            Self::LastFull | Self::Position(_) | Self::End => None,
        }
    }
}
