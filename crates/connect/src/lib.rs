//! The only clients of databases: addresses, secrets, TLS, logins and connections.
//!
//! What is asked over a connection belongs to the crates that want to know. Drivers are asynchronous; [`runtime`] and
//! [`bounded`] let callers wait for them with a timeout.

pub mod address;
mod allowance;
mod entra;
mod error;
pub mod mysql;
pub mod postgres;
mod remote;
mod restored;
mod secret;
pub mod sqlite;
pub mod sqlserver;
mod tls;

pub use address::{Address, AddressError, Engine};
pub use allowance::Allowance;
pub use error::SourceError;
pub use remote::{Value, bounded, runtime};
pub use restored::CopyError;
pub use secret::Secret;
