//! Sessions with a MariaDB server that was started on a restored copy, to check the copy.
//!
//! The server listens on a Unix socket in a private directory, and asks nobody for a password. A check of a large table takes
//! hours, so every wait looks now and then whether it is still wanted.

use std::path::Path;

use iostall_measure::foreign;
use tokio::runtime::Runtime;

use super::conn::{Answer, Conn, Row};
use super::error::MysqlError;
use super::login::Login;
use crate::address::{Address, Auth, Engine, PasswordFrom, Tls};
use crate::remote::runtime;
use crate::restored::{CopyError, wanted};
use crate::secret::Secret;

const FACTS: &str = include_str!("sql/copy_facts.sql");
const TABLES: &str = include_str!("sql/copy_tables.sql");
/// What CHECK TABLE says of a table that is as it should be.
const GOOD: [&str; 2] = ["OK", "Table is already up to date"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MariadbTable {
    pub database: String,
    pub name: String,
}

pub struct MariadbCopy<'a> {
    // Dropped first: the connection ends while its runtime is still there.
    connection: Conn,
    runtime: Runtime,
    is_over: &'a dyn Fn() -> bool,
}

impl<'a> MariadbCopy<'a> {
    /// Connects to the server at `socket`, in `database` unless that is empty. Waits end early once
    /// `is_over`. [`CopyError::is_not_up_yet`] tells whether to try again.
    pub fn open(socket: &Path, database: &str, is_over: &'a dyn Fn() -> bool) -> Result<Self, CopyError> {
        let address = Address {
            engine: Engine::Mysql,
            host: socket.display().to_string(),
            port: 0,
            instance: None,
            user: "root".to_owned(),
            database: database.to_owned(),
            password: PasswordFrom::Nowhere,
            auth: Auth::default(),
            tls: Tls::Off,
        };
        let runtime = runtime(&address)?;
        let login = Login::new(address, Secret::default())?;
        let connection = wanted(&runtime, is_over, login.connect())??;
        Ok(Self { connection, runtime, is_over })
    }

    pub fn version(&mut self) -> Result<String, CopyError> {
        let rows = self.rows(FACTS)?;
        Ok(rows.first().map(|row| text(row, 0)).unwrap_or_default())
    }

    /// All tables, by name, but those that the server makes up.
    pub fn tables(&mut self) -> Result<Vec<MariadbTable>, CopyError> {
        let rows = self.rows(TABLES)?;
        Ok(rows.iter().map(|row| MariadbTable { database: text(row, 0), name: text(row, 1) }).collect())
    }

    /// Checks a table as `CHECK TABLE … EXTENDED` does; what is wrong, in the server's words.
    pub fn check(&mut self, table: &MariadbTable) -> Result<Vec<String>, CopyError> {
        let MariadbTable { database, name } = table;
        let statement = format!("CHECK TABLE {}.{} EXTENDED", identifier(database), identifier(name));
        let rows = self.rows(&statement)?;
        let is_problem = |row: &&Row| match text(row, 2).as_str() {
            "status" => !GOOD.contains(&text(row, 3).as_str()),
            "note" | "info" => false,
            _ => true,
        };
        Ok(rows.iter().filter(is_problem).map(|row| text(row, 3)).collect())
    }

    /// Whether a statement of the user holds: it runs without an error, and where it returns rows, there is one, and its first
    /// column is neither NULL nor 0 in any.
    pub fn holds(&mut self, statement: &str) -> Result<bool, CopyError> {
        let Answer { has_columns, rows } = self.answer(statement)?;
        let is_true = |row: &Row| row.bytes(0).is_some_and(|value| value != b"0");
        Ok(!has_columns || (!rows.is_empty() && rows.iter().all(is_true)))
    }

    fn rows(&mut self, statement: &str) -> Result<Vec<Row>, CopyError> {
        self.answer(statement).map(|answer| answer.rows)
    }

    fn answer(&mut self, statement: &str) -> Result<Answer, CopyError> {
        let Self { connection, runtime, is_over } = self;
        let said = |error: MysqlError| CopyError::Said(foreign::said(&error.to_string()));
        wanted(runtime, *is_over, connection.query(statement))?.map_err(said)
    }
}

fn text(row: &Row, index: usize) -> String {
    row.text(index).unwrap_or_default()
}

/// A name in a statement.
fn identifier(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_a_name_whatever_is_in_it() {
        assert_eq!(identifier("a`; DROP TABLE b"), "`a``; DROP TABLE b`");
    }
}
