//! Connections to MariaDB and MySQL.

mod copy;
mod login;
mod options;
mod server;

pub use self::copy::{MariadbCopy, MariadbTable};
pub use self::login::Login;
pub use self::options::client_options;
pub use self::server::{BackupFacts, backup_facts};
