//! Connections to MariaDB and MySQL.

mod conn;
mod copy;
mod error;
mod login;
mod options;
mod password;
mod server;
mod wire;

pub use self::conn::{Answer, Conn, Row};
pub use self::copy::{MariadbCopy, MariadbTable};
pub use self::error::MysqlError;
pub use self::login::{Login, query_error};
pub use self::options::client_options;
pub use self::server::{BackupFacts, backup_facts};
