//! TDS: connections to SQL Server and Azure SQL, and their logins.

mod access;
mod blocking;
mod browser;
mod connection;
mod fault;

pub use access::Access;
pub use blocking::{BlockingConnection, Parameter};
pub use connection::{Columns, Connection, query, query_with, whole, with_connection, within};
