//! The only clients of databases: addresses, secrets, TLS, logins and connections.
//!
//! What is asked over a connection belongs to the crates that want to know. Drivers are asynchronous; [`runtime`] and
//! [`bounded`] let callers wait for them with a timeout.

pub mod address;
mod allowance;
mod change;
mod entra;
mod error;
pub mod mysql;
mod pooler;
pub mod postgres;
mod refused;
mod remote;
mod restored;
mod secret;
pub mod sqlite;
pub mod sqlserver;
mod tls;

pub use address::{Address, AddressError, Engine};
pub use allowance::Allowance;
pub use change::ChangeSession;
pub use error::SourceError;
pub use refused::ChangeError;
pub use remote::{Value, bounded, runtime};
pub use restored::CopyError;
pub use secret::Secret;
