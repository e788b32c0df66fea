//! What a backup must know of a server before its own program reads it.

use std::path::PathBuf;
use std::time::Duration;

use super::conn::Row;
use super::login::{Login, query_error};
use crate::address::Address;
use crate::error::SourceError;
use crate::remote::{bounded, runtime};
use crate::secret::Secret;

const SERVER: &str = include_str!("sql/backup_server.sql");
const QUERY: &str = "iostall:backup_server";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupFacts {
    /// As `VERSION()` says, such as `10.11.6-MariaDB-log`.
    pub version: String,
    /// Who built it, in their words.
    pub comment: String,
    pub data_directory: PathBuf,
    pub page_bytes: u32,
    /// Whether names of tables are kept in lower case: 0, 1 or 2. A server on the files needs the same.
    pub lower_case_table_names: u32,
}

impl BackupFacts {
    /// Whether it is MariaDB, and not MySQL or something that speaks like it.
    pub fn is_mariadb(&self) -> bool {
        self.version.contains("MariaDB") || self.comment.contains("MariaDB")
    }
}

pub fn backup_facts(
    address: &Address,
    password: &Secret,
    limit: Duration,
) -> Result<BackupFacts, SourceError> {
    let runtime = runtime(address)?;
    let login = Login::new(address.clone(), password.clone())?;
    let refused =
        |reason: String| SourceError::Query { source_name: address.to_string(), query: QUERY, reason };
    let asking = async {
        let mut connection = login.connect().await?;
        let answer = connection.query(SERVER).await;
        let answer = answer.map_err(|error| query_error(address, QUERY, &error))?;
        connection.disconnect().await;
        Ok(answer)
    };
    let answer = bounded(&runtime, address, limit, asking)?;
    answer.rows.first().and_then(facts).ok_or_else(|| refused("it does not describe itself".to_owned()))
}

fn facts(row: &Row) -> Option<BackupFacts> {
    let number = |index| u32::try_from(row.number(index)?).ok();
    Some(BackupFacts {
        version: row.text(0)?,
        comment: row.text(1)?,
        data_directory: row.text(2)?.into(),
        page_bytes: number(3)?,
        lower_case_table_names: number(4)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mariadb_is_told_from_what_speaks_like_it() {
        let is_mariadb = |version: &str, comment: &str| {
            let facts = BackupFacts {
                version: version.into(),
                comment: comment.into(),
                data_directory: "/".into(),
                page_bytes: 16_384,
                lower_case_table_names: 0,
            };
            facts.is_mariadb()
        };
        assert!(is_mariadb("10.11.6-MariaDB-0+deb12u1", "Debian 12"));
        assert!(is_mariadb("11.4.2", "MariaDB Server"));
        assert!(!is_mariadb("8.0.36", "MySQL Community Server - GPL"));
        assert!(!is_mariadb("8.0.36-28", "Percona Server (GPL), Release 28"));
    }
}
