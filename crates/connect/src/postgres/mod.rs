//! Connections to PostgreSQL.

mod login;
mod messages;

pub use login::{Login, explain};
