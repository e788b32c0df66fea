//! Levels at which rows are summed, and the group of a row at each.

use serde::{Deserialize, Serialize};

use crate::kind::Kind;
use crate::sample::Subject;
use crate::scope::{DeviceRole, Scope};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Files, tables and indexes.
    Files,
    Databases,
    Volumes,
    Server,
}

impl Level {
    /// The group of a row at this level; `None` if it does not count there.
    pub fn group(self, subject: &Subject) -> Option<String> {
        let whole = |label: &str| Some(label.to_owned());
        match (self, subject.kind) {
            (
                Self::Files,
                Kind::SqlServerFile | Kind::MysqlFile | Kind::PostgresTable | Kind::PostgresIndex,
            ) => Some(match subject.kind {
                Kind::MysqlFile => subject.name.clone(),
                // The path of a file names no other file of its server; a number or a table's name does.
                Kind::SqlServerFile if subject.name.contains(['/', '\\']) => subject.name.clone(),
                _ => format!("{}: {}", subject.scope.name(), subject.name),
            }),
            (Self::Databases, Kind::SqlServerFile | Kind::MysqlFile | Kind::PostgresDatabase) => {
                subject.scope.database().map(str::to_owned)
            }
            (Self::Volumes, Kind::LinuxDevice) => Some(match &subject.volume {
                Some(point) => format!("{} ({point})", subject.name),
                None => subject.name.clone(),
            }),
            (
                Self::Volumes,
                Kind::SqlServerFile | Kind::MysqlFile | Kind::PostgresTable | Kind::PostgresIndex,
            ) => subject.volume.clone(),
            (Self::Server, Kind::SqlServerFile) => whole("all files"),
            (Self::Server, Kind::PostgresIo | Kind::PostgresIoBlocks) => whole("all backends"),
            (
                Self::Server,
                Kind::MysqlInnodb | Kind::MysqlRedo | Kind::PostgresWal | Kind::PostgresCheckpointer,
            ) => Some(subject.name.clone()),
            // Partitions and stacked devices are already counted in the disks under them.
            (Self::Server, Kind::LinuxDevice) => {
                (subject.scope == Scope::Device(DeviceRole::Disk)).then(|| "all disks".to_owned())
            }
            _ => None,
        }
    }

    /// The kind of the group of a row of `kind`: the blocks of a volume are those of its tables and indexes
    /// together.
    pub fn kind(self, kind: Kind) -> Kind {
        match (self, kind) {
            (Self::Volumes, Kind::PostgresIndex) => Kind::PostgresTable,
            (_, kind) => kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(database: &str, name: &str) -> Subject {
        Subject {
            kind: Kind::SqlServerFile,
            scope: Scope::Database(database.into()),
            name: name.into(),
            identity: "1".into(),
            volume: None,
        }
    }

    /// Without VIEW ANY DEFINITION each database has a "file 1": those of all databases were added up, and an alert about
    /// one of them never fired.
    #[test]
    fn files_without_a_path_are_those_of_their_database() {
        let group = |database: &str| Level::Files.group(&file(database, "file 1")).unwrap();
        assert_eq!(group("sales"), "sales: file 1");
        assert_ne!(group("sales"), group("stock"));
        assert_eq!(Level::Files.group(&file("sales", r"E:\data\sales.mdf")).unwrap(), r"E:\data\sales.mdf");
    }
}
