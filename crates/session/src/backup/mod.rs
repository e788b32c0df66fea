//! Striped backups: the use cases around them, and running databases as their sources.

pub mod create;
pub mod postgres;
pub mod sqlite;
