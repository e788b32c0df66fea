//! Striped backups: the use cases around them, and running databases as their sources.

pub mod catalog;
pub mod create;
pub mod database;
pub mod known;
pub mod postgres;
pub mod prune;
pub mod sqlite;
