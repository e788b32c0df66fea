//! Proves that a directory of this machine is the data directory of the server that answers.

use std::path::{Path, PathBuf};

use iostall_connect::postgres::BackupServer;

use super::control::{ControlFile, is_missing};
use super::error::PostgresBackupError;

const POSTMASTER: &str = "postmaster.pid";
/// The line with the port, from 0.
const PORT_LINE: usize = 3;

/// The data directory of `server`, with no link left in its path. The server runs on it if three marks agree: a postmaster that
/// listens on the server's port is noted in it, its control file names the same cluster, and the replication slot `slot`,
/// which our own session has just created, is in it. A standby, a copy, and the same path in a container fail at least one.
pub(super) fn prove(server: &BackupServer, slot: &str, named: &str) -> Result<PathBuf, PostgresBackupError> {
    let elsewhere = |reason: String| PostgresBackupError::Elsewhere {
        server: named.to_owned(),
        directory: server.data_directory.clone(),
        reason,
    };
    let data = match std::fs::canonicalize(&server.data_directory) {
        Err(error) if is_missing(&error) => return Err(elsewhere("there is no such directory".into())),
        found => found.map_err(PostgresBackupError::read(&server.data_directory))?,
    };
    let path = data.join(POSTMASTER);
    let note = match std::fs::read_to_string(&path) {
        Err(error) if is_missing(&error) => {
            return Err(elsewhere(format!("it has no {POSTMASTER}, so no server runs on it")));
        }
        found => found.map_err(PostgresBackupError::read(&path))?,
    };
    let port = port_in(&note);
    if port != Some(server.port) {
        let other = port.map_or_else(|| "no port".to_owned(), |port| format!("port {port}"));
        return Err(elsewhere(format!(
            "the server on it has {other}, and the one that answers has {}",
            server.port
        )));
    }
    let identifier = ControlFile::read(&data)?.system_identifier();
    if identifier != server.system_identifier {
        let theirs = server.system_identifier;
        return Err(elsewhere(format!("it holds the cluster {identifier}, and the server's is {theirs}")));
    }
    if !has_slot(&data, slot)? {
        return Err(elsewhere("it belongs to another server of the same cluster, such as a standby".into()));
    }
    Ok(data)
}

fn port_in(note: &str) -> Option<u16> {
    note.lines().nth(PORT_LINE)?.trim().parse().ok()
}

fn has_slot(data: &Path, slot: &str) -> Result<bool, PostgresBackupError> {
    let path = data.join("pg_replslot").join(slot);
    path.try_exists().map_err(PostgresBackupError::read(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_on_the_fourth_line() {
        let note = "4711\n/var/lib/postgresql/15/main\n1700000000\n5433\n/run/postgresql\nlocalhost\n";
        assert_eq!(port_in(note), Some(5433));
        assert_eq!(port_in("4711\n/data\n"), None);
    }
}
